//! Pruning of custom objects: removes fields that the schema does not contain.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Node, Shape, report_unknown};

/// The fields of every object with `apiVersion` and `kind`.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Node {
    /// Removes unknown fields. Returns the findings of strict decoding, such as `unknown field
    /// "spec.foo"`.
    pub fn prune(&self, value: &mut Value) -> Vec<String> {
        let mut walk = Walk {
            at: String::new(),
            found: Vec::new(),
        };
        walk.prune(value, Some(self), true);
        walk.found.sort();
        walk.found
    }

    /// Removes unknown fields like [`Self::prune`], for a value inside of an object.
    pub(crate) fn prune_inside(&self, value: &mut Value) -> Vec<String> {
        let mut walk = Walk {
            at: String::new(),
            found: Vec::new(),
        };
        walk.prune(value, Some(self), self.embedded_resource);
        walk.found
    }
}

struct Walk {
    at: String,
    found: Vec<String>,
}

impl Walk {
    /// Removes unknown fields. `resource` is true if the value is an object with a kind. The
    /// function does not prune the metadata of the object.
    fn prune(&mut self, value: &mut Value, node: Option<&Node>, resource: bool) {
        if let Some(node) = node
            && node.preserve_unknown
        {
            return self.skip(value, node, resource);
        }
        match value {
            Value::Object(map) => {
                let keys: Vec<String> = map.keys().cloned().collect();
                for key in keys {
                    if resource && OF_EVERY_OBJECT.contains(&key.as_str()) {
                        continue;
                    }
                    match node.and_then(|node| node.field(&key)) {
                        Some(inner) => self.below_key(map, &key, inner),
                        None if node.is_some_and(Node::is_open) => {}
                        None => {
                            map.remove(&key);
                            report_unknown(&mut self.found, &self.at, &key);
                        }
                    }
                }
            }
            Value::Array(items) => {
                let inner = node.and_then(Node::items);
                for (index, item) in items.iter_mut().enumerate() {
                    self.below_index(index, |walk| {
                        walk.prune(
                            item,
                            inner,
                            inner.is_some_and(|inner| inner.embedded_resource),
                        );
                    });
                }
            }
            _ => {}
        }
    }

    /// Prunes the known fields, and leaves unknown fields at this level unchanged.
    fn skip(&mut self, value: &mut Value, node: &Node, resource: bool) {
        match value {
            Value::Object(map) => {
                let keys: Vec<String> = map.keys().cloned().collect();
                for key in keys {
                    if resource && OF_EVERY_OBJECT.contains(&key.as_str()) {
                        continue;
                    }
                    if let Some(inner) = node.field(&key) {
                        self.below_key(map, &key, inner);
                    }
                }
            }
            Value::Array(items) => {
                let Some(inner) = node.items() else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.below_index(index, |walk| {
                        walk.skip(item, inner, inner.embedded_resource);
                    });
                }
            }
            _ => {}
        }
    }

    fn below_key(&mut self, map: &mut serde_json::Map<String, Value>, key: &str, inner: &Node) {
        let Some(value) = map.get_mut(key) else {
            return;
        };
        let before = self.at.len();
        if before > 0 {
            self.at.push('.');
        }
        self.at.push_str(key);
        self.prune(value, Some(inner), inner.embedded_resource);
        self.at.truncate(before);
    }

    fn below_index(&mut self, index: usize, inside: impl FnOnce(&mut Self)) {
        let before = self.at.len();
        let _ = write!(self.at, "[{index}]");
        inside(self);
        self.at.truncate(before);
    }
}

impl Node {
    /// Returns the schema of a field or map value.
    pub fn field(&self, name: &str) -> Option<&Self> {
        match &self.shape {
            Shape::Object {
                properties,
                additional,
                ..
            } => properties
                .get(name)
                .or(additional.as_ref())
                .map(AsRef::as_ref),
            _ => None,
        }
    }

    /// Returns the schema of list items.
    pub fn items(&self) -> Option<&Self> {
        match &self.shape {
            Shape::Array { items, .. } => Some(items),
            _ => None,
        }
    }

    /// Reports whether the schema allows any content.
    fn is_open(&self) -> bool {
        matches!(self.shape, Shape::Any) && self.preserve_unknown
    }
}
