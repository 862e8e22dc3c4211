//! Tests of the agent's connections to an API server, over TCP sockets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use drover_agent_link::upstream::Upstream;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use rcgen::CertifiedKey;
use rustls_pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const SOON: Duration = Duration::from_secs(20);

/// The listener of a fake API server, and the agent's client configuration for the listener.
struct ApiServer {
    listener: TcpListener,
    tls: TlsAcceptor,
    upstream: Upstream,
}

impl ApiServer {
    async fn new() -> Self {
        drover_tls::install_provider();
        let names = vec!["127.0.0.1".to_owned()];
        let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let tls = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut config = kube::Config::new(format!("https://{address}").parse().unwrap());
        config.root_cert = Some(vec![cert.der().to_vec()]);
        Self {
            listener,
            tls: Arc::new(tls).into(),
            upstream: Upstream::new(&config).unwrap(),
        }
    }

    async fn accept(&self) -> TlsStream<TcpStream> {
        let accepted = timeout(SOON, self.listener.accept()).await.unwrap();
        self.tls.accept(accepted.unwrap().0).await.unwrap()
    }
}

/// Reads a request until its body ends with `end`. Sends a response with status 200.
async fn answer(stream: &mut TlsStream<TcpStream>, end: &[u8]) {
    let mut request = Vec::new();
    while !request.ends_with(end) {
        request.push(stream.read_u8().await.unwrap());
    }
    let yes = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes";
    stream.write_all(yes).await.unwrap();
    stream.flush().await.unwrap();
}

async fn post(upstream: &Upstream) -> String {
    let body = Full::<Bytes>::from("body");
    let request = Request::post("/api/v1/x").body(body).unwrap();
    let response = timeout(SOON, upstream.send(request)).await.unwrap();
    let collected = response.unwrap().into_body().collect().await.unwrap();
    String::from_utf8(collected.to_bytes().to_vec()).unwrap()
}

/// The single-threaded runtime polls sockets only between tasks. The client therefore sends the
/// request before the client detects that the API server has closed the idle connection.
#[test]
fn request_on_a_closed_pooled_connection_is_sent_on_a_new_connection() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .event_interval(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = ApiServer::new().await;
        let first = async {
            let mut stream = server.accept().await;
            answer(&mut stream, b"body").await;
            stream
        };
        let (mut stream, response) = tokio::join!(first, post(&server.upstream));
        assert_eq!(response, "yes");
        // The connection has returned to the pool.
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.shutdown().await.unwrap();
        drop(stream);
        // The close of the connection has arrived but was not read.
        std::thread::sleep(Duration::from_millis(50));
        tokio::spawn(async {});
        let second = async { answer(&mut server.accept().await, b"body").await };
        let ((), response) = tokio::join!(second, post(&server.upstream));
        assert_eq!(response, "yes");
    });
}

/// Reports whether the kernel runs a keep-alive timer for a connection. Code `02` in
/// `/proc/net/tcp` means a keep-alive timer.
fn has_keepalive_timer(local: SocketAddr, remote: SocketAddr) -> bool {
    let address = |address: SocketAddr| format!("0100007F:{:04X}", address.port());
    let (local, remote) = (address(local), address(remote));
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    table.lines().any(|row| {
        let row: Vec<_> = row.split_whitespace().collect();
        row.get(1..3) == Some(&[&*local, &*remote]) && row[5].starts_with("02:")
    })
}

#[tokio::test]
async fn tcp_keepalive_is_enabled_on_connections_to_the_api_server() {
    let server = ApiServer::new().await;
    let (theirs, ours) = tokio::join!(server.accept(), server.upstream.connect());
    let _ours = ours.unwrap();
    let (theirs, _) = theirs.get_ref();
    let (remote, local) = (theirs.local_addr().unwrap(), theirs.peer_addr().unwrap());
    let looked_for = async {
        while !has_keepalive_timer(local, remote) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(SOON, looked_for)
        .await
        .expect("a keep-alive timer runs");
}
