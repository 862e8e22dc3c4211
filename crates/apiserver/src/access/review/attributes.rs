//! Validation of access reviews (`authorization.k8s.io`).

use serde_json::{Value, json};

use super::selectors;
use crate::status::{ApiError, FieldError, FieldErrorKind};

const GROUP: &str = "authorization.k8s.io";

/// Validates a `SelfSubjectAccessReview`.
pub(super) fn validate_self(request: &Value) -> Result<(), ApiError> {
    let mut errors = attribute_faults(&request["spec"]);
    errors.extend(selectors::validate(&request["spec"]["resourceAttributes"]));
    errors.extend(empty_metadata(&request["metadata"], false));
    refuse(&errors)
}

/// Validates a `SubjectAccessReview`.
pub(super) fn validate_subject(request: &Value) -> Result<(), ApiError> {
    let mut errors = subject_spec(&request["spec"]);
    errors.extend(empty_metadata(&request["metadata"], false));
    refuse(&errors)
}

/// Validates a `LocalSubjectAccessReview`.
pub(super) fn validate_local(request: &Value) -> Result<(), ApiError> {
    let spec = &request["spec"];
    let mut errors = subject_spec(spec);
    errors.extend(empty_metadata(&request["metadata"], true));
    let requested = &spec["resourceAttributes"];
    let namespace = text(&requested["namespace"]);
    if requested.is_object() && namespace != text(&request["metadata"]["namespace"]) {
        errors.push(invalid(
            "spec.resourceAttributes.namespace",
            namespace.into(),
            "must match metadata.namespace",
        ));
    }
    if spec["nonResourceAttributes"].is_object() {
        errors.push(invalid(
            "spec.nonResourceAttributes",
            path_attributes(spec),
            "disallowed on this kind of request",
        ));
    }
    refuse(&errors)
}

fn subject_spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = attribute_faults(spec);
    let nobody =
        text(&spec["user"]).is_empty() && spec["groups"].as_array().is_none_or(Vec::is_empty);
    if nobody {
        let detail = "at least one of user or group must be specified";
        errors.push(invalid("spec.user", "".into(), detail));
    }
    errors.extend(selectors::validate(&spec["resourceAttributes"]));
    errors
}

fn attribute_faults(spec: &Value) -> Vec<FieldError> {
    match (
        spec["resourceAttributes"].is_object(),
        spec["nonResourceAttributes"].is_object(),
    ) {
        (true, true) => vec![invalid(
            "spec.nonResourceAttributes",
            path_attributes(spec),
            "cannot be specified in combination with resourceAttributes",
        )],
        (false, false) => vec![invalid(
            "spec.resourceAttributes",
            Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )],
        _ => Vec::new(),
    }
}

/// Formats the attributes as Go prints the internal type of kube-apiserver.
fn path_attributes(spec: &Value) -> Value {
    let requested = &spec["nonResourceAttributes"];
    json!({ "Path": text(&requested["path"]), "Verb": text(&requested["verb"]) })
}

fn empty_metadata(metadata: &Value, namespace_allowed: bool) -> Option<FieldError> {
    let others = metadata
        .as_object()
        .into_iter()
        .flatten()
        .any(|(key, value)| {
            let allowed = key == "managedFields" || (namespace_allowed && key == "namespace");
            let empty = value.is_null()
                || *value == json!("")
                || *value == json!({})
                || *value == json!([]);
            !allowed && !empty
        });
    let detail = if namespace_allowed {
        "must be empty except for namespace"
    } else {
        "must be empty"
    };
    others.then(|| invalid("metadata", metadata.clone(), detail))
}

fn invalid(path: &str, value: Value, detail: &str) -> FieldError {
    FieldError {
        kind: FieldErrorKind::Invalid,
        path: path.to_owned(),
        value: Some(value),
        detail: detail.to_owned(),
    }
}

fn refuse(errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() {
        Ok(())
    } else {
        // kube-apiserver's error contains no kind, because its validation does not know the kind.
        Err(ApiError::invalid(GROUP, "", "", errors))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
