//! Defaults of custom objects.

use serde_json::Value;

use super::{Node, Shape};

impl Node {
    /// Sets the defaults of the schema. A default also replaces `null` in a field that is not
    /// nullable.
    pub fn apply_defaults(&self, value: &mut Value) {
        match (&self.shape, value) {
            (
                Shape::Object {
                    properties,
                    additional,
                    ..
                },
                Value::Object(map),
            ) => {
                for (name, property) in properties {
                    let Some(default) = &property.default else {
                        continue;
                    };
                    let set = map.get(name);
                    if set.is_none_or(|set| set.is_null() && !property.nullable) {
                        map.insert(name.clone(), default.clone());
                    }
                }
                for (name, inside) in map.iter_mut() {
                    if let Some(property) = properties.get(name) {
                        property.apply_defaults(inside);
                    } else if let Some(node) = additional {
                        node.fill_null(inside);
                        node.apply_defaults(inside);
                    }
                }
            }
            (Shape::Array { items, .. }, Value::Array(list)) => {
                for item in list {
                    items.fill_null(item);
                    items.apply_defaults(item);
                }
            }
            _ => {}
        }
    }

    /// Reports whether the schema contains any default.
    pub fn has_defaults(&self) -> bool {
        self.default.is_some()
            || match &self.shape {
                Shape::Object {
                    properties,
                    additional,
                    ..
                } => {
                    properties.values().any(|node| node.has_defaults())
                        || additional.as_ref().is_some_and(|node| node.has_defaults())
                }
                Shape::Array { items, .. } => items.has_defaults(),
                _ => false,
            }
    }

    /// Removes `null` from fields that are not nullable and have no default, as apiextensions does
    /// before defaulting.
    pub fn drop_nulls(&self, value: &mut Value) {
        match (&self.shape, value) {
            (Shape::Object { properties, .. }, Value::Object(map)) => {
                map.retain(|name, inside| {
                    !inside.is_null()
                        || properties
                            .get(name)
                            .is_none_or(|node| node.nullable || node.default.is_some())
                });
                for (name, inside) in map.iter_mut() {
                    if let Some(node) = self.field(name) {
                        node.drop_nulls(inside);
                    }
                }
            }
            (Shape::Array { items, .. }, Value::Array(list)) => {
                for item in list {
                    items.drop_nulls(item);
                }
            }
            _ => {}
        }
    }

    fn fill_null(&self, value: &mut Value) {
        if value.is_null()
            && !self.nullable
            && let Some(default) = &self.default
        {
            *value = default.clone();
        }
    }
}
