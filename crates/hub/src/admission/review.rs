//! The rules as a hub elsewhere asks them: `POST /hub/admission/{name}`, an `AdmissionReview`.
//!
//! A kube-apiserver proves nothing about itself unless it is configured to, so the path holds what
//! only the hub is told, in its webhook: who may do what is not for strangers to ask. Those who may
//! read webhooks on the hub know it, and asking changes nothing. What one network asks takes a part of the room only, so that a stranger who is slow to say what they ask
//! does not keep a hub waiting: it would refuse what it cannot ask about.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use drover_access::admission::{Asker, Operation, Write};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;

use super::webhook::{CHECK, PROBE};
use super::{AdmissionError, WriteAuthorizer};
use drover_http_edge::body::Name;
use drover_http_edge::networks::{NetworkLimits, NetworkSlot, sender};
use drover_http_edge::status::Status;

/// Where the hub asks, but for the last part.
pub const PATH: &str = "/hub/admission";
/// What one place is for, in bytes; most reviews need no more.
const PLACE: usize = 1 << 20;
/// Places that the largest takes: an object and what it was, each as large as a hub takes them, and
/// room to spare.
const LARGEST: usize = 8;
/// Places from everywhere, and for one network.
const PLACES: (usize, usize) = (128, 32);
/// Longest that a review is waited for; a hub sends it at once.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest that a review waits for its turn; a hub waits a little longer.
const TURN: Duration = Duration::from_secs(3);
/// Reviews decided at a time; each may read a role, and wait for memory.
const AT_ONCE: usize = 16;

/// What the route needs; cheap to clone.
#[derive(Clone)]
pub struct Reviews {
    authorizer: WriteAuthorizer,
    /// The last part of the path.
    segment: Arc<str>,
    /// The server's own name on the hub, once it is known.
    server: Arc<OnceLock<String>>,
    /// For what is being read, and waits to be decided.
    places: NetworkLimits,
    room: Arc<Semaphore>,
}

impl std::fmt::Debug for Reviews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reviews")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Reviews {
    /// Answers by what this authorizer knows of the hub, at the path that ends with `segment`.
    pub fn new(authorizer: WriteAuthorizer, segment: &str) -> Self {
        Self {
            authorizer,
            segment: segment.into(),
            server: Arc::default(),
            places: NetworkLimits::new(PLACES.0, PLACES.1),
            room: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// The last part of the path.
    pub(super) fn segment(&self) -> &str {
        &self.segment
    }

    /// From now on it is known whom the rules do not concern.
    pub(super) fn server_is(&self, name: &str) {
        // The account of a process does not change while it runs.
        let _ = self.server.set(name.to_owned());
    }
}

/// `AdmissionReview`, as far as the rules read it.
#[derive(Debug, Deserialize)]
pub struct Asked {
    request: Question,
}

impl Asked {
    /// What the rules are asked about; `None` for what stores nothing.
    pub fn write(&self) -> Option<Write<'_>> {
        self.request.write()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    uid: String,
    resource: Plural,
    #[serde(default)]
    sub_resource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    operation: String,
    user_info: Writer,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
}

#[derive(Debug, Deserialize)]
struct Plural {
    #[serde(default)]
    group: String,
    resource: String,
}

#[derive(Debug, Deserialize)]
struct Writer {
    #[serde(default)]
    username: String,
    #[serde(default)]
    groups: Vec<String>,
}

impl Question {
    /// `None` for what stores nothing.
    fn write(&self) -> Option<Write<'_>> {
        let operation = match &*self.operation {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            _ => return None,
        };
        Some(Write {
            writer: &self.user_info.username,
            groups: &self.user_info.groups,
            operation,
            group: &self.resource.group,
            resource: &self.resource.resource,
            subresource: &self.sub_resource,
            namespace: &self.namespace,
            name: &self.name,
            object: Some(&self.object).filter(|object| !object.is_null()),
            old: Some(&self.old_object).filter(|object| !object.is_null()),
        })
    }
}

/// Reads what a hub asks; for fuzzing, too.
pub fn parse(body: &[u8]) -> Result<Asked, serde_json::Error> {
    serde_json::from_slice(body)
}

