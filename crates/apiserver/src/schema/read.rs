//! Conversion of OpenAPI v3 (built-in kinds) and JSONSchemaProps (CRDs) to [`Node`]s.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::definition::{Additional, Definition, GroupVersionKind, RuleDefinition, is_zero};
use super::{FieldEncoding, GoStruct, Limits, Node, Pattern, Shape};

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const JSON_SCHEMA: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
/// The names of types with arbitrary content.
const OPEN: &[&str] = &[
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
    RAW_EXTENSION,
    JSON_SCHEMA,
];

/// Converts definitions to nodes. Each definition is converted once.
pub(crate) struct Reader {
    definitions: BTreeMap<String, Definition>,
    encodings: BTreeMap<String, BTreeMap<String, Value>>,
    made: HashMap<String, Arc<Node>>,
    open: BTreeSet<String>,
    source: Source,
}

/// The source of the schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Published,
    Custom,
}

impl Reader {
    /// Creates a reader of published definitions, with the encodings of their Go types.
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

    /// Creates a reader of a CRD's schema, which contains no references.
    pub(crate) fn alone() -> Self {
        Self {
            source: Source::Custom,
            ..Self::new(BTreeMap::new(), BTreeMap::new())
        }
    }

    /// Returns the names of all definitions, with the group, version and kind of definitions for
    /// objects.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&String, &[GroupVersionKind])> {
        self.definitions
            .iter()
            .map(|(name, definition)| (name, definition.kinds.as_slice()))
    }

    /// Returns the node of a named definition. A recursive reference becomes [`Shape::Any`].
    pub(crate) fn named(&mut self, name: &str) -> Arc<Node> {
        if let Some(node) = self.made.get(name) {
            return Arc::clone(node);
        }
        if OPEN.contains(&name) || self.open.contains(name) {
            return Arc::new(Node {
                preserve_unknown: true,
                // Merges treat a RawExtension as one value, and other open types field by field.
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
            Value::String(text) if text == "-" => (field, FieldEncoding::UnlessEmpty),
            zero => (field, FieldEncoding::Always(zero)),
        });
        GoStruct {
            name: name.rsplit('.').next().unwrap_or(name).to_owned(),
            fields: fields.collect(),
        }
    }

    fn shared(&mut self, definition: &Definition) -> Arc<Node> {
        match definition.target() {
            Some(name) if definition.only_refers() => self.named(name),
            _ => Arc::new(self.node(definition)),
        }
    }

    /// Converts a definition to a node.
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
