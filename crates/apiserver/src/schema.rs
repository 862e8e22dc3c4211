//! Schemas of objects as a tree of [`Node`]s: from the published OpenAPI documents for built-in
//! kinds, from the structural schema of the CRD for custom kinds.

pub mod cel;
mod decode;
mod defaults;
mod definition;
pub(crate) mod findings;
mod formats;
mod old_items;
pub mod path;
mod pattern;
mod prune;
mod read;
mod validate;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub use decode::DecodeError;
pub(crate) use definition::Definition;
pub(crate) use old_items::OldItems;
pub use path::Path;
pub use pattern::Pattern;
pub(crate) use pattern::compile as compile_pattern;
pub(crate) use read::Reader;

/// The format of times with microseconds. OpenAPI publishes it as `date-time`, but it is written
/// differently.
pub const MICRO_TIME: &str = "micro-time";

/// Unknown fields that strict decoding reports per object (kube-apiserver has the same limit for
/// duplicate fields).
pub(crate) const MAX_UNKNOWN_FIELDS: usize = 100;
/// Bytes of a field path in a message: a body can hold very long keys.
const MAX_PATH_BYTES: usize = 1024;

/// The path, cut to the length that a message may show.
pub(crate) fn truncated_path(path: &str) -> &str {
    &path[..path.floor_char_boundary(MAX_PATH_BYTES)]
}

/// Reports an unknown field of strict decoding.
fn report_unknown(found: &mut Vec<String>, at: &str, key: &str) {
    if found.len() == MAX_UNKNOWN_FIELDS {
        return;
    }
    let path = if at.is_empty() {
        key.to_owned()
    } else {
        format!("{at}.{key}")
    };
    found.push(format!("unknown field {:?}", truncated_path(&path)));
}

/// The schema of a value: type, limits, and merge behaviour.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// The type, with the schemas of fields or items.
    pub shape: Shape,
    /// Whether `null` is allowed.
    pub nullable: bool,
    /// The default of an absent value.
    pub default: Option<Value>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// Limits on the value.
    pub limits: Option<Box<Limits>>,
    /// CEL rules (`x-kubernetes-validations`).
    pub rules: Vec<Arc<Rule>>,
    /// The JSON encoding of the Go type, for built-in kinds.
    pub go: Option<Arc<GoStruct>>,
    /// The schema as JSON, at the root of a CRD's schema.
    pub written: Option<Arc<Value>>,
    /// The compiled CEL rules of the whole tree, at the root of a CRD's schema.
    pub cel: Option<Arc<cel::Rules>>,
}

/// The JSON encoding of a Go struct, which OpenAPI does not contain.
#[derive(Debug, Clone, Default)]
pub struct GoStruct {
    /// The name for decoding errors, such as `DeploymentSpec`.
    pub name: String,
    /// Fields with special encoding; all others are written when set.
    pub fields: BTreeMap<String, Written>,
}

/// When the encoder writes a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// Unless the value is zero, false or empty (`omitempty`).
    UnlessEmpty,
    /// Always, with this value if unset.
    Always(Value),
}

/// The type of a value.
#[derive(Debug, Clone, Default)]
pub enum Shape {
    /// Any type. Merges derive the structure from the value (structured-merge-diff's "deduced"
    /// type).
    #[default]
    Any,
    /// An object with named fields, a map, or both.
    Object {
        /// The named fields.
        properties: BTreeMap<String, Arc<Node>>,
        /// The schema of map values.
        additional: Option<Arc<Node>>,
        /// Required fields.
        required: Vec<String>,
        /// Whether merges replace the object as a whole (`x-kubernetes-map-type: atomic`).
        atomic: bool,
    },
    /// A list.
    Array {
        /// The schema of items.
        items: Arc<Node>,
        /// The list type for server-side apply.
        list: ListType,
        /// The strategy for strategic merge patches.
        strategy: PatchStrategy,
    },
    /// A string.
    String {
        /// An OpenAPI format such as `date-time` or `byte`, or empty.
        format: String,
    },
    /// An integer.
    Integer {
        /// `int32`, `int64` or empty.
        format: String,
    },
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// An integer or a string (`x-kubernetes-int-or-string`).
    IntOrString,
    /// A quantity. Merges compare it as a string.
    Quantity,
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListType {
    /// The list is one value.
    #[default]
    Atomic,
    /// Items are unique.
    Set,
    /// Items are objects with these key fields (`x-kubernetes-list-map-keys`).
    Map(Vec<String>),
}

/// `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PatchStrategy {
    /// The patch replaces the list.
    #[default]
    Replace,
    /// Items are merged.
    Merge {
        /// The key field of items; `None` for sets of scalars.
        key: Option<String>,
        /// Whether the strategy `retainKeys` is also set.
        retain_keys: bool,
    },
}

/// Limits of OpenAPI.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// `enum`.
    pub one_of_values: Vec<Value>,
    /// The minimum, and whether it is exclusive.
    pub minimum: Option<(f64, bool)>,
    /// The maximum, and whether it is exclusive.
    pub maximum: Option<(f64, bool)>,
    /// The value must be a multiple of this.
    pub multiple_of: Option<f64>,
    /// In characters.
    pub min_length: Option<u64>,
    /// In characters.
    pub max_length: Option<u64>,
    /// An RE2 pattern.
    pub pattern: Option<Pattern>,
    /// Number of items.
    pub min_items: Option<u64>,
    /// Number of items.
    pub max_items: Option<u64>,
    /// Whether equal items are rejected.
    pub unique_items: bool,
    /// Number of map entries.
    pub min_properties: Option<u64>,
    /// Number of map entries.
    pub max_properties: Option<u64>,
    /// The value must match all of these.
    pub all_of: Vec<Arc<Node>>,
    /// The value must match at least one of these.
    pub any_of: Vec<Arc<Node>>,
    /// The value must match exactly one of these.
    pub one_of: Vec<Arc<Node>>,
    /// The value must not match this.
    pub not: Option<Arc<Node>>,
}

/// A CEL rule (apiextensions `ValidationRule`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The CEL expression.
    pub rule: String,
    /// The error message.
    pub message: Option<String>,
    /// A CEL expression that returns the error message.
    pub message_expression: Option<String>,
    /// The type of error; default `FieldValueInvalid`.
    pub reason: Option<String>,
    /// The field path of the error.
    pub field_path: Option<String>,
    /// Whether `oldSelf` is optional.
    pub optional_old_self: bool,
}
