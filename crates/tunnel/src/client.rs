//! The start of the client's end of an HTTP/2 connection.

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use h2::{Ping, PingPong};
use tokio::io::{AsyncRead, AsyncWrite};

/// The reason why an HTTP/2 connection did not start.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The connection failed, or the peer violated the protocol.
    #[error("the HTTP/2 handshake failed")]
    Failed(#[source] h2::Error),
    /// The peer closed the connection.
    #[error("the peer closed the connection")]
    Closed,
}

/// Starts HTTP/2 on a connection. Returns after the peer has responded to a ping. The peer sends
/// its settings before the response.
#[expect(
    clippy::missing_panics_doc,
    reason = "a new connection always has its ping handle"
)]
pub async fn handshake<S>(
    stream: S,
    builder: &Builder,
) -> Result<(SendRequest<Bytes>, Connection<S, Bytes>, PingPong), HandshakeError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let started = builder.handshake(stream).await;
    let (sender, mut connection) = started.map_err(HandshakeError::Failed)?;
    let mut ping_pong = connection
        .ping_pong()
        .expect("a new connection's ping handle is taken only here");
    tokio::select! {
        biased;
        ended = &mut connection => {
            return Err(ended.map_or_else(HandshakeError::Failed, |()| HandshakeError::Closed));
        }
        pong = ping_pong.ping(Ping::opaque()) => pong.map_err(HandshakeError::Failed)?,
    };
    Ok((sender, connection, ping_pong))
}
