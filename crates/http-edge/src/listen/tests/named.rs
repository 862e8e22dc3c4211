//! Tests of client addresses that a proxy sends, over real sockets and TLS.

use super::*;

const PROXY: [u8; 4] = [127, 0, 0, 1];
const STRANGER: [u8; 4] = [127, 0, 0, 2];

async fn server(limits: Limits) -> Listening {
    let trusted = || TrustedProxies::new(&["127.0.0.1/32".parse().unwrap()]);
    let proxies = Proxies {
        forwarded_for: trusted(),
        proxy_protocol: trusted(),
    };
    Listening::start_behind(proxies, limits).await
}

/// Returns a PROXY header for this client address.
fn header(client: [u8; 4]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    bytes.extend(client);
    bytes.extend([192, 0, 2, 200, 0x12, 0x34, 0x01, 0xbb]);
    bytes
}

/// Returns the body of the response to `GET /who`, and the connection. Returns `None` if the server
/// closes the connection.
async fn asked(
    server: &Listening,
    from: [u8; 4],
    before: &[u8],
    lines: &str,
) -> Option<(String, client::TlsStream<TcpStream>)> {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((from, 0))).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    stream.write_all(before).await.unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(server.roots.clone())
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
    let mut stream = timeout(SOON, connecting).await.expect("an end").ok()?;
    let request = format!("GET /who HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = vec![0; 1024];
    let read = timeout(SOON, stream.read(&mut answer)).await;
    let read = read.expect("an end").ok().filter(|read| *read > 0)?;
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((body.to_owned(), stream))
}

async fn who(server: &Listening, from: [u8; 4], before: &[u8], lines: &str) -> Option<String> {
    asked(server, from, before, lines)
        .await
        .map(|(body, _)| body)
}

#[tokio::test]
async fn proxy_protocol_header_is_accepted_only_from_trusted_proxies() {
    let server = server(Limits::SERVER).await;
    let named = header([203, 0, 113, 7]);
    let client = who(&server, PROXY, &named, "").await;
    assert_eq!(client.as_deref(), Some("203.0.113.7"));
    assert_eq!(
        who(&server, STRANGER, &named, "").await,
        None,
        "the connection is not TLS"
    );
    let client = who(&server, PROXY, b"", "").await;
    assert_eq!(client.as_deref(), Some("127.0.0.1"), "a health check");
    let mut broken = named.clone();
    broken[13] = 0x12;
    assert_eq!(who(&server, PROXY, &broken, "").await, None);
}

#[tokio::test]
async fn x_forwarded_for_header_is_accepted_only_from_trusted_proxies() {
    let server = server(Limits::SERVER).await;
    let line = "X-Forwarded-For: 192.0.2.9, 203.0.113.7, 127.0.0.1\r\n";
    let client = who(&server, PROXY, b"", line).await;
    assert_eq!(client.as_deref(), Some("203.0.113.7"));
    let client = who(&server, STRANGER, b"", line).await;
    assert_eq!(client.as_deref(), Some("127.0.0.2"));
    let named = header([198, 51, 100, 1]);
    let client = who(&server, PROXY, &named, line).await;
    assert_eq!(
        client.as_deref(),
        Some("198.51.100.1"),
        "the peer is not a proxy"
    );
}

#[tokio::test]
async fn clients_behind_a_trusted_proxy_have_separate_limits() {
    let limits = Limits {
        connections: 10,
        per_network: 1,
        agents: 0,
        ..Limits::SERVER
    };
    let server = server(limits).await;
    let first = asked(&server, PROXY, &header([203, 0, 113, 7]), "").await;
    assert!(first.is_some());
    let second = who(&server, PROXY, &header([203, 0, 113, 7]), "").await;
    assert_eq!(second, None, "each network has one connection");
    let other = who(&server, PROXY, &header([198, 51, 100, 1]), "").await;
    assert!(other.is_some());
}
