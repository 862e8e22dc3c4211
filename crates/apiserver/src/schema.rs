//! What objects look like: built-in kinds from the published OpenAPI documents, custom ones from
//! their CRD's structural schema, both as one tree of [`Node`]s.

pub mod cel;
mod decode;
mod defaults;
mod definition;
pub(crate) mod findings;
mod formats;
mod former;
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
pub(crate) use former::Former;
pub use path::Path;
pub use pattern::Pattern;
pub(crate) use pattern::compile as compile_pattern;
pub(crate) use read::Reader;

/// The format of a time with microseconds; published as `date-time` too, but written otherwise.
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

/// A value's schema: type, bounds, and how merges treat it.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// The type, and what is inside.
    pub shape: Shape,
    /// Whether `null` is a value of its own.
    pub nullable: bool,
    /// What stands there when nothing does.
    pub default: Option<Value>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// Bounds on the value.
    pub limits: Option<Box<Limits>>,
    /// CEL rules (`x-kubernetes-validations`).
    pub rules: Vec<Arc<Rule>>,
    /// How the Go type behind a built-in's object writes its fields.
    pub go: Option<Arc<GoStruct>>,
    /// The schema as its CRD has it, at the root of a custom object.
    pub written: Option<Arc<Value>>,
    /// The compiled rules of all that is below, at the root of a custom object.
    pub cel: Option<Arc<cel::Rules>>,
}

/// A Go struct's JSON encoding, as far as OpenAPI does not tell it.
#[derive(Debug, Clone, Default)]
pub struct GoStruct {
    /// Its name, such as `DeploymentSpec`, which decoding errors say.
    pub name: String,
    /// The fields that are not simply kept when they are set.
    pub fields: BTreeMap<String, Written>,
}

/// When a field is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// Unless it is empty: zero, `false`, or nothing in it.
    UnlessEmpty,
    /// Always, and with this when nothing was set.
    Always(Value),
}

/// A value's type.
#[derive(Debug, Clone, Default)]
pub enum Shape {
    /// Anything at all: merges take its structure from the value (structured-merge-diff's
    /// "deduced" type).
    #[default]
    Any,
    /// An object with named fields, or a map (`additional`).
    Object {
        /// The named fields.
        properties: BTreeMap<String, Arc<Node>>,
        /// The values of a map.
        additional: Option<Arc<Node>>,
        /// Fields that must be there.
        required: Vec<String>,
        /// Whether merges take it as one value (`x-kubernetes-map-type: atomic`).
        atomic: bool,
    },
    /// A list.
    Array {
        /// Its items.
        items: Arc<Node>,
        /// How server-side apply merges it.
        list: ListType,
        /// How a strategic merge patch merges it.
        strategy: PatchStrategy,
    },
    /// Text; the format is OpenAPI's (`date-time`, `byte`, …) or empty.
    String {
        /// Or empty.
        format: String,
    },
    /// A whole number.
    Integer {
        /// `int32`, `int64` or empty.
        format: String,
    },
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// A whole number or text (`x-kubernetes-int-or-string`).
    IntOrString,
    /// A quantity: text that merges compare as it stands.
    Quantity,
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListType {
    /// One value.
    #[default]
    Atomic,
    /// Items are unique.
    Set,
    /// Items are objects, named by these fields (`x-kubernetes-list-map-keys`).
    Map(Vec<String>),
}

/// `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PatchStrategy {
    /// The new list takes the old one's place.
    #[default]
    Replace,
    /// Items merge by this field; with none, as a set of plain values.
    Merge {
        /// The field that names an item.
        key: Option<String>,
        /// `retainKeys` too.
        retain_keys: bool,
    },
}

/// Bounds that OpenAPI can set.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Allowed values.
    pub one_of_values: Vec<Value>,
    /// Smallest, and whether it is itself excluded.
    pub minimum: Option<(f64, bool)>,
    /// Largest, and whether it is itself excluded.
    pub maximum: Option<(f64, bool)>,
    /// Divisor.
    pub multiple_of: Option<f64>,
    /// Characters.
    pub min_length: Option<u64>,
    /// Characters.
    pub max_length: Option<u64>,
    /// RE2.
    pub pattern: Option<Pattern>,
    /// List items.
    pub min_items: Option<u64>,
    /// List items.
    pub max_items: Option<u64>,
    /// Whether equal items are refused.
    pub unique_items: bool,
    /// Map entries.
    pub min_properties: Option<u64>,
    /// Map entries.
    pub max_properties: Option<u64>,
    /// Must hold for all of these.
    pub all_of: Vec<Arc<Node>>,
    /// Must hold for at least one of these.
    pub any_of: Vec<Arc<Node>>,
    /// Must hold for exactly one of these.
    pub one_of: Vec<Arc<Node>>,
    /// Must not hold.
    pub not: Option<Arc<Node>>,
}

/// A CEL rule (apiextensions `ValidationRule`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The expression.
    pub rule: String,
    /// Said when it does not hold.
    pub message: Option<String>,
    /// An expression for what is said.
    pub message_expression: Option<String>,
    /// `FieldValueInvalid` by default.
    pub reason: Option<String>,
    /// Where the fault is said to be.
    pub field_path: Option<String>,
    /// Whether `oldSelf` may be absent.
    pub optional_old_self: bool,
}
