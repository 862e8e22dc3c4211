//! [`ApiError`]: the error of all requests, as `metav1.Status`.
//!
//! The messages equal the messages of kube-apiserver (apimachinery `pkg/api/errors`), because
//! clients may parse them.

use std::collections::HashSet;
use std::fmt;

mod edge;

use http::StatusCode;
use serde_json::{Value, json};

/// An error response.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// The HTTP status, which is also the field `code`.
    pub code: StatusCode,
    /// `metav1.StatusReason`, such as `NotFound`.
    pub reason: &'static str,
    /// The message for users.
    pub message: String,
    /// `metav1.StatusDetails`.
    pub details: Option<Box<Details>>,
    /// The continue token in `metadata.continue`. A client continues an expired list at the latest
    /// state with this token.
    pub list_continue: Option<String>,
}

/// `metav1.StatusDetails`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    /// The name of the object.
    pub name: String,
    /// The API group of `kind`.
    pub group: String,
    /// The resource or kind of the object.
    pub kind: String,
    /// The UID of the object.
    pub uid: String,
    /// The causes of a validation error, one per invalid field.
    pub causes: Vec<Cause>,
    /// Seconds until a retry may succeed. The response header `Retry-After` has the same value.
    pub retry_after: Option<u32>,
}

/// `metav1.StatusCause`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// `metav1.CauseType`, such as `FieldValueInvalid`.
    pub reason: &'static str,
    /// The message for users.
    pub message: String,
    /// The field's path, such as `spec.replicas`.
    pub field: String,
}

/// A validation error of a field (apimachinery's `field.Error`).
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// The type of error.
    pub kind: FieldErrorKind,
    /// The field path, such as `spec.template.spec.containers[0].name`.
    pub path: String,
    /// The invalid value. `None` if the message omits the value.
    pub value: Option<Value>,
    /// The explanation of the error.
    pub detail: String,
}

/// apimachinery's `field.ErrorType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// The value refers to a missing object.
    NotFound,
    /// The required value is absent.
    Required,
    /// The value occurs twice.
    Duplicate,
    /// The value is malformed.
    Invalid,
    /// The value is none of the supported values.
    NotSupported,
    /// The value is valid, but the API forbids the value for this object.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// The list has too many items.
    TooMany,
    /// The value has the wrong type.
    TypeInvalid,
    /// The server cannot validate the value because of an internal error.
    Internal,
}

impl FieldErrorKind {
    /// Returns the `metav1.CauseType` of the error.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }
}

impl FieldError {
    /// Returns the message without the path: `Invalid value: -1: must be greater than or equal to
    /// 0`.
    pub fn body(&self) -> String {
        let kind = self.kind.text();
        let shown = match self.kind {
            FieldErrorKind::Required
            | FieldErrorKind::Forbidden
            | FieldErrorKind::TooLong
            | FieldErrorKind::Internal => None,
            _ => self.value.as_ref(),
        };
        let mut text = match shown {
            None => kind.to_owned(),
            Some(Value::String(text)) => format!("{kind}: {text:?}"),
            // Go prints structures in its own syntax; JSON is the closest available.
            Some(value) => format!("{kind}: {value}"),
        };
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

impl ApiError {
    /// Creates an error without details.
    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            list_continue: None,
        }
    }

    fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        self.details = Some(Box::new(Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            ..Details::default()
        }));
        self
    }

    /// Creates the 404 error for an object that does not exist.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(resource, group));
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(group, resource, name)
    }

    /// Creates the 409 error for an object that already exists.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(resource, group));
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(group, resource, name)
    }

    /// Creates the 409 error for a concurrent modification or a failed precondition.
    pub fn conflict(group: &str, resource: &str, name: &str, reason: impl fmt::Display) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {reason}",
            qualified(resource, group)
        );
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(group, resource, name)
    }

    /// Creates the 400 error for a malformed request.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// Creates the 401 error for an unauthenticated request.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// Creates the 403 error for a request that the caller is not authorized to send.
    pub fn forbidden(group: &str, resource: &str, name: &str, reason: impl fmt::Display) -> Self {
        let subject = match (resource, name) {
            ("", _) if group.is_empty() => "forbidden: ".to_owned(),
            (_, "") => format!("{} is forbidden: ", qualified(resource, group)),
            _ => format!("{} {name:?} is forbidden: ", qualified(resource, group)),
        };
        let message = format!("{subject}{reason}");
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(group, resource, name)
    }

    /// Creates the 422 error for failed validation. `kind` is the kind, not the resource.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let mut seen = HashSet::new();
        let mut messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
        messages.retain(|text| seen.insert(text.clone()));
        let joined = match messages.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} {name:?} is invalid: {joined}", qualified(kind, group));
        let mut error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
            .about(group, kind, name);
        if let Some(details) = &mut error.details {
            details.causes = errors
                .iter()
                .map(|error| Cause {
                    reason: error.kind.cause(),
                    message: error.body(),
                    field: error.path.clone(),
                })
                .collect();
        }
        error
    }

    /// Creates the 410 error for a resourceVersion that is too old.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// Creates the 500 error for a failure of the server.
    pub fn internal(problem: impl fmt::Display) -> Self {
        let problem = problem.to_string();
        let message = format!("Internal error occurred: {problem}");
        let mut error = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message);
        error.details = Some(Box::new(Details {
            causes: vec![Cause {
                reason: "",
                message: problem,
                field: String::new(),
            }],
            ..Details::default()
        }));
        error
    }

    /// Serializes the error as a `metav1.Status` object.
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code.as_u16(),
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(token) = &self.list_continue {
            status["metadata"]["continue"] = token.as_str().into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.to_value();
        }
        status
    }
}

impl Details {
    fn to_value(&self) -> Value {
        let mut value = json!({});
        for (key, text) in [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ] {
            if !text.is_empty() {
                value[key] = text.as_str().into();
            }
        }
        if !self.causes.is_empty() {
            value["causes"] = self.causes.iter().map(Cause::to_value).collect();
        }
        if let Some(seconds) = self.retry_after {
            value["retryAfterSeconds"] = seconds.into();
        }
        value
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut value = json!({"message": self.message});
        if !self.reason.is_empty() {
            value["reason"] = self.reason.into();
        }
        if !self.field.is_empty() {
            value["field"] = self.field.as_str().into();
        }
        value
    }
}

/// Returns the resource with its group, such as `deployments.apps`, or `pods` for the core group.
fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}
