//! Limits the buffered response bytes in an agent.
//!
//! A byte counts against the budget from the time when the response body yields the byte until
//! HTTP/2 has written the byte. While the budget is full, the agent polls no bodies, so that the
//! bytes remain in the API server, and new requests receive 503. When the budget has space again,
//! responses without buffered bytes continue first. The server resets a stream if the user reads no
//! data for a minute.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};

use bytes::Buf;
use futures::task::AtomicWaker;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;

/// Shared limit for the buffered bytes of all responses of an agent.
#[derive(Debug)]
pub struct ResponseBudget {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    buffered: usize,
    /// Wakers of responses that wait until bytes of the budget are free.
    wakers: Vec<Waker>,
}

impl ResponseBudget {
    /// Creates a budget with a limit in bytes.
    ///
    /// Responses without buffered bytes can exceed the limit by up to 100 %, so that slow readers
    /// do not block fast readers.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            state: Mutex::default(),
        })
    }

    /// Returns the number of buffered bytes.
    pub fn buffered(&self) -> usize {
        self.state.lock().buffered
    }

    /// Returns true if the budget is full. The agent then rejects new requests.
    pub fn is_full(&self) -> bool {
        self.buffered() >= self.limit
    }

    fn poll_capacity(&self, usage: &Usage, cx: &Context<'_>) -> Poll<()> {
        usage.waker.register(cx.waker());
        let mut state = self.state.lock();
        let limit = match usage.bytes.load(Ordering::Acquire) {
            0 => self.limit.saturating_mul(2),
            _ => self.limit,
        };
        if state.buffered < limit {
            return Poll::Ready(());
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }

    fn acquire(&self, usage: &Usage, bytes: usize) {
        usage.bytes.fetch_add(bytes, Ordering::AcqRel);
        self.state.lock().buffered += bytes;
    }

    fn release(&self, usage: &Usage, bytes: usize) {
        let remaining = usage.bytes.fetch_sub(bytes, Ordering::AcqRel) - bytes;
        let ready = {
            let mut state = self.state.lock();
            state.buffered -= bytes;
            if state.buffered < self.limit {
                std::mem::take(&mut state.wakers)
            } else {
                Vec::new()
            }
        };
        for waker in ready {
            waker.wake();
        }
        if remaining == 0 {
            usage.waker.wake();
        }
    }
}

/// Number of buffered bytes of one response.
#[derive(Debug, Default)]
struct Usage {
    bytes: AtomicUsize,
    waker: AtomicWaker,
}

/// Response body that a budget can limit. `inner` is `None` for a rejected request.
pub(crate) struct Budgeted<B> {
    inner: Option<B>,
    share: Option<Share>,
}

#[derive(Clone)]
struct Share {
    budget: Arc<ResponseBudget>,
    usage: Arc<Usage>,
}

impl<B> Budgeted<B> {
    pub(crate) fn new(inner: B, budget: Option<Arc<ResponseBudget>>) -> Self {
        Self {
            inner: Some(inner),
            share: budget.map(|budget| Share {
                budget,
                usage: Arc::default(),
            }),
        }
    }

    pub(crate) fn empty() -> Self {
        Self {
            inner: None,
            share: None,
        }
    }
}

impl<B: Body + Unpin> Body for Budgeted<B> {
    type Data = Piece<B::Data>;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        let Some(inner) = &mut this.inner else {
            return Poll::Ready(None);
        };
        if let Some(share) = &this.share {
            ready!(share.budget.poll_capacity(&share.usage, cx));
        }
        let frame = ready!(Pin::new(inner).poll_frame(cx));
        let share = &this.share;
        Poll::Ready(
            frame.map(|frame| {
                frame.map(|frame| frame.map_data(|data| Piece::new(data, share.clone())))
            }),
        )
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Some(inner) => inner.size_hint(),
            None => SizeHint::with_exact(0),
        }
    }
}

/// Data of a response body. The bytes count against the budget until the data is dropped.
pub(crate) struct Piece<D> {
    data: D,
    counted: Option<(Share, usize)>,
}

impl<D: Buf> Piece<D> {
    fn new(data: D, share: Option<Share>) -> Self {
        let bytes = data.remaining();
        let counted = share.map(|share| {
            share.budget.acquire(&share.usage, bytes);
            (share, bytes)
        });
        Self { data, counted }
    }
}

impl<D: Buf> Buf for Piece<D> {
    fn remaining(&self) -> usize {
        self.data.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.data.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.data.advance(count);
    }

    fn chunks_vectored<'a>(&'a self, into: &mut [std::io::IoSlice<'a>]) -> usize {
        self.data.chunks_vectored(into)
    }
}

impl<D> Drop for Piece<D> {
    fn drop(&mut self) {
        if let Some((share, bytes)) = self.counted.take() {
            share.budget.release(&share.usage, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::task::noop_waker;
    use http_body_util::{BodyExt as _, StreamBody};

    use super::*;

    type Chunk = Result<Frame<Bytes>, std::convert::Infallible>;

    fn body(budget: &Arc<ResponseBudget>) -> impl Body<Data = Piece<Bytes>> + Unpin + use<> {
        let chunk = || -> Chunk { Ok(Frame::data(Bytes::from_static(&[0; 100]))) };
        let endless = futures::stream::repeat_with(chunk);
        Budgeted::new(StreamBody::new(endless), Some(Arc::clone(budget)))
    }

    fn next(body: &mut (impl Body<Data = Piece<Bytes>> + Unpin)) -> Poll<Piece<Bytes>> {
        let waker = noop_waker();
        let polled = Pin::new(body).poll_frame(&mut Context::from_waker(&waker));
        polled.map(
            |frame| match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => data,
                _ => unreachable!("the body is endless and has only data frames"),
            },
        )
    }

    #[test]
    fn full_response_budget_pauses_only_bodies_with_buffered_bytes() {
        let budget = ResponseBudget::new(300);
        let (mut stalled, mut prompt) = (body(&budget), body(&budget));
        let mut unread = Vec::new();
        for _ in 0..10 {
            if let Poll::Ready(piece) = next(&mut stalled) {
                unread.push(piece);
            }
        }
        assert_eq!((unread.len(), budget.buffered()), (3, 300));
        assert!(budget.is_full());
        for _ in 0..10 {
            let Poll::Ready(piece) = next(&mut prompt) else {
                unreachable!("a fast reader never waits");
            };
            assert_eq!(budget.buffered(), 400);
            drop(piece);
        }
        unread.pop();
        assert!(!budget.is_full());
        assert!(next(&mut stalled).is_ready());
        drop(unread);
        assert_eq!(budget.buffered(), 0);
    }

    #[tokio::test]
    async fn paused_response_body_continues_after_buffered_bytes_are_written() {
        let budget = ResponseBudget::new(100);
        let mut one = body(&budget);
        let share = next(&mut one);
        let reading = tokio::spawn(async move { one.frame().await.is_some() });
        tokio::task::yield_now().await;
        assert!(!reading.is_finished());
        drop(share);
        assert!(reading.await.unwrap());
        assert_eq!(budget.buffered(), 0);
    }
}
