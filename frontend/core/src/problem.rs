//! Errors of requests, with texts for the user.

use drover_rows::protocol::ListProblem;
use serde::Deserialize;

use crate::messages::t;

/// The error of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind of the error. The kind selects the reaction of the page.
    pub kind: ProblemKind,
    /// The cause and the next step.
    pub message: String,
    /// The errors of form fields.
    pub fields: Vec<FieldProblem>,
}

/// The kind of a request error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The server was not reached.
    Offline,
    /// Status 401: the user is not signed in.
    SignedOut,
    /// Status 403: the user does not have the permission.
    Forbidden,
    /// Status 404: the object does not exist.
    NotFound,
    /// Status 409: the request conflicts with a concurrent change.
    Conflict,
    /// Status 410: the resource version expired.
    Expired,
    /// Status 400 or 422: the input is invalid.
    Invalid,
    /// Status 429 or 503: the client can retry later.
    Later,
    /// An error without a separate variant, such as an invalid response.
    Failed,
}

/// The error of a form field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// The path of the field, such as `new`.
    pub field: String,
    /// The error message of the field.
    pub message: String,
}

/// The fields of a `metav1.Status` that the page shows.
#[derive(Deserialize)]
struct Status {
    message: Option<String>,
    code: Option<u16>,
    details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    causes: Vec<Cause>,
}

#[derive(Deserialize)]
struct Cause {
    field: Option<String>,
    message: Option<String>,
}

impl Problem {
    /// Creates the error for a server that was not reached, or for a broken connection.
    pub fn offline() -> Self {
        Self::new(ProblemKind::Offline, t().problems.offline())
    }

    /// Creates the error for an unexpected response.
    pub fn strange(detail: &str) -> Self {
        Self::new(ProblemKind::Failed, t().problems.unexpected(detail))
    }

    /// Creates an error without field errors.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            fields: Vec::new(),
        }
    }

    /// Parses the body of an error response.
    pub fn of_answer(code: u16, body: &[u8]) -> Self {
        let status: Option<Status> = serde_json::from_slice(body).ok();
        let (message, fields) = match status {
            Some(status) if code == 429 => (rejection(status), Vec::new()),
            Some(status) => (status.message, fields(status.details)),
            None => (None, Vec::new()),
        };
        let message = message
            .filter(|text| !text.is_empty())
            .map_or_else(|| t().problems.status_only(code), sentence);
        Self {
            kind: ProblemKind::of_code(code),
            message,
            fields,
        }
    }

    /// Converts the problem of a list. Code 0 means that no response arrived.
    pub fn of_list(problem: &ListProblem) -> Self {
        Self::new(
            match problem.code {
                0 => ProblemKind::Later,
                code => ProblemKind::of_code(code),
            },
            sentence(problem.message.clone()),
        )
    }

    /// Parses a `Status` object from a stream.
    pub fn of_status(object: &serde_json::Value) -> Self {
        let body = serde_json::to_vec(object).unwrap_or_default();
        let status: Option<Status> = serde_json::from_slice(&body).ok();
        let code = status.and_then(|status| status.code).unwrap_or(500);
        Self::of_answer(code, &body)
    }

    /// Returns the error of the field with this path.
    pub fn of_field(&self, name: &str) -> Option<String> {
        let found = self.fields.iter().find(|problem| problem.field == name);
        found.map(|problem| problem.message.clone())
    }
}

/// Returns the message of a rejected eviction with its causes. Only the causes name the
/// PodDisruptionBudget.
fn rejection(status: Status) -> Option<String> {
    let causes = status.details.into_iter().flat_map(|it| it.causes);
    let causes = causes.filter_map(|cause| cause.message).map(sentence);
    let message = sentence(status.message?);
    let texts: Vec<_> = std::iter::once(message).chain(causes).collect();
    Some(texts.join(" "))
}

fn fields(details: Option<Details>) -> Vec<FieldProblem> {
    let causes = details.map(|details| details.causes).unwrap_or_default();
    causes
        .into_iter()
        .filter_map(|cause| {
            Some(FieldProblem {
                field: cause.field?,
                message: sentence(cause.message?),
            })
        })
        .collect()
}

/// Changes an API message into a sentence: upper-case first letter, period at the end.
pub fn sentence(text: String) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return text;
    };
    let ended = text.ends_with(['.', '!', '?', '…']);
    let mut sentence: String = first.to_uppercase().collect();
    sentence.push_str(letters.as_str());
    if !ended {
        sentence.push('.');
    }
    sentence
}

impl ProblemKind {
    fn of_code(code: u16) -> Self {
        match code {
            401 => Self::SignedOut,
            403 => Self::Forbidden,
            404 => Self::NotFound,
            409 => Self::Conflict,
            410 => Self::Expired,
            400 | 422 => Self::Invalid,
            429 | 503 => Self::Later,
            _ => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_response_is_parsed_to_message_and_field_errors() {
        let body = br#"{"kind":"Status","code":422,"message":"new: has 12 to 512 characters",
            "details":{"causes":[{"field":"new","message":"has 12 to 512 characters"}]}}"#;
        let problem = Problem::of_answer(422, body);
        assert_eq!(problem.kind, ProblemKind::Invalid);
        assert_eq!(problem.message, "New: has 12 to 512 characters.");
        let field = problem.of_field("new");
        assert_eq!(field.as_deref(), Some("Has 12 to 512 characters."));
        assert_eq!(problem.of_field("old"), None);
    }

    #[test]
    fn error_response_without_a_status_object_is_parsed() {
        let problem = Problem::of_answer(502, b"<html>Bad gateway</html>");
        assert_eq!(problem.kind, ProblemKind::Failed);
        assert_eq!(
            problem.message,
            "The server responded with status 502 without a message."
        );
        assert_eq!(Problem::of_answer(401, b"").kind, ProblemKind::SignedOut);
    }

    #[test]
    fn rejected_eviction_names_the_disruption_budget() {
        let body = br#"{"kind":"Status","code":429,
            "message":"Cannot evict pod as it would violate the pod's disruption budget.",
            "details":{"causes":[{"reason":"DisruptionBudget",
                "message":"The disruption budget web needs 2 healthy pods and has 2 currently"}]}}"#;
        let problem = Problem::of_answer(429, body);
        assert_eq!(problem.kind, ProblemKind::Later);
        assert_eq!(
            problem.message,
            "Cannot evict pod as it would violate the pod's disruption budget. \
             The disruption budget web needs 2 healthy pods and has 2 currently."
        );
    }

    #[test]
    fn error_status_in_a_watch_stream_is_parsed_with_its_code() {
        let object = serde_json::json!({"kind": "Status", "code": 410, "message": "too old"});
        assert_eq!(Problem::of_status(&object).kind, ProblemKind::Expired);
    }
}
