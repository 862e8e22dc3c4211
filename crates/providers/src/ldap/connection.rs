//! A connection to a directory server, always with TLS and with a timeout for each operation.

use std::io;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::server::{Server, Tls};
use super::wire::Malformed;
use super::wire::message::{
    self, Answer, Entry, MAX_HEADER_BYTES, Message, Outcome, Page, Query, START_TLS_ID,
};

/// Timeout for connecting, including the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a request, until its last response arrives.
pub(super) const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of bytes that Drover receives on a connection. 5,000 groups need about 2 MiB.
const MAX_RECEIVED_BYTES: usize = 32 * 1024 * 1024;
/// Maximum number of skipped references in the response to a search.
const MAX_REFERENCES: usize = 100;

/// Error of opening a connection. The data in the variants is not trusted, because TLS is not
/// established.
#[derive(Debug, Error)]
pub(super) enum OpenError {
    #[error("the server does not accept the connection")]
    Connect(#[source] io::Error),
    #[error("timeout: no TLS connection after {seconds} s", seconds = CONNECT_TIMEOUT.as_secs())]
    Timeout,
    #[error(
        "the server does not support StartTLS ({outcome}): enable StartTLS on the server, or set \
         an ldaps:// URL in ldap.servers", outcome = .0
    )]
    NoStartTls(Outcome),
    #[error("the server sent an invalid response to the StartTLS request")]
    StartTls(#[source] Failure),
    #[error(
        "the TLS certificate is not trusted: an authority in ldap.caBundle must sign the \
         certificate, and the certificate must be valid for the host in ldap.servers"
    )]
    Tls(#[source] io::Error),
}

