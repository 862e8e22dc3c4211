//! The admission webhook for an external hub: `POST /hub/admission/{name}`, an `AdmissionReview`.
//!
//! A kube-apiserver does not authenticate to webhooks by default. The path therefore contains a
//! secret segment that only the webhook configuration contains. Users with permission to read
//! webhooks on the hub can read the segment. A review changes no state. Each network has a limit of
//! concurrent reviews, so a slow client cannot block the hub's reviews.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use drover_access::admission::{AdmissionContext, Operation, Write};
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

/// The webhook's path without the secret segment.
pub const PATH: &str = "/hub/admission";
/// The number of body bytes per reserved slot. Most reviews need a single slot.
const SLOT_BYTES: usize = 1 << 20;
/// The number of slots of the largest review. The largest review contains the new object and the
/// previous object, each of the hub's maximum size.
const MAX_SLOTS: usize = 8;
/// The maximum number of slots for all networks together, and the maximum per network.
const SLOT_LIMITS: (usize, usize) = (128, 32);
/// The timeout for reading the body of a review.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout to wait for a decision slot, shorter than the hub's webhook timeout.
const DECISION_TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum number of concurrent decisions. Each decision may read a role and wait for the
/// stores.
const MAX_CONCURRENT: usize = 16;

/// The state of the webhook route. Cloning is cheap.
#[derive(Clone)]
pub struct Reviews {
    authorizer: WriteAuthorizer,
    /// The secret segment of the webhook's path.
    segment: Arc<str>,
    /// The server's account on the hub. Unset until the server has read the account.
    server: Arc<OnceLock<String>>,
    /// The slots for bodies that the server reads, and for bodies whose decision is pending.
    slots: NetworkLimits,
    decisions: Arc<Semaphore>,
}

impl std::fmt::Debug for Reviews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reviews")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Reviews {
    /// Creates the handler for the path that ends with `segment`.
    pub fn new(authorizer: WriteAuthorizer, segment: &str) -> Self {
        Self {
            authorizer,
            segment: segment.into(),
            server: Arc::default(),
            slots: NetworkLimits::new(SLOT_LIMITS.0, SLOT_LIMITS.1),
            decisions: Arc::new(Semaphore::new(MAX_CONCURRENT)),
        }
    }

    /// Returns the secret segment of the webhook's path.
    pub(super) fn segment(&self) -> &str {
        &self.segment
    }

    /// Sets the account whose writes are exempt from the rules.
    pub(super) fn set_server_account(&self, name: &str) {
        // The account does not change while the process runs.
        let _ = self.server.set(name.to_owned());
    }
}

/// An `AdmissionReview` with the fields that the rules use.
#[derive(Debug, Deserialize)]
pub struct Review {
    request: ReviewRequest,
}

impl Review {
    /// Returns the write under review. Returns `None` for an operation that stores nothing.
    pub fn write(&self) -> Option<Write<'_>> {
        self.request.write()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewRequest {
    uid: String,
    resource: ResourceName,
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
struct ResourceName {
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

impl ReviewRequest {
    /// Returns the write under review. Returns `None` for an operation that stores nothing.
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

/// Parses an `AdmissionReview`. The function is public for fuzzing.
pub fn parse(body: &[u8]) -> Result<Review, serde_json::Error> {
    serde_json::from_slice(body)
}

/// Returns the router of the webhook.
pub fn router(reviews: Reviews) -> Router {
    // A test reads route literals. The literal is [`PATH`] and the secret segment.
    Router::new()
        .route("/hub/admission/{name}", post(handle))
        .with_state(reviews)
}

async fn handle(
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
    let (body, _slots) = reviews.read(request).await?;
    let parsed = parse(&body).map_err(|error| {
        Status::bad_request(format!("cannot parse the AdmissionReview: {error}"))
    })?;
    let request = parsed.request;
    let refusal = reviews.decide(&request).await?;
    let mut answer = json!({ "uid": request.uid, "allowed": refusal.is_none() });
    if let Some((code, message)) = refusal {
        let reason = match code {
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
            _ => "InternalError",
        };
        answer["status"] = json!({ "code": code.as_u16(), "reason": reason, "message": message });
    }
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer,
    });
    Ok(axum::Json(answer).into_response())
}

impl Reviews {
    /// Reads the body, and returns the body with its reserved slots.
    async fn read(&self, request: Request) -> Result<(Bytes, Vec<NetworkSlot>), Status> {
        let hint = request.body().size_hint();
        // A body without a length takes the slots of the largest review.
        let slots = hint.exact().map_or(MAX_SLOTS as u64, |bytes| {
            bytes.div_ceil(SLOT_BYTES as u64).max(1)
        });
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        if slots > MAX_SLOTS {
            return Err(Status::too_large(MAX_SLOTS * SLOT_BYTES));
        }
        let address = sender(request.extensions());
        let taken: Option<Vec<_>> = (0..slots).map(|_| self.slots.take(address)).collect();
        let taken = taken.ok_or_else(too_many)?;
        let reading = to_bytes(request.into_body(), slots * SLOT_BYTES);
        let body = tokio::time::timeout(READ_TIMEOUT, reading)
            .await
            .map_err(|_| Status::bad_request("cannot read the AdmissionReview: timeout"))?
            .map_err(|_| {
                Status::bad_request(
                    "cannot read the AdmissionReview: the request body is too \
                                     large or incomplete",
                )
            })?;
        Ok((body, taken))
    }

    /// Returns the status code and the message of a rejection. Returns `None` if the write is
    /// allowed.
    async fn decide(
        &self,
        request: &ReviewRequest,
    ) -> Result<Option<(StatusCode, String)>, Status> {
        if request.resource.resource == "configmaps" {
            let probe = [PROBE, CHECK]
                .into_iter()
                .find(|name| request.name == *name);
            return Ok(probe.map(|name| (StatusCode::FORBIDDEN, name.to_owned())));
        }
        let Some(write) = request.write() else {
            return Ok(None);
        };
        let server = self
            .server
            .get()
            .ok_or_else(|| Status::unavailable("the server is starting; try again", 1))?;
        let permit = tokio::time::timeout(DECISION_TIMEOUT, self.decisions.acquire()).await;
        let Ok(Ok(_permit)) = permit else {
            return Err(too_many());
        };
        match self
            .authorizer
            .check(AdmissionContext::external(server), &write)
            .await
        {
            Ok(()) => Ok(None),
            Err(AdmissionError::Refused(refusal)) => {
                Ok(Some((StatusCode::FORBIDDEN, refusal.to_string())))
            }
            Err(AdmissionError::Unavailable(status)) => {
                Ok(Some((status.code(), status.message().to_owned())))
            }
            Err(error) => {
                let source = &error as &dyn std::error::Error;
                tracing::warn!(error = source, "failed to check a write to the hub");
                let code = StatusCode::INTERNAL_SERVER_ERROR;
                Ok(Some((code, error.to_string())))
            }
        }
    }
}

fn too_many() -> Status {
    Status::too_many_requests("too many concurrent reviews; try again", 1)
}

#[cfg(test)]
mod tests;
