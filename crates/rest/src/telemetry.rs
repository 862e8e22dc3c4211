//! The routes `/livez`, `/readyz`, `/metrics` and `/v1/log-filter`.

use axum::extract::{FromRequest as _, Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use drover_access::same_origin::Head;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{Extensions, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use utoipa_axum::routes;

use drover_http_edge::body;
use drover_http_edge::routes::{Right, Routes};
use drover_http_edge::status::Status;
use drover_hub::connect::HubMetrics;
use drover_identity::Authenticator;
use drover_identity::caller::check_administrator;
use drover_identity::caller::identify;
use drover_telemetry::{Findings, Health, LogFilter, LogFilterError, Metrics};

/// The state that the telemetry routes share.
#[derive(Clone)]
pub struct Telemetry {
    /// Metrics of the server.
    pub metrics: Metrics,
    /// Metrics of the embedded hub.
    pub hub_metrics: HubMetrics,
    /// Health checks.
    pub health: Health,
    /// The log filter of the process.
    pub log_filter: LogFilter,
    /// Authenticates the callers of routes.
    pub authenticator: Authenticator,
}

/// Body of `GET` and `PUT /v1/log-filter`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogFilterBody {
    /// Levels and targets in `tracing`'s syntax, for example `info,drover=debug`.
    pub filter: String,
}

/// Declares the telemetry routes.
pub fn declared() -> Routes<Telemetry> {
    Routes::default()
        .add(Right::Administrator, routes!(log_filter, set_log_filter))
        .add_undocumented(Right::Anyone, "/livez", livez)
        .add_undocumented(Right::Anyone, "/readyz", readyz)
        .add_undocumented(Right::Administrator, "/metrics", metrics)
}

/// Creates the router of the routes that [`declared`] returns.
pub fn router(telemetry: Telemetry) -> Router {
    declared().into_router().with_state(telemetry)
}

async fn livez(uri: Uri) -> Response {
    health_response(&Health::new().examine(), "livez", &uri)
}

async fn readyz(State(telemetry): State<Telemetry>, uri: Uri) -> Response {
    health_response(&telemetry.health.examine(), "readyz", &uri)
}

/// Returns `ok`, or the list of failed checks. The query `?verbose` lists all checks.
fn health_response(findings: &Findings, endpoint: &str, uri: &Uri) -> Response {
    let verbose = uri.query().is_some_and(|query| {
        query
            .split('&')
            .any(|pair| pair.split('=').next() == Some("verbose"))
    });
    let passed = findings.all_passed();
    let text = if passed && !verbose {
        "ok".to_owned()
    } else {
        findings.report(endpoint)
    };
    let code = if passed {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (code, [(CACHE_CONTROL, "no-store")], text).into_response()
}

async fn metrics(State(telemetry): State<Telemetry>, request: Request) -> Result<Response, Status> {
    administrator(&telemetry, Head::from(&request), request.extensions()).await?;
    let own = telemetry
        .metrics
        .encode()
        .map_err(|_| Status::internal("cannot encode the metrics"))?;
    let text = match telemetry.hub_metrics.text().await {
        Some(of_hub) => joined(&own, &of_hub),
        None => own,
    };
    let content = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, content), (CACHE_CONTROL, "no-store")], text).into_response())
}

/// Concatenates two texts in OpenMetrics format. Removes the end marker of the first text.
fn joined(first: &str, last: &str) -> String {
    format!("{}{last}", first.strip_suffix("# EOF\n").unwrap_or(first))
}

/// Returns the log filter of the running process.
#[utoipa::path(get, path = "/v1/log-filter", tag = "server",
    responses((status = 200, body = LogFilterBody)))]
async fn log_filter(
    State(telemetry): State<Telemetry>,
    request: Request,
) -> Result<Json<LogFilterBody>, Status> {
    administrator(&telemetry, Head::from(&request), request.extensions()).await?;
    Ok(Json(LogFilterBody {
        filter: telemetry.log_filter.current(),
    }))
}

/// Sets the log filter. The filter stays in effect until the server stops or the setting
/// `log-filter` changes.
#[utoipa::path(put, path = "/v1/log-filter", tag = "server", request_body = LogFilterBody,
    responses((status = 200, body = LogFilterBody)))]
async fn set_log_filter(
    State(telemetry): State<Telemetry>,
    request: Request,
) -> Result<Json<LogFilterBody>, Status> {
    let administrator =
        administrator(&telemetry, Head::from(&request), request.extensions()).await?;
    let body::Json(body) = body::Json::<LogFilterBody>::from_request(request, &telemetry).await?;
    telemetry
        .log_filter
        .set(&body.filter)
        .map_err(|error| match &error {
            LogFilterError::Syntax { source, .. } => {
                Status::invalid("filter", format!("{error} ({source})"))
            }
            LogFilterError::Ended(_) => Status::unavailable(error.to_string(), 1),
        })?;
    tracing::info!(filter = %body.filter, user.name = %administrator, "log filter changed");
    Ok(Json(body))
}

/// Returns the name of the caller. Returns an error unless the caller is an administrator.
async fn administrator(
    telemetry: &Telemetry,
    head: Head<'_>,
    extensions: &Extensions,
) -> Result<String, Status> {
    let identity = identify(&telemetry.authenticator, head, extensions).await?;
    check_administrator(&identity)?;
    Ok(identity.user_name)
}
