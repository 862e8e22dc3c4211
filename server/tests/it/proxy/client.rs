//! Clients of the proxy: raw HTTP/1.1 bytes, and hyper for HTTP/1.1 and HTTP/2.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::rig::{AuditCaller, LIMIT, Rig};

/// A complete response: status, headers and body.
pub(super) struct Read {
    pub(super) head: http::response::Parts,
    pub(super) body: Bytes,
}

impl Read {
    pub(super) fn code(&self) -> u16 {
        self.head.status.as_u16()
    }

    /// Parses the body as JSON.
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }
}

/// Builds a request with the token of a user.
pub(super) fn by(person: &AuditCaller, method: &str, path: &str) -> http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", "drover.example")
        .header("authorization", format!("Bearer {}", person.bearer))
}

pub(super) fn empty() -> Full<Bytes> {
    Full::default()
}

/// Sends a request on a new HTTP/1.1 connection. Returns when the response head arrives.
pub(super) async fn open<B>(address: SocketAddr, request: Request<B>) -> Response<Incoming>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<drover_tunnel::BoxError>,
{
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    let answered = tokio::time::timeout(LIMIT, sender.send_request(request)).await;
    answered
        .expect("the response arrives before the timeout")
        .expect("the request succeeds")
}

/// Sends a request over HTTP/2. The connection stays open while the returned sender exists.
pub(super) async fn open_http2<B>(
    address: SocketAddr,
    request: Request<B>,
) -> (http2::SendRequest<B>, Response<Incoming>)
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<drover_tunnel::BoxError>,
{
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let answered = tokio::time::timeout(LIMIT, sender.send_request(request)).await;
    (
        sender,
        answered
            .expect("the response arrives before the timeout")
            .expect("the request succeeds"),
    )
}

pub(super) async fn read(answer: Response<Incoming>) -> Read {
    let (head, body) = answer.into_parts();
    let collected = tokio::time::timeout(LIMIT, body.collect()).await;
    let body = collected
        .expect("a whole answer in time")
        .expect("a whole response")
        .to_bytes();
    Read { head, body }
}

/// Sends a request and reads the complete response.
pub(super) async fn send<B>(rig: &Rig, request: Request<B>) -> Read
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<drover_tunnel::BoxError>,
{
    read(open(rig.address, request).await).await
}

/// Sends a `GET` request of a user.
pub(super) async fn get(rig: &Rig, person: &AuditCaller, path: &str) -> Read {
    send(rig, by(person, "GET", path).body(empty()).unwrap()).await
}

/// Sends bytes on a new connection. Reads until the server closes the connection or sends no data
/// for 500 ms.
pub(super) async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut read = Vec::new();
    let mut chunk = [0; 4096];
    let quiet = std::time::Duration::from_millis(500);
    while let Ok(Ok(count)) = tokio::time::timeout(quiet, stream.read(&mut chunk)).await {
        if count == 0 {
            break;
        }
        read.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8_lossy(&read).into_owned()
}
