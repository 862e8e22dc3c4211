//! Why a merge fails, and what clients are told.

use std::fmt;

use http::StatusCode;

use super::managers::{ManagerId, ManagersError};
use super::path::Path;
use crate::status::{ApiError, Cause, Details};

/// A field that another manager owns, with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns it.
    pub manager: ManagerId,
    /// The field.
    pub path: Path,
}

/// Why a configuration cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Others own some of the fields.
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// The request makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// The live object's managers cannot be read.
    #[error("failed to decode managed fields: {0}")]
    Managers(#[from] ManagersError),
    /// The objects do not fit their schema.
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

/// Operations that one JSON patch may hold.
pub(super) const MAX_OPERATIONS: usize = 10_000;

/// Why a patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchError {
    /// The patch itself is at fault: 400.
    Malformed(String),
    /// It does not go with the object: 422.
    Unprocessable(String),
    /// More operations than are allowed, and how many: 413.
    TooManyOperations(usize),
    /// What kube-apiserver has no better answer to than 500.
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
            // kube-apiserver keeps what exactly went wrong to itself here.
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
