//! Caching of responses with data of users or clusters.

use std::future::{Ready, ready};

use axum::response::Response;
use http::HeaderValue;
use http::header::CACHE_CONTROL;

/// Forbids caches to store a response (RFC 9111 §5.2.2.5). A function for
/// [`map_response`](axum::middleware::map_response).
pub fn without_cache(mut response: Response) -> Ready<Response> {
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    ready(response)
}
