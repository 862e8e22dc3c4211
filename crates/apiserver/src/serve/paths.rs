//! Paths that name no resource: discovery, OpenAPI, health, metrics.

use axum::response::Response;
use http::{Method, StatusCode};

use super::exchange::Exchange;
use super::{answer, health};
use crate::status::ApiError;

/// Answers a request for such a path.
pub(crate) async fn route(exchange: &Exchange) -> Result<Response, ApiError> {
    if !matches!(exchange.method, Method::GET | Method::HEAD) {
        return Err(ApiError::method_not_allowed());
    }
    let path = exchange.info.path.trim_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [name @ ("livez" | "readyz" | "healthz"), tail @ ..] => {
            Ok(health::probe(exchange, name, &tail.join("/")).await)
        }
        ["version"] => Ok(health::version(exchange)),
        ["metrics"] => metrics(exchange),
        [".well-known", "openid-configuration"] | ["openid", "v1", "jwks"] => {
            openid(exchange, path)
        }
        _ => Ok(answer::page_not_found()),
    }
}

fn metrics(exchange: &Exchange) -> Result<Response, ApiError> {
    let load = exchange.shared.fair.load();
    let text = exchange.shared.metrics.text(load);
    let text = text.map_err(ApiError::internal)?;
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(answer::bytes(StatusCode::OK, media_type, text))
}

/// What those need who check this server's tokens (OpenID Connect Discovery 1.0).
fn openid(exchange: &Exchange, path: &str) -> Result<Response, ApiError> {
    let tokens = &exchange.shared.tokens;
    let (media_type, document) = if path.starts_with("openid") {
        ("application/jwk-set+json", tokens.keys().jwks())
    } else {
        let issuer = tokens.options().issuers.first().map_or("", String::as_str);
        let uri = format!("{issuer}/openid/v1/jwks");
        ("application/json", tokens.openid_configuration(&uri))
    };
    let body = serde_json::to_vec(&document).map_err(ApiError::internal)?;
    Ok(answer::bytes(StatusCode::OK, media_type, body))
}
