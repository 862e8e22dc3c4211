//! Decoding of request objects: checks the kind, removes unknown fields, and sets defaults.

use serde_json::Value;

use crate::resource::{Catalog, Origin, Resource};
use crate::serve::exchange::Exchange;
use crate::serve::input::body::{self, Decoded};
use crate::serve::input::negotiate::{BodyFormat, body_format};
use crate::serve::input::options::FieldValidation;
use crate::serve::limits::heavy::WorkCost;
use crate::status::{ApiError, FieldError, FieldErrorKind};

/// Reads the request body as an object of this kind, with defaults.
///
/// # Errors
///
/// Returns 400, 413 or 415.
pub(crate) async fn read(
    exchange: &Exchange,
    resource: &Resource,
    validation: FieldValidation,
) -> Result<Value, ApiError> {
    let format = body_format(&exchange.headers, resource.origin)?;
    let bytes = exchange.body().await?;
    let work = || {
        let decoded = decode(format, &bytes, &resource.kind)?;
        let catalog = exchange.shared.catalog.load();
        complete(exchange, &catalog, resource, (decoded, &bytes), validation)
    };
    let weight = WorkCost::of_bytes(bytes.len());
    exchange.shared.heavy.run(weight, work).await
}

/// Decodes a body of this kind.
pub(crate) fn decode(format: BodyFormat, bytes: &[u8], kind: &str) -> Result<Decoded, ApiError> {
    let unrecognized = |reason: String| {
        let summary = body::summary(bytes);
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get \
             version/kind; json parse error: {reason} ({summary})"
        ))
    };
    let decoded = body::decode(format, bytes).map_err(unrecognized)?;
    if decoded.value.is_object() {
        Ok(decoded)
    } else {
        let is = match &decoded.value {
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Bool(_) => "bool",
            _ => "number",
        };
        Err(unrecognized(format!(
            "json: cannot unmarshal {is} into Go value of type struct {{ APIVersion string \
             \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        )))
    }
}

fn complete(
    exchange: &Exchange,
    catalog: &Catalog,
    resource: &Resource,
    (decoded, bytes): (Decoded, &[u8]),
    validation: FieldValidation,
) -> Result<Value, ApiError> {
    let mut findings = match validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Strict => decoded.strict_errors(),
        FieldValidation::Warn => decoded.duplicates,
    };
    let (mut value, yaml) = (decoded.value, decoded.yaml);
    check_kind(catalog, resource, &mut value)?;
    let cannot = |reason: &str| {
        let (kind, version) = (&resource.kind, &resource.group_version.version);
        ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {reason}"
        ))
    };
    let unknown = resource.read(&mut value);
    let unknown = unknown.map_err(|error| cannot(&error.to_string()))?;
    match validation {
        FieldValidation::Ignore => findings.clear(),
        FieldValidation::Strict | FieldValidation::Warn => findings.extend(unknown),
    }
    if resource.origin == Origin::BuiltIn && !yaml {
        body::sort_findings(bytes, &mut findings);
    }
    if validation == FieldValidation::Strict && !findings.is_empty() {
        let all = findings.join(", ");
        return Err(cannot(&format!("strict decoding error: {all}")));
    }
    for text in &findings {
        exchange.warn(text);
    }
    resource.fill(&mut value);
    Ok(value)
}

/// Checks `apiVersion` and `kind`. Bodies of built-in kinds may omit both fields.
fn check_kind(catalog: &Catalog, resource: &Resource, value: &mut Value) -> Result<(), ApiError> {
    let expected = resource.group_version.to_string();
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if resource.origin == Origin::Custom {
        return check_custom_kind(resource, value, &version, &kind);
    }
    let version = if version.is_empty() {
        expected.clone()
    } else {
        version
    };
    let kind = if kind.is_empty() {
        resource.kind.clone()
    } else {
        kind
    };
    if (version.as_str(), kind.as_str()) == (expected.as_str(), resource.kind.as_str()) {
        value["apiVersion"] = expected.into();
        value["kind"] = kind.into();
        return Ok(());
    }
    let short = version.rsplit('/').next().unwrap_or_default();
    let known = catalog
        .iter()
        .any(|other| other.kind == kind && other.group_version.to_string() == version);
    let group = match resource.group_version.group.as_str() {
        "" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    let reason = if known {
        format!(
            "converting ({short}.{kind}) to ({group}.{}): unknown conversion",
            resource.kind
        )
    } else {
        format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \
             \"pkg/runtime/scheme.go:111\""
        )
    };
    Err(ApiError::bad_request(format!(
        "{kind} in version {short:?} cannot be handled as a {expected_kind}: {reason}",
        expected_kind = resource.kind
    )))
}

fn check_custom_kind(
    resource: &Resource,
    value: &Value,
    version: &str,
    kind: &str,
) -> Result<(), ApiError> {
    if kind.is_empty() {
        let text = value.to_string();
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {expected_kind}): Object \
             'Kind' is missing in '{text}' ({summary})",
            expected_kind = resource.kind,
            summary = body::summary(text.as_bytes())
        )));
    }
    let expected = resource.group_version.to_string();
    if version != expected {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version \
             ({expected})"
        )));
    }
    if kind == resource.kind {
        return Ok(());
    }
    let error = FieldError {
        kind: FieldErrorKind::Invalid,
        path: "kind".to_owned(),
        value: Some(kind.into()),
        detail: format!("must be {}", resource.kind),
    };
    let name = crate::serve::metadata::name(value);
    let group = &resource.group_version.group;
    Err(ApiError::invalid(group, kind, name, &[error]))
}
