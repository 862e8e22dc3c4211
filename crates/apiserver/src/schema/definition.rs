//! OpenAPI schemas as JSON, from the published documents or from a CRD.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{ListType, PatchStrategy, Rule};

const REFERENCE: &str = "#/components/schemas/";

/// An OpenAPI schema.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the fields are those of OpenAPI schemas"
)]
pub(crate) struct Definition {
    #[serde(rename = "$ref")]
    pub(super) reference: Option<String>,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) properties: BTreeMap<String, Self>,
    #[serde(deserialize_with = "schema_or_bool")]
    pub(super) additional_properties: Additional,
    pub(super) items: Option<Box<Self>>,
    pub(super) all_of: Vec<Self>,
    pub(super) any_of: Vec<Self>,
    pub(super) one_of: Vec<Self>,
    pub(super) not: Option<Box<Self>>,
    pub(super) required: Vec<String>,
    pub(super) default: Option<Value>,
    pub(super) nullable: bool,
    #[serde(rename = "enum")]
    pub(super) values: Vec<Value>,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) pattern: Option<String>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) unique_items: bool,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    #[serde(rename = "x-kubernetes-list-type")]
    pub(super) list_type: Option<String>,
    #[serde(rename = "x-kubernetes-list-map-keys")]
    pub(super) list_map_keys: Vec<String>,
    #[serde(rename = "x-kubernetes-map-type")]
    pub(super) map_type: Option<String>,
    #[serde(rename = "x-kubernetes-patch-strategy")]
    pub(super) patch_strategy: Option<String>,
    #[serde(rename = "x-kubernetes-patch-merge-key")]
    pub(super) patch_merge_key: Option<String>,
    #[serde(rename = "x-kubernetes-int-or-string")]
    pub(super) int_or_string: bool,
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    pub(super) preserve_unknown: Option<bool>,
    #[serde(rename = "x-kubernetes-embedded-resource")]
    pub(super) embedded_resource: bool,
    #[serde(rename = "x-kubernetes-validations")]
    pub(super) rules: Vec<RuleDefinition>,
    #[serde(rename = "x-kubernetes-group-version-kind")]
    pub(crate) kinds: Vec<GroupVersionKind>,
}

/// The value of `additionalProperties`: a boolean or a schema.
#[derive(Debug, Clone, Default)]
pub(super) enum Additional {
    #[default]
    Unsaid,
    Forbidden,
    Anything,
    Of(Box<Definition>),
}

/// An entry of `x-kubernetes-group-version-kind`.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
pub(crate) struct GroupVersionKind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RuleDefinition {
    pub(super) rule: String,
    pub(super) message: Option<String>,
    pub(super) message_expression: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) field_path: Option<String>,
    pub(super) optional_old_self: bool,
}

fn schema_or_bool<'de, D: Deserializer<'de>>(from: D) -> Result<Additional, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Said(bool),
        Schema(Box<Definition>),
    }
    Ok(match Option::<Either>::deserialize(from)? {
        None => Additional::Unsaid,
        Some(Either::Said(false)) => Additional::Forbidden,
        Some(Either::Said(true)) => Additional::Anything,
        Some(Either::Schema(schema)) => Additional::Of(schema),
    })
}

impl Definition {
    /// Returns the name of the referenced definition. An `allOf` with one entry is also a
    /// reference. OpenAPI uses this form for references with a description.
    pub(super) fn target(&self) -> Option<&str> {
        let reference = match (&self.reference, self.all_of.as_slice()) {
            (Some(reference), _) => reference,
            (None, [one]) if self.kind.is_empty() => one.reference.as_ref()?,
            _ => return None,
        };
        reference.strip_prefix(REFERENCE)
    }

    /// Returns the type of the schema. If the type is absent, the keywords determine the type.
    /// `anyOf` and similar keywords may omit the type.
    pub(super) fn implied_kind(&self) -> &str {
        let of_object = !self.properties.is_empty()
            || !self.required.is_empty()
            || !matches!(self.additional_properties, Additional::Unsaid);
        match self.kind.as_str() {
            "" if of_object => "object",
            "" if self.items.is_some() => "array",
            kind => kind,
        }
    }

    pub(super) fn only_refers(&self) -> bool {
        self.default.as_ref().is_none_or(is_zero)
            && !self.nullable
            && self.map_type.is_none()
            && self.rules.is_empty()
    }

    pub(super) fn list(&self) -> ListType {
        match self.list_type.as_deref() {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(self.list_map_keys.clone()),
            _ => ListType::Atomic,
        }
    }

    pub(super) fn strategy(&self) -> PatchStrategy {
        let said = self.patch_strategy.as_deref().unwrap_or_default();
        let mut words = said.split(',');
        if words.any(|word| word == "merge") {
            PatchStrategy::Merge {
                key: self.patch_merge_key.clone(),
                retain_keys: said.contains("retainKeys"),
            }
        } else {
            PatchStrategy::Replace
        }
    }
}

impl RuleDefinition {
    pub(super) fn rule(&self) -> Arc<Rule> {
        Arc::new(Rule {
            rule: self.rule.clone(),
            message: self.message.clone(),
            message_expression: self.message_expression.clone(),
            reason: self.reason.clone(),
            field_path: self.field_path.clone(),
            optional_old_self: self.optional_old_self,
        })
    }
}

/// Reports whether Go's `omitempty` omits the value. A published default that `omitempty` omits
/// means that Go always writes the field.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
