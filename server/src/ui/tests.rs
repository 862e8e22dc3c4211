//! Tests of the responses of the web UI to browsers.

use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use super::*;

/// The `Accept` header of a browser that navigates to a page.
const BROWSER_ACCEPT: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

async fn call(method: Method, path: &str, headers: &[(HeaderName, &str)]) -> Response {
    let router = router().fallback(screen_or_not_found);
    let mut request = http::Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    let request = request.body(Body::empty()).unwrap();
    router.oneshot(request).await.unwrap()
}

async fn visit(path: &str) -> Response {
    call(Method::GET, path, &[(ACCEPT, BROWSER_ACCEPT)]).await
}

async fn body(response: Response) -> Vec<u8> {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    bytes.to_vec()
}

fn header(response: &Response, name: HeaderName) -> &str {
    response
        .headers()
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn every_ui_screen_has_a_url() {
    for path in [
        "/",
        "/about",
        "/clusters/shop",
        "/clusters/a/kinds/pods.example.com",
        "/v1x",
    ] {
        let response = visit(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(header(&response, CONTENT_TYPE), "text/html; charset=utf-8");
        assert_eq!(header(&response, CACHE_CONTROL), "no-cache");
        assert!(body(response).await.starts_with(b"<!doctype html>"));
    }
}

#[tokio::test]
async fn api_paths_and_missing_paths_do_not_return_the_ui_page() {
    for path in [
        "/v1/nothing",
        "/v1",
        "/k8s/x",
        "/hub/x",
        "/livez",
        "/readyz/x",
        "/metrics/x",
        "/assets/app-0.js",
        "/assets/index.html",
        "/assets/..%2findex.html",
        "/assets/",
        "/favicon.ico",
        "/wp-login.php",
        "/deep/down.js",
    ] {
        let response = visit(path).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        assert_eq!(header(&response, CONTENT_TYPE), "application/json");
        let status: Value = serde_json::from_slice(&body(response).await).unwrap();
        assert_eq!(status["kind"], "Status", "{path}");
    }
}

#[tokio::test]
async fn request_for_a_ui_screen_from_a_non_browser_client_returns_404() {
    for (method, accept) in [
        (Method::GET, "*/*"),
        (Method::GET, "application/json"),
        (Method::POST, BROWSER_ACCEPT),
        (Method::DELETE, BROWSER_ACCEPT),
    ] {
        let response = call(method.clone(), "/clusters", &[(ACCEPT, accept)]).await;
        assert_eq!(
            response.status(),
            StatusCode::NOT_FOUND,
            "{method} {accept}"
        );
    }
}

#[tokio::test]
async fn content_security_policy_allows_only_scripts_of_the_server() {
    let response = visit("/").await;
    let policy = header(&response, CONTENT_SECURITY_POLICY);
    assert!(policy.starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"));
    for forbidden in [
        "unsafe-inline",
        "'unsafe-eval'",
        "data:",
        "blob:",
        "*",
        "http",
    ] {
        assert!(!policy.contains(forbidden), "{policy}");
    }
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"));
    for (name, expected) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(header(&response, HeaderName::from_static(name)), expected);
    }
    // The page must comply with its own policy, or browsers would show an empty page.
    let text = String::from_utf8(body(response).await).unwrap();
    for inline in [
        "<style", "style=", "onload=", "onclick=", "<script>", "http://", "https://",
    ] {
        assert!(!text.contains(inline), "{inline}");
    }
}

#[tokio::test]
async fn request_with_current_etag_returns_304() {
    let first = visit("/").await;
    let tag = header(&first, ETAG).to_owned();
    assert!(tag.len() > 2);
    for known in [
        tag.clone(),
        format!("W/{tag}"),
        format!("\"x\", {tag}"),
        "*".to_owned(),
    ] {
        let headers = [(ACCEPT, BROWSER_ACCEPT), (IF_NONE_MATCH, &known)];
        let again = call(Method::GET, "/", &headers).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{known}");
        assert_eq!(header(&again, ETAG), tag);
        assert!(body(again).await.is_empty());
    }
    let other = call(Method::GET, "/", &[(IF_NONE_MATCH, "\"x\"")]).await;
    assert_eq!(other.status(), StatusCode::OK);
}

#[tokio::test]
async fn head_request_has_no_body() {
    let page = visit("/about").await;
    let length = header(&page, CONTENT_LENGTH).to_owned();
    let requested = call(Method::HEAD, "/about", &[(ACCEPT, BROWSER_ACCEPT)]).await;
    assert_eq!(requested.status(), StatusCode::OK);
    assert_eq!(header(&requested, CONTENT_LENGTH), length);
    assert!(body(requested).await.is_empty());
}

#[tokio::test]
async fn every_ui_file_is_served_in_every_encoding() {
    for file in files::all() {
        let path = format!("/{}", file.path.trim_start_matches("index.html"));
        for (accepted, expected) in [
            ("br", file.brotli),
            ("gzip", file.gzip),
            ("identity", Some(file.plain)),
        ] {
            let headers = [(ACCEPT, BROWSER_ACCEPT), (ACCEPT_ENCODING, accepted)];
            let response = call(Method::GET, &path, &headers).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            assert_eq!(header(&response, VARY), "Accept-Encoding");
            assert_eq!(header(&response, CONTENT_TYPE), file.media_type());
            let compressed = header(&response, CONTENT_ENCODING) == accepted;
            assert_eq!(compressed, accepted != "identity" && expected.is_some());
            assert_eq!(
                body(response).await,
                expected.unwrap_or(file.plain),
                "{path}"
            );
        }
    }
}

#[test]
fn ui_assets_are_cacheable_and_the_page_is_revalidated() {
    for file in files::all() {
        let kept = file.caching().contains("immutable");
        assert_eq!(kept, file.path.starts_with("assets/"), "{}", file.path);
        assert_ne!(
            file.media_type(),
            "application/octet-stream",
            "{}",
            file.path
        );
    }
    assert!(files::find("index.html").is_some());
}
