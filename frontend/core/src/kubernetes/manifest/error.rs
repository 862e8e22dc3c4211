//! The places of errors in an edited manifest.

use serde::Serialize;

use crate::problem::Problem;

/// An error in an edited manifest, for the editor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManifestError {
    /// The path of the field, such as `spec.template.spec.containers[0].image`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The number of the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The error message.
    pub message: String,
}

/// Returns the errors of a manifest that the server rejected. Returns no error if the message does
/// not name a field or a line.
pub fn manifest_errors(problem: &Problem) -> Vec<ManifestError> {
    let fields = problem.fields.iter().map(|it| ManifestError {
        field: Some(it.field.clone()),
        line: None,
        message: it.message.clone(),
    });
    let message = problem.message.as_str();
    let mut errors: Vec<_> = fields.collect();
    errors.extend(fields_of_message(message));
    if errors.is_empty() {
        errors.extend(line_of_message(message));
    }
    errors
}

/// Parses the body of an error response in YAML. API servers format errors in the media type that
/// the request accepts.
pub fn yaml_problem(code: u16, body: &[u8]) -> Problem {
    let text = String::from_utf8_lossy(body);
    let status = serde_saphyr::from_str::<serde_json::Value>(&text);
    let json = status.map(|status| status.to_string().into_bytes());
    Problem::of_answer(code, &json.unwrap_or_else(|_| body.to_vec()))
}

/// Finds the fields of strict decoding errors: `unknown field "spec.replica"`.
fn fields_of_message(message: &str) -> Vec<ManifestError> {
    let mut errors = Vec::new();
    for (mark, end) in [("unknown field \"", '"'), ("duplicate field \"", '"')] {
        for part in message.split(mark).skip(1) {
            if let Some((field, _)) = part.split_once(end) {
                errors.push(ManifestError {
                    field: Some(field.to_owned()),
                    line: None,
                    message: format!("{mark}{field}{end}"),
                });
            }
        }
    }
    errors
}

/// Finds the line of a YAML error: `yaml: line 12: mapping values are not allowed`.
fn line_of_message(message: &str) -> Option<ManifestError> {
    let (_, rest) = message.split_once("line ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    Some(ManifestError {
        field: None,
        line: Some(rest[..end].parse().ok()?),
        message: message.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{FieldProblem, ProblemKind};

    fn errors(message: &str) -> Vec<ManifestError> {
        manifest_errors(&Problem::new(ProblemKind::Invalid, message))
    }

    #[test]
    fn error_response_in_yaml_or_json_has_its_message() {
        let yaml = "kind: Status\nstatus: Failure\ncode: 422\nmessage: 'spec: it''s invalid'\n\
            details:\n  causes:\n  - field: spec\n    message: invalid\n";
        let problem = yaml_problem(422, yaml.as_bytes());
        assert_eq!(problem.message, "Spec: it's invalid.");
        assert_eq!(problem.of_field("spec").as_deref(), Some("Invalid."));
        let json = yaml_problem(409, br#"{"kind": "Status", "message": "conflict"}"#);
        assert_eq!(json.kind, ProblemKind::Conflict);
        assert_eq!(json.message, "Conflict.");
        let proxy = yaml_problem(502, b"<html>");
        assert!(proxy.message.contains("502"), "{proxy:?}");
    }

    #[test]
    fn rejected_manifest_has_the_places_of_its_errors() {
        let unknown = errors(
            "Strict decoding error: unknown field \"spec.replica\", unknown field \"spec.x\".",
        );
        let fields: Vec<_> = unknown.iter().map(|it| it.field.as_deref()).collect();
        assert_eq!(fields, [Some("spec.replica"), Some("spec.x")]);
        let syntax = errors("Error converting YAML to JSON: yaml: line 12: mapping values.");
        assert_eq!(syntax[0].line, Some(12));
        assert_eq!(errors("Quota exceeded."), []);
        let problem = Problem {
            fields: vec![FieldProblem {
                field: "spec.replicas".to_owned(),
                message: "Must be positive.".to_owned(),
            }],
            ..Problem::new(ProblemKind::Invalid, "Deployment is invalid.")
        };
        let invalid = manifest_errors(&problem);
        assert_eq!(invalid[0].field.as_deref(), Some("spec.replicas"));
    }
}