/// The route.
pub fn router(reviews: Reviews) -> Router {
    // Written out, as all routes are: a test reads them. It is PATH, and the secret part.
    Router::new()
        .route("/hub/admission/{name}", post(ask))
        .with_state(reviews)
}

async fn ask(
    State(reviews): State<Reviews>,
    Name(name): Name,
    request: Request,
) -> Result<Response, Status> {
    if bool::from(name.as_bytes().ct_eq(reviews.segment.as_bytes())) {
        review(&reviews, request).await
    } else {
        Err(Status::not_found("path", "hub/admission"))
    }
}

async fn review(reviews: &Reviews, request: Request) -> Result<Response, Status> {
    let (body, _places) = reviews.read(request).await?;
    let asked = parse(&body).map_err(|error| {
        Status::bad_request(format!("this is no AdmissionReview of a hub: {error}"))
    })?;
    let question = asked.request;
    let verdict = reviews.judge(&question).await?;
    let mut answer = json!({ "uid": question.uid, "allowed": verdict.is_none() });
    if let Some((code, why)) = verdict {
        let reason = match code {
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
            _ => "InternalError",
        };
        answer["status"] = json!({ "code": code.as_u16(), "reason": reason, "message": why });
    }
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer,
    });
    Ok(axum::Json(answer).into_response())
}

impl Reviews {
    /// The body, and the places that it takes.
    async fn read(&self, request: Request) -> Result<(Bytes, Vec<NetworkSlot>), Status> {
        let hint = request.body().size_hint();
        // What does not say how large it is may be as large as any.
        let places = hint
            .exact()
            .map_or(LARGEST as u64, |bytes| bytes.div_ceil(PLACE as u64).max(1));
        let places = usize::try_from(places).unwrap_or(usize::MAX);
        if places > LARGEST {
            return Err(Status::too_large(LARGEST * PLACE));
        }
        let address = sender(request.extensions());
        let held: Option<Vec<_>> = (0..places).map(|_| self.places.take(address)).collect();
        let held = held.ok_or_else(too_many)?;
        let reading = to_bytes(request.into_body(), places * PLACE);
        let body = tokio::time::timeout(PATIENCE, reading)
            .await
            .map_err(|_| Status::bad_request("the review did not arrive in time"))?
            .map_err(|_| Status::bad_request("the review is too large, or was cut off"))?;
        Ok((body, held))
    }

    /// Why not, and as which error; `None` if it may be stored.
    async fn judge(&self, question: &Question) -> Result<Option<(StatusCode, String)>, Status> {
        if question.resource.resource == "configmaps" {
            let tried = [PROBE, CHECK]
                .into_iter()
                .find(|name| question.name == *name);
            return Ok(tried.map(|name| (StatusCode::FORBIDDEN, name.to_owned())));
        }
        let Some(write) = question.write() else {
            return Ok(None);
        };
        let server = self
            .server
            .get()
            .ok_or_else(|| Status::unavailable("the server is starting; try again", 1))?;
        let turn = tokio::time::timeout(TURN, self.room.acquire()).await;
        let Ok(Ok(_room)) = turn else {
            return Err(too_many());
        };
        match self
            .authorizer
            .check(Asker::elsewhere(server), &write)
            .await
        {
            Ok(()) => Ok(None),
            Err(AdmissionError::Refused(refusal)) => {
                Ok(Some((StatusCode::FORBIDDEN, refusal.to_string())))
            }
            Err(AdmissionError::Unavailable(status)) => {
                Ok(Some((status.code(), status.message().to_owned())))
            }
            Err(unknown) => {
                let error = &unknown as &dyn std::error::Error;
                tracing::warn!(error, "a write to the hub could not be judged");
                let code = StatusCode::INTERNAL_SERVER_ERROR;
                Ok(Some((code, unknown.to_string())))
            }
        }
    }
}

fn too_many() -> Status {
    Status::too_many_requests("too many reviews at a time; try again", 1)
}

#[cfg(test)]
mod tests;
