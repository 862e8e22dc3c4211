//! Random schemas, as OpenAPI and as [`Node`]s, and random values for them.

use std::sync::Arc;

use drover_apiserver::schema::{ListType, Node, PatchStrategy, Shape};
use serde_json::{Map, Value, json};

use super::random::Random;

/// The schema variants that merges distinguish.
#[derive(Debug, Clone)]
pub(super) enum Schema {
    Text,
    Integer,
    Number,
    Flag,
    IntOrText,
    /// A value of any type, with unknown fields preserved.
    Open,
    /// An object with unknown fields preserved.
    OpenObject(Vec<(String, Self)>),
    Map(Box<Self>, Relation),
    Object(Vec<(String, Self)>, Relation),
    List(Box<Self>),
    Set(Box<Self>),
    /// A list of objects: item fields, key fields, and the default of the last key.
    Keyed(Vec<(String, Self)>, Vec<String>, Option<Value>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Granular,
    Atomic,
}

const FIELDS: [&str; 5] = ["alpha", "beta", "gamma", "delta", "omega"];
const KEYS: [&str; 4] = ["x", "y", "z", "w"];
const WORDS: [&str; 5] = ["", "one", "two", "three", "a<b>&\"c\""];

impl Schema {
    /// Generates a schema with at most this depth.
    pub(super) fn random(random: &mut Random, levels: usize) -> Self {
        let kinds = if levels == 0 { 5 } else { 14 };
        match random.below(kinds) {
            0 => Self::Text,
            1 => Self::Integer,
            2 => Self::Number,
            3 => Self::Flag,
            4 => Self::IntOrText,
            5 => Self::Open,
            6 => Self::OpenObject(Self::fields(random, levels - 1)),
            7 => Self::Map(
                Box::new(Self::random(random, levels - 1)),
                *random.pick(&[Relation::Granular, Relation::Granular, Relation::Atomic]),
            ),
            8 => Self::List(Box::new(Self::random(random, levels - 1))),
            9 => Self::Set(Box::new(
                random
                    .pick(&[Self::Text, Self::Integer, Self::IntOrText])
                    .clone(),
            )),
            10 | 11 => Self::keyed(random, levels - 1),
            _ => Self::Object(
                Self::fields(random, levels - 1),
                *random.pick(&[Relation::Granular, Relation::Granular, Relation::Atomic]),
            ),
        }
    }

    fn fields(random: &mut Random, levels: usize) -> Vec<(String, Self)> {
        let count = 1 + random.below(FIELDS.len() - 1);
        FIELDS[..count]
            .iter()
            .map(|name| ((*name).to_owned(), Self::random(random, levels)))
            .collect()
    }

    fn keyed(random: &mut Random, levels: usize) -> Self {
        let mut fields = Self::fields(random, levels);
        fields.push(("name".to_owned(), Self::Text));
        let mut keys = vec!["name".to_owned()];
        let mut default = None;
        if random.once_in(2) {
            fields.push(("port".to_owned(), Self::Integer));
            keys.push("port".to_owned());
            if random.once_in(2) {
                default = Some(json!(1));
            }
        }
        Self::Keyed(fields, keys, default)
    }

    /// Returns the schema with one changed element: an atomic element becomes granular, or a
    /// granular element becomes atomic.
    pub(super) fn flipped(&self, random: &mut Random) -> Self {
        match self {
            Self::Object(fields, relation) if random.once_in(2) => {
                let relation = match relation {
                    Relation::Granular => Relation::Atomic,
                    Relation::Atomic => Relation::Granular,
                };
                Self::Object(fields.clone(), relation)
            }
            Self::Set(items) if random.once_in(2) => Self::List(items.clone()),
            Self::Keyed(fields, ..) if random.once_in(2) => {
                Self::List(Box::new(Self::Object(fields.clone(), Relation::Granular)))
            }
            Self::Object(fields, relation) => Self::Object(
                fields
                    .iter()
                    .map(|(name, field)| (name.clone(), field.flipped(random)))
                    .collect(),
                *relation,
            ),
            other => other.clone(),
        }
    }

