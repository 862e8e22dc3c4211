//! HTTP/2 connections to the API server that many short reads share.
//!
//! With HTTP/1.1, each request needs its own system calls, TLS records and packets. On a shared
//! connection, concurrent requests are sent together.
//!
//! The multiplexer never delays a request. A request that finds no free stream is returned to the
//! caller, which uses an HTTP/1.1 connection. The multiplexer then opens a connection in the
//! background.

mod connection;

use std::sync::Arc;
use std::time::Duration;

use h2::client::SendRequest;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri, header};
use parking_lot::Mutex;
use tokio::time::Instant;

pub(super) use self::connection::ResponseBody;
use super::connector::{Connector, Offer};
use crate::error_chain::error_chain;

/// Maximum number of concurrent requests on all connections, including connections that accept no
/// new requests. Together with the stream window, this number limits the unread response bytes to
/// 16 MiB.
const MAX_STREAMS: usize = 128;
/// Number of concurrent requests on one connection.
const STREAMS_PER_CONNECTION: usize = 64;
/// Maximum number of connections. More than two connections are open only if the API server allows
/// fewer streams per connection.
const MAX_CONNECTIONS: usize = 4;
/// Number of cancelled requests after which a connection accepts no new requests. API servers close
/// connections with many cancelled requests, together with the requests of other users. An API
/// server can count a cancelled request as running. Therefore the sum of this number and
/// [`STREAMS_PER_CONNECTION`] is less than kube-apiserver's limit of 100 requests.
const MAX_CANCELLED: usize = 32;
/// Delay after an attempt to open a connection or a connection failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Delay after the API server selected HTTP/1.1.
const HTTP1_DELAY: Duration = Duration::from_mins(10);

/// The reason why a request received no response.
pub(super) enum SendError<B> {
    /// The request was not sent, or the connection failed before the response head. A read is safe
    /// (RFC 9110 §9.2.1), so the caller can send the request on a different connection.
    Retry(Request<B>),
    /// The API server reset the request.
    Reset(h2::Error),
}

/// The shared connections. Clones share the connections.
#[derive(Clone)]
pub(super) struct Multiplexer {
    authority: Authority,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    connections: Vec<SharedConnection>,
    /// Number of requests in flight on all connections, including removed connections.
    open: usize,
    next_id: u64,
    opening: bool,
    /// Time before which the multiplexer opens no connection.
    not_before: Option<Instant>,
}

/// One shared connection.
struct SharedConnection {
    id: u64,
    sender: SendRequest<bytes::Bytes>,
    /// Number of requests in flight.
    open: usize,
    cancelled: usize,
    last_used: Instant,
}

/// One stream of a shared connection. Dropping the value frees the stream.
struct Stream {
    multiplexer: Multiplexer,
    id: u64,
    complete: bool,
}

impl Multiplexer {
    /// Creates a multiplexer without connections. `authority` is the API server's host and port.
    pub(super) fn new(authority: Authority) -> Self {
        Self {
            authority,
            state: Arc::default(),
        }
    }

    /// Sends a read on a shared connection. Returns the request if no stream is free, or if the
    /// connection failed before the response head.
    pub(super) async fn send<B>(
        &self,
        request: Request<B>,
        connector: &Connector,
    ) -> Result<Response<ResponseBody>, SendError<B>> {
        let Some((stream, mut sender)) = self.take() else {
            self.open_in_background(connector);
            return Err(SendError::Retry(request));
        };
        match sender.send_request(self.for_http2(&request), true) {
            Err(_) => {
                self.remove(stream.id);
                Err(SendError::Retry(request))
            }
            Ok((response, _)) => match response.await {
                Ok(response) => Ok(response.map(|body| ResponseBody::new(body, stream))),
                Err(error) if is_connection_error(&error) => Err(SendError::Retry(request)),
                Err(error) => Err(SendError::Reset(error)),
            },
        }
    }

    /// Returns the head of a request for HTTP/2, which names the API server in the URI. The
    /// original request stays available for HTTP/1.1.
    fn for_http2<B>(&self, request: &Request<B>) -> Request<()> {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(Scheme::HTTPS);
        parts.authority = Some(self.authority.clone());
        let path = request.uri().path_and_query().cloned();
        parts.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
        let mut head = Request::new(());
        *head.method_mut() = request.method().clone();
        *head.uri_mut() = Uri::from_parts(parts).expect("scheme, authority and path are present");
        *head.version_mut() = http::Version::HTTP_2;
        *head.headers_mut() = request.headers().clone();
        head.headers_mut().remove(header::HOST);
        head
    }

