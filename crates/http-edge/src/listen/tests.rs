//! Tests of attacks by unauthenticated clients on the listener, over real sockets and TLS.

mod floods;
mod named;

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::{get, post};
use drover_api::ids::ClusterUid;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client;

use super::*;
use drover_tls::ServingCertificate;
use drover_tls::{ActiveCertificate, install_provider};

/// A timeout that no passing test reaches.
const SOON: Duration = Duration::from_secs(20);
const QUICK: Limits = Limits {
    handshake: Duration::from_millis(300),
    headers: Duration::from_millis(300),
    connections: 4,
    per_network: 4,
    agents: 0,
    agents_per_network: 0,
    prove: Duration::from_millis(300),
    idle_timeouts: IdleTimeouts {
        idle: Duration::from_millis(300),
        stalled: SOON,
    },
    drain: Duration::from_millis(300),
};

struct Listening {
    address: SocketAddr,
    roots: RootCertStore,
    served: Arc<AtomicUsize>,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Listening {
    async fn start(limits: Limits) -> Self {
        Self::start_behind(Proxies::default(), limits).await
    }

    async fn start_behind(proxies: Proxies, limits: Limits) -> Self {
        install_provider();
        let created = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let serving = ServingCertificate {
            chain: created.cert.pem(),
            key: created.signing_key.serialize_pem().into(),
        };
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from(created.cert.der().to_vec()))
            .unwrap();
        let served = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&served);
        let count = move |ConnectInfo(_): ConnectInfo<SocketAddr>| {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::ready("served")
        };
        let router = Router::new()
            .route("/", get(count.clone()).post(count))
            .route(
                "/slow",
                post(|body: axum::body::Bytes| async move { body.len().to_string() }),
            )
            .route(
                "/proved",
                get(
                    |axum::Extension(slot): axum::Extension<ConnectionSlot>,
                     ConnectInfo(peer): ConnectInfo<SocketAddr>| async move {
                        slot.proved(&ClusterUid::new("u"), peer.ip());
                    },
                ),
            )
            .route(
                "/signed-in",
                get(
                    |axum::Extension(slot): axum::Extension<ConnectionSlot>| async move {
                        slot.authenticated();
                    },
                ),
            )
            .route("/v1/connect", get(async || ()))
            .route(
                "/who",
                get(async |ConnectInfo(client): ConnectInfo<SocketAddr>| client.ip().to_string()),
            );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let tls = ActiveCertificate::new(&serving)
            .unwrap()
            .server_config()
            .unwrap();
        let stop = CancellationToken::new();
        let running = tokio::spawn(serve(listener, tls, router, limits, proxies, stop.clone()));
        Self {
            address,
            roots,
            served,
            stop,
            running,
        }
    }

    async fn connect(&self, protocol: &[u8]) -> client::TlsStream<TcpStream> {
        let mut config = ClientConfig::builder()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .unwrap()
    }

    /// Sends bytes and reads until the server closes the connection or stops sending.
    async fn exchange(&self, request: &[u8]) -> String {
        let mut stream = self.connect(b"http/1.1").await;
        stream.write_all(request).await.unwrap();
        read_all(&mut stream).await
    }

    fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }
}

async fn read_all(stream: &mut client::TlsStream<TcpStream>) -> String {
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    // A connection reset after the response counts as the end of the response.
    let _ = timeout(SOON, reading)
        .await
        .expect("the server closes the connection");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn request_with_two_content_lengths_is_rejected() {
    let server = Listening::start(QUICK).await;
    for lengths in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 60\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: 0x4\r\n",
    ] {
        let before = server.served();
        let answer = server
            .exchange(
                format!(
                    "POST / HTTP/1.1\r\nHost: localhost\r\n{lengths}\r\n\
                     0\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
                )
                .as_bytes(),
            )
            .await;
        let answers = answer.matches("HTTP/1.1 ").count();
        assert!(answers <= 1, "{lengths}: {answer}");
        assert!(
            server.served() - before <= 1,
            "{lengths}: a smuggled request was served"
        );
    }
}

