//! The idle connections of a port forward, and the bodies of its responses.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout};

use crate::connection::Connection;

/// Time for which an idle connection waits for the next request. Many programs close an idle
/// connection after a few seconds.
const KEEP: Duration = Duration::from_secs(4);
/// Maximum number of idle connections of a port forward.
const MAX_IDLE: usize = 8;
/// Time for a connection to become ready after a complete response.
const READY: Duration = Duration::from_secs(1);

/// The idle connections of a port forward.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<(Connection, Instant)>>);

impl Pool {
    /// Returns an idle connection that is ready for a request.
    pub(crate) async fn take(&self) -> Option<Connection> {
        loop {
            let (mut connection, _) = self.0.lock().pop()?;
            if connection.sender.is_closed() {
                continue;
            }
            if let Ok(Ok(())) = timeout(READY, connection.sender.ready()).await {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection for the next request.
    pub(crate) fn put(&self, connection: Connection) {
        let mut idle = self.0.lock();
        if idle.len() < MAX_IDLE {
            idle.push((connection, Instant::now()));
        }
    }

    /// Closes connections that waited for too long.
    pub(crate) fn prune(&self) {
        let mut idle = self.0.lock();
        idle.retain(|(connection, since)| since.elapsed() < KEEP && !connection.sender.is_closed());
    }
}

/// The permits of one connection: of the port forward, and of the server.
pub(crate) type Slots = (OwnedSemaphorePermit, OwnedSemaphorePermit);

/// A connection in use.
pub(crate) struct Lease {
    pub(crate) connection: Connection,
    pub(crate) pool: Arc<Pool>,
    pub(crate) slots: Slots,
}

impl Lease {
    /// Returns the connection to the pool.
    fn end(self) {
        self.pool.put(self.connection);
        drop(self.slots);
    }
}

/// The body of a response from a pod. The end of the body returns the connection to the pool. A body
/// that is dropped before its end closes the connection.
pub(crate) struct ForwardedBody {
    body: Incoming,
    lease: Option<Lease>,
}

impl ForwardedBody {
    pub(crate) fn new(body: Incoming, lease: Lease) -> Self {
        let mut forwarded = Self {
            body,
            lease: Some(lease),
        };
        forwarded.end_if_complete();
        forwarded
    }

    fn end_if_complete(&mut self) {
        if self.body.is_end_stream()
            && let Some(lease) = self.lease.take()
        {
            lease.end();
        }
    }
}

impl Body for ForwardedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        match &frame {
            Poll::Ready(Some(Ok(_))) => self.end_if_complete(),
            Poll::Ready(None) => {
                if let Some(lease) = self.lease.take() {
                    lease.end();
                }
            }
            Poll::Ready(Some(Err(_))) => self.lease = None,
            Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
