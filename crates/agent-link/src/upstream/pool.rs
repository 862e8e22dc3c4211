//! Connections to the API server. The task of a request polls the request's connection.
//!
//! Most connection pools have a task for every connection, so each head and each chunk of a body
//! passes between two tasks. In this pool, received bytes wake only the task that reads the
//! response. The pool does not poll idle connections. Before the next request on an idle
//! connection, the pool checks whether the API server has closed the connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use drover_tunnel::ReadAhead;
use http::{Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;

use super::Body;

/// Maximum number of idle connections, sized for the peak of concurrent requests. Without an idle
/// connection, a request needs a TLS handshake.
const MAX_IDLE: usize = 256;
/// Lifetime of an idle connection. API servers close idle connections later.
const IDLE_TIMEOUT: Duration = Duration::from_secs(55);
/// Idle time after which the pool checks whether the API server has closed a connection.
const RECHECK_AFTER: Duration = Duration::from_millis(10);

/// The requirements for the byte stream of a connection.
pub(super) trait Stream: Read + Write + Unpin + Send + 'static {}

impl<T: Read + Write + Unpin + Send + 'static> Stream for T {}

/// The byte stream of a connection to the API server.
pub(super) type Io = TokioIo<TlsStream<ReadAhead<TcpStream>>>;

/// A connection to the API server that can carry several requests in sequence.
pub(super) struct PooledConnection<T: Stream> {
    sender: SendRequest<Upload>,
    /// The connection's state machine, or `None` after the connection has ended. If the state
    /// machine is dropped, the sender returns the unsent request. Boxed, because the future of a
    /// request contains the connection, and the future is moved.
    connection: Option<Box<Connection<T, Upload>>>,
}

/// The reason why a request received no response on a connection.
pub(super) struct SendError {
    /// The request, if the connection has not written a byte of the request. The caller can then
    /// send the request on a different connection.
    pub(super) unsent: Option<Request<Body>>,
    pub(super) error: hyper::Error,
}

impl<T: Stream> PooledConnection<T> {
    pub(super) async fn new(io: T) -> Result<Self, hyper::Error> {
        let (sender, connection) = http1::handshake(io).await?;
        Ok(Self {
            sender,
            connection: Some(Box::new(connection)),
        })
    }

    /// Reads and writes on the connection without blocking.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection {
            // The reader of the response receives the error, if any.
            if Pin::new(connection.as_mut()).poll(cx).is_ready() {
                self.connection = None;
            }
        }
    }

    /// Returns true if the connection is idle and open, so that it can carry a request.
    fn is_ready(&self) -> bool {
        self.connection.is_some() && self.sender.is_ready()
    }

    /// Sends the remaining request body in a separate task, so that sending does not depend on the
    /// reader of the response. Some API servers respond early, and read the remaining request body
    /// only after the client has read the response.
    fn detach(self) {
        if let Some(connection) = self.connection {
            // The reader of the response receives the error, if any.
            tokio::spawn(async { drop(connection.await) });
        }
    }

    /// Sends a request. If the caller drops the future, the connection closes, and the API server
    /// cancels the request.
    pub(super) async fn send(
        mut self,
        request: Request<Body>,
        idle: &IdlePool<T>,
    ) -> Result<Response<ResponseBody<T>>, SendError> {
        let (request, sent) = track_upload(request);
        let answer = self.sender.try_send_request(request);
        let mut answer = std::pin::pin!(answer);
        let answered = std::future::poll_fn(|cx| {
            self.drive(cx);
            answer.as_mut().poll(cx)
        });
        let response = answered.await.map_err(|mut error| SendError {
            unsent: error
                .take_message()
                .map(|unsent| unsent.map(Upload::into_body)),
            error: error.into_error(),
        })?;
        let (head, incoming) = response.into_parts();
        let pooled = if sent.is_complete() {
            Some(self)
        } else {
            self.detach();
            None
        };
        let mut answer = ResponseBody {
            incoming,
            pooled,
            idle: idle.clone(),
        };
        if answer.incoming.is_end_stream() {
            std::future::poll_fn(|cx| {
                answer.return_to_pool(cx);
                Poll::Ready(())
            })
            .await;
        }
        Ok(Response::from_parts(head, answer))
    }
}

/// The body of a request. Hyper drops the body after sending the last byte.
struct Upload {
    body: Body,
    _held: Arc<()>,
}

/// The state of an upload. Indicates when hyper has sent the complete request body.
struct UploadProgress(Arc<()>);

