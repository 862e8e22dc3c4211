//! Reading schemas as they are published (OpenAPI v3) and as CRDs hold them (JSONSchemaProps).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{GoStruct, Limits, ListType, Node, PatchStrategy, Pattern, Rule, Shape, Written};

const REFERENCE: &str = "#/components/schemas/";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const JSON_SCHEMA: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
/// Types whose content is anyone's.
const OPEN: &[&str] = &[
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
    RAW_EXTENSION,
    JSON_SCHEMA,
];

/// A schema as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "as the schemas are written")]
pub(crate) struct Definition {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) properties: BTreeMap<String, Self>,
    #[serde(deserialize_with = "schema_or_bool")]
    additional_properties: Additional,
    items: Option<Box<Self>>,
    all_of: Vec<Self>,
    any_of: Vec<Self>,
    one_of: Vec<Self>,
    not: Option<Box<Self>>,
    required: Vec<String>,
    default: Option<Value>,
    nullable: bool,
    #[serde(rename = "enum")]
    values: Vec<Value>,
    minimum: Option<f64>,
    exclusive_minimum: bool,
    maximum: Option<f64>,
    exclusive_maximum: bool,
    multiple_of: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    pattern: Option<String>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    unique_items: bool,
    min_properties: Option<u64>,
    max_properties: Option<u64>,
    #[serde(rename = "x-kubernetes-list-type")]
    list_type: Option<String>,
    #[serde(rename = "x-kubernetes-list-map-keys")]
    list_map_keys: Vec<String>,
    #[serde(rename = "x-kubernetes-map-type")]
    map_type: Option<String>,
    #[serde(rename = "x-kubernetes-patch-strategy")]
    patch_strategy: Option<String>,
    #[serde(rename = "x-kubernetes-patch-merge-key")]
    patch_merge_key: Option<String>,
    #[serde(rename = "x-kubernetes-int-or-string")]
    int_or_string: bool,
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    preserve_unknown: Option<bool>,
    #[serde(rename = "x-kubernetes-embedded-resource")]
    embedded_resource: bool,
    #[serde(rename = "x-kubernetes-validations")]
    rules: Vec<RuleDefinition>,
    #[serde(rename = "x-kubernetes-group-version-kind")]
    pub(crate) kinds: Vec<GroupVersionKind>,
}

/// `additionalProperties`.
#[derive(Debug, Clone, Default)]
enum Additional {
    #[default]
    Unsaid,
    Forbidden,
    Anything,
    Of(Box<Definition>),
}

/// `x-kubernetes-group-version-kind`.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
pub(crate) struct GroupVersionKind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RuleDefinition {
    rule: String,
    message: Option<String>,
    message_expression: Option<String>,
    reason: Option<String>,
    field_path: Option<String>,
    optional_old_self: bool,
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

/// Makes nodes of published definitions, each once.
pub(crate) struct Reader {
    definitions: BTreeMap<String, Definition>,
    encodings: BTreeMap<String, BTreeMap<String, Value>>,
    made: HashMap<String, Arc<Node>>,
    open: BTreeSet<String>,
    source: Source,
}

/// Whose schemas are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Published,
    Custom,
}

impl Reader {
    /// A reader of these definitions, and of how the Go types write them.
    pub(crate) fn new(
        definitions: BTreeMap<String, Definition>,
        encodings: BTreeMap<String, BTreeMap<String, Value>>,
    ) -> Self {
        Self {
            definitions,
            encodings,
            made: HashMap::new(),
            open: BTreeSet::new(),
            source: Source::Published,
        }
    }

    /// A reader of a CRD's schema, which refers to nothing.
    pub(crate) fn alone() -> Self {
        Self {
            source: Source::Custom,
            ..Self::new(BTreeMap::new(), BTreeMap::new())
        }
    }

