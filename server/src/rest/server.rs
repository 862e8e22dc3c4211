//! What the server is: `/v1/version` and the OpenAPI document.

use axum::Json;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use bytes::Bytes;
use drover_api::agent::PROTOCOLS;
use drover_api::rest::Version;
use http::header::CONTENT_TYPE;

use super::RestState;

/// What the server is.
#[utoipa::path(get, path = "/v1/version", tag = "server",
    responses((status = 200, body = Version)))]
pub(super) async fn version() -> Json<Version> {
    Json(Version {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("DROVER_COMMIT").unwrap_or("unknown").to_owned(),
        protocols: PROTOCOLS.to_vec(),
    })
}

/// Serves the document, rendered once.
pub(super) fn openapi(document: &serde_json::Value) -> MethodRouter<RestState> {
    let rendered = Bytes::from(serde_json::to_vec(document).unwrap_or_default());
    get(async move || ([(CONTENT_TYPE, "application/json")], rendered.clone()).into_response())
}
