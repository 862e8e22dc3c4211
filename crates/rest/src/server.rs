//! What the server is: `/v1/version` and the OpenAPI document.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use bytes::Bytes;
use drover_api::agent::PROTOCOLS;
use drover_api::rest::Version;
use http::header::CONTENT_TYPE;

use super::RestState;
use drover_http_edge::status::Status;
use drover_identity::caller::Administrator;

/// What the server is; administrators also learn the address that most users share, if there is one.
#[utoipa::path(get, path = "/v1/version", tag = "server",
    responses((status = 200, body = Version)))]
pub(super) async fn version(
    State(state): State<RestState>,
    administrator: Result<Administrator, Status>,
) -> Json<Version> {
    // An address of users is for administrators; everybody gets the version.
    let shared_address = administrator
        .ok()
        .and_then(|_| state.sign_in_sources.shared());
    Json(Version {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("DROVER_COMMIT").unwrap_or("unknown").to_owned(),
        protocols: PROTOCOLS.to_vec(),
        shared_address,
    })
}

/// Serves the document, rendered once.
pub(super) fn openapi(document: &serde_json::Value) -> MethodRouter<RestState> {
    let rendered = Bytes::from(serde_json::to_vec(document).unwrap_or_default());
    get(async move || ([(CONTENT_TYPE, "application/json")], rendered.clone()).into_response())
}
