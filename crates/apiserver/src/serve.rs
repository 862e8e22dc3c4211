//! Processes a request, from the HTTP request to the response.
//!
//! `Exchange` is the state of one request. The function `pass` contains the security steps in their
//! order: authentication, impersonation, queueing and authorization. The request is routed after
//! these steps. All errors are [`ApiError`]s, which one function converts to `metav1.Status`.

pub mod answer;
pub mod audit;
mod events;
mod exchange;
mod health;
mod input;
pub(crate) mod limits;
mod metadata;
pub mod metrics;
mod paths;
mod read;
mod resources;
mod security;
pub(crate) mod shared;
mod subresource;
mod transform;
pub(crate) mod write;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, Request};

pub use input::{body, negotiate, options, query, request};
pub use limits::fair;
pub use read::page;
pub use shared::{Connect, Version};

use self::audit::Stage;
use self::exchange::Exchange;
use self::shared::Shared;
use crate::access::Caller;
use crate::status::ApiError;

/// Timeout of requests other than watches (kube-apiserver's default).
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// Responds to one request.
pub(crate) async fn answer(shared: Arc<Shared>, request: Request<Body>) -> Response {
    // Only code in this process can set a request extension; headers cannot.
    let in_process = request.extensions().get::<Caller>().cloned();
    let mut exchange = Exchange::of(&shared, request);
    let passed = pass(&mut exchange, in_process).await;
    let exchange = Arc::new(exchange);
    let routed = match passed {
        Ok(place) => within_time(&exchange, place).await,
        Err(error) => Err(error),
    };
    let response = routed.unwrap_or_else(|error| answer::refusal(&exchange.headers, &error));
    let mut response = shared
        .response_memory
        .guard(&exchange.caller.name, response);
    finish(&exchange, &mut response);
    response
}

/// Runs the security steps. The server routes the request only after these steps.
async fn pass(
    exchange: &mut Exchange,
    in_process: Option<Caller>,
) -> Result<security::RequestSlot, ApiError> {
    security::authenticate(exchange, in_process).await?;
    exchange.audit(Stage::Received);
    security::impersonate(exchange)?;
    let place = security::queue(exchange).await?;
    security::authorize(exchange)?;
    Ok(place)
}

async fn within_time(
    exchange: &Arc<Exchange>,
    place: security::RequestSlot,
) -> Result<Response, ApiError> {
    let routed = resources::route(exchange, place);
    match tokio::time::timeout(TIME_LIMIT, routed).await {
        Ok(routed) => routed,
        Err(_) => Err(ApiError::timeout(
            "request did not complete within the allotted timeout",
            0,
        )),
    }
}

/// Adds the headers of all responses, and records metrics and the audit event.
fn finish(exchange: &Exchange, response: &mut Response) {
    answer::add_warnings(response, &exchange.warnings());
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&exchange.id) {
        headers.insert(answer::AUDIT_ID, id);
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
    let code = response.status();
    let streams = exchange.info.verb == "watch" && code.is_success();
    let elapsed = (!streams).then(|| exchange.elapsed());
    let dry_run = exchange.query.first("dryRun").is_some();
    let metrics = &exchange.shared.metrics;
    metrics.answered(&exchange.info, code, dry_run, elapsed);
    if !streams {
        exchange.audit(Stage::Complete(code));
    }
}
