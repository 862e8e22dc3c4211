//! Sends sequential HTTP/1.1 exchanges on one connection with minimal CPU usage.
//!
//! The generator runs on the same machine as the measured programs, so the generator's CPU usage
//! distorts the figures. The generator encodes each request once, and counts and discards response
//! bodies.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::length::{Chunks, Length, body_length};
use super::numbers::{Numbered, Numbers};

/// Size of the read buffer, in bytes.
const BUFFER: usize = 256 * 1024;
/// Size of the read buffer below the TLS layer, in bytes. rustls reads 4 KiB at a time, and would
/// need five system calls for a record of maximum size.
const TLS_BUFFER: usize = 40 * 1024;
/// Maximum size of a response head, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// The reason why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    /// The connection cannot be opened.
    #[error("cannot connect to {address}")]
    Connect { address: String, source: io::Error },
    /// The connection failed during an exchange.
    #[error("the connection failed during an exchange")]
    Broken(#[source] io::Error),
    /// The connection was closed during a response.
    #[error("the connection was closed during a response")]
    Closed,
    /// The generator cannot parse the response as HTTP/1.1.
    #[error("cannot parse the response: {cause}", cause = .0)]
    Malformed(&'static str),
    /// The status code is neither 200 nor 201.
    #[error("unexpected status {status}: {body}")]
    Status { status: u16, body: String },
}

/// The target of requests: the server, the request and its body.
#[derive(Clone)]
pub(crate) struct Target {
    /// Host and port of the server: `host:port`.
    pub(crate) address: String,
    /// TLS configuration. `None` for plain HTTP.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// Path and query of the request.
    pub(crate) path: String,
    /// Additional headers of the request.
    pub(crate) headers: Vec<(String, String)>,
    /// Body of the request, if any.
    pub(crate) sent: Option<Sent>,
    /// The counter that provides the numbers in the path and the body.
    pub(crate) numbers: Arc<Numbers>,
}

/// A request body, with the method and the content type of the request.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) method: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl Target {
    /// Returns a copy of the target with this path.
    pub(crate) fn at(&self, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ..self.clone()
        }
    }

    /// Returns a copy of the target with this path and this request body.
    pub(crate) fn sending(&self, path: &str, sent: Sent) -> Self {
        Self {
            sent: Some(sent),
            ..self.at(path)
        }
    }

    /// Returns a copy of the target with this number sequence.
    pub(crate) fn numbered(self, numbers: Numbers) -> Self {
        Self {
            numbers: Arc::new(numbers),
            ..self
        }
    }

    fn request(&self) -> Numbered {
        let (method, body) = match &self.sent {
            None => ("GET", ""),
            Some(sent) => (sent.method, sent.body.as_str()),
        };
        let mut text = format!(
            "{method} {} HTTP/1.1\r\nHost: {}\r\n",
            self.path, self.address
        );
        for (name, value) in &self.headers {
            text.extend([name.as_ref(), ": ", value.as_ref(), "\r\n"]);
        }
        if let Some(sent) = &self.sent {
            let length = body.len().to_string();
            let kind = ["Content-Type: ", sent.content_type, "\r\n"];
            text.extend(kind);
            text.extend(["Content-Length: ", length.as_str(), "\r\n"]);
        }
        text.extend(["\r\n", body]);
        Numbered::new(text, Arc::clone(&self.numbers))
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// An open connection, and the request that the generator sends repeatedly on the connection.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    request: Numbered,
    buffer: Vec<u8>,
    /// Number of bytes in the buffer.
    filled: usize,
}

/// The parsed head of a response.
struct Head {
    status: u16,
    length: Length,
    /// Offset of the body in the buffer.
    end: usize,
}

impl Connection {
    /// Opens a connection, with TLS if configured.
    pub(crate) async fn open(target: &Target) -> Result<Self, ExchangeError> {
        let connect = |source| ExchangeError::Connect {
            address: target.address.clone(),
            source,
        };
        let tcp = TcpStream::connect(&target.address).await.map_err(connect)?;
        tcp.set_nodelay(true).map_err(connect)?;
        let stream: Box<dyn Stream> = match &target.tls {
            None => Box::new(tcp),
            Some(config) => {
                let host = target.address.rsplit_once(':').map_or("", |(host, _)| host);
                let name = ServerName::try_from(host.to_owned())
                    .map_err(|_| ExchangeError::Malformed("the host of the target is invalid"))?;
                let connector = TlsConnector::from(Arc::clone(config));
                let tcp = BufReader::with_capacity(TLS_BUFFER, tcp);
                Box::new(connector.connect(name, tcp).await.map_err(connect)?)
            }
        };
        Ok(Self {
            stream,
            request: target.request(),
            buffer: vec![0; BUFFER],
            filled: 0,
        })
    }

    /// Sends the request, reads the response and returns the length of its body.
    pub(crate) async fn exchange(&mut self) -> Result<u64, ExchangeError> {
        let head = self.begin().await?;
        let length = match head.length {
            Length::Known(length) => self.read_known(head.end, length).await?,
            Length::Chunked => self.read_chunked(head.end).await?,
        };
        self.filled = 0;
        Ok(length)
    }

