//! Non-resource paths: discovery, OpenAPI, health, metrics.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::response::Response;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, HOST, IF_NONE_MATCH, LOCATION, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::json;

use crate::discovery::{self, AGGREGATED, Aggregated};
use crate::openapi::Documents;
use crate::serve::exchange::Exchange;
use crate::serve::input::negotiate::{Format, Transforms, accepted, clauses, header};
use crate::serve::limits::heavy::WorkCost;
use crate::serve::{answer, health};
use crate::status::ApiError;

/// Responds to a request for a non-resource path.
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
        ["api" | "apis", ..] => documents(exchange, &parts),
        ["openapi", "v3"] => {
            let documents = documents_of(exchange, None).await;
            let mut answer = answer::value(StatusCode::OK, Format::Json, documents.index());
            // kube-apiserver returns this content type for all formats.
            let kind = HeaderValue::from_static("text/plain; charset=utf-8");
            answer.headers_mut().insert(CONTENT_TYPE, kind);
            Ok(answer)
        }
        [""] => Ok(root(exchange)),
        ["openapi", "v2"] => openapi_v2(exchange).await,
        ["openapi", "v3", rest @ ..] => schema(exchange, &rest.join("/")).await,
        [".well-known", "openid-configuration"] | ["openid", "v1", "jwks"] => {
            openid(exchange, path)
        }
        _ => Ok(answer::page_not_found()),
    }
}

