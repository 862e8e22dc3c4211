//! Connections to the API server, each driven by the task whose request it carries.
//!
//! The usual pool gives every connection a task of its own, so that a request's head, its answer's
//! head and every piece of either body change tasks. Here whoever waits for the answer, or reads
//! it, polls the connection: what arrives wakes that task and no other. An idle connection is
//! polled by nobody; that it was closed meanwhile is seen when it is next used, before anything of
//! the request is written.

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

/// Idle connections kept for the next request: as many as are busy at once in a full hour, because
/// one that is closed for lack of room costs the next request a TLS handshake.
const MOST: usize = 256;
/// How long an idle connection is kept; API servers keep theirs for longer.
const IDLE_TIME: Duration = Duration::from_secs(55);
/// A connection that has waited for longer may have been closed for it.
const RESTED: Duration = Duration::from_millis(10);

/// What a connection can run on.
pub(super) trait Stream: Read + Write + Unpin + Send + 'static {}

impl<T: Read + Write + Unpin + Send + 'static> Stream for T {}

/// What connections to the API server run on.
pub(super) type Io = TokioIo<TlsStream<ReadAhead<TcpStream>>>;

/// One connection.
pub(super) struct Line<T: Stream> {
    sender: SendRequest<Upload>,
    /// None once it has ended: a request that it had not taken up comes back when it is dropped.
    /// Boxed, because a request's future holds it, and those are moved.
    connection: Option<Box<Connection<T, Upload>>>,
}

/// Why a request got no answer on a connection.
pub(super) struct Broken {
    /// The request, if nothing of it was written: it may go on another connection.
    pub(super) unsent: Option<Request<Body>>,
    pub(super) error: hyper::Error,
}

impl<T: Stream> Line<T> {
    pub(super) async fn new(io: T) -> Result<Self, hyper::Error> {
        let (sender, connection) = http1::handshake(io).await?;
        Ok(Self {
            sender,
            connection: Some(Box::new(connection)),
        })
    }

    /// Moves what can be moved.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection {
            // How it ended is told to whoever waits for the answer or reads it.
            if Pin::new(connection.as_mut()).poll(cx).is_ready() {
                self.connection = None;
            }
        }
    }

    /// Whether it has carried everything and can carry another request.
    fn is_ready(&self) -> bool {
        self.connection.is_some() && self.sender.is_ready()
    }

    /// Carries the rest of the request in a task of its own, however slowly the answer is read: who
    /// answers early may read no further before its answer is read, and the other way round. The
    /// connection ends with the two.
    fn go_on_alone(self) {
        if let Some(connection) = self.connection {
            // How it ended is told to whoever reads the answer.
            tokio::spawn(async { drop(connection.await) });
        }
    }

    /// Sends one request. Dropping the future closes the connection, which the API server takes
    /// for the end of the request.
    pub(super) async fn exchange(
        mut self,
        request: Request<Body>,
        idle: &Idle<T>,
    ) -> Result<Response<Answer<T>>, Broken> {
        let (request, sent) = watched(request);
        let answer = self.sender.try_send_request(request);
        let mut answer = std::pin::pin!(answer);
        let answered = std::future::poll_fn(|cx| {
            self.drive(cx);
            answer.as_mut().poll(cx)
        });
        let response = answered.await.map_err(|mut error| Broken {
            unsent: error
                .take_message()
                .map(|unsent| unsent.map(Upload::into_body)),
            error: error.into_error(),
        })?;
        let (head, incoming) = response.into_parts();
        let line = if sent.is_over() {
            Some(self)
        } else {
            self.go_on_alone();
            None
        };
        let mut answer = Answer {
            incoming,
            line,
            idle: idle.clone(),
        };
        if answer.incoming.is_end_stream() {
            std::future::poll_fn(|cx| {
                answer.give_back(cx);
                Poll::Ready(())
            })
            .await;
        }
        Ok(Response::from_parts(head, answer))
    }
}

/// A request's body on a connection, which lets go of it when it has been sent.
struct Upload {
    body: Body,
    _held: Arc<()>,
}

/// Whether a request's body has been sent.
struct Sent(Arc<()>);

