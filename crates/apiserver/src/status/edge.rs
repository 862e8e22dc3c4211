//! Refusals that come from the HTTP edge itself rather than from an object.

use http::StatusCode;

use super::{ApiError, Cause, Details};

impl ApiError {
    /// The path names nothing in a group and version that is served.
    pub fn unknown_path() -> Self {
        let mut error = Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        );
        error.details = Some(Box::default());
        error
    }

    /// The path is known, the method is not.
    pub fn method_not_allowed() -> Self {
        let mut error = Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        error.details = Some(Box::default());
        error
    }

    /// The resource has no such verb.
    pub fn verb_not_supported(group: &str, resource: &str, verb: &str) -> Self {
        let qualified = super::qualified(resource, group);
        let message = format!("{verb} is not supported on resources of kind {qualified:?}");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
            .about(group, resource, "")
    }

    /// Custom objects are not made while their definition goes.
    pub fn definition_terminating(group: &str, resource: &str) -> Self {
        let message = "create not allowed while custom resource definition is terminating";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
            .about(group, resource, "")
    }

    /// None of the media types that the client takes can be written.
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            accepted.join(", ")
        );
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// The body is of a media type that cannot be read.
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

    /// The body is longer than is read; `limit` is in bytes.
    pub fn too_large(limit: usize) -> Self {
        Self::too_large_for(format_args!("limit is {limit}"))
    }

    /// Something in the request is larger than is taken.
    pub fn too_large_for(what: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!("Request entity too large: {what}"),
        )
    }

    /// The caller asks for more than its share; it may try again after these seconds.
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

    /// The server cannot serve now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            message,
        )
    }

    /// The request took longer than it may; it may still have been done.
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

    /// The client has seen a revision that this server has not.
    pub fn too_large_resource_version(asked: u64, current: u64) -> Self {
        let mut error = Self::timeout(
            format_args!("Too large resource version: {asked}, current: {current}"),
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

    /// A generated name is taken, and so were the ones tried before it.
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

    /// A JSON patch that cannot be applied to the object.
    pub fn unprocessable() -> Self {
        let mut error = Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Invalid",
            "the server rejected our request due to an error in our request",
        );
        error.details = Some(Box::default());
        error
    }
}
