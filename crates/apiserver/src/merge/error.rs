//! Errors of merges, and their conversion to responses.

use std::fmt;

use http::StatusCode;

use super::managers::{ManagerId, ManagersError};
use super::path::Path;
use crate::status::{ApiError, Cause, Details};

/// A field that another manager owns with a different value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The manager that owns the field.
    pub manager: ManagerId,
    /// The path of the owned field.
    pub path: Path,
}

/// The reason why [`apply`](super::apply) cannot apply a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Other managers own some of the fields.
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// The server-side apply request is malformed.
    #[error("{0}")]
    BadRequest(String),
    /// The live object's `managedFields` are malformed.
    #[error("failed to decode managed fields: {cause}", cause = .0)]
    Managers(#[from] ManagersError),
    /// The live or applied object does not match the schema of its kind.
    #[error("{0}")]
    Invalid(String),
}

fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            one.manager, one.path
        );
    }
    let mut lines: Vec<String> = Vec::new();
    let mut last: Option<&ManagerId> = None;
    for conflict in conflicts {
        if last != Some(&conflict.manager) {
            lines.push(format!("conflicts with {}:", conflict.manager));
            last = Some(&conflict.manager);
        }
        lines.push(format!("- {}", conflict.path));
    }
    format!(
        "Apply failed with {} conflicts: {}",
        conflicts.len(),
        lines.join("\n")
    )
}

impl From<ApplyError> for ApiError {
    fn from(error: ApplyError) -> Self {
        let message = error.to_string();
        match error {
            ApplyError::Conflicts(conflicts) => {
                let mut status = Self::new(StatusCode::CONFLICT, "Conflict", message);
                let causes = conflicts.iter().map(|conflict| Cause {
                    reason: "FieldManagerConflict",
                    message: format!("conflict with {}", conflict.manager),
                    field: conflict.path.to_string(),
                });
                status.details = Some(Box::new(Details {
                    causes: causes.collect(),
                    ..Details::default()
                }));
                status
            }
            ApplyError::BadRequest(_) => Self::bad_request(message),
            ApplyError::Managers(_) | ApplyError::Invalid(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
            }
        }
    }
}

/// Maximum number of operations in a JSON patch.
pub(super) const MAX_OPERATIONS: usize = 10_000;

/// The reason why a patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchError {
    /// The patch is malformed. The response is 400.
    Malformed(String),
    /// The patch cannot be applied to the object. The response is 422.
    Unprocessable(String),
    /// The patch has this number of operations, which exceeds the limit. The response is 413.
    TooManyOperations(usize),
    /// The patch fails, and the response is 500 as in kube-apiserver.
    Failed(String),
}

impl std::error::Error for PatchError {}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) | Self::Unprocessable(why) | Self::Failed(why) => f.write_str(why),
            Self::TooManyOperations(count) => write!(
                f,
                "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
            ),
        }
    }
}

impl From<PatchError> for ApiError {
    fn from(error: PatchError) -> Self {
        let message = error.to_string();
        match error {
            PatchError::Malformed(_) => Self::bad_request(message),
            // kube-apiserver does not return the reason in this case.
            PatchError::Unprocessable(_) => {
                let mut status = Self::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "Invalid",
                    "the server rejected our request due to an error in our request",
                );
                status.details = Some(Box::default());
                status
            }
            PatchError::TooManyOperations(_) => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "RequestEntityTooLarge",
                format!("Request entity too large: {message}"),
            ),
            PatchError::Failed(_) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message),
        }
    }
}
