//! TCP relays that count connections, and fake LDAP servers with prepared responses.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use drover_testkit::authority::Authority;

pub(crate) const HOST: &str = "127.0.0.1";
/// Message ID of the StartTLS request. The bind request has the next ID.
pub(crate) const START_TLS_ID: u8 = 1;
pub(crate) const BIND_ID: u8 = 2;
pub(crate) const SEARCH_ID: u8 = 3;

/// Tags of LDAP response messages (RFC 4511 §4).
pub(crate) const BOUND: u8 = 0x61;
pub(crate) const DONE: u8 = 0x65;
pub(crate) const EXTENDED: u8 = 0x78;

/// Encodes a response with a result code.
pub(crate) fn answer(id: u8, tag: u8, code: u8) -> Vec<u8> {
    vec![0x30, 12, 2, 1, id, tag, 7, 0x0a, 1, code, 4, 0, 4, 0]
}

/// Encodes a search result entry that is short enough for one-byte lengths.
pub(crate) fn entry(id: u8, name: &str, attributes: &[(&str, &str)]) -> Vec<u8> {
    let element = |tag: u8, content: &[u8]| {
        let length = u8::try_from(content.len()).unwrap();
        // Lengths from 128 need an additional length byte.
        let header = if length < 128 {
            vec![tag, length]
        } else {
            vec![tag, 0x81, length]
        };
        [&header, content].concat()
    };
    let text = |text: &str| element(4, text.as_bytes());
    let attribute = |(name, value): &(&str, &str)| {
        element(0x30, &[text(name), element(0x31, &text(value))].concat())
    };
    let attributes: Vec<u8> = attributes.iter().flat_map(attribute).collect();
    let found = element(0x64, &[text(name), element(0x30, &attributes)].concat());
    element(0x30, &[&[2, 1, id][..], &found].concat())
}

/// TCP relay that forwards all bytes and counts connections.
pub(crate) struct Relay {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Relay {
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind((HOST, 0)).await.unwrap();
        let relay = Self {
            port: listener.local_addr().unwrap().port(),
            connections: Arc::default(),
        };
        let connections = relay.connections.clone();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    let mut far = TcpStream::connect((HOST, port)).await.unwrap();
                    // Either side may disconnect at any time.
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        relay
    }

    pub(crate) fn ldap(&self) -> String {
        format!("ldap://{HOST}:{}", self.port)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Fake server that answers each request with the next prepared response, then closes the
/// connection and records the received bytes.
pub(crate) struct Fake {
    port: u16,
    received: Arc<Mutex<Vec<u8>>>,
}

impl Fake {
    /// Starts a server without TLS.
    pub(crate) async fn in_clear(answers: Vec<Vec<u8>>) -> Self {
        Self::start(None, answers).await
    }

    /// Starts a server with TLS and a certificate of the authority.
    pub(crate) async fn under_tls(authority: &Authority, answers: Vec<Vec<u8>>) -> Self {
        let certified = authority.certify(HOST);
        let certificate = CertificateDer::from_pem_slice(certified.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.unwrap()], key)
            .unwrap();
        Self::start(Some(TlsAcceptor::from(Arc::new(config))), answers).await
    }

    async fn start(tls: Option<TlsAcceptor>, answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind((HOST, 0)).await.unwrap();
        let fake = Self {
            port: listener.local_addr().unwrap().port(),
            received: Arc::default(),
        };
        let received = fake.received.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, received, tls) = (answers.clone(), received.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                converse(stream, &answers, &received).await;
                            }
                        }
                        None => converse(stream, &answers, &received).await,
                    }
                });
            }
        });
        fake
    }

    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{HOST}:{}", self.port)
    }

    /// Returns all received bytes, decrypted with TLS.
    pub(crate) fn received(&self) -> Vec<u8> {
        self.received.lock().unwrap().clone()
    }
}

/// Responds to each read with the next prepared response. Each read contains one complete request,
/// because requests are small and clients wait for each response.
async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answers: &[Vec<u8>],
    received: &Mutex<Vec<u8>>,
) {
    let mut bytes = vec![0; 64 * 1024];
    let mut answers = answers.iter();
    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
        received.lock().unwrap().extend_from_slice(&bytes[..count]);
        match answers.next() {
            // The client may have disconnected.
            Some(answer) => {
                let _ = stream.write_all(answer).await;
            }
            None => break,
        }
    }
    let _ = stream.shutdown().await;
}