    /// Sends the request, then reads `rate` bytes per second until the caller drops the future.
    /// Simulates a nearly stalled reader.
    pub(crate) async fn crawl(&mut self, rate: usize) -> Result<(), ExchangeError> {
        self.begin().await?;
        let step = rate.div_ceil(10).clamp(1, BUFFER);
        loop {
            let read = self.stream.read(&mut self.buffer[..step]).await;
            if read.map_err(ExchangeError::Broken)? == 0 {
                return Err(ExchangeError::Closed);
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }

    /// Sends a request whose response is endless. Reports the number of received lines until the
    /// caller drops the future.
    pub(crate) async fn lines(&mut self, count: impl Fn(u64)) -> Result<Infallible, ExchangeError> {
        let head = self.begin().await?;
        self.buffer.copy_within(head.end..self.filled, 0);
        self.filled -= head.end;
        let mut last = 0;
        loop {
            let piece = &self.buffer[..self.filled];
            count(ends(last, piece));
            last = piece.last().copied().unwrap_or(last);
            self.filled = 0;
            self.fill().await?;
        }
    }

    async fn begin(&mut self) -> Result<Head, ExchangeError> {
        self.filled = 0;
        self.stream
            .write_all(self.request.next())
            .await
            .map_err(ExchangeError::Broken)?;
        self.stream.flush().await.map_err(ExchangeError::Broken)?;
        let head = self.read_head().await?;
        if matches!(head.status, 200 | 201) {
            return Ok(head);
        }
        let end = self.filled.min(head.end + 300);
        let body = String::from_utf8_lossy(&self.buffer[head.end..end]).into_owned();
        Err(ExchangeError::Status {
            status: head.status,
            body,
        })
    }

    async fn fill(&mut self) -> Result<(), ExchangeError> {
        let read = self.stream.read(&mut self.buffer[self.filled..]).await;
        let read = read.map_err(ExchangeError::Broken)?;
        if read == 0 {
            return Err(ExchangeError::Closed);
        }
        self.filled += read;
        Ok(())
    }

    async fn read_head(&mut self) -> Result<Head, ExchangeError> {
        let mut searched: usize = 0;
        loop {
            let from = searched.saturating_sub(3);
            let found = self.buffer[from..self.filled]
                .windows(4)
                .position(|four| four == b"\r\n\r\n");
            if let Some(position) = found {
                let end = from + position + 4;
                let (status, length) =
                    body_length(&self.buffer[..end]).ok_or(ExchangeError::Malformed("its head"))?;
                return Ok(Head {
                    status,
                    length,
                    end,
                });
            }
            if self.filled > MAX_HEAD {
                return Err(ExchangeError::Malformed("the head is too long"));
            }
            searched = self.filled;
            self.fill().await?;
        }
    }

    async fn read_known(&mut self, begin: usize, length: u64) -> Result<u64, ExchangeError> {
        let mut missing =
            length
                .checked_sub((self.filled - begin) as u64)
                .ok_or(ExchangeError::Malformed(
                    "the body is longer than announced",
                ))?;
        while missing > 0 {
            self.filled = 0;
            self.fill().await?;
            missing = missing
                .checked_sub(self.filled as u64)
                .ok_or(ExchangeError::Malformed(
                    "the body is longer than announced",
                ))?;
        }
        Ok(length)
    }

    async fn read_chunked(&mut self, begin: usize) -> Result<u64, ExchangeError> {
        let mut chunks = Chunks::default();
        let malformed = || ExchangeError::Malformed("its chunks");
        let mut ended = chunks
            .feed(&self.buffer[begin..self.filled])
            .ok_or_else(malformed)?;
        while !ended {
            self.filled = 0;
            self.fill().await?;
            ended = chunks
                .feed(&self.buffer[..self.filled])
                .ok_or_else(malformed)?;
        }
        Ok(chunks.bytes())
    }
}

/// Counts the JSON objects that end in this chunk. Each line contains one object, so a `}` before a
/// newline is the end of an object. The chunked encoding never has a `}` before a newline. `last`
/// is the byte before the chunk.
fn ends(last: u8, piece: &[u8]) -> u64 {
    let first = u64::from(last == b'}' && piece.first() == Some(&b'\n'));
    let next = piece.get(1..).unwrap_or_default();
    // The compiler vectorizes sums of bytes. A sum of this number of values fits into a byte.
    let blocks = piece.chunks(BLOCK).zip(next.chunks(BLOCK));
    let within = blocks.map(|(block, next)| {
        let ends = block.iter().zip(next);
        let ends = ends.map(|(one, next)| u8::from(*one == b'}') & u8::from(*next == b'\n'));
        u64::from(ends.sum::<u8>())
    });
    first + within.sum::<u64>()
}

/// Length of the blocks in which [`ends`] counts.
const BLOCK: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_of_a_response_are_counted_across_http_chunks() {
        let text = b"1f\r\n{\"a\":{}}\n{}\n\r\n4\r\n{1}\n\r\n";
        for cut in 0..text.len() {
            let (one, other) = text.split_at(cut);
            let last = one.last().copied().unwrap_or(0);
            assert_eq!(ends(0, one) + ends(last, other), 3, "cut at {cut}");
        }
    }
}
