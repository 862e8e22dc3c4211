//! Sends raw HTTP requests, as an attacker does.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_e2e::World;
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Timeout of a response.
const LIMIT: Duration = Duration::from_secs(90);

/// Returns the administrator's token for `east`.
pub(crate) fn token(world: &World) -> String {
    let kubeconfig = kubeconfig(world);
    let user = kubeconfig.auth_infos[0].auth_info.clone().unwrap();
    user.token.unwrap().expose_secret().to_owned()
}

/// Returns the certificate authority of the server from the kubeconfig, as PEM.
pub(crate) fn authority(world: &World) -> Vec<u8> {
    let cluster = kubeconfig(world).clusters[0].cluster.clone().unwrap();
    STANDARD
        .decode(cluster.certificate_authority_data.unwrap())
        .unwrap()
}

fn kubeconfig(world: &World) -> kube::config::Kubeconfig {
    let text = std::fs::read_to_string(world.kubeconfig()).unwrap();
    kube::config::Kubeconfig::from_yaml(&text).unwrap()
}

/// Opens a TLS connection to the server for HTTP/1.1.
pub(crate) async fn connect(world: &World) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    let authority = authority(world);
    for certificate in CertificateDer::pem_slice_iter(&authority) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let address = world.server.address();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::from(address.ip());
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.unwrap()
}

/// Sends bytes on a new connection, and returns the received bytes as text. Reads until the server
/// closes the connection or sends no data for `timeout`.
pub(crate) async fn exchange(world: &World, bytes: &[u8], timeout: Duration) -> String {
    let mut stream = connect(world).await;
    // The server may reject the request before it has read all bytes.
    let _ = stream.write_all(bytes).await;
    let _ = stream.flush().await;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(Ok(count)) = tokio::time::timeout(timeout, stream.read(&mut buffer)).await {
        if count == 0 {
            break;
        }
        answer.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// An HTTP/1.1 request with raw header lines and a body.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    head: String,
    body: String,
}

impl Request {
    pub(crate) fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    pub(crate) fn new(method: &str, target: &str) -> Self {
        let head = format!("{method} {target} HTTP/1.1\r\n");
        Self {
            head,
            body: String::new(),
        }
    }

    /// Appends a raw header line.
    pub(crate) fn line(mut self, line: &str) -> Self {
        self.head.push_str(line);
        self.head.push_str("\r\n");
        self
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.line(&format!("Authorization: Bearer {token}"))
    }

    /// Adds the administrator's token.
    pub(crate) fn authorized(self, world: &World) -> Self {
        let token = token(world);
        self.bearer(&token)
    }

    pub(crate) fn json(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self.line("Content-Type: application/json")
            .line(&format!("Content-Length: {}", body.len()))
    }

    /// Sends the request on a new connection.
    pub(crate) async fn send(self, world: &World) -> Answer {
        let host = world.server.address();
        let bytes = format!(
            "{}Host: {host}\r\nConnection: close\r\n\r\n{}",
            self.head, self.body
        );
        Answer::parse(&exchange(world, bytes.as_bytes(), LIMIT).await)
    }

    /// Sends the request without Host and Connection headers.
    pub(crate) async fn send_bare(self, world: &World, timeout: Duration) -> Answer {
        let bytes = format!("{}\r\n{}", self.head, self.body);
        Answer::parse(&exchange(world, bytes.as_bytes(), timeout).await)
    }
}

/// An HTTP response. The status code is 0 if the server sent no status line.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let chunked = head
            .to_ascii_lowercase()
            .contains("transfer-encoding: chunked");
        Self {
            code: code.unwrap_or(0),
            head: head.to_owned(),
            body: if chunked {
                unchunked(body)
            } else {
                body.to_owned()
            },
        }
    }

    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(crate) fn is_refusal(&self) -> bool {
        (400..500).contains(&self.code)
    }
}

fn unchunked(mut body: &str) -> String {
    let mut all = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        all.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    all
}
