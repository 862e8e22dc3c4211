//! Errors of the HTTP layer, which do not refer to an object.

use http::StatusCode;

use super::{ApiError, Cause, Details};

impl ApiError {
    /// Creates the error for a path that the server does not serve.
    pub fn unknown_path() -> Self {
        let mut error = Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        );
        error.details = Some(Box::default());
        error
    }

    /// Creates the error for an HTTP method that the path does not support.
    pub fn method_not_allowed() -> Self {
        let mut error = Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        error.details = Some(Box::default());
        error
    }

    /// Creates the error for a verb that the resource does not support.
    pub fn verb_not_supported(group: &str, resource: &str, verb: &str) -> Self {
        let qualified = super::qualified(resource, group);
        let message = format!("{verb} is not supported on resources of kind {qualified:?}");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
            .about(group, resource, "")
    }

    /// Creates the error for a new custom object whose CRD is being deleted.
    pub fn definition_terminating(group: &str, resource: &str) -> Self {
        let message = "create not allowed while custom resource definition is terminating";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
            .about(group, resource, "")
    }

    /// Creates the error for an `Accept` header without a supported media type.
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            accepted.join(", ")
        );
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// Creates the error for a body with an unsupported media type.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message,
        )
    }

    /// Creates the error for a body that exceeds `limit` bytes.
    pub fn too_large(limit: usize) -> Self {
        Self::too_large_for(format_args!("limit is {limit}"))
    }

    /// Creates the error for a part of the request that is too large, such as a patch.
    pub fn too_large_for(subject: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!("Request entity too large: {subject}"),
        )
    }

    /// Creates the error for a caller with too many requests. The client may retry after
    /// `retry_after` seconds.
    pub fn too_many_requests(message: impl Into<String>, retry_after: u32) -> Self {
        let mut error = Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "TooManyRequests",
            message.into(),
        );
        error.details = Some(Box::new(Details {
            retry_after: Some(retry_after),
            ..Details::default()
        }));
        error
    }

    /// Creates the error for a server that is temporarily unavailable.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            message,
        )
    }

    /// Creates the error for a timeout. The server may have executed the request.
    pub fn timeout(message: impl std::fmt::Display, retry_after: u32) -> Self {
        let mut error = Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            format!("Timeout: {message}"),
        );
        error.details = Some(Box::new(Details {
            retry_after: (retry_after > 0).then_some(retry_after),
            ..Details::default()
        }));
        error
    }

    /// Creates the error for a resourceVersion in the future.
    pub fn too_large_resource_version(requested: u64, current: u64) -> Self {
        let mut error = Self::timeout(
            format_args!("Too large resource version: {requested}, current: {current}"),
            1,
        );
        if let Some(details) = &mut error.details {
            details.causes = vec![Cause {
                reason: "ResourceVersionTooLarge",
                message: "Too large resource version".to_owned(),
                field: String::new(),
            }];
        }
        error
    }

    /// Creates the error for a generated name when all attempts to find an unused name failed.
    pub fn generated_name_taken(group: &str, resource: &str, name: &str) -> Self {
        let mut error = Self::already_exists(group, resource, name);
        error
            .message
            .push_str(", the server was not able to generate a unique name for the object");
        if let Some(details) = &mut error.details {
            details.retry_after = Some(1);
        }
        error
    }
}