    pub(super) fn openapi(&self) -> Value {
        let object = |fields: &[(String, Self)]| {
            let properties: Map<String, Value> = fields
                .iter()
                .map(|(name, field)| (name.clone(), field.openapi()))
                .collect();
            json!({"type": "object", "properties": properties})
        };
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Integer => json!({"type": "integer"}),
            Self::Number => json!({"type": "number"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::IntOrText => json!({"x-kubernetes-int-or-string": true}),
            Self::Open => json!({"x-kubernetes-preserve-unknown-fields": true}),
            Self::OpenObject(fields) => {
                let mut schema = object(fields);
                schema["x-kubernetes-preserve-unknown-fields"] = true.into();
                schema
            }
            Self::Map(values, relation) => {
                let mut schema =
                    json!({"type": "object", "additionalProperties": values.openapi()});
                if *relation == Relation::Atomic {
                    schema["x-kubernetes-map-type"] = "atomic".into();
                }
                schema
            }
            Self::Object(fields, relation) => {
                let mut schema = object(fields);
                if *relation == Relation::Atomic {
                    schema["x-kubernetes-map-type"] = "atomic".into();
                }
                schema
            }
            Self::List(items) => json!({"type": "array", "items": items.openapi()}),
            Self::Set(items) => json!({
                "type": "array", "items": items.openapi(), "x-kubernetes-list-type": "set",
            }),
            Self::Keyed(fields, keys, default) => {
                let mut items = object(fields);
                if let Some(default) = default {
                    items["properties"]["port"]["default"] = default.clone();
                }
                json!({
                    "type": "array", "items": items,
                    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
                })
            }
        }
    }

    pub(super) fn node(&self) -> Node {
        let list = |items: Node, list| Shape::Array {
            items: Arc::new(items),
            list,
            strategy: PatchStrategy::Replace,
        };
        let shape = match self {
            Self::Text => text(),
            Self::Integer => Shape::Integer {
                format: String::new(),
            },
            Self::Number => Shape::Number,
            Self::Flag => Shape::Boolean,
            Self::IntOrText => Shape::IntOrString,
            Self::Open => Shape::Any,
            Self::OpenObject(fields) | Self::Object(fields, Relation::Granular) => {
                object(fields, false)
            }
            Self::Object(fields, Relation::Atomic) => object(fields, true),
            Self::Map(values, relation) => Shape::Object {
                properties: std::collections::BTreeMap::new(),
                additional: Some(Arc::new(values.node())),
                required: Vec::new(),
                atomic: *relation == Relation::Atomic,
            },
            Self::List(items) => list(items.node(), ListType::Atomic),
            Self::Set(items) => list(items.node(), ListType::Set),
            Self::Keyed(fields, keys, default) => {
                let mut items = Node {
                    shape: object(fields, false),
                    ..Node::default()
                };
                if let (Some(default), Shape::Object { properties, .. }) =
                    (default, &mut items.shape)
                {
                    let port = Node {
                        default: Some(default.clone()),
                        ..(*properties["port"]).clone()
                    };
                    properties.insert("port".to_owned(), Arc::new(port));
                }
                list(items, ListType::Map(keys.clone()))
            }
        };
        Node {
            shape,
            preserve_unknown: matches!(self, Self::Open | Self::OpenObject(_)),
            ..Node::default()
        }
    }

    /// Generates a value. On average, one of `faults` values does not match the schema.
    pub(super) fn value(&self, random: &mut Random, faults: usize) -> Value {
        if random.once_in(25) {
            return Value::Null;
        }
        if faults > 0 && random.once_in(faults) {
            return loose(random, 1);
        }
        match self {
            Self::Text => json!(random.pick(&WORDS)),
            Self::Integer => json!(random.below(4)),
            Self::Number => json!(*random.pick(&[0.5, -1.5, 2.25, 1e-7, 1.5e22])),
            Self::Flag => json!(random.once_in(2)),
            Self::IntOrText => match random.below(2) {
                0 => json!(random.below(3)),
                _ => json!(random.pick(&WORDS)),
            },
            Self::Open => loose(random, 2),
            Self::OpenObject(fields) => {
                let mut object = object_value(fields, random, faults);
                if random.once_in(2) {
                    object[*random.pick(&KEYS)] = loose(random, 2);
                }
                object
            }
            Self::Map(values, _) => {
                let count = random.below(3);
                let entries: Map<String, Value> = (0..count)
                    .map(|_| {
                        let key = (*random.pick(&KEYS)).to_owned();
                        (key, values.value(random, faults))
                    })
                    .collect();
                Value::Object(entries)
            }
            Self::Object(fields, _) => object_value(fields, random, faults),
            Self::List(items) => (0..random.below(3))
                .map(|_| items.value(random, faults))
                .collect(),
            Self::Set(items) => {
                let mut list: Vec<Value> = Vec::new();
                for _ in 0..random.below(4) {
                    let item = items.value(random, 0);
                    let twice = list.contains(&item) && !(faults > 0 && random.once_in(4));
                    if !item.is_null() && !twice {
                        list.push(item);
                    }
                }
                Value::Array(list)
            }
            Self::Keyed(fields, keys, _) => keyed_value(fields, keys, random, faults),
        }
    }
}

fn text() -> Shape {
    Shape::String {
        format: String::new(),
    }
}

fn object(fields: &[(String, Schema)], atomic: bool) -> Shape {
    Shape::Object {
        properties: fields
            .iter()
            .map(|(name, field)| (name.clone(), Arc::new(field.node())))
            .collect(),
        additional: None,
        required: Vec::new(),
        atomic,
    }
}

fn object_value(fields: &[(String, Schema)], random: &mut Random, faults: usize) -> Value {
    let mut object = Map::new();
    for (name, field) in fields {
        if random.below(5) < 3 {
            object.insert(name.clone(), field.value(random, faults));
        }
    }
    if faults > 0 && random.once_in(faults) {
        object.insert("unknown".to_owned(), json!(1));
    }
    Value::Object(object)
}

fn keyed_value(
    fields: &[(String, Schema)],
    keys: &[String],
    random: &mut Random,
    faults: usize,
) -> Value {
    let mut list: Vec<Value> = Vec::new();
    for _ in 0..random.below(4) {
        let mut item = object_value(fields, random, faults);
        item["name"] = json!(random.pick(&["a", "b", "c"]));
        if keys.len() > 1 && item["port"].is_null() {
            item.as_object_mut().unwrap().remove("port");
        }
        let named = |item: &Value| (item["name"].clone(), item.get("port").cloned());
        let twice = list.iter().any(|other| named(other) == named(&item));
        if !twice || (faults > 0 && random.once_in(4)) {
            list.push(item);
        }
    }
    Value::Array(list)
}

/// Generates a value without a schema.
pub(super) fn loose(random: &mut Random, levels: usize) -> Value {
    match random.below(if levels == 0 { 4 } else { 7 }) {
        0 => json!(random.below(3)),
        1 => json!(random.pick(&WORDS)),
        2 => json!(random.once_in(2)),
        3 => json!(1.5),
        4 => (0..random.below(3))
            .map(|_| loose(random, levels - 1))
            .collect(),
        _ => (0..random.below(3))
            .map(|_| {
                let key = (*random.pick(&KEYS)).to_owned();
                (key, loose(random, levels - 1))
            })
            .collect::<Map<String, Value>>()
            .into(),
    }
}
