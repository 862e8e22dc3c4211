//! Reports of accepted writes, for the history of objects.

use std::sync::Arc;

use bytes::Bytes;
use drover_access::permit::Target;
use drover_access::verb::Verb;
use http::header::CONTENT_ENCODING;
use http::uri::PathAndQuery;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;

use super::Proxy;
use super::handler::UpstreamRequest;
use crate::open::in_flight::InFlightRequest;

/// Maximum size of a copied response in bytes. API servers accept objects of at most about 1.5 MiB.
const MAX_COPY: usize = 2 << 20;

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

/// A request whose response the proxy reports if the cluster accepts the request.
pub(super) struct ObservedRequest {
    observer: Arc<dyn WriteObserver>,
    path: PathAndQuery,
    verb: Verb,
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
                is_complete: true,
            })
        })
    }
}

/// The copy of a response.
pub(super) struct ResponseCopy {
    request: Box<ObservedRequest>,
    body: Vec<u8>,
    /// False if the response exceeds the size limit.
    is_complete: bool,
}

impl ResponseCopy {
    pub(super) fn add(&mut self, data: &Bytes) {
        self.is_complete &= self.body.len() + data.len() <= MAX_COPY;
        if self.is_complete {
            self.body.extend_from_slice(data);
        } else {
            self.body = Vec::new();
        }
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
