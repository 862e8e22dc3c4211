//! Routes that return the server's version and the OpenAPI document.

use std::sync::LazyLock;

use axum::Json;
use axum::extract::State;
use bytes::Bytes;
use drover_api::agent::PROTOCOLS;
use drover_api::rest::Version;
use http::HeaderName;
use http::header::CONTENT_TYPE;

use super::RestState;
use drover_http_edge::status::Status;
use drover_identity::caller::Administrator;

/// Returns the server's version.
///
/// For administrators, the response also contains the network address that most users share, if one
/// exists.
#[utoipa::path(get, path = "/v1/version", tag = "server",
    responses((status = 200, body = Version)))]
pub(super) async fn version(
    State(state): State<RestState>,
    administrator: Result<Administrator, Status>,
) -> Json<Version> {
    // The address of users is for administrators only. Every caller receives the version.
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

/// Returns the OpenAPI document. The first request renders the document, and later requests return
/// the cached text.
pub(super) async fn openapi() -> ([(HeaderName, &'static str); 1], Bytes) {
    static RENDERED: LazyLock<Bytes> = LazyLock::new(|| {
        let rendered = serde_json::to_vec(&crate::document());
        rendered.expect("a JSON value can be serialized").into()
    });
    ([(CONTENT_TYPE, "application/json")], RENDERED.clone())
}
