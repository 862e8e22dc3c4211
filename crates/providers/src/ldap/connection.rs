//! A connection to a directory: under TLS always, with a bound time for everything.

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

/// How long it may take until TLS stands.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long one request may take until its last answer is there.
pub(super) const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);
/// All answers of one connection are no longer; 5,000 groups have 2 MiB.
const MAX_RECEIVED_BYTES: usize = 32 * 1024 * 1024;
/// Of references to elsewhere, no more are skipped in one search.
const MAX_ELSEWHERE: usize = 100;

/// Why there is no connection. Nothing of it is a directory's word: TLS does not stand yet.
#[derive(Debug, Error)]
pub(super) enum OpenError {
    #[error("no connection is taken")]
    Connect(#[source] io::Error),
    #[error("TLS does not stand after {} s", CONNECT_TIMEOUT.as_secs())]
    Slow,
    #[error(
        "StartTLS is not spoken ({0}), and nothing is said without TLS: have it switched on \
         there, or write ldaps:// in ldap.servers"
    )]
    NoStartTls(Outcome),
    #[error("StartTLS is not answered as it must be, and nothing is said without TLS")]
    StartTls(#[source] Failure),
    #[error(
        "no TLS that can be trusted: the certificate must be of an authority in ldap.caBundle \
         and for the host in ldap.servers"
    )]
    Tls(#[source] io::Error),
}

/// Why a request was not answered.
#[derive(Debug, Error)]
pub(super) enum Failure {
    #[error("the connection broke")]
    Broken(#[source] io::Error),
    #[error("no answer after {} s", OPERATION_TIMEOUT.as_secs())]
    Slow,
    #[error("it ends the connection with {0}")]
    Ended(Outcome),
    #[error("it answers what is no answer")]
    Malformed(#[from] Malformed),
    #[error("it answers with {0}")]
    Unexpected(&'static str),
}

impl Failure {
    /// Whether it broke the protocol, rather than be out of reach.
    pub(super) fn is_protocol_error(&self) -> bool {
        match self {
            Self::Broken(_) | Self::Slow | Self::Ended(_) => false,
            Self::Malformed(_) | Self::Unexpected(_) => true,
        }
    }
}

/// What a search, or a page of it, found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    pub(super) outcome: Outcome,
    /// What the next page is asked for with.
    pub(super) next: Option<Vec<u8>>,
}

/// A connection under TLS; there is no other kind, so nothing can be said without.
pub(super) struct Connection {
    stream: TlsStream<TcpStream>,
    last_id: u32,
    received_bytes: usize,
}

impl Connection {
    /// Connects, and speaks StartTLS where TLS does not come first.
    pub(super) async fn open(server: &Server, tls: &TlsConnector) -> Result<Self, OpenError> {
        timeout(CONNECT_TIMEOUT, Self::open_unbounded(server, tls))
            .await
            .unwrap_or(Err(OpenError::Slow))
    }

    async fn open_unbounded(server: &Server, tls: &TlsConnector) -> Result<Self, OpenError> {
        let mut tcp = TcpStream::connect((server.host(), server.port()))
            .await
            .map_err(OpenError::Connect)?;
        // One small request waits for the answer to another.
        tcp.set_nodelay(true).map_err(OpenError::Connect)?;
        if server.tls() == Tls::AfterStart {
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

    /// Asks to be somebody, by a password that must not be empty: with an empty one a directory
    /// says yes, and means nobody (RFC 4513 §5.1.2).
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
                Answer::Bound(outcome) => Ok(outcome),
                _ => Err(Failure::Unexpected("another thing to a bind")),
            }
        };
        timeout(OPERATION_TIMEOUT, exchange)
            .await
            .unwrap_or(Err(Failure::Slow))
    }

    /// Searches, for as many entries as there may be in the answer: `max`.
    pub(super) async fn search(
        &mut self,
        query: &Query<'_>,
        page: Option<&Page>,
        max: usize,
    ) -> Result<Found, Failure> {
        let id = self.next_id();
        let request = message::search(id, query, page);
        let exchange = async {
            send(&mut self.stream, &request).await?;
            self.found(id, max).await
        };
        timeout(OPERATION_TIMEOUT, exchange)
            .await
            .unwrap_or(Err(Failure::Slow))
    }

    async fn found(&mut self, id: u32, max: usize) -> Result<Found, Failure> {
        let mut entries = Vec::new();
        let mut elsewhere = 0;
        loop {
            match self.answer(id).await? {
                Answer::Entry(_) if entries.len() == max => {
                    return Err(Failure::Unexpected("more entries than were asked for"));
                }
                Answer::Entry(entry) => entries.push(entry),
                Answer::Reference if elsewhere == MAX_ELSEWHERE => {
                    return Err(Failure::Unexpected("references without end"));
                }
                Answer::Reference => elsewhere += 1,
                Answer::Done { outcome, next } => {
                    return Ok(Found {
                        entries,
                        outcome,
                        next,
                    });
                }
                Answer::Bound(_) | Answer::Extended(_) => {
                    return Err(Failure::Unexpected("another thing to a search"));
                }
            }
        }
    }

    async fn answer(&mut self, id: u32) -> Result<Answer, Failure> {
        let (message, length) = receive(&mut self.stream).await?;
        self.received_bytes += length;
        if self.received_bytes > MAX_RECEIVED_BYTES {
            return Err(Failure::Unexpected("more than anybody could be asking for"));
        }
        answer_to(id, message)
    }

    fn next_id(&mut self) -> u32 {
        self.last_id += 1;
        self.last_id
    }
}

/// Asks to go on under TLS. Exactly the answer's bytes are read, so that nothing that was sent
/// along with it without TLS can be taken for something that was said under it.
async fn start_tls(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Result<Outcome, Failure> {
    send(stream, &message::start_tls()).await?;
    let (message, _) = receive(stream).await?;
    match answer_to(START_TLS_ID, message)? {
        Answer::Extended(outcome) => Ok(outcome),
        _ => Err(Failure::Unexpected("another thing to StartTLS")),
    }
}

fn answer_to(id: u32, message: Message) -> Result<Answer, Failure> {
    match message.answer {
        // A notice of disconnection (RFC 4511 §4.4.1).
        Answer::Extended(outcome) if message.id == 0 => Err(Failure::Ended(outcome)),
        answer if message.id == id => Ok(answer),
        _ => Err(Failure::Unexpected("what is for another request")),
    }
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), request: &[u8]) -> Result<(), Failure> {
    stream.write_all(request).await.map_err(Failure::Broken)?;
    stream.flush().await.map_err(Failure::Broken)
}

/// Reads one message, and no byte after it; how many it has.
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
