//! Applies the four types of patches to objects.

use bytes::Bytes;
use serde_json::Value;

use crate::merge::{self, ApplyOptions, MergeKind};
use crate::resource::{Origin, Resource};
use crate::schema::DecodeError;
use crate::serve::exchange::Exchange;
use crate::serve::input::body::{self, Decoded};
use crate::serve::input::negotiate::{BodyFormat, content_type};
use crate::serve::input::options::{FieldValidation, WriteOptions, WriteVerb};
use crate::serve::shared::Target;
use crate::serve::write::create::merge_kind;
use crate::status::{ApiError, FieldError, FieldErrorKind};

/// The type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// A JSON patch (RFC 6902).
    Json,
    /// A JSON merge patch (RFC 7396).
    Merge,
    /// A strategic merge patch, which only built-in kinds support.
    Strategic,
    /// Server-side apply.
    Apply,
}

/// A decoded patch.
#[derive(Debug)]
pub(crate) struct Patch {
    kind: PatchKind,
    value: Value,
    duplicates: Vec<String>,
}

const TYPES: [(PatchKind, &str); 4] = [
    (PatchKind::Json, "application/json-patch+json"),
    (PatchKind::Merge, "application/merge-patch+json"),
    (
        PatchKind::Strategic,
        "application/strategic-merge-patch+json",
    ),
    (PatchKind::Apply, "application/apply-patch+yaml"),
];

impl PatchKind {
    /// Returns the patch type for the request's `Content-Type`.
    ///
    /// # Errors
    ///
    /// Returns 415 for unknown types, and for strategic merge patches of custom resources.
    pub(crate) fn of(exchange: &Exchange, resource: &Resource) -> Result<Self, ApiError> {
        let media_type = content_type(&exchange.headers);
        let known = TYPES
            .iter()
            .filter(|(kind, _)| resource.origin == Origin::BuiltIn || *kind != Self::Strategic);
        if let Some((kind, _)) = known.clone().find(|(_, name)| *name == media_type) {
            return Ok(*kind);
        }
        if resource.origin == Origin::BuiltIn {
            let mut error = ApiError::unsupported_media_type(&[]);
            "415: Unsupported Media Type".clone_into(&mut error.message);
            error.details = Some(Box::default());
            return Err(error);
        }
        let names: Vec<&str> = known.map(|(_, name)| *name).collect();
        Err(ApiError::unsupported_media_type(&names))
    }

    /// Returns the verb whose options the patch uses.
    pub(crate) const fn verb(self) -> WriteVerb {
        match self {
            Self::Apply => WriteVerb::Apply,
            Self::Json | Self::Merge | Self::Strategic => WriteVerb::Patch,
        }
    }
}

/// Returns the error for a patch with the wrong JSON type, or `None` if the type is correct.
fn misfit(kind: PatchKind, value: &Value) -> Option<&'static str> {
    match (kind, value) {
        (PatchKind::Json, Value::Object(_)) => {
            Some("json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp")
        }
        (PatchKind::Merge, Value::Array(_)) => {
            Some("json: cannot unmarshal array into Go value of type map[string]interface {}")
        }
        _ => None,
    }
}

impl Patch {
    /// Decodes a patch.
    ///
    /// # Errors
    ///
    /// Returns 400 if the patch is malformed.
    pub(crate) fn decode(kind: PatchKind, bytes: &Bytes) -> Result<Self, ApiError> {
        let decoded = match kind {
            PatchKind::Apply => {
                body::yaml(bytes).map_err(|cause| format!("error decoding YAML: {cause}"))
            }
            PatchKind::Strategic => body::decode(BodyFormat::Json, bytes),
            PatchKind::Json | PatchKind::Merge => body::decode(BodyFormat::Json, bytes)
                .map_err(|cause| format!("error decoding patch: {cause}")),
        };
        let Decoded {
            value, duplicates, ..
        } = decoded.map_err(ApiError::bad_request)?;
        if let Some(reason) = misfit(kind, &value) {
            return Err(ApiError::bad_request(format!(
                "error decoding patch: {reason}"
            )));
        }
        Ok(Self {
            kind,
            value,
            duplicates,
        })
    }

    /// Creates a server-side apply request of a controller of this server.
    pub(crate) const fn of_apply(value: Value) -> Self {
        Self {
            kind: PatchKind::Apply,
            value,
            duplicates: Vec::new(),
        }
    }

    /// Returns the decoded patch.
    pub(crate) const fn value(&self) -> &Value {
        &self.value
    }

    /// Reports whether the patch is a server-side apply. Server-side apply creates missing objects
    /// and computes managed fields itself.
    pub(crate) const fn creates(&self) -> bool {
        matches!(self.kind, PatchKind::Apply)
    }

    /// Applies the patch to the live object.
    pub(crate) fn apply(
        &self,
        exchange: &Exchange,
        target: &Target,
        options: &WriteOptions,
        live: Option<&Value>,
    ) -> Result<Value, ApiError> {
        let resource = target.resource.as_ref();
        let Some(live) = live else {
            return self.merge_in(exchange, target, options, None);
        };
        let patched = match self.kind {
            PatchKind::Apply => return self.merge_in(exchange, target, options, Some(live)),
            PatchKind::Json => merge::json_patch(live, &self.value),
            PatchKind::Merge => merge::merge_patch(live, &self.value),
            PatchKind::Strategic => merge::strategic(live, &self.value, &resource.schema),
        };
        let mut patched = patched.map_err(ApiError::from)?;
        // Decoding drops empty lists, but an empty list here removes all owners.
        let gives_up = patched["metadata"]["managedFields"]
            .as_array()
            .is_some_and(Vec::is_empty);
        self.complete(exchange, resource, options.validation, &mut patched)?;
        if gives_up {
            patched["metadata"]["managedFields"] = Value::Array(Vec::new());
        }
        Ok(patched)
    }

