//! Bytes of responses that wait in an agent until its tunnel has taken them.
//!
//! A byte counts from when the response's body yields it until HTTP/2 has written it. While the budget is
//! full, bodies are not read on, so that the bytes wait in the API server; responses that hold nothing
//! go first, and new requests get 503. The server resets streams that are not read for a minute.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};

use bytes::Buf;
use futures::task::AtomicWaker;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;

/// What all responses of an agent may hold.
#[derive(Debug)]
pub struct ResponseBudget {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    /// Responses that wait for room.
    asleep: Vec<Waker>,
}

impl ResponseBudget {
    /// A budget of so many bytes. Responses that hold nothing may use as much again, so that readers
    /// that keep up go on beside those that do not.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            state: Mutex::default(),
        })
    }

    /// Bytes that wait now.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    /// Whether new requests are to be refused.
    pub fn is_full(&self) -> bool {
        self.waiting() >= self.limit
    }

    fn poll_room(&self, own: &Own, cx: &Context<'_>) -> Poll<()> {
        own.waker.register(cx.waker());
        let mut state = self.state.lock();
        let most = match own.bytes.load(Ordering::Acquire) {
            0 => self.limit.saturating_mul(2),
            _ => self.limit,
        };
        if state.waiting < most {
            return Poll::Ready(());
        }
        if !state.asleep.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.asleep.push(cx.waker().clone());
        }
        Poll::Pending
    }

    fn take(&self, own: &Own, bytes: usize) {
        own.bytes.fetch_add(bytes, Ordering::AcqRel);
        self.state.lock().waiting += bytes;
    }

    fn give_back(&self, own: &Own, bytes: usize) {
        let left = own.bytes.fetch_sub(bytes, Ordering::AcqRel) - bytes;
        let awake = {
            let mut state = self.state.lock();
            state.waiting -= bytes;
            if state.waiting < self.limit {
                std::mem::take(&mut state.asleep)
            } else {
                Vec::new()
            }
        };
        for waker in awake {
            waker.wake();
        }
        if left == 0 {
            own.waker.wake();
        }
    }
}

/// What one response holds.
#[derive(Debug, Default)]
struct Own {
    bytes: AtomicUsize,
    waker: AtomicWaker,
}

/// A response's body within a budget, if there is one; without body where the request was refused.
pub(crate) struct Budgeted<B> {
    inner: Option<Pin<Box<B>>>,
    held: Option<Held>,
}

#[derive(Clone)]
struct Held {
    budget: Arc<ResponseBudget>,
    own: Arc<Own>,
}

impl<B> Budgeted<B> {
    pub(crate) fn new(inner: B, budget: Option<Arc<ResponseBudget>>) -> Self {
        Self {
            inner: Some(Box::pin(inner)),
            held: budget.map(|budget| Held {
                budget,
                own: Arc::default(),
            }),
        }
    }

    pub(crate) fn empty() -> Self {
        Self {
            inner: None,
            held: None,
        }
    }
}

impl<B: Body> Body for Budgeted<B> {
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
        if let Some(held) = &this.held {
            ready!(held.budget.poll_room(&held.own, cx));
        }
        let frame = ready!(inner.as_mut().poll_frame(cx));
        let held = &this.held;
        Poll::Ready(
            frame.map(|frame| {
                frame.map(|frame| frame.map_data(|data| Piece::new(data, held.clone())))
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

/// Data that counts until it is dropped.
pub(crate) struct Piece<D> {
    data: D,
    counted: Option<(Held, usize)>,
}

impl<D: Buf> Piece<D> {
    fn new(data: D, held: Option<Held>) -> Self {
        let bytes = data.remaining();
        let counted = held.map(|held| {
            held.budget.take(&held.own, bytes);
            (held, bytes)
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
        if let Some((held, bytes)) = self.counted.take() {
            held.budget.give_back(&held.own, bytes);
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
                _ => unreachable!("the body is endless and holds data only"),
            },
        )
    }

    #[test]
    fn full_budget_stops_bodies_that_hold_bytes_and_lets_others_go_on() {
        let budget = ResponseBudget::new(300);
        let (mut stalled, mut prompt) = (body(&budget), body(&budget));
        let mut unread = Vec::new();
        for _ in 0..10 {
            if let Poll::Ready(piece) = next(&mut stalled) {
                unread.push(piece);
            }
        }
        assert_eq!((unread.len(), budget.waiting()), (3, 300));
        assert!(budget.is_full());
        for _ in 0..10 {
            let Poll::Ready(piece) = next(&mut prompt) else {
                unreachable!("a reader that keeps up waits for nobody");
            };
            assert_eq!(budget.waiting(), 400);
            drop(piece);
        }
        unread.pop();
        assert!(!budget.is_full());
        assert!(next(&mut stalled).is_ready());
        drop(unread);
        assert_eq!(budget.waiting(), 0);
    }

    #[tokio::test]
    async fn waiting_body_goes_on_when_bytes_were_written() {
        let budget = ResponseBudget::new(100);
        let mut one = body(&budget);
        let held = next(&mut one);
        let reading = tokio::spawn(async move { one.frame().await.is_some() });
        tokio::task::yield_now().await;
        assert!(!reading.is_finished());
        drop(held);
        assert!(reading.await.unwrap());
        assert_eq!(budget.waiting(), 0);
    }
}