    /// Takes a stream of the first connection with room. Few connections with many requests need
    /// fewer system calls than many connections with few requests.
    fn take(&self) -> Option<(Stream, SendRequest<bytes::Bytes>)> {
        let mut state = self.state.lock();
        if state.open >= MAX_STREAMS {
            return None;
        }
        let shared = state.first_with_room()?;
        shared.open += 1;
        shared.last_used = Instant::now();
        let stream = Stream {
            multiplexer: self.clone(),
            id: shared.id,
            complete: false,
        };
        let sender = shared.sender.clone();
        state.open += 1;
        Some((stream, sender))
    }

    fn free(&self, id: u64, complete: bool) {
        let mut state = self.state.lock();
        state.open -= 1;
        let found = state.connections.iter().position(|shared| shared.id == id);
        let Some(index) = found else {
            return;
        };
        let shared = &mut state.connections[index];
        shared.open -= 1;
        shared.cancelled += usize::from(!complete);
        if shared.cancelled >= MAX_CANCELLED {
            // The requests in flight continue.
            state.connections.swap_remove(index);
        }
    }

    /// Removes a connection. New requests do not use the connection.
    fn remove(&self, id: u64) {
        self.state
            .lock()
            .connections
            .retain(|shared| shared.id != id);
    }

    /// Removes a connection after it failed, and delays the next connection.
    fn remove_failed(&self, id: u64) {
        self.remove(id);
        self.state.lock().not_before = Some(Instant::now() + RETRY_DELAY);
    }

    /// Opens a connection in the background, unless all streams are in use.
    fn open_in_background(&self, connector: &Connector) {
        {
            let mut state = self.state.lock();
            let early = state.not_before.is_some_and(|time| Instant::now() < time);
            let full = state.open >= MAX_STREAMS || state.connections.len() >= MAX_CONNECTIONS;
            if state.opening || early || full {
                return;
            }
            state.opening = true;
        }
        let (multiplexer, connector) = (self.clone(), connector.clone());
        tokio::spawn(async move {
            let delay = match connector.open(Offer::Http2).await {
                Err(error) => {
                    tracing::debug!(
                        cause = error_chain(&error),
                        "failed to open an HTTP/2 connection to the API server"
                    );
                    Some(RETRY_DELAY)
                }
                Ok(io) if io.inner().get_ref().1.alpn_protocol() != Some(b"h2") => {
                    Some(HTTP1_DELAY)
                }
                Ok(io) => connection::start(io.into_inner(), &multiplexer)
                    .await
                    .err()
                    .map(|error| {
                        tracing::debug!(
                            cause = error_chain(&error),
                            "failed to start HTTP/2 with the API server"
                        );
                        RETRY_DELAY
                    }),
            };
            let mut state = multiplexer.state.lock();
            state.opening = false;
            if let Some(delay) = delay {
                state.not_before = Some(Instant::now() + delay);
            }
        });
    }

    /// Adds an open connection. Returns the connection's ID.
    fn add(&self, sender: SendRequest<bytes::Bytes>) -> u64 {
        let mut state = self.state.lock();
        state.next_id += 1;
        let id = state.next_id;
        state.connections.push(SharedConnection {
            id,
            sender,
            open: 0,
            cancelled: 0,
            last_used: Instant::now(),
        });
        id
    }

    /// Returns true if a connection has requests in flight. A removed connection counts as busy,
    /// because it ends after its last request.
    fn is_busy(&self, id: u64) -> bool {
        let state = self.state.lock();
        let mut connections = state.connections.iter();
        let found = connections.find(|shared| shared.id == id);
        found.is_none_or(|shared| shared.open > 0)
    }

    /// Removes a connection without requests whose last request was `idle_for` ago.
    fn remove_idle(&self, id: u64, idle_for: Duration) {
        self.state.lock().connections.retain(|shared| {
            shared.id != id || shared.open > 0 || shared.last_used.elapsed() < idle_for
        });
    }
}

impl State {
    /// Returns the first connection that accepts a request. Removes closed connections before it.
    fn first_with_room(&mut self) -> Option<&mut SharedConnection> {
        let mut index = 0;
        while let Some(shared) = self.connections.get_mut(index) {
            if shared.open >= STREAMS_PER_CONNECTION {
                index += 1;
            } else if !shared.is_open() {
                self.connections.remove(index);
            } else if shared.has_room() {
                break;
            } else {
                index += 1;
            }
        }
        self.connections.get_mut(index)
    }
}

impl SharedConnection {
    /// Returns false after the connection failed or the API server sent GOAWAY.
    fn is_open(&mut self) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        !matches!(
            self.sender.poll_ready(&mut context),
            std::task::Poll::Ready(Err(_))
        )
    }

    fn has_room(&self) -> bool {
        self.open < STREAMS_PER_CONNECTION.min(self.sender.current_max_send_streams())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.multiplexer.free(self.id, self.complete);
    }
}

/// Returns true if the connection failed, or if the API server has not processed the request (RFC
/// 9113 §8.7).
fn is_connection_error(error: &h2::Error) -> bool {
    error.is_io()
        || error.is_go_away()
        || (error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

#[cfg(test)]
mod tests;