fn track_upload(request: Request<Body>) -> (Request<Upload>, UploadProgress) {
    let sent = UploadProgress(Arc::new(()));
    let connection = Arc::clone(&sent.0);
    (
        request.map(|body| Upload {
            body,
            _held: connection,
        }),
        sent,
    )
}

impl UploadProgress {
    fn is_complete(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl Upload {
    fn into_body(self) -> Body {
        self.body
    }
}

impl http_body::Body for Upload {
    type Data = Bytes;
    type Error = drover_tunnel::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response. The reader of the body polls the connection. After the last byte, the
/// connection returns to the pool.
pub(super) struct ResponseBody<T: Stream> {
    incoming: Incoming,
    pooled: Option<PooledConnection<T>>,
    idle: IdlePool<T>,
}

impl<T: Stream> ResponseBody<T> {
    /// Returns the connection to the pool. Closes a connection that is not ready, for example
    /// because the request body is not completely sent.
    fn return_to_pool(&mut self, cx: &mut Context<'_>) {
        if let Some(mut pooled) = self.pooled.take() {
            pooled.drive(cx);
            if pooled.is_ready() {
                self.idle.put(pooled);
            }
        }
    }

    fn poll_incoming(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(pooled) = &mut self.pooled {
            pooled.drive(cx);
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        // Hyper reads a body only after the first poll of the connection, which has just happened.
        if let Some(pooled) = &mut self.pooled {
            pooled.drive(cx);
        }
        Pin::new(&mut self.incoming).poll_frame(cx)
    }
}

impl<T: Stream> http_body::Body for ResponseBody<T> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(self.poll_incoming(cx));
        if frame.is_none() || self.incoming.is_end_stream() {
            self.return_to_pool(cx);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// A pool of idle connections. Clones share the pool.
pub(super) struct IdlePool<T: Stream>(Arc<Mutex<IdleConnections<T>>>);

struct IdleConnections<T: Stream> {
    /// Idle connections, ordered by their last use. The pool uses the last connection in the list
    /// first.
    connections: Vec<(Instant, PooledConnection<T>)>,
    /// True while a task closes expired connections.
    sweeping: bool,
}

impl<T: Stream> Clone for IdlePool<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Stream> Default for IdlePool<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(IdleConnections {
            connections: Vec::new(),
            sweeping: false,
        })))
    }
}

impl<T: Stream> IdlePool<T> {
    /// Sends a request on the most recently used open connection. Returns the request if the pool
    /// has no open connection.
    ///
    /// The pool retries a request only if no byte of the request was written. The API server
    /// therefore never executes a request twice.
    pub(super) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<Result<Response<ResponseBody<T>>, Request<Body>>, hyper::Error> {
        while let Some((since, pooled)) = self.take() {
            if since.elapsed() >= RECHECK_AFTER {
                // Yield to let the runtime process a close by the API server.
                tokio::task::yield_now().await;
            }
            match pooled.send(request, self).await {
                Ok(response) => return Ok(Ok(response)),
                Err(SendError {
                    unsent: Some(unsent),
                    ..
                }) => request = unsent,
                Err(SendError { error, .. }) => return Err(error),
            }
        }
        Ok(Err(request))
    }

    /// Removes the most recently used connection from the pool. Returns the connection and the time
    /// of its last use.
    fn take(&self) -> Option<(Instant, PooledConnection<T>)> {
        self.0.lock().connections.pop()
    }

    fn put(&self, pooled: PooledConnection<T>) {
        let mut idle = self.0.lock();
        if idle.connections.len() >= MAX_IDLE {
            return;
        }
        idle.connections.push((Instant::now(), pooled));
        if !idle.sweeping {
            idle.sweeping = true;
            tokio::spawn(self.clone().sweep());
        }
    }

    /// Closes expired connections until the pool is empty.
    async fn sweep(self) {
        while let Some(next) = self.close_expired() {
            tokio::time::sleep_until(next).await;
        }
    }

    /// Closes expired connections. Returns the time at which the next connection expires, or `None`
    /// if the pool is empty.
    fn close_expired(&self) -> Option<Instant> {
        let mut idle = self.0.lock();
        let now = Instant::now();
        let expired = idle
            .connections
            .partition_point(|(since, _)| *since + IDLE_TIMEOUT <= now);
        let closed: Vec<_> = idle.connections.drain(..expired).collect();
        let next = idle
            .connections
            .first()
            .map(|(since, _)| *since + IDLE_TIMEOUT);
        idle.sweeping = next.is_some();
        drop(idle);
        // Drop the connections outside the lock, because closing a connection writes.
        drop(closed);
        next
    }
}

#[cfg(test)]
mod tests;