    /// The names of the definitions of a kind.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&String, &[GroupVersionKind])> {
        self.definitions
            .iter()
            .map(|(name, definition)| (name, definition.kinds.as_slice()))
    }

    /// The node of a named definition; one that contains itself ends as [`Shape::Any`].
    pub(crate) fn named(&mut self, name: &str) -> Arc<Node> {
        if let Some(node) = self.made.get(name) {
            return Arc::clone(node);
        }
        if OPEN.contains(&name) || self.open.contains(name) {
            return Arc::new(Node {
                preserve_unknown: true,
                // Merges take a raw extension as one value, other open types field by field.
                go: (name == RAW_EXTENSION).then(|| Arc::new(self.go_struct(name))),
                ..Node::default()
            });
        }
        let Some(definition) = self.definitions.get(name).cloned() else {
            return Arc::default();
        };
        self.open.insert(name.to_owned());
        let mut node = self.node(&definition);
        match name {
            QUANTITY => node.shape = Shape::Quantity,
            MICRO_TIME => {
                node.shape = Shape::String {
                    format: super::MICRO_TIME.to_owned(),
                }
            }
            _ => {}
        }
        if matches!(node.shape, Shape::Object { .. }) {
            node.go = Some(Arc::new(self.go_struct(name)));
        }
        self.open.remove(name);
        let node = Arc::new(node);
        self.made.insert(name.to_owned(), Arc::clone(&node));
        node
    }

    fn go_struct(&mut self, name: &str) -> GoStruct {
        let fields = self.encodings.remove(name).unwrap_or_default();
        let fields = fields.into_iter().map(|(field, written)| match written {
            Value::String(text) if text == "-" => (field, Written::UnlessEmpty),
            zero => (field, Written::Always(zero)),
        });
        GoStruct {
            name: name.rsplit('.').next().unwrap_or(name).to_owned(),
            fields: fields.collect(),
        }
    }

    fn shared(&mut self, definition: &Definition) -> Arc<Node> {
        match definition.target() {
            Some(name) if definition.adds_nothing() => self.named(name),
            _ => Arc::new(self.node(definition)),
        }
    }

    /// The node of a definition.
    pub(crate) fn node(&mut self, definition: &Definition) -> Node {
        let mut node = match definition.target() {
            Some(name) => (*self.named(name)).clone(),
            None => Node {
                shape: self.shape(definition),
                limits: self.limits(definition),
                ..Node::default()
            },
        };
        if let Shape::Object { atomic, .. } = &mut node.shape {
            *atomic |= definition.map_type.as_deref() == Some("atomic");
        }
        node.nullable = definition.nullable;
        node.default = match self.source {
            Source::Published => definition.default.clone().filter(|value| !is_zero(value)),
            Source::Custom => definition.default.clone().filter(|value| !value.is_null()),
        };
        node.preserve_unknown |= definition.preserve_unknown == Some(true);
        node.embedded_resource |= definition.embedded_resource;
        node.rules = definition.rules.iter().map(RuleDefinition::rule).collect();
        node
    }

    fn shape(&mut self, definition: &Definition) -> Shape {
        if definition.int_or_string || definition.format == "int-or-string" {
            return Shape::IntOrString;
        }
        match definition.implied_kind() {
            "object" => self.object(definition),
            "array" => {
                let items = match &definition.items {
                    Some(items) => self.shared(items),
                    None => Arc::default(),
                };
                Shape::Array {
                    items,
                    list: definition.list(),
                    strategy: definition.strategy(),
                }
            }
            "string" => Shape::String {
                format: definition.format.clone(),
            },
            "integer" => Shape::Integer {
                format: definition.format.clone(),
            },
            "number" => Shape::Number,
            "boolean" => Shape::Boolean,
            _ => Shape::Any,
        }
    }

    fn object(&mut self, definition: &Definition) -> Shape {
        let properties = definition
            .properties
            .iter()
            .map(|(name, property)| (name.clone(), self.shared(property)))
            .collect();
        let additional = match &definition.additional_properties {
            Additional::Of(schema) => Some(self.shared(schema)),
            Additional::Anything => Some(Arc::default()),
            Additional::Unsaid | Additional::Forbidden => None,
        };
        Shape::Object {
            properties,
            additional,
            required: definition.required.clone(),
            atomic: false,
        }
    }

    fn limits(&mut self, definition: &Definition) -> Option<Box<Limits>> {
        let mut nodes = |many: &[Definition]| -> Vec<Arc<Node>> {
            many.iter().map(|one| Arc::new(self.node(one))).collect()
        };
        let limits = Limits {
            one_of_values: definition.values.clone(),
            minimum: definition
                .minimum
                .map(|least| (least, definition.exclusive_minimum)),
            maximum: definition
                .maximum
                .map(|most| (most, definition.exclusive_maximum)),
            multiple_of: definition.multiple_of,
            min_length: definition.min_length,
            max_length: definition.max_length,
            pattern: definition.pattern.as_deref().map(Pattern::new),
            min_items: definition.min_items,
            max_items: definition.max_items,
            unique_items: definition.unique_items,
            min_properties: definition.min_properties,
            max_properties: definition.max_properties,
            all_of: nodes(&definition.all_of),
            any_of: nodes(&definition.any_of),
            one_of: nodes(&definition.one_of),
            not: definition.not.as_ref().map(|not| Arc::new(self.node(not))),
        };
        (!limits.is_empty()).then(|| Box::new(limits))
    }
}

impl Definition {
    /// The definition that this refers to, also through an `allOf` of one, the published form of
    /// a reference with a description of its own.
    fn target(&self) -> Option<&str> {
        let reference = match (&self.reference, self.all_of.as_slice()) {
            (Some(reference), _) => reference,
            (None, [one]) if self.kind.is_empty() => one.reference.as_ref()?,
            _ => return None,
        };
        reference.strip_prefix(REFERENCE)
    }

    /// The type; below `anyOf` and its like it may go without saying.
    fn implied_kind(&self) -> &str {
        let of_object = !self.properties.is_empty()
            || !self.required.is_empty()
            || !matches!(self.additional_properties, Additional::Unsaid);
        match self.kind.as_str() {
            "" if of_object => "object",
            "" if self.items.is_some() => "array",
            kind => kind,
        }
    }

    fn adds_nothing(&self) -> bool {
        self.default.as_ref().is_none_or(is_zero)
            && !self.nullable
            && self.map_type.is_none()
            && self.rules.is_empty()
    }

    fn list(&self) -> ListType {
        match self.list_type.as_deref() {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(self.list_map_keys.clone()),
            _ => ListType::Atomic,
        }
    }

    fn strategy(&self) -> PatchStrategy {
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
    fn rule(&self) -> Arc<Rule> {
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

impl Limits {
    fn is_empty(&self) -> bool {
        self.one_of_values.is_empty()
            && self.minimum.is_none()
            && self.maximum.is_none()
            && self.multiple_of.is_none()
            && self.min_length.is_none()
            && self.max_length.is_none()
            && self.pattern.is_none()
            && self.min_items.is_none()
            && self.max_items.is_none()
            && !self.unique_items
            && self.min_properties.is_none()
            && self.max_properties.is_none()
            && self.all_of.is_empty()
            && self.any_of.is_empty()
            && self.one_of.is_empty()
            && self.not.is_none()
    }
}

/// The published documents give a default of nothing to every field that Go always writes.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
