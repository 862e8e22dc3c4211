//! Schemas of objects as a tree of [`Node`]s. The nodes of built-in kinds are parsed from the
//! published OpenAPI documents. The nodes of custom kinds are parsed from the structural schema of
//! the CRD.

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

/// The format of timestamps with microseconds. OpenAPI documents publish the format `date-time` for
/// these timestamps, although the encoding differs.
pub const MICRO_TIME: &str = "micro-time";

/// Maximum number of unknown fields that strict decoding reports per object. kube-apiserver has the
/// same limit for duplicate fields.
pub(crate) const MAX_UNKNOWN_FIELDS: usize = 100;
/// Maximum length of a field path in an error message, in bytes. A body can contain very long keys.
const MAX_PATH_BYTES: usize = 1024;

/// Truncates a path to the maximum length in messages.
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
    /// True if `null` is a valid value.
    pub nullable: bool,
    /// The default for an absent value.
    pub default: Option<Value>,
    /// True if the schema has `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// True if the schema has `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// The OpenAPI limits on the value.
    pub limits: Option<Box<Limits>>,
    /// CEL rules (`x-kubernetes-validations`).
    pub rules: Vec<Arc<Rule>>,
    /// The JSON encoding of the Go type, for built-in kinds.
    pub go: Option<Arc<GoStruct>>,
    /// The schema as JSON. Only set at the root of a CRD's schema.
    pub written: Option<Arc<Value>>,
    /// The compiled CEL rules of the whole tree. Only set at the root of a CRD's schema.
    pub cel: Option<Arc<cel::Rules>>,
}

/// The JSON encoding of a Go struct. OpenAPI documents do not describe this encoding.
#[derive(Debug, Clone, Default)]
pub struct GoStruct {
    /// The name for decoding errors, such as `DeploymentSpec`.
    pub name: String,
    /// The fields with special encoding. The encoder writes every other field that is set.
    pub fields: BTreeMap<String, FieldEncoding>,
}

/// The condition under which the encoder writes a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldEncoding {
    /// Write the field unless the value is zero, false or empty (`omitempty`).
    UnlessEmpty,
    /// Write the field always, with this value if it is unset.
    Always(Value),
}

/// The type of a value.
#[derive(Debug, Clone, Default)]
pub enum Shape {
    /// A value of any type. Merges derive the structure from the value (structured-merge-diff's
    /// "deduced" type).
    #[default]
    Any,
    /// An object with named fields, a map, or both.
    Object {
        /// The schemas of named fields.
        properties: BTreeMap<String, Arc<Node>>,
        /// The schema of map values.
        additional: Option<Arc<Node>>,
        /// The names of required fields.
        required: Vec<String>,
        /// True if merges replace the whole object (`x-kubernetes-map-type: atomic`).
        atomic: bool,
    },
    /// A list.
    Array {
        /// The schema of the list items.
        items: Arc<Node>,
        /// The list type for server-side apply.
        list: ListType,
        /// The strategy for strategic merge patches.
        strategy: PatchStrategy,
    },
    /// A string.
    String {
        /// The OpenAPI format such as `date-time` or `byte`. Empty without a format.
        format: String,
    },
    /// An integer.
    Integer {
        /// The OpenAPI format `int32` or `int64`. Empty without a format.
        format: String,
    },
    /// A floating-point number.
    Number,
    /// A boolean.
    Boolean,
    /// An integer or a string (`x-kubernetes-int-or-string`).
    IntOrString,
    /// A Kubernetes quantity. Merges compare quantities as strings.
    Quantity,
}

/// The list type for server-side apply (`x-kubernetes-list-type`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListType {
    /// The list is merged as one value.
    #[default]
    Atomic,
    /// The items of the list are unique.
    Set,
    /// The items are objects with these key fields (`x-kubernetes-list-map-keys`).
    Map(Vec<String>),
}

/// The merge of a list in strategic merge patches (`x-kubernetes-patch-strategy` and
/// `x-kubernetes-patch-merge-key`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PatchStrategy {
    /// The patch replaces the list.
    #[default]
    Replace,
    /// The patch merges items.
    Merge {
        /// The key field of items. `None` for sets of scalars.
        key: Option<String>,
        /// True if the patch strategy also contains `retainKeys`.
        retain_keys: bool,
    },
}

/// The value limits of an OpenAPI schema.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// The values of `enum`.
    pub one_of_values: Vec<Value>,
    /// The minimum. The boolean is true if the minimum is exclusive.
    pub minimum: Option<(f64, bool)>,
    /// The maximum. The boolean is true if the maximum is exclusive.
    pub maximum: Option<(f64, bool)>,
    /// The divisor: the value must be a multiple of this number.
    pub multiple_of: Option<f64>,
    /// The minimum length in characters.
    pub min_length: Option<u64>,
    /// The maximum length in characters.
    pub max_length: Option<u64>,
    /// The RE2 pattern that the value must match.
    pub pattern: Option<Pattern>,
    /// The minimum number of list items.
    pub min_items: Option<u64>,
    /// The maximum number of list items.
    pub max_items: Option<u64>,
    /// True if equal list items are invalid.
    pub unique_items: bool,
    /// The minimum number of map entries.
    pub min_properties: Option<u64>,
    /// The maximum number of map entries.
    pub max_properties: Option<u64>,
    /// The schemas in `allOf`: the value must match all of them.
    pub all_of: Vec<Arc<Node>>,
    /// The schemas in `anyOf`: the value must match at least one of them.
    pub any_of: Vec<Arc<Node>>,
    /// The schemas in `oneOf`: the value must match exactly one of them.
    pub one_of: Vec<Arc<Node>>,
    /// The schema that the value must not match.
    pub not: Option<Arc<Node>>,
}

/// A CEL rule (apiextensions `ValidationRule`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The CEL expression.
    pub rule: String,
    /// The error message. The default message contains the rule.
    pub message: Option<String>,
    /// A CEL expression that returns the error message.
    pub message_expression: Option<String>,
    /// The type of error. The default is `FieldValueInvalid`.
    pub reason: Option<String>,
    /// The field path of the error.
    pub field_path: Option<String>,
    /// True if `oldSelf` is an optional value, so that the rule also runs on create.
    pub optional_old_self: bool,
}
