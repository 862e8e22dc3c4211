//! Options of requests from the query or the body of a delete, validated with kube-apiserver's
//! messages.

use http::HeaderMap;
use http::header::USER_AGENT;
use serde_json::Value;

use crate::merge;
use crate::serve::input::negotiate::header;
use crate::serve::input::query::Query;
use crate::status::{ApiError, FieldError, FieldErrorKind};

mod list;

pub use list::{ListOptions, VersionMatch};

/// The action for unknown and duplicate fields (KEP-2885).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValidation {
    /// Ignore unknown and duplicate fields.
    Ignore,
    /// Add a `Warning` header for each unknown or duplicate field.
    Warn,
    /// Reject the request with 400 if it has unknown or duplicate fields.
    Strict,
}

/// The mode of a write: dry run or persistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// A dry run: run all stages, but do not store the result.
    All,
    /// Not a dry run: store the result.
    No,
}

impl DryRun {
    /// Reports whether the request is a dry run.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::All)
    }
}

/// The verb that determines the type of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteVerb {
    /// A create, with `CreateOptions`.
    Create,
    /// An update, with `UpdateOptions`.
    Update,
    /// A patch other than server-side apply, with `PatchOptions`.
    Patch,
    /// A server-side apply, with `PatchOptions`.
    Apply,
}

impl WriteVerb {
    const fn options_kind(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Patch | Self::Apply => "PatchOptions",
        }
    }
}

/// Options of create, update and patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// The field manager that owns the changed fields.
    pub manager: String,
    /// The mode of the write: dry run or persistent.
    pub dry_run: DryRun,
    /// The action for unknown and duplicate fields.
    pub validation: FieldValidation,
    /// True if apply takes ownership of fields that other managers own.
    pub force: bool,
}

impl WriteOptions {
    /// Parses and validates the options.
    ///
    /// # Errors
    ///
    /// Returns 422 with a cause per invalid option.
    pub fn of(verb: WriteVerb, query: &Query, headers: &HeaderMap) -> Result<Self, ApiError> {
        let manager = query.text("fieldManager");
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        let validation = query.text("fieldValidation");
        let force = query.flag("force");
        let mut errors = Vec::new();
        match verb {
            WriteVerb::Apply if manager.is_empty() => errors.push(fault(
                FieldErrorKind::Required,
                "fieldManager",
                None,
                "is required for apply patch",
            )),
            WriteVerb::Patch if force.is_some() => errors.push(fault(
                FieldErrorKind::Forbidden,
                "force",
                None,
                "may not be specified for non-apply patch",
            )),
            _ => {}
        }
        errors.extend(manager_faults(&manager, "fieldManager"));
        errors.extend(dry_run_fault(&dry_run));
        errors.extend(validation_fault(&validation));
        refuse(verb.options_kind(), &errors)?;
        Ok(Self {
            manager: merge::manager_name(&manager, header(headers, &USER_AGENT)),
            dry_run: if dry_run.is_empty() {
                DryRun::No
            } else {
                DryRun::All
            },
            validation: match validation.as_str() {
                "Ignore" => FieldValidation::Ignore,
                "Strict" => FieldValidation::Strict,
                _ => FieldValidation::Warn,
            },
            force: force.unwrap_or(false),
        })
    }
}

/// The deletion of dependents (`metav1.DeletionPropagation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The dependents are not deleted. The server removes their owner reference.
    Orphan,
    /// The dependents are deleted after the owner.
    Background,
    /// The dependents are deleted before the owner.
    Foreground,
}

/// `metav1.DeleteOptions`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// The grace period in seconds.
    pub grace_period: Option<i64>,
    /// The required UID of the object.
    pub uid: Option<String>,
    /// The required resourceVersion of the object.
    pub resource_version: Option<String>,
    /// The deprecated field `orphanDependents`, which [`Propagation`] replaces.
    pub orphan_dependents: Option<bool>,
    /// The deletion of dependents. The default depends on the kind.
    pub propagation: Option<Propagation>,
    /// The dry-run mode. `None` is the default, which is no dry run.
    pub dry_run: Option<DryRun>,
}