/// Responds with the list of paths.
fn root(exchange: &Exchange) -> Response {
    let catalog = exchange.shared.catalog.load();
    let mut paths: BTreeSet<String> = [
        "/.well-known/openid-configuration",
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .into();
    for resource in catalog.iter() {
        let (group, version) = (
            &resource.group_version.group,
            &resource.group_version.version,
        );
        if group.is_empty() {
            paths.insert(format!("/api/{version}"));
        } else {
            paths.insert(format!("/apis/{group}"));
            paths.insert(format!("/apis/{group}/{version}"));
        }
    }
    answer::value(StatusCode::OK, Format::Json, &json!({"paths": paths}))
}

/// Responds with a discovery document.
fn documents(exchange: &Exchange, parts: &[&str]) -> Result<Response, ApiError> {
    let catalog = exchange.shared.catalog.load_full();
    if let ["api" | "apis"] = parts
        && wants_aggregated(&exchange.headers)
    {
        let documents = exchange.shared.discovery.get(&catalog);
        let document = match parts {
            ["api"] => documents.core(),
            _ => documents.groups(),
        };
        return Ok(aggregated(exchange, document));
    }
    let document = match parts {
        ["api"] => Some(discovery::core_versions(&host(&exchange.headers))),
        ["apis"] => Some(discovery::groups(&catalog)),
        ["apis", group] => discovery::group(&catalog, group),
        ["api", version] => discovery::resources(&catalog, "", version),
        ["apis", group, version] => discovery::resources(&catalog, group, version),
        _ => None,
    };
    let Some(document) = document else {
        return Ok(answer::page_not_found());
    };
    let accepted = accepted(&exchange.headers, Transforms::None)?;
    Ok(answer::value(StatusCode::OK, accepted.format, &document))
}

/// Reports whether the client requests aggregated discovery (KEP-3352).
fn wants_aggregated(headers: &HeaderMap) -> bool {
    let header = header(headers, &ACCEPT);
    let first = clauses(header).into_iter().next();
    first.is_some_and(|clause| {
        clause.parameter("as") == "APIGroupDiscoveryList"
            && clause.parameter("g") == "apidiscovery.k8s.io"
            && clause.parameter("v") == "v2"
    })
}

fn aggregated(exchange: &Exchange, document: &Aggregated) -> Response {
    let quoted = format!("\"{}\"", document.etag);
    let known = header(&exchange.headers, &IF_NONE_MATCH);
    let mut response = if known == quoted {
        let mut response = answer::bytes(StatusCode::NOT_MODIFIED, AGGREGATED, "");
        response.headers_mut().remove(CONTENT_TYPE);
        response
    } else {
        answer::bytes(StatusCode::OK, AGGREGATED, document.body.clone())
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    if let Ok(value) = HeaderValue::from_str(&quoted) {
        headers.insert(ETAG, value);
    }
    response
}

/// Responds with an OpenAPI v3 document. The document at a URL with a hash is immutable (KEP-2896).
async fn schema(exchange: &Exchange, path: &str) -> Result<Response, ApiError> {
    let documents = documents_of(exchange, Some(path)).await;
    let Some(document) = documents.document(path) else {
        let mut answer = answer::text(StatusCode::NOT_FOUND, "");
        answer.headers_mut().remove(CONTENT_TYPE);
        return Ok(answer);
    };
    let hash = exchange.query.first("hash");
    if hash.is_some_and(|hash| hash != document.hash) {
        return Ok(moved(path, &document.hash));
    }
    let quoted = format!("\"{}\"", document.hash);
    let mut response = if header(&exchange.headers, &IF_NONE_MATCH) == quoted {
        answer::bytes(StatusCode::NOT_MODIFIED, "application/json", "")
    } else {
        let body = vec![document.body.clone()];
        answer::json(
            &exchange.shared.reads,
            StatusCode::OK,
            &exchange.headers,
            body,
        )
        .await
    };
    let headers = response.headers_mut();
    if hash.is_some() {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    }
    if let Ok(value) = HeaderValue::from_str(&quoted) {
        headers.insert(ETAG, value);
    }
    Ok(response)
}

/// Subtypes of `application` for the OpenAPI v2 document. The boolean is true for Protobuf. The
/// first entry is an invalid media type that old clients request.
const V2_MEDIA_SUBTYPES: [(&str, bool); 3] = [
    ("json", false),
    ("com.github.proto-openapi.spec.v2@v1.0+protobuf", true),
    ("com.github.proto-openapi.spec.v2.v1.0+protobuf", true),
];
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Responds with the OpenAPI v2 document.
async fn openapi_v2(exchange: &Exchange) -> Result<Response, ApiError> {
    let accepted = header(&exchange.headers, &ACCEPT);
    let accepted = if accepted.is_empty() { "*/*" } else { accepted };
    let requested = clauses(accepted).into_iter().find_map(|clause| {
        if clause.kind != "*" && clause.kind != "application" {
            return None;
        }
        let known = V2_MEDIA_SUBTYPES
            .iter()
            .find(|(subtype, _)| [*subtype, "*"].contains(&clause.subtype));
        known.map(|(_, protobuf)| *protobuf)
    });
    let Some(protobuf) = requested else {
        let mut answer = answer::text(StatusCode::NOT_ACCEPTABLE, "");
        answer.headers_mut().remove(CONTENT_TYPE);
        vary(&mut answer);
        return Ok(answer);
    };
    let shared = &exchange.shared;
    let documents = shared.openapi.get(&shared.catalog.load_full());
    let weight = if documents.is_v2_built() {
        WorkCost::Light
    } else {
        WorkCost::HeavyWorkLimiter
    };
    let work = || {
        documents.v2();
    };
    shared.heavy.run(weight, work).await;
    let v2 = documents.v2();
    let quoted = format!("\"{}\"", v2.hash);
    let is_known = header(&exchange.headers, &IF_NONE_MATCH) == quoted;
    let mut response = match (is_known, protobuf) {
        (true, _) => answer::bytes(StatusCode::NOT_MODIFIED, "application/json", ""),
        (false, true) => answer::bytes(StatusCode::OK, V2_PROTOBUF, v2.protobuf.clone()),
        (false, false) => {
            answer::json(
                &shared.reads,
                StatusCode::OK,
                &exchange.headers,
                vec![v2.json.clone()],
            )
            .await
        }
    };
    vary(&mut response);
    if let Ok(value) = HeaderValue::from_str(&quoted) {
        response.headers_mut().insert(ETAG, value);
    }
    Ok(response)
}

/// Adds `Vary`, because the response depends on format and compression.
fn vary(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.append(VARY, HeaderValue::from_static("Accept"));
}

/// Builds the document of `path` (`None` for the index) if necessary, and returns the OpenAPI
/// documents.
async fn documents_of(exchange: &Exchange, path: Option<&str>) -> Arc<Documents> {
    let shared = &exchange.shared;
    let documents = shared.openapi.get(&shared.catalog.load_full());
    let weight = if documents.is_built(path) {
        WorkCost::Light
    } else {
        WorkCost::HeavyWorkLimiter
    };
    let work = || match path {
        None => drop(documents.index()),
        Some(path) => drop(documents.document(path)),
    };
    shared.heavy.run(weight, work).await;
    documents
}

/// Redirects to the URL with the current hash of the document.
fn moved(path: &str, hash: &str) -> Response {
    let mut response = answer::text(StatusCode::MOVED_PERMANENTLY, "");
    if let Ok(place) = HeaderValue::from_str(&format!("/openapi/v3/{path}?hash={hash}")) {
        response.headers_mut().insert(LOCATION, place);
    }
    response
}

/// Returns the server's address from the header `Host`.
fn host(headers: &HeaderMap) -> String {
    header(headers, &HOST).to_owned()
}

fn metrics(exchange: &Exchange) -> Result<Response, ApiError> {
    let load = exchange.shared.fair.load();
    let text = exchange.shared.metrics.text(load);
    let text = text.map_err(ApiError::internal)?;
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(answer::bytes(StatusCode::OK, media_type, text))
}

/// Responds with the documents that clients need to verify service account tokens (OpenID Connect
/// Discovery 1.0).
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
    let mut response = answer::bytes(StatusCode::OK, media_type, body);
    let an_hour = HeaderValue::from_static("public, max-age=3600");
    response.headers_mut().insert(CACHE_CONTROL, an_hour);
    Ok(response)
}
