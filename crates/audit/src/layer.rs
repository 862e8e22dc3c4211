//! Audit records of requests under `/v1`: every request that is not a `GET`, every callback of an
//! identity provider, and every request with the response 401, 403 or 429.
//!
//! The records contain no body and no header. The code that authenticates the caller adds the
//! caller to the request's [`AuditNotes`].

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use drover_api::ids::ClusterUid;
use http::request::Parts;
use http::{Extensions, HeaderValue, Method, StatusCode};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    Audit, AuditCaller, Outcome, REQUEST_ID, Record, RequestTarget, Stage, Subject, short_method,
};
use drover_access::verb::Verb;
use drover_http_edge::status::Status;

/// Path prefix of agents' routes. Requests to these routes succeed even if the queue of the audit
/// log is full. Events of the Cluster object show the changes that agents make.
const AGENTS: &str = "/v1/agent/";
/// The path of the sign-in callback of an identity provider. The audit log contains these requests
/// although their method is `GET`.
const SIGN_IN_ENDS: &str = "/v1/providers/{name}/callback";
/// Routes that change the caller's own objects. Their records contain the caller as the object.
const OF_THE_CALLER: [&str; 7] = [
    "/v1/device/{code}/confirm",
    "/v1/kubeconfig",
    "/v1/logout",
    "/v1/me/password",
    "/v1/preferences",
    "/v1/session",
    "/v1/sessions",
];
/// A route that changes a setting of the server.
const LOG_FILTER: &str = "/v1/log-filter";
/// Maximum length of a recorded object name, in bytes.
const NAME_BYTES: usize = 253;

/// Data that handlers add to the audit record of a request. Clones share the data.
#[derive(Clone, Debug, Default)]
pub struct AuditNotes(Arc<Mutex<NoteFields>>);

#[derive(Debug, Default)]
struct NoteFields {
    person: Option<AuditCaller>,
    object: Option<Box<str>>,
    cluster: Option<super::ClusterRef>,
    reason: Option<&'static str>,
}

impl AuditNotes {
    /// Returns the notes in the extensions of a request.
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// Records the authenticated caller.
    pub fn who(&self, person: AuditCaller) {
        self.0.lock().person = Some(person);
    }

    /// Records the reason of a refusal in `PascalCase`, for status codes with several reasons.
    pub fn because(&self, reason: &'static str) {
        self.0.lock().reason = Some(reason);
    }

    /// Records the name of the request's object. The object must exist.
    pub fn about(&self, name: &str) {
        self.0.lock().object = Some(name.into());
    }

    /// Records the cluster of the request, or the cluster to which the request grants access.
    pub fn in_cluster(&self, name: &str, uid: Option<ClusterUid>) {
        let name = name.into();
        self.0.lock().cluster = Some(super::ClusterRef { name, uid });
    }
}

