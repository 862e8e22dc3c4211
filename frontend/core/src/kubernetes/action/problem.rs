//! The texts for the errors of changes.

use super::Access;
use crate::messages::t;
use crate::problem::{Problem, ProblemKind};

/// Returns the error of a change with the next step.
pub fn explain_problem(problem: &Problem, access: &Access) -> String {
    let message = &problem.message;
    let next = match problem.kind {
        // Quotas and admission webhooks also respond with status 403.
        ProblemKind::Forbidden if message.contains(" cannot ") => access.missing() + ".",
        ProblemKind::Forbidden => t().actions.rejected_by_policy().to_owned(),
        _ if is_recreated(message) => t().actions.recreated().to_owned(),
        ProblemKind::Conflict => t().actions.conflict().to_owned(),
        ProblemKind::NotFound => t().actions.gone().to_owned(),
        ProblemKind::Invalid => t().actions.invalid().to_owned(),
        ProblemKind::Offline => t().actions.unknown_outcome().to_owned(),
        ProblemKind::Later => t().actions.later().to_owned(),
        ProblemKind::SignedOut | ProblemKind::Expired | ProblemKind::Failed => {
            return message.clone();
        }
    };
    format!("{message} {next}")
}

/// Reports whether the API server rejected the UID of a [`ChangeRequest`](super::ChangeRequest), as a
/// precondition or as an immutable field.
fn is_recreated(message: &str) -> bool {
    message.contains("UID in precondition") || message.contains("metadata.uid")
}
