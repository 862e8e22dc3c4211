//! Converts errors to HTTP responses. The body is a Kubernetes `Status` as JSON.
//!
//! Each module has its own error types and converts the errors to a [`Status`]. kubectl, the CLI
//! and browsers therefore receive the same format, with the cause and the next step.

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use k8s_openapi::apimachinery::pkg::apis::meta::v1;

/// An error response in the format of `metav1.Status`. The content is boxed to keep `Result` values
/// small.
#[derive(Clone, Debug, PartialEq)]
pub struct Status(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    code: StatusCode,
    reason: String,
    message: String,
    kind: Option<&'static str>,
    name: Option<String>,
    causes: Vec<v1::StatusCause>,
    retry_after_seconds: Option<u32>,
}

impl Status {
    /// Creates a response with any code and reason. Prefer the named constructors.
    pub fn new(code: StatusCode, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            reason: reason.into(),
            message: message.into(),
            kind: None,
            name: None,
            causes: Vec::new(),
            retry_after_seconds: None,
        }))
    }

    /// Creates a response with status 400: the request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// Creates a response with status 401: the request has no valid credential.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", message)
    }

    /// Creates a response with status 403: the caller is authenticated, but lacks the permission.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// Creates a response with status 404: the object does not exist, or the caller may not read
    /// the object.
    pub fn not_found(kind: &'static str, name: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            format!("{kind} {name:?} not found"),
        )
        .about(kind, name)
    }

    /// Creates a response with status 404: no route has the requested path.
    pub fn no_such_path() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "no route has this path; GET /v1/openapi.json lists all routes",
        )
    }

    /// Creates a response with status 405: the path exists, but does not support the method.
    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "this path does not support this method; GET /v1/openapi.json lists the supported methods",
        )
    }

    /// Creates a response with status 409: an object with this name already exists.
    pub fn already_exists(kind: &'static str, name: &str) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "AlreadyExists",
            format!("{kind} {name:?} already exists; choose another name"),
        )
        .about(kind, name)
    }

    /// Creates a response with status 409: a concurrent request changed the object, or the object's
    /// state forbids the change.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "Conflict", message)
    }

    /// Creates a response with status 413: the body exceeds the limit.
    pub fn too_large(limit_bytes: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!("the body exceeds the limit of {limit_bytes} bytes"),
        )
    }

    /// Creates a response with status 415: the body is not JSON.
    pub fn unsupported_media_type() -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            "send the body as JSON, with the header \"Content-Type: application/json\"",
        )
    }

    /// Creates a response with status 422: a field has an invalid value. `message` describes the
    /// valid values.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Invalid",
            format!("{field}: {message}"),
        )
        .because(field, "FieldValueInvalid", message)
    }

    /// Creates a response with status 429: the caller exceeded a rate limit. Sets `Retry-After`.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message)
            .retry_after(retry_after_seconds)
    }

    /// Creates a response with status 500: the server has an internal error.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    /// Creates a response with status 503: the server is temporarily unavailable. Sets
    /// `Retry-After`.
    pub fn unavailable(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            message,
        )
        .retry_after(retry_after_seconds)
    }

    /// Creates a response with status 504: a backend did not respond before the timeout.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
    }

    /// Sets the kind and name of the object that caused the error.
    #[must_use]
    pub fn about(mut self, kind: &'static str, name: &str) -> Self {
        self.0.kind = Some(kind);
        self.0.name = Some(name.to_owned());
        self
    }

    /// Adds a cause to `details.causes`: a field, and the reason why the field is invalid.
    #[must_use]
    pub fn because(mut self, field: &str, reason: &str, message: impl Into<String>) -> Self {
        self.0.causes.push(v1::StatusCause {
            field: Some(field.to_owned()),
            message: Some(message.into()),
            reason: Some(reason.to_owned()),
        });
        self
    }

    /// Sets the header `Retry-After`, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after_seconds = Some(seconds);
        self
    }

    /// Returns the HTTP status code.
    pub fn code(&self) -> StatusCode {
        self.0.code
    }

    /// Returns the reason in `PascalCase`.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// Returns the message for users.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Converts the error to the wire format (Kubernetes API conventions, "Response Status Kind").
    pub fn to_meta(&self) -> v1::Status {
        let inner = &*self.0;
        let has_details =
            inner.kind.is_some() || !inner.causes.is_empty() || inner.retry_after_seconds.is_some();
        v1::Status {
            code: Some(i32::from(inner.code.as_u16())),
            details: has_details.then(|| v1::StatusDetails {
                causes: (!inner.causes.is_empty()).then(|| inner.causes.clone()),
                kind: inner.kind.map(str::to_owned),
                name: inner.name.clone(),
                retry_after_seconds: inner
                    .retry_after_seconds
                    .map(|s| i32::try_from(s).unwrap_or(i32::MAX)),
                ..v1::StatusDetails::default()
            }),
            message: Some(inner.message.clone()),
            reason: Some(inner.reason.clone()),
            status: Some("Failure".to_owned()),
            ..v1::Status::default()
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {}: {}",
            self.0.code.as_u16(),
            self.0.reason,
            self.0.message
        )
    }
}

impl std::error::Error for Status {}

impl IntoResponse for Status {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.to_meta()).unwrap_or_default();
        let mut response = (self.0.code, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(
            http::header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        if let Some(seconds) = self.0.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.0.code == StatusCode::UNAUTHORIZED {
            headers.insert(
                WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"drover\""),
            );
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_status_has_the_kubernetes_wire_format() {
        let status = Status::invalid("password", "has 12 to 512 characters").retry_after(3);
        let wire = serde_json::to_value(status.to_meta()).unwrap();
        let read: kube::core::Status = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(read.code, 422);
        assert_eq!(read.reason, "Invalid");
        assert_eq!(wire["kind"], "Status");
        assert_eq!(wire["apiVersion"], "v1");
        let details = read.details.unwrap();
        assert_eq!(details.causes[0].field, "password");
        assert_eq!(details.retry_after_seconds, 3);
    }

    #[test]
    fn object_name_is_escaped_in_the_json_of_an_error_status() {
        let response = Status::not_found("Cluster", "<script>\r\nSet-Cookie: x").into_response();
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        assert!(!response.headers().contains_key("set-cookie"));
    }

    #[test]
    fn www_authenticate_header_is_set_only_for_401() {
        assert!(
            Status::unauthorized("x")
                .into_response()
                .headers()
                .contains_key(WWW_AUTHENTICATE)
        );
        assert!(
            !Status::forbidden("x")
                .into_response()
                .headers()
                .contains_key(WWW_AUTHENTICATE)
        );
    }
}
