//! Reports of accepted writes, for the history of objects.

use std::sync::Arc;

use bytes::Bytes;
use drover_access::permit::Target;
use drover_access::verb::Verb;
use http::header::CONTENT_ENCODING;
use http::uri::PathAndQuery;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Proxy;
use super::handler::UpstreamRequest;
use crate::open::in_flight::InFlightRequest;

/// Maximum size of a copied response in bytes. API servers accept objects of at most about 1.5 MiB.
const MAX_COPY: usize = 2 << 20;
/// Maximum size of all copies in KiB. Clients that read slowly would otherwise use much memory.
const MAX_COPIES: usize = 32 << 10;
/// Number of copied bytes for one permit of a KiB. A growing vector has up to twice its length.
const BYTES_PER_PERMIT: usize = 512;

/// A write that a cluster accepted.
#[derive(Debug)]
pub struct AcceptedWrite {
    /// The cluster.
    pub target: Target,
    /// The path and query on the API server.
    pub path: PathAndQuery,
    /// The verb of the request.
    pub verb: Verb,
    /// The name of the user who sent the request. With impersonation, the name of the user who
    /// impersonates.
    pub user: Arc<str>,
    /// The time at which the request arrived.
    pub began: Timestamp,
    /// The time at which the response ended.
    pub ended: Timestamp,
    /// The body of the response.
    pub body: Vec<u8>,
}

/// Receives accepted writes.
pub trait WriteObserver: Send + Sync + 'static {
    /// Reports whether the observer receives this request, if the cluster accepts it.
    fn wants(&self, verb: Verb, path: &PathAndQuery) -> bool;
    /// Receives an accepted write.
    fn accepted(&self, write: AcceptedWrite);
}

/// The memory limit of all copies of responses.
pub(super) fn copy_budget() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(MAX_COPIES))
}

/// A request whose response the proxy reports if the cluster accepts the request.
pub(super) struct ObservedRequest {
    observer: Arc<dyn WriteObserver>,
    path: PathAndQuery,
    verb: Verb,
    budget: Arc<Semaphore>,
}

impl Proxy {
    /// Returns the observed request, if the observer wants it.
    pub(super) fn observed(&self, upstream: &UpstreamRequest) -> Option<Box<ObservedRequest>> {
        let observer = self.write_observer.as_ref()?;
        let (path, verb) = (upstream.head.uri.path_and_query()?, upstream.verb);
        observer.wants(verb, path).then(|| {
            Box::new(ObservedRequest {
                observer: Arc::clone(observer),
                path: path.clone(),
                verb,
                budget: Arc::clone(&self.copy_budget),
            })
        })
    }
}

impl ObservedRequest {
    /// Begins the copy of a response. Returns `None` for errors and for compressed responses.
    pub(super) fn answered(
        self: Box<Self>,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<Box<ResponseCopy>> {
        let is_plain = !headers.contains_key(CONTENT_ENCODING);
        (status.is_success() && is_plain).then(|| {
            Box::new(ResponseCopy {
                request: self,
                body: Vec::new(),
                permits: None,
                is_complete: true,
            })
        })
    }
}

/// The copy of a response.
pub(super) struct ResponseCopy {
    request: Box<ObservedRequest>,
    body: Vec<u8>,
    /// The part of the memory limit of all copies that this copy uses.
    permits: Option<OwnedSemaphorePermit>,
    /// False if the response exceeds the size limit, or all copies exceed their limit.
    is_complete: bool,
}

impl ResponseCopy {
    pub(super) fn add(&mut self, data: &Bytes) {
        self.is_complete = self.is_complete && self.reserve(self.body.len() + data.len());
        if self.is_complete {
            self.body.extend_from_slice(data);
        } else {
            self.body = Vec::new();
            self.permits = None;
        }
    }

    /// Reserves memory for a copy of this length. Returns false above the limits.
    fn reserve(&mut self, length: usize) -> bool {
        let held = self
            .permits
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = length.div_ceil(BYTES_PER_PERMIT).saturating_sub(held);
        let Some(missing) = u32::try_from(missing).ok().filter(|_| length <= MAX_COPY) else {
            return false;
        };
        let budget = Arc::clone(&self.request.budget);
        let Ok(permits) = budget.try_acquire_many_owned(missing) else {
            return false;
        };
        match &mut self.permits {
            Some(held) => held.merge(permits),
            None => self.permits = Some(permits),
        }
        true
    }

    /// Reports the write.
    pub(super) fn finish(self, in_flight: &InFlightRequest) {
        let Some((user, began)) = in_flight.sender() else {
            return;
        };
        if !self.is_complete {
            return;
        }
        let ObservedRequest {
            observer,
            path,
            verb,
            ..
        } = *self.request;
        observer.accepted(AcceptedWrite {
            target: in_flight.permit().target().clone(),
            path,
            verb,
            user,
            began,
            ended: Timestamp::now(),
            body: self.body,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoObserver;

    impl WriteObserver for NoObserver {
        fn wants(&self, _: Verb, _: &PathAndQuery) -> bool {
            true
        }

        fn accepted(&self, _: AcceptedWrite) {}
    }

    #[expect(
        clippy::unnecessary_box_returns,
        reason = "the tested function returns a box"
    )]
    fn copy(budget: &Arc<Semaphore>) -> Box<ResponseCopy> {
        let request = Box::new(ObservedRequest {
            observer: Arc::new(NoObserver),
            path: PathAndQuery::from_static("/"),
            verb: Verb::Create,
            budget: Arc::clone(budget),
        });
        let copy = request.answered(StatusCode::OK, &HeaderMap::new());
        copy.expect("the response is successful")
    }

    #[test]
    fn copies_of_unread_responses_stay_within_a_common_limit() {
        let budget = copy_budget();
        let frame = Bytes::from(vec![0; MAX_COPY / 4]);
        let mut copies: Vec<_> = (0..100).map(|_| copy(&budget)).collect();
        for _ in 0..4 {
            for copy in &mut copies {
                copy.add(&frame);
            }
        }
        let size: usize = copies.iter().map(|copy| copy.body.capacity()).sum();
        assert!(size <= MAX_COPIES << 10, "{size}");
        drop(copies);
        assert_eq!(budget.available_permits(), MAX_COPIES);
        let mut next = copy(&budget);
        next.add(&frame);
        assert!(next.is_complete && next.body.len() == frame.len());
    }
}