impl<S: Sync> FromRequestParts<S> for AuditNotes {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

/// A request in flight. If the client disconnects before the response, dropping this value adds the
/// audit record.
struct Pending {
    audit: Audit,
    subject: Subject,
    noted: AuditNotes,
    /// The route, if the route changes the caller's own objects or the log filter. `None` for all
    /// other routes.
    route: Option<&'static str>,
    /// The object name in the path. The object may not exist.
    named: Option<Box<str>>,
    began: Instant,
    answer: Option<StatusCode>,
    changes: bool,
    /// True if the queue of the log was full when the request arrived. The middleware then refuses
    /// the request and adds no record.
    dropped: bool,
}

impl Pending {
    fn is_recorded(&self) -> bool {
        let refused = [
            StatusCode::UNAUTHORIZED,
            StatusCode::FORBIDDEN,
            StatusCode::TOO_MANY_REQUESTS,
        ];
        let refused = self.answer.is_some_and(|code| refused.contains(&code));
        !self.dropped && (self.changes || refused)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_recorded() {
            return;
        }
        let mut subject = self.subject.clone();
        let succeeded = self.answer.is_some_and(|code| !is_error(code));
        let notes = std::mem::take(&mut *self.noted.0.lock());
        subject.person = notes.person;
        // Only the name of an existing object is safe to record. Other text can be a token in the
        // wrong field.
        subject.object = notes
            .object
            .or_else(|| self.named.take().filter(|_| succeeded))
            .or_else(|| own_object(self.route, subject.person.as_ref()));
        subject.cluster = notes.cluster;
        let (outcome, reason) = match self.answer {
            None => (Outcome::ClientGone, None),
            Some(code) if is_error(code) => {
                (Outcome::Refused, notes.reason.or_else(|| reason(code)))
            }
            Some(_) => (Outcome::Complete, None),
        };
        self.audit.add(Record {
            subject: Arc::new(subject),
            stage: Stage::End,
            outcome,
            code: self.answer.map(|code| code.as_u16()),
            reason,
            bytes_in: 0,
            bytes_out: 0,
            duration: self.began.elapsed(),
        });
    }
}

/// Records requests in the audit log. This middleware applies to every route except the proxy.
pub async fn audited(State(audit): State<Audit>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let mut pending = pending(&audit, &mut head).await;
    head.extensions.insert(pending.noted.clone());
    let route = head.extensions.get::<MatchedPath>();
    let of_agents = route.is_some_and(|route| route.as_str().starts_with(AGENTS));
    // Refuse a request that cannot be recorded.
    if pending.changes && !of_agents && audit.admit().await.is_err() {
        pending.dropped = true;
        let full = "the server refused the request, because the audit log cannot record the \
                    request: try again, and ask an administrator to check the disk of the audit \
                    log";
        return Status::unavailable(full, 5).into_response();
    }
    let mut response = next.run(Request::from_parts(head, body)).await;
    pending.answer = Some(response.status());
    if pending.is_recorded()
        && let Ok(id) = HeaderValue::from_str(&pending.subject.id.to_string())
    {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

async fn pending(audit: &Audit, head: &mut Parts) -> Pending {
    let named = last_name(head).await;
    let source = head.extensions.get::<ConnectInfo<SocketAddr>>();
    let route = head.extensions.get::<MatchedPath>();
    let route = route.map_or("", MatchedPath::as_str);
    Pending {
        audit: audit.clone(),
        subject: Subject {
            id: audit.next_id(),
            received: Timestamp::now(),
            source: source.map(|ConnectInfo(address)| address.ip()),
            person: None,
            cluster: None,
            object: None,
            verb: Verb::of(&head.method, route, None),
            method: short_method(&head.method),
            target: RequestTarget::of(route),
        },
        noted: AuditNotes::default(),
        route: OF_THE_CALLER
            .into_iter()
            .chain([LOG_FILTER])
            .find(|own| *own == route),
        named,
        began: Instant::now(),
        answer: None,
        changes: changes(&head.method) || route == SIGN_IN_ENDS,
        dropped: false,
    }
}

/// Returns the object of a route whose path contains no object name: the log filter, or the caller.
fn own_object(route: Option<&str>, person: Option<&AuditCaller>) -> Option<Box<str>> {
    match route? {
        LOG_FILTER => Some("log-filter".into()),
        _ => person.map(|person| (*person.name).into()),
    }
}

/// Returns the last parameter of the path, if the parameter is a valid name.
async fn last_name(head: &mut Parts) -> Option<Box<str>> {
    let parameters = RawPathParams::from_request_parts(head, &()).await.ok()?;
    let (_, value) = parameters.iter().last()?;
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    (value.len() <= NAME_BYTES && value.bytes().all(plain)).then(|| value.into())
}

fn changes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

fn is_error(code: StatusCode) -> bool {
    code.is_client_error() || code.is_server_error()
}

fn reason(code: StatusCode) -> Option<&'static str> {
    match code {
        StatusCode::UNAUTHORIZED => Some("Unauthorized"),
        StatusCode::FORBIDDEN => Some("Forbidden"),
        StatusCode::TOO_MANY_REQUESTS => Some("TooManyRequests"),
        _ => None,
    }
}