impl DeleteOptions {
    /// Reports whether the request is a dry run.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run.is_some_and(DryRun::is_on)
    }

    /// Parses and validates the options from the body. If the request has no body, uses the options
    /// in the query.
    ///
    /// # Errors
    ///
    /// Returns 400 if the options are malformed, and 422 with a cause per invalid option.
    pub fn of(query: &Query, body: Option<&Value>) -> Result<Self, ApiError> {
        match body {
            Some(body) => Self::of_body(body),
            None => Self::of_query(query),
        }
    }

    fn of_query(query: &Query) -> Result<Self, ApiError> {
        let options = Self {
            grace_period: query.integer("gracePeriodSeconds")?,
            uid: query.first("uid").map(str::to_owned),
            orphan_dependents: query.flag("orphanDependents"),
            ..Self::default()
        };
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        options.validated(query.first("propagationPolicy"), &dry_run)
    }

    fn of_body(body: &Value) -> Result<Self, ApiError> {
        let kind = body["kind"].as_str().unwrap_or("DeleteOptions");
        if !body.is_object() || kind != "DeleteOptions" {
            let version = body["apiVersion"].as_str().unwrap_or("v1");
            return Err(ApiError::bad_request(format!(
                "no kind {kind:?} is registered for version {version:?} in scheme \
                 \"pkg/runtime/scheme.go:111\""
            )));
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let conditions = &body["preconditions"];
        let options = Self {
            grace_period: whole(body, "gracePeriodSeconds")?,
            uid: text(&conditions["uid"]),
            resource_version: text(&conditions["resourceVersion"]),
            orphan_dependents: body["orphanDependents"].as_bool(),
            ..Self::default()
        };
        let dry_run: Vec<&str> = body["dryRun"]
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        options.validated(body["propagationPolicy"].as_str(), &dry_run)
    }

    fn validated(mut self, policy: Option<&str>, dry_run: &[&str]) -> Result<Self, ApiError> {
        const PATH: &str = "propagationPolicy";
        let mut errors = Vec::new();
        if let (Some(policy), Some(_)) = (policy, self.orphan_dependents) {
            errors.push(fault(
                FieldErrorKind::Invalid,
                PATH,
                Some(policy),
                "orphanDependents and deletionPropagation cannot be both set",
            ));
        }
        self.propagation = match policy {
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            None => None,
            Some(_) => {
                errors.push(fault(
                    FieldErrorKind::NotSupported,
                    PATH,
                    policy,
                    "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
                ));
                None
            }
        };
        errors.extend(dry_run_fault(dry_run));
        refuse("DeleteOptions", &errors)?;
        self.dry_run = (!dry_run.is_empty()).then_some(DryRun::All);
        Ok(self)
    }
}

fn whole(body: &Value, key: &str) -> Result<Option<i64>, ApiError> {
    match &body[key] {
        Value::Null => Ok(None),
        value => value.as_i64().map(Some).ok_or_else(|| {
            let found = match value {
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
                _ => "number",
            };
            ApiError::bad_request(format!(
                "json: cannot unmarshal {found} into Go struct field DeleteOptions.{key} of type int64"
            ))
        }),
    }
}

fn refuse(kind: &str, errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid("meta.k8s.io", kind, "", errors))
    }
}

fn fault(kind: FieldErrorKind, path: &str, value: Option<&str>, detail: &str) -> FieldError {
    FieldError {
        kind,
        path: path.to_owned(),
        value: value.map(Value::from),
        detail: detail.to_owned(),
    }
}

fn dry_run_fault(values: &[&str]) -> Option<FieldError> {
    if values.iter().all(|value| *value == "All") {
        return None;
    }
    let shown: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    let detail = format!("[{}]: supported values: \"All\"", shown.join(", "));
    Some(fault(FieldErrorKind::NotSupported, "dryRun", None, &detail))
}

fn validation_fault(value: &str) -> Option<FieldError> {
    const SUPPORTED: &str = "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"";
    (!matches!(value, "" | "Ignore" | "Warn" | "Strict")).then(|| {
        fault(
            FieldErrorKind::NotSupported,
            "fieldValidation",
            Some(value),
            SUPPORTED,
        )
    })
}

/// Maximum length of a field manager's name, in bytes.
const MAX_MANAGER_BYTES: usize = 128;

fn manager_faults(manager: &str, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > MAX_MANAGER_BYTES {
        errors.push(fault(
            FieldErrorKind::TooLong,
            path,
            None,
            &format!("may not be more than {MAX_MANAGER_BYTES} bytes"),
        ));
    }
    for (position, character) in manager.char_indices() {
        if !is_printable(character) {
            let detail = format!(
                "invalid character U+{:04X} (at position {position})",
                u32::from(character)
            );
            errors.push(fault(FieldErrorKind::Invalid, path, Some(manager), &detail));
        }
    }
    errors
}

fn is_printable(character: char) -> bool {
    character == ' ' || !(character.is_control() || character.is_whitespace())
}

#[cfg(test)]
mod tests;