#[tokio::test]
async fn request_headers_above_the_size_limit_are_rejected() {
    let server = Listening::start(QUICK).await;
    let request = |bytes: usize| {
        format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: {}\r\n\r\n",
            "x".repeat(bytes)
        )
    };
    let answer = server.exchange(request(100 * 1024).as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:.80}");
    let mut stream = server.connect(b"http/1.1").await;
    // The server may close the connection during this write.
    let _ = stream
        .write_all(request(HEADER_BYTES + 1024).as_bytes())
        .await;
    let answer = read_all(&mut stream).await;
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer:.80}"
    );
    assert_eq!(server.served(), 1);
}

#[tokio::test]
async fn idle_unauthenticated_connections_are_closed_and_other_clients_are_served() {
    let server = Listening::start(QUICK).await;
    // Four connections hold all four slots: the first sends no handshake, the second no request,
    // the third endless headers, and the fourth an incomplete preface.
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let mut preface = server.connect(b"h2").await;
    preface.write_all(b"PRI * HTTP/2.0\r\n").await.unwrap();
    let mut idle = server.connect(b"http/1.1").await;
    let mut slow = server.connect(b"http/1.1").await;
    slow.write_all(b"GET / HTTP/1.1\r\nHost: local")
        .await
        .unwrap();
    // The server closes connections without a free slot immediately, so the client retries.
    let answered = async {
        while is_served_from(&server, [127, 0, 0, 1], "/").await.is_none() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, answered)
        .await
        .expect("the listener releases a slot");
    let mut nothing = Vec::new();
    let closed = timeout(SOON, silent.read_to_end(&mut nothing)).await;
    closed.expect("the silent connection is closed").ok();
    assert!(nothing.is_empty());
    read_all(&mut preface).await;
    assert!(!read_all(&mut idle).await.contains("200"));
    assert!(!read_all(&mut slow).await.contains("200"));
}

#[tokio::test]
async fn connection_with_incomplete_headers_is_closed_at_the_header_timeout() {
    // The idle timeouts would also close the connection.
    let idle_timeouts = IdleTimeouts {
        idle: 10 * SOON,
        stalled: 10 * SOON,
    };
    let server = Listening::start(Limits {
        idle_timeouts,
        ..QUICK
    })
    .await;
    let mut slow = server.connect(b"http/1.1").await;
    slow.write_all(b"GET / HTTP/1.1\r\nHost: local")
        .await
        .unwrap();
    assert!(!read_all(&mut slow).await.contains("200"));
}

/// Connects from this local address. Returns the status and the connection if the server responds.
async fn answered_from(
    server: &Listening,
    from: [u8; 4],
    path: &str,
) -> Option<(String, client::TlsStream<TcpStream>)> {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((from, 0))).unwrap();
    let stream = socket.connect(server.address).await.unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(server.roots.clone())
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
    let mut stream = timeout(SOON, connecting).await.expect("an end").ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut first = [0; 12];
    let read = timeout(SOON, stream.read_exact(&mut first)).await;
    read.expect("an end").ok()?;
    Some((String::from_utf8_lossy(&first[9..]).into_owned(), stream))
}

/// Connects from this local address. Returns the connection if the server responds.
async fn is_served_from(server: &Listening, from: [u8; 4], path: &str) -> Option<impl Sized> {
    let (status, stream) = answered_from(server, from, path).await?;
    assert_eq!(status, "200");
    Some(stream)
}

#[tokio::test]
async fn one_network_cannot_use_all_connections() {
    let limits = Limits {
        connections: 10,
        per_network: 2,
        agents: 0,
        ..Limits::SERVER
    };
    let server = Listening::start(limits).await;
    let (here, there) = ([127, 0, 0, 1], [127, 0, 0, 2]);
    let first = is_served_from(&server, here, "/").await;
    let second = is_served_from(&server, here, "/").await;
    assert!(first.is_some() && second.is_some());
    assert!(is_served_from(&server, here, "/").await.is_none());
    assert!(is_served_from(&server, there, "/").await.is_some());
    drop(first);
    let again = async {
        while is_served_from(&server, here, "/").await.is_none() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, again)
        .await
        .expect("the listener releases a slot");
}

