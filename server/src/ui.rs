//! The web UI: files that are built in advance and embedded in the program. *Owns* the response
//! headers of the files: types, caching, compression, and the content security policy. All data in
//! the UI comes from `/v1` and `/k8s`.

mod encoding;
mod files;
mod policy;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};

use drover_http_edge::status::Status;
use encoding::Encoding;
use files::File;
pub use policy::Policy;

/// First path segments of the APIs. Paths of the UI never start with these segments.
const API_PREFIXES: &[&str] = &[
    "assets", "configdb", "edge", "git", "hub", "k8s", "livez", "metrics", "readyz", "v1",
];
/// File extensions of assets. A dot before other text is part of an object's name, as in
/// `pods.example.com`.
const ASSET_EXTENSIONS: &[&str] = &[
    "css",
    "gif",
    "gz",
    "html",
    "ico",
    "jpg",
    "js",
    "json",
    "map",
    "php",
    "png",
    "svg",
    "txt",
    "wasm",
    "webmanifest",
    "woff2",
    "xml",
    "yaml",
];

/// Serves the page and its assets.
pub fn router() -> Router {
    Router::new()
        .route("/", get(start))
        .route("/assets/{name}", get(asset))
}

/// Responds to requests whose path has no route. Returns the UI's page if a browser navigates to
/// the path; otherwise, returns an error.
pub async fn screen_or_not_found(request: Request) -> Response {
    if is_screen(&request) {
        answer(&request, page())
    } else {
        Status::no_such_path().into_response()
    }
}

async fn start(request: Request) -> Response {
    answer(&request, page())
}

async fn asset(request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    match files::find(path) {
        Some(file) => answer(&request, file),
        None => Status::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "file not found; reload the page, because the server may have been upgraded",
        )
        .into_response(),
    }
}

fn page() -> &'static File {
    files::find("index.html").expect("every build puts an index.html into the program")
}

fn is_screen(request: &Request) -> bool {
    let wants_page = request
        .headers()
        .get_all(ACCEPT)
        .iter()
        .any(|value| value.to_str().is_ok_and(|text| text.contains("text/html")));
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    reads && wants_page && is_screens_path(request.uri())
}

fn is_screens_path(uri: &Uri) -> bool {
    let path = uri.path().trim_start_matches('/');
    let first = path.split('/').next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    let is_file = last.rsplit_once('.').is_some_and(|(_, ending)| {
        ASSET_EXTENSIONS.contains(&ending.to_ascii_lowercase().as_str())
    });
    !API_PREFIXES.contains(&first) && !is_file
}

fn answer(request: &Request, file: &'static File) -> Response {
    let encoding = Encoding::chosen(&request.headers().get_all(ACCEPT_ENCODING), file);
    let tag = format!("\"{}{}\"", file.version, encoding.suffix());
    let mut response = if is_known(request.headers(), &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        full(request, file, encoding)
    };
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(VARY, "Accept-Encoding");
    set(CACHE_CONTROL, file.caching());
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(REFERRER_POLICY, "same-origin");
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    let policy = request.extensions().get::<Policy>();
    let policy = policy.map_or_else(|| Policy::default().header(), Policy::header);
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(ETAG, tag);
    }
    response
}

fn full(request: &Request, file: &'static File, encoding: Encoding) -> Response {
    let bytes = encoding.bytes(file);
    let body = if request.method() == Method::HEAD {
        Body::empty()
    } else {
        Body::from(bytes)
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.media_type()));
    if let Some(name) = encoding.name() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    response
}

/// Reports whether the browser's cache contains this version of the file (RFC 9110, 13.1.2: weak
/// comparison).
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|known| known.trim().trim_start_matches("W/"))
        .any(|known| known == tag || known == "*")
}

#[cfg(test)]
mod tests;
