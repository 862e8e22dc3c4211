//! The state of one request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody as _};
use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, Method, Uri};
use parking_lot::Mutex;

use crate::access::Caller;
use crate::select;
use crate::serve::audit::{Record, Stage};
use crate::serve::input::body;
use crate::serve::input::negotiate::header;
use crate::serve::input::query::Query;
use crate::serve::input::request::{self, RequestInfo};
use crate::serve::limits::memory::CountedBytes;
use crate::serve::shared::Shared;
use crate::status::ApiError;

/// An authenticated request, with the state that its handler needs.
pub(crate) struct Exchange {
    pub(crate) shared: Arc<Shared>,
    /// The request ID, equal to the response header `Audit-Id`.
    pub(crate) id: String,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) info: RequestInfo,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    /// The authenticated user who sent the request.
    pub(crate) requestor: Arc<Caller>,
    /// The effective user: the impersonated user, or the requestor.
    pub(crate) caller: Arc<Caller>,
    pub(crate) received: Instant,
    body: Mutex<Option<Body>>,
    /// The bytes of the request body that count toward the caller's memory limit.
    held: Mutex<Option<CountedBytes>>,
    warnings: Mutex<Vec<String>>,
}

impl Exchange {
    /// Creates the state of a new request. The user is `system:anonymous` until authentication.
    pub(crate) fn of(shared: &Arc<Shared>, request: http::Request<Body>) -> Self {
        let (parts, body) = request.into_parts();
        let mut query = Query::of(&parts.uri);
        let path_watch = request::path_watch(&parts.method, parts.uri.path());
        if let Some(old) = &path_watch {
            query = query.watching(old.name.as_deref());
        }
        let path = path_watch
            .as_ref()
            .map_or_else(|| parts.uri.path(), |old| old.collection.as_str());
        let watch = query.flag("watch").unwrap_or(false);
        let exact = exact_name(&query);
        let info = request::parse(&parts.method, path, watch, exact.as_deref());
        let anonymous = Arc::new(Caller::anonymous());
        Self {
            shared: Arc::clone(shared),
            id: audit_id(&parts.headers),
            method: parts.method,
            info,
            query,
            uri: parts.uri,
            headers: parts.headers,
            requestor: Arc::clone(&anonymous),
            caller: anonymous,
            received: Instant::now(),
            body: Mutex::new(Some(body)),
            held: Mutex::default(),
            warnings: Mutex::default(),
        }
    }

    /// Sets the authenticated user, who is also the effective user until impersonation.
    pub(crate) fn set_requestor(&mut self, caller: Caller) {
        self.requestor = Arc::new(caller);
        self.caller = Arc::clone(&self.requestor);
    }

    /// Sets the impersonated user as the effective user.
    pub(crate) fn set_impersonated(&mut self, caller: Caller) {
        self.caller = Arc::new(caller);
    }

    /// Sends an audit record.
    pub(crate) fn audit(&self, stage: Stage) {
        let impersonated = !Arc::ptr_eq(&self.requestor, &self.caller);
        self.shared.audit.record(&Record {
            id: &self.id,
            stage,
            caller: &self.requestor,
            impersonated: impersonated.then_some(self.caller.as_ref()),
            request: &self.info,
            user_agent: header(&self.headers, &USER_AGENT),
            elapsed: self.elapsed(),
        });
    }

    /// Copies the request for handlers of the embedding program.
    pub(crate) fn request(&self) -> http::Request<Body> {
        let body = self.body.lock().take().unwrap_or_default();
        let mut request = http::Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        request.headers_mut().clone_from(&self.headers);
        request
    }

    /// Reads the body. The result is empty on the second call.
    pub(crate) async fn body(&self) -> Result<Bytes, ApiError> {
        let Some(body) = self.body.lock().take() else {
            return Ok(Bytes::new());
        };
        let announced = body.size_hint().exact();
        let expected = announced.and_then(|bytes| usize::try_from(bytes).ok());
        let expected = expected.unwrap_or(body::LIMIT).min(body::LIMIT);
        let mut reserved = self.shared.bodies.hold(&self.caller.name, expected)?;
        let bytes = body::read(body).await?;
        reserved.resize(bytes.len())?;
        *self.held.lock() = Some(reserved);
        Ok(bytes)
    }

    /// Adds a `Warning` header to the response.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.warnings.lock().push(text.into());
    }

    /// Returns the warnings for the response.
    pub(crate) fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock())
    }

    /// Returns the time since the request was received.
    pub(crate) fn elapsed(&self) -> Duration {
        self.received.elapsed()
    }
}

/// Returns the name that the query's field selector requires.
fn exact_name(query: &Query) -> Option<String> {
    let text = query.first("fieldSelector")?;
    let selector: select::FieldSelector = text.parse().ok()?;
    selector.exact("metadata.name").map(ToOwned::to_owned)
}

/// Returns the client's `Audit-Id` if it is valid, otherwise a new ID.
fn audit_id(headers: &HeaderMap) -> String {
    const LONGEST: usize = 64;
    headers
        .get(crate::serve::answer::AUDIT_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| !id.is_empty() && id.len() <= LONGEST)
        .map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned)
}