    /// Runs a server-side apply, with field owners, on a value that is not stored, such as a Scale.
    pub(crate) fn apply_to(
        &self,
        options: &WriteOptions,
        live: &Value,
        kind: &MergeKind,
    ) -> Result<Value, ApiError> {
        let apply = ApplyOptions {
            manager: &options.manager,
            force: options.force,
            now: jiff::Timestamp::now(),
        };
        merge::apply(Some(live), &self.value, kind, apply).map_err(ApiError::from)
    }

    /// Applies a patch other than server-side apply to a value that is not stored, such as a Scale.
    pub(crate) fn apply_plain(&self, live: &Value) -> Result<Value, ApiError> {
        let patched = match self.kind {
            PatchKind::Json => merge::json_patch(live, &self.value),
            // For values without lists, strategic patches equal merge patches.
            PatchKind::Merge | PatchKind::Strategic | PatchKind::Apply => {
                merge::merge_patch(live, &self.value)
            }
        };
        patched.map_err(ApiError::from)
    }

    /// Decodes the patched object, and sets defaults.
    fn complete(
        &self,
        exchange: &Exchange,
        resource: &Resource,
        validation: FieldValidation,
        patched: &mut Value,
    ) -> Result<(), ApiError> {
        let shown = match self.kind {
            PatchKind::Strategic => go_map(&self.value),
            PatchKind::Json | PatchKind::Merge | PatchKind::Apply => patched.to_string(),
        };
        let invalid = |reason: String| {
            let error = FieldError {
                kind: FieldErrorKind::Invalid,
                path: "patch".to_owned(),
                value: Some(shown.as_str().into()),
                detail: reason,
            };
            ApiError::invalid("", "", "", &[error])
        };
        let unknown = resource.read(patched);
        let unknown = unknown.map_err(|error| {
            invalid(match self.kind {
                PatchKind::Strategic => unconverted(&error),
                PatchKind::Json | PatchKind::Merge | PatchKind::Apply => error.to_string(),
            })
        })?;
        let findings = self.findings().chain(unknown);
        match validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => findings.for_each(|text| exchange.warn(text)),
            FieldValidation::Strict => {
                let all: Vec<String> = findings.collect();
                if !all.is_empty() {
                    return Err(invalid(format!(
                        "strict decoding error: {}",
                        all.join(", ")
                    )));
                }
            }
        }
        resource.fill(patched);
        Ok(())
    }

    fn findings(&self) -> impl Iterator<Item = String> + '_ {
        let prefix = match self.kind {
            PatchKind::Json => "json patch ",
            PatchKind::Merge | PatchKind::Strategic | PatchKind::Apply => "",
        };
        self.duplicates
            .iter()
            .map(move |text| format!("{prefix}{text}"))
    }

    /// Runs a server-side apply on the live object.
    fn merge_in(
        &self,
        exchange: &Exchange,
        target: &Target,
        options: &WriteOptions,
        live: Option<&Value>,
    ) -> Result<Value, ApiError> {
        let kind = merge_kind(exchange, target);
        let apply = ApplyOptions {
            manager: &options.manager,
            force: options.force,
            now: jiff::Timestamp::now(),
        };
        let mut merged = merge::apply(live, &self.value, &kind, apply).map_err(ApiError::from)?;
        let findings = self.findings();
        match options.validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => findings.for_each(|text| exchange.warn(text)),
            FieldValidation::Strict => {
                let all: Vec<String> = findings.collect();
                if !all.is_empty() {
                    let errors = all.join("\n  ");
                    return Err(ApiError::bad_request(format!(
                        "error strict decoding YAML: error converting YAML to JSON: yaml: \
                         unmarshal errors:\n  {errors}"
                    )));
                }
            }
        }
        let unknown = target.resource.read_merged(&mut merged);
        let unknown = unknown.map_err(|error| {
            ApiError::new(
                http::StatusCode::INTERNAL_SERVER_ERROR,
                "",
                error.to_string(),
            )
        })?;
        if options.validation == FieldValidation::Warn {
            for text in &unknown {
                exchange.warn(text);
            }
        }
        target.resource.fill(&mut merged);
        Ok(merged)
    }
}

/// Formats a value as Go prints maps and slices.
fn go_map(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_map).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            // Go sorts the keys.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries
                .into_iter()
                .map(|(key, value)| format!("{key}:{}", go_map(value)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
    }
}

/// Returns kube-apiserver's message for a strategic merge patch that contains a value of the wrong
/// type. kube-apiserver converts the patch directly to the Go struct, so the message differs from
/// JSON errors.
fn unconverted(error: &DecodeError) -> String {
    let DecodeError::Type { is, expected, .. } = error else {
        return error.to_string();
    };
    if expected.starts_with("[]") {
        format!("cannot restore slice from {is}")
    } else if expected.starts_with("map[") {
        format!("cannot restore map from {is}")
    } else if expected.contains('.') {
        format!("cannot restore struct from: {is}")
    } else {
        format!("unrecognized type: {expected}")
    }
}