/// Error of a request.
#[derive(Debug, Error)]
pub(super) enum Failure {
    #[error("the connection failed")]
    Broken(#[source] io::Error),
    #[error("timeout: no response after {seconds} s", seconds = OPERATION_TIMEOUT.as_secs())]
    Timeout,
    #[error("the server closed the connection: {outcome}", outcome = .0)]
    Ended(Outcome),
    #[error("the response is malformed")]
    Malformed(#[from] Malformed),
    #[error("unexpected response: {cause}", cause = .0)]
    Unexpected(&'static str),
}

impl Failure {
    /// Reports whether the server violated the protocol. Returns false if the server was
    /// unreachable.
    pub(super) fn is_protocol_error(&self) -> bool {
        match self {
            Self::Broken(_) | Self::Timeout | Self::Ended(_) => false,
            Self::Malformed(_) | Self::Unexpected(_) => true,
        }
    }
}

/// Result of a search, or of a page of a search.
#[derive(Debug)]
pub(super) struct SearchResult {
    pub(super) entries: Vec<Entry>,
    pub(super) outcome: Outcome,
    /// Cookie to request the next page.
    pub(super) next: Option<Vec<u8>>,
}

/// A connection with TLS. All requests use TLS, because the module has no connection type without
/// TLS.
pub(super) struct Connection {
    stream: TlsStream<TcpStream>,
    last_id: u32,
    received_bytes: usize,
}

impl Connection {
    /// Connects to a server. Uses StartTLS if StartTLS is configured.
    pub(super) async fn open(server: &Server, tls: &TlsConnector) -> Result<Self, OpenError> {
        timeout(CONNECT_TIMEOUT, Self::open_unbounded(server, tls))
            .await
            .unwrap_or(Err(OpenError::Timeout))
    }

    async fn open_unbounded(server: &Server, tls: &TlsConnector) -> Result<Self, OpenError> {
        let mut tcp = TcpStream::connect((server.host(), server.port()))
            .await
            .map_err(OpenError::Connect)?;
        // Each small request waits for the response to the previous one.
        tcp.set_nodelay(true).map_err(OpenError::Connect)?;
        if server.tls() == Tls::AfterStartTls {
            let outcome = start_tls(&mut tcp).await.map_err(OpenError::StartTls)?;
            if outcome.code != 0 {
                return Err(OpenError::NoStartTls(outcome));
            }
        }
        let stream = tls.connect(server.certificate_name(), tcp).await;
        Ok(Self {
            stream: stream.map_err(OpenError::Tls)?,
            last_id: START_TLS_ID,
            received_bytes: 0,
        })
    }

    /// Sends a bind request. `password` must not be empty: a bind with an empty password succeeds
    /// as an anonymous bind (RFC 4513 §5.1.2).
    pub(super) async fn bind(
        &mut self,
        name: &str,
        password: &SecretString,
    ) -> Result<Outcome, Failure> {
        let id = self.next_id();
        let request = message::bind(id, name, password.expose_secret());
        let exchange = async {
            send(&mut self.stream, &request).await?;
            match self.answer(id).await? {
                Answer::BindResult(outcome) => Ok(outcome),
                _ => Err(Failure::Unexpected(
                    "the response to a bind request has the wrong type",
                )),
            }
        };
        timeout(OPERATION_TIMEOUT, exchange)
            .await
            .unwrap_or(Err(Failure::Timeout))
    }

    /// Sends a search request. Returns an error if the response has more than `max` entries.
    pub(super) async fn search(
        &mut self,
        query: &Query<'_>,
        page: Option<&Page>,
        max: usize,
    ) -> Result<SearchResult, Failure> {
        let id = self.next_id();
        let request = message::search(id, query, page);
        let exchange = async {
            send(&mut self.stream, &request).await?;
            self.search_result(id, max).await
        };
        timeout(OPERATION_TIMEOUT, exchange)
            .await
            .unwrap_or(Err(Failure::Timeout))
    }

    async fn search_result(&mut self, id: u32, max: usize) -> Result<SearchResult, Failure> {
        let mut entries = Vec::new();
        let mut references = 0;
        loop {
            match self.answer(id).await? {
                Answer::Entry(_) if entries.len() == max => {
                    return Err(Failure::Unexpected(
                        "the response contains more entries than requested",
                    ));
                }
                Answer::Entry(entry) => entries.push(entry),
                Answer::Reference if references == MAX_REFERENCES => {
                    return Err(Failure::Unexpected(
                        "the response contains too many references to other directories",
                    ));
                }
                Answer::Reference => references += 1,
                Answer::Done { outcome, next } => {
                    return Ok(SearchResult {
                        entries,
                        outcome,
                        next,
                    });
                }
                Answer::BindResult(_) | Answer::Extended(_) => {
                    return Err(Failure::Unexpected(
                        "the response to a search request has the wrong type",
                    ));
                }
            }
        }
    }

    async fn answer(&mut self, id: u32) -> Result<Answer, Failure> {
        let (message, length) = receive(&mut self.stream).await?;
        self.received_bytes += length;
        if self.received_bytes > MAX_RECEIVED_BYTES {
            return Err(Failure::Unexpected(
                "the server sent more data than Drover allows on one connection",
            ));
        }
        answer_to(id, message)
    }

    fn next_id(&mut self) -> u32 {
        self.last_id += 1;
        self.last_id
    }
}

/// Sends StartTLS. Reads exactly the bytes of the response, so that Drover does not interpret
/// further plaintext bytes as TLS data.
async fn start_tls(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Result<Outcome, Failure> {
    send(stream, &message::start_tls()).await?;
    let (message, _) = receive(stream).await?;
    match answer_to(START_TLS_ID, message)? {
        Answer::Extended(outcome) => Ok(outcome),
        _ => Err(Failure::Unexpected(
            "the response to StartTLS has the wrong type",
        )),
    }
}

fn answer_to(id: u32, message: Message) -> Result<Answer, Failure> {
    match message.answer {
        // Notice of disconnection (RFC 4511 §4.4.1).
        Answer::Extended(outcome) if message.id == 0 => Err(Failure::Ended(outcome)),
        answer if message.id == id => Ok(answer),
        _ => Err(Failure::Unexpected(
            "the message ID of the response does not match the request",
        )),
    }
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), request: &[u8]) -> Result<(), Failure> {
    stream.write_all(request).await.map_err(Failure::Broken)?;
    stream.flush().await.map_err(Failure::Broken)
}

/// Reads exactly one message. Returns the message and its length in bytes.
async fn receive(stream: &mut (impl AsyncRead + Unpin)) -> Result<(Message, usize), Failure> {
    let mut bytes = Vec::with_capacity(MAX_HEADER_BYTES);
    let length = loop {
        bytes.push(stream.read_u8().await.map_err(Failure::Broken)?);
        if let Some(length) = message::length(&bytes)? {
            break length;
        }
    };
    let header = bytes.len();
    bytes.resize(length, 0);
    let content = stream.read_exact(&mut bytes[header..]).await;
    content.map_err(Failure::Broken)?;
    Ok((Message::parse(&bytes)?, length))
}
