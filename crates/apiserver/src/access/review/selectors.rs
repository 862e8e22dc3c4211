//! Selectors in access reviews (KEP-4601).
//!
//! RBAC ignores selectors. The server validates selectors. The response of a review reports
//! selectors that cannot be parsed.

use drover_rbac::strings;
use serde_json::Value;

use crate::select::{
    FieldSelector, LabelSelector, Operator, Requirement, label_key_faults, label_value_faults,
};
use crate::status::{FieldError, FieldErrorKind};

const ROOT: &str = "spec.resourceAttributes";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Field,
    Label,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Field, Self::Label];

    const fn key(self) -> &'static str {
        match self {
            Self::Field => "fieldSelector",
            Self::Label => "labelSelector",
        }
    }
}

/// Validation errors of the selectors in `resourceAttributes`.
pub(super) fn validate(requested: &Value) -> Vec<FieldError> {
    Kind::ALL
        .into_iter()
        .filter(|kind| requested[kind.key()].is_object())
        .flat_map(|kind| validate_one(kind, &requested[kind.key()]))
        .collect()
}

fn validate_one(kind: Kind, selector: &Value) -> Vec<FieldError> {
    let path = format!("{ROOT}.{}", kind.key());
    let raw = text(&selector["rawSelector"]);
    let requirements = requirements(selector);
    let mut errors = Vec::new();
    match (raw.is_empty(), requirements.is_empty()) {
        (false, false) => errors.push(FieldError {
            kind: FieldErrorKind::Invalid,
            path: format!("{path}.rawSelector"),
            value: Some(raw.into()),
            detail: "may not specified at the same time as requirements".to_owned(),
        }),
        (true, true) => {
            let detail =
                format!("when {path} is specified, requirements or rawSelector is required");
            errors.push(without_value(
                FieldErrorKind::Required,
                format!("{path}.requirements"),
                &detail,
            ));
        }
        _ => {}
    }
    for (index, requirement) in requirements.iter().enumerate() {
        let path = format!("{path}.requirements[{index}]");
        errors.extend(validate_requirement(kind, requirement, &path));
    }
    errors
}

fn validate_requirement(kind: Kind, requirement: &Value, path: &str) -> Vec<FieldError> {
    let key = text(&requirement["key"]);
    let values = strings(&requirement["values"]);
    let mut errors = Vec::new();
    if kind == Kind::Field && key.is_empty() {
        let path = format!("{path}.key");
        errors.push(without_value(
            FieldErrorKind::Required,
            path,
            "must be specified",
        ));
    }
    match text(&requirement["operator"]) {
        "In" | "NotIn" if values.is_empty() => errors.push(without_value(
            FieldErrorKind::Required,
            format!("{path}.values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(without_value(
            FieldErrorKind::Forbidden,
            format!("{path}.values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        // Newer clients may send operators that this version does not know.
        _ => {}
    }
    if kind == Kind::Label {
        errors.extend(label_faults(key, &values, path));
    }
    errors
}

fn label_faults(key: &str, values: &[String], path: &str) -> Vec<FieldError> {
    let invalid = |path: String, value: &str, detail: String| FieldError {
        kind: FieldErrorKind::Invalid,
        path,
        value: Some(value.into()),
        detail,
    };
    let of_key = label_key_faults(key)
        .into_iter()
        .map(|fault| invalid(format!("{path}.key"), key, fault));
    let of_values = values.iter().enumerate().flat_map(|(index, value)| {
        label_value_faults(value)
            .into_iter()
            .map(move |fault| invalid(format!("{path}.values[{index}]"), value, fault))
    });
    of_key.chain(of_values).collect()
}

/// Returns the evaluation error for selectors that cannot be parsed. The access check ignores these
/// selectors, so the check includes all objects that the selectors can match.
pub(super) fn evaluation_error(requested: &Value) -> Option<String> {
    let ignored: Vec<String> = Kind::ALL
        .into_iter()
        .filter_map(|kind| {
            let how = ignored(kind, &requested[kind.key()])?;
            Some(format!("{ROOT}.{} {how} due to parse error", kind.key()))
        })
        .collect();
    (!ignored.is_empty()).then(|| ignored.join("; "))
}

fn ignored(kind: Kind, selector: &Value) -> Option<&'static str> {
    let requirements = requirements(selector);
    if requirements.is_empty() {
        let raw = text(&selector["rawSelector"]);
        let readable = match kind {
            Kind::Field => raw.parse::<FieldSelector>().is_ok(),
            Kind::Label => raw.parse::<LabelSelector>().is_ok(),
        };
        return (!raw.is_empty() && !readable).then_some("ignored");
    }
    let understood = requirements
        .iter()
        .filter(|requirement| is_supported(kind, requirement))
        .count();
    if understood == requirements.len() {
        None
    } else if understood > 0 {
        Some("partially ignored")
    } else {
        Some("ignored")
    }
}

fn is_supported(kind: Kind, requirement: &Value) -> bool {
    let values = strings(&requirement["values"]);
    let operator = text(&requirement["operator"]);
    if kind == Kind::Field {
        return values.len() == 1 && matches!(operator, "In" | "NotIn");
    }
    let operator = match operator {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        _ => return false,
    };
    Requirement::new(text(&requirement["key"]), operator, values).is_ok()
}

fn requirements(selector: &Value) -> &[Value] {
    selector["requirements"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

fn without_value(kind: FieldErrorKind, path: String, detail: &str) -> FieldError {
    FieldError {
        kind,
        path,
        value: None,
        detail: detail.to_owned(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
