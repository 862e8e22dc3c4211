//! [`Findings`]: a list of field errors. The methods correspond to the constructors of
//! apimachinery's `field` package.

use serde_json::Value;

use super::Path;
use crate::status::{FieldError, FieldErrorKind};

/// Field errors, limited in number.
#[derive(Debug, Default)]
pub(crate) struct Findings(pub(crate) Vec<FieldError>);

/// Maximum number of errors in a list, because a body can cause many more.
const MAX_FINDINGS: usize = 1000;

/// The detail of the error about an immutable field.
pub(crate) const IMMUTABLE: &str = "field is immutable";

impl Findings {
    fn add(&mut self, kind: FieldErrorKind, at: &Path<'_>, value: Option<Value>, detail: String) {
        if self.0.len() >= MAX_FINDINGS {
            return;
        }
        self.0.push(FieldError {
            kind,
            path: at.to_string(),
            value,
            detail,
        });
    }

    /// Adds the error `Required value`.
    pub(crate) fn required(&mut self, at: &Path<'_>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Required, at, None, detail.into());
    }

    /// Adds the error `Invalid value`.
    pub(crate) fn invalid(
        &mut self,
        at: &Path<'_>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) {
        self.add(
            FieldErrorKind::Invalid,
            at,
            Some(value.into()),
            detail.into(),
        );
    }

    /// Adds the error `Invalid value`, with the value as Go prints it.
    pub(crate) fn invalid_shown(&mut self, at: &Path<'_>, shown: &str, detail: &str) {
        let detail = format!("{shown}: {detail}");
        self.add(FieldErrorKind::Invalid, at, None, detail);
    }

    /// Adds one error `Invalid value` per message.
    pub(crate) fn all_invalid(&mut self, at: &Path<'_>, value: &str, details: Vec<String>) {
        for detail in details {
            self.invalid(at, value, detail);
        }
    }

    /// Adds the error `Forbidden`.
    pub(crate) fn forbidden(&mut self, at: &Path<'_>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Forbidden, at, None, detail.into());
    }

    /// Adds the error `Duplicate value`.
    pub(crate) fn duplicate(&mut self, at: &Path<'_>, value: impl Into<Value>) {
        let value = Some(value.into());
        self.add(FieldErrorKind::Duplicate, at, value, String::new());
    }

    /// Adds the error `Not found`.
    pub(crate) fn not_found(&mut self, at: &Path<'_>, value: impl Into<Value>) {
        let value = Some(value.into());
        self.add(FieldErrorKind::NotFound, at, value, String::new());
    }

    /// Adds the error `Unsupported value`.
    pub(crate) fn not_supported(&mut self, at: &Path<'_>, value: impl Into<Value>, known: &[&str]) {
        let known: Vec<String> = known.iter().map(|text| format!("{text:?}")).collect();
        let detail = format!("supported values: {}", known.join(", "));
        self.add(FieldErrorKind::NotSupported, at, Some(value.into()), detail);
    }

    /// Adds the error `Too long`. `most` is the limit in bytes.
    pub(crate) fn too_long(&mut self, at: &Path<'_>, most: usize) {
        let detail = format!("may not be more than {most} bytes");
        self.add(FieldErrorKind::TooLong, at, None, detail);
    }

    /// Adds the error `Too many`.
    pub(crate) fn too_many(&mut self, at: &Path<'_>, count: usize, most: usize) {
        let detail = format!("must have at most {most} items");
        self.add(FieldErrorKind::TooMany, at, Some(count.into()), detail);
    }

    /// Rejects negative numbers.
    pub(crate) fn not_negative(&mut self, at: &Path<'_>, number: Option<i64>) {
        if let Some(number) = number.filter(|number| *number < 0) {
            self.invalid(at, number, "must be greater than or equal to 0");
        }
    }

    /// Requires one of the supported values.
    pub(crate) fn one_of(&mut self, at: &Path<'_>, text: &str, known: &[&str]) {
        if text.is_empty() {
            self.required(at, "");
        } else if !known.contains(&text) {
            self.not_supported(at, text, known);
        }
    }

    /// Requires one of the supported values or an empty text.
    pub(crate) fn maybe_one_of(&mut self, at: &Path<'_>, text: &str, known: &[&str]) {
        if !text.is_empty() && !known.contains(&text) {
            self.not_supported(at, text, known);
        }
    }

    /// Rejects a change of the field.
    pub(crate) fn immutable(&mut self, at: &Path<'_>, new: &Value, old: &Value) {
        if new != old {
            self.invalid(at, new.clone(), IMMUTABLE);
        }
    }
}