#[tokio::test]
async fn agent_releases_its_network_connection_slot_after_authentication() {
    let limits = Limits {
        connections: 10,
        per_network: 1,
        agents: 0,
        ..Limits::SERVER
    };
    let server = Listening::start(limits).await;
    let mut owned = Vec::new();
    for _ in 0..3 {
        let proved = is_served_from(&server, [127, 0, 0, 1], "/proved").await;
        owned.push(proved.expect("a slot was released"));
    }
    let _other = is_served_from(&server, [127, 0, 0, 1], "/").await.unwrap();
    assert!(is_served_from(&server, [127, 0, 0, 1], "/").await.is_none());
}

/// Returns an HTTP/2 frame (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

#[tokio::test]
async fn rapid_reset_attack_closes_only_its_own_connection() {
    let server = Listening::start(Limits::SERVER).await;
    let mut stream = server.connect(b"h2").await;
    let mut attack = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    attack.extend(frame(4, 0, 0, &[]));
    // The HPACK header fields `:method GET`, `:scheme https`, `:path /`, `:authority a` (RFC 7541).
    let headers = [0x82, 0x87, 0x84, 0x41, 0x01, b'a'];
    for number in (1..40_000).step_by(2) {
        attack.extend(frame(1, 5, number, &headers));
        attack.extend(frame(3, 0, number, &[0, 0, 0, 8]));
    }
    // The server closes the connection during this write.
    let _ = timeout(SOON, stream.write_all(&attack))
        .await
        .expect("the server reads or closes the connection");
    let mut answer = Vec::new();
    let _ = timeout(SOON, stream.read_to_end(&mut answer))
        .await
        .expect("the server closes the connection");
    assert!(
        server.served() < 20_000,
        "{} requests were served",
        server.served()
    );
    let other = server.exchange(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(other.await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn request_in_flight_is_completed_during_shutdown() {
    let limits = Limits {
        drain: SOON,
        ..Limits::SERVER
    };
    let server = Listening::start(limits).await;
    let mut stream = server.connect(b"http/1.1").await;
    let head = b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nab";
    stream.write_all(head).await.unwrap();
    stream.flush().await.unwrap();
    sleep(Duration::from_millis(200)).await;
    server.stop.cancel();
    sleep(Duration::from_millis(200)).await;
    stream.write_all(b"cd").await.unwrap();
    let answer = read_all(&mut stream).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with('4'),
        "{answer}"
    );
    timeout(SOON, server.running)
        .await
        .expect("the listener stops")
        .unwrap();
    assert!(
        TcpStream::connect(server.address).await.is_err(),
        "the listener accepts no further connection"
    );
}

#[tokio::test]
async fn tcp_keep_alive_is_enabled_on_client_connections() {
    let server = Listening::start(Limits::SERVER).await;
    let stream = server.connect(b"http/1.1").await;
    let client = stream.get_ref().0.local_addr().unwrap();
    // A line of `/proc/net/tcp` contains the local and remote address, the state, the queues, and
    // 02 for a keep-alive timer.
    let address = |address: SocketAddr| format!("0100007F:{:04X}", address.port());
    let (ours, theirs) = (address(server.address), address(client));
    let watched = async {
        loop {
            let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
            let row = table
                .lines()
                .map(str::split_whitespace)
                .find_map(|mut row| {
                    let row: Vec<_> = row.by_ref().collect();
                    (row.get(1..3)? == [&*ours, &*theirs]).then(|| row[5].to_owned())
                });
            if row.expect("the connection is open").starts_with("02:") {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(SOON, watched)
        .await
        .expect("a keep-alive timer runs");
}
