//! Errors of requests in words.

use serde::Deserialize;

use crate::messages::t;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind, which decides the reaction.
    pub kind: ProblemKind,
    /// Cause and next step.
    pub message: String,
    /// Errors of form fields.
    pub fields: Vec<FieldProblem>,
}

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The server was not reached.
    Offline,
    /// 401: not signed in.
    SignedOut,
    /// 403: missing right.
    Forbidden,
    /// 404: not found.
    NotFound,
    /// 409: conflict.
    Conflict,
    /// 410: the resource version expired.
    Expired,
    /// 400 or 422: invalid input.
    Invalid,
    /// 429 or 503: retry later.
    Later,
    /// Everything else.
    Failed,
}

/// The error of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// The field's path, for example `new`.
    pub field: String,
    /// The message.
    pub message: String,
}

/// The shown fields of a `metav1.Status`.
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
    /// The server was not reached, or the connection broke.
    pub fn offline() -> Self {
        Self::new(ProblemKind::Offline, t().problems.offline())
    }

    /// An unexpected response.
    pub fn strange(what: &str) -> Self {
        Self::new(ProblemKind::Failed, t().problems.unexpected(what))
    }

    /// Any problem, without fields.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            fields: Vec::new(),
        }
    }

    /// Parses an error response.
    pub fn of_answer(code: u16, body: &[u8]) -> Self {
        let status: Option<Status> = serde_json::from_slice(body).ok();
        let (message, fields) = match status {
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

    /// Parses a `Status` within a stream.
    pub fn of_status(object: &serde_json::Value) -> Self {
        let body = serde_json::to_vec(object).unwrap_or_default();
        let status: Option<Status> = serde_json::from_slice(&body).ok();
        let code = status.and_then(|status| status.code).unwrap_or(500);
        Self::of_answer(code, &body)
    }

    /// The error of a field.
    pub fn of_field(&self, name: &str) -> Option<String> {
        let found = self.fields.iter().find(|problem| problem.field == name);
        found.map(|problem| problem.message.clone())
    }
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

/// Turns an API message into a sentence.
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
    fn a_status_says_what_happened_and_where() {
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
    fn an_answer_of_a_stranger_is_a_problem_too() {
        let problem = Problem::of_answer(502, b"<html>Bad gateway</html>");
        assert_eq!(problem.kind, ProblemKind::Failed);
        assert_eq!(
            problem.message,
            "The server responded with status 502 without a message."
        );
        assert_eq!(Problem::of_answer(401, b"").kind, ProblemKind::SignedOut);
    }

    #[test]
    fn a_status_in_a_stream_has_its_own_code() {
        let object = serde_json::json!({"kind": "Status", "code": 410, "message": "too old"});
        assert_eq!(Problem::of_status(&object).kind, ProblemKind::Expired);
    }
}
