//! Drover's own responses on the host names of port forwards, as plain text.

use axum::body::Body;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, StatusCode};

/// Creates a response with a plain text.
pub(crate) fn page(status: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(format!("{text}\n")));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'",
        ),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The response to a request without access. The response does not show whether the port forward
/// exists.
pub(crate) fn no_access() -> Response {
    page(
        StatusCode::UNAUTHORIZED,
        "This browser has no access to this port forward.\n\nThe port forward has ended, or another \
         browser opened it.\nOpen the pod or service in Drover, and select \"Forward port\".",
    )
}

/// The response to a ticket that is not valid.
pub(crate) fn no_ticket() -> Response {
    page(
        StatusCode::UNAUTHORIZED,
        "The link is not valid.\n\nA link opens a port forward only once, and only within one minute.\
         \nOpen the pod or service in Drover, and select \"Forward port\" again.",
    )
}

/// The response to a request that a page of another origin caused.
pub(crate) fn cross_origin() -> Response {
    page(
        StatusCode::FORBIDDEN,
        "A page of another address sent this request.\n\nOpen the address of the port forward \
         directly.",
    )
}

/// The response if the pod did not respond. `reason` is a sentence without a dot.
pub(crate) fn no_response(status: StatusCode, pod: &str, port: u16, reason: &str) -> Response {
    let text = format!(
        "The port {port} of the pod {pod} did not respond.\n\n{reason}\n\nCheck that the pod runs, and \
         that a program in the pod listens on the port {port}.\nIf the pod was replaced, stop this port \
         forward in Drover, and create a new one."
    );
    page(status, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_pages_run_no_content() {
        let response = no_response(
            StatusCode::BAD_GATEWAY,
            "web",
            80,
            "<script>alert(1)</script>",
        );
        let headers = response.headers();
        assert_eq!(headers[CONTENT_TYPE], "text/plain; charset=utf-8");
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert!(
            headers[CONTENT_SECURITY_POLICY]
                .to_str()
                .unwrap()
                .contains("'none'")
        );
        assert_eq!(headers[CACHE_CONTROL], "no-store");
    }
}
