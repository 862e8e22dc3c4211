//! A WebSocket as a byte stream.
//!
//! Only what a tunnel needs of RFC 6455: binary messages of at most [`MAX_MESSAGE`] bytes
//! (fragments allowed), ping, pong and close; text is refused. Message boundaries mean
//! nothing: the payloads, one after the other, are the stream.

mod encode;
mod frame;
mod handshake;
mod stream;

pub use frame::{Control, Decoded, Decoder, FrameError, MAX_MESSAGE, Role};
pub use handshake::{
    AcceptError, DialError, DialOptions, Dialed, Prefixed, accept, accept_response, dial,
};
pub use stream::ByteStream;
