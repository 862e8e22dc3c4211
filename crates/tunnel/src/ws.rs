//! A WebSocket as a byte stream.
//!
//! Implements the subset of RFC 6455 that a tunnel needs: binary messages of at most
//! [`MAX_MESSAGE`] bytes (also fragmented), ping, pong and close. Text messages are rejected.
//! Message boundaries have no meaning, because the byte stream is the concatenation of the
//! payloads.

mod encode;
mod frame;
mod handshake;
mod stream;

pub use frame::{Control, Decoded, Decoder, FrameError, MAX_MESSAGE, Role};
pub use handshake::{
    AcceptError, DialError, DialOptions, Dialed, PrefixedStream, accept, accept_response, dial,
};
pub use stream::ByteStream;
