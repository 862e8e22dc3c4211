//! What stands in a directory's place: relays that write down, and servers that answer as they are
//! told.

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
/// Ids of the requests of a connection: after StartTLS, or where it would be, comes the bind.
pub(crate) const START_TLS_ID: u8 = 1;
pub(crate) const BIND_ID: u8 = 2;
pub(crate) const SEARCH_ID: u8 = 3;

/// Tags of answers (RFC 4511 §4).
pub(crate) const BOUND: u8 = 0x61;
pub(crate) const DONE: u8 = 0x65;
pub(crate) const EXTENDED: u8 = 0x78;

/// An answer with a result code.
pub(crate) fn answer(id: u8, tag: u8, code: u8) -> Vec<u8> {
    vec![0x30, 12, 2, 1, id, tag, 7, 0x0a, 1, code, 4, 0, 4, 0]
}

/// An entry that was found, short enough for lengths of one byte.
pub(crate) fn entry(id: u8, name: &str, attributes: &[(&str, &str)]) -> Vec<u8> {
    let element = |tag: u8, content: &[u8]| {
        let length = u8::try_from(content.len()).unwrap();
        // From 128 on, one byte of length follows the byte that says so.
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

/// Passes everything on, and counts connections.
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
                    // Either side may go away without a word.
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

/// Answers each request of a connection with the next of some bytes, and then ends it; keeps what
/// was sent to it.
pub(crate) struct Fake {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Fake {
    /// Speaks without TLS, whatever it says.
    pub(crate) async fn in_clear(answers: Vec<Vec<u8>>) -> Self {
        Self::start(None, answers).await
    }

    /// Speaks under TLS, with a certificate of the authority.
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
            heard: Arc::default(),
        };
        let heard = fake.heard.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, heard, tls) = (answers.clone(), heard.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                converse(stream, &answers, &heard).await;
                            }
                        }
                        None => converse(stream, &answers, &heard).await,
                    }
                });
            }
        });
        fake
    }

    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{HOST}:{}", self.port)
    }

    /// All bytes that were sent to it; under TLS, what they say.
    pub(crate) fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap().clone()
    }
}

/// Each read is a request: they are small, and the next comes only after an answer.
async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answers: &[Vec<u8>],
    heard: &Mutex<Vec<u8>>,
) {
    let mut bytes = vec![0; 64 * 1024];
    let mut answers = answers.iter();
    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
        heard.lock().unwrap().extend_from_slice(&bytes[..count]);
        match answers.next() {
            // The other side may have gone already.
            Some(answer) => {
                let _ = stream.write_all(answer).await;
            }
            None => break,
        }
    }
    let _ = stream.shutdown().await;
}