fn watched(request: Request<Body>) -> (Request<Upload>, Sent) {
    let sent = Sent(Arc::new(()));
    let held = Arc::clone(&sent.0);
    (request.map(|body| Upload { body, _held: held }), sent)
}

impl Sent {
    fn is_over(&self) -> bool {
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

/// The body of an answer; reading it moves the connection, and its end gives the connection back.
pub(super) struct Answer<T: Stream> {
    incoming: Incoming,
    line: Option<Line<T>>,
    idle: Idle<T>,
}

impl<T: Stream> Answer<T> {
    /// The answer is read: its connection may carry the next request. One that cannot, as when the
    /// request's body has not left yet, is closed.
    fn give_back(&mut self, cx: &mut Context<'_>) {
        if let Some(mut line) = self.line.take() {
            line.drive(cx);
            if line.is_ready() {
                self.idle.put(line);
            }
        }
    }

    fn poll_incoming(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(line) = &mut self.line {
            line.drive(cx);
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        // Hyper reads a body only once it was asked for, which was just now.
        if let Some(line) = &mut self.line {
            line.drive(cx);
        }
        Pin::new(&mut self.incoming).poll_frame(cx)
    }
}

impl<T: Stream> http_body::Body for Answer<T> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(self.poll_incoming(cx));
        if frame.is_none() || self.incoming.is_end_stream() {
            self.give_back(cx);
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

/// Connections that carry nothing now; clones are the same.
pub(super) struct Idle<T: Stream>(Arc<Mutex<Waiting<T>>>);

struct Waiting<T: Stream> {
    /// The one used last is last, and the first to be used again.
    lines: Vec<(Instant, Line<T>)>,
    /// Somebody closes those that wait for too long.
    swept: bool,
}

impl<T: Stream> Clone for Idle<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Stream> Default for Idle<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Waiting {
            lines: Vec::new(),
            swept: false,
        })))
    }
}

impl<T: Stream> Idle<T> {
    /// Sends a request on the connection used last that is still open; gives it back if there is
    /// none.
    ///
    /// What is tried again is a request of which nothing was written, because its connection had
    /// been closed: nothing can be carried out twice.
    pub(super) async fn exchange(
        &self,
        mut request: Request<Body>,
    ) -> Result<Result<Response<Answer<T>>, Request<Body>>, hyper::Error> {
        while let Some((since, line)) = self.take() {
            if since.elapsed() >= RESTED {
                // That the API server has closed it may have arrived, and wait to be looked at.
                tokio::task::yield_now().await;
            }
            match line.exchange(request, self).await {
                Ok(response) => return Ok(Ok(response)),
                Err(Broken {
                    unsent: Some(unsent),
                    ..
                }) => request = unsent,
                Err(Broken { error, .. }) => return Err(error),
            }
        }
        Ok(Err(request))
    }

    /// The connection used last, and when that was.
    fn take(&self) -> Option<(Instant, Line<T>)> {
        self.0.lock().lines.pop()
    }

    fn put(&self, line: Line<T>) {
        let mut waiting = self.0.lock();
        if waiting.lines.len() >= MOST {
            return;
        }
        waiting.lines.push((Instant::now(), line));
        if !waiting.swept {
            waiting.swept = true;
            tokio::spawn(self.clone().sweep());
        }
    }

    /// Closes what has waited for too long, until nothing waits.
    async fn sweep(self) {
        while let Some(next) = self.close_old() {
            tokio::time::sleep_until(next).await;
        }
    }

    /// When to look again, if anything is left.
    fn close_old(&self) -> Option<Instant> {
        let mut waiting = self.0.lock();
        let now = Instant::now();
        let old = waiting
            .lines
            .partition_point(|(since, _)| *since + IDLE_TIME <= now);
        let closed: Vec<_> = waiting.lines.drain(..old).collect();
        let next = waiting.lines.first().map(|(since, _)| *since + IDLE_TIME);
        waiting.swept = next.is_some();
        drop(waiting);
        // Outside of the lock: closing writes.
        drop(closed);
        next
    }
}

#[cfg(test)]
mod tests;
