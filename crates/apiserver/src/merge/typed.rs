//! Values with their schema, as in structured-merge-diff's package `typed`.

mod combine;
mod compare;
mod members;
mod reconcile;
mod remove;
mod validate;

pub(super) use combine::combine;
pub(super) use compare::{Comparison, compare};
pub(super) use members::{field_set, with_named_fields};
pub(super) use reconcile::reconcile;
pub(super) use remove::remove;
pub(super) use validate::{Duplicates, go_plain, validate};

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::path::{Path, PathElement};
use super::value;
use crate::schema::{FieldEncoding, ListType, Node, Shape};

/// The type of a value during a merge.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type<'a> {
    /// A type with a schema. `open` is true if an ancestor preserves unknown fields.
    Node { node: &'a Node, open: bool },
    /// A type that is derived from the value: objects merge by field, and a list is one value.
    Deduced,
    /// A type that is derived from the value. Merges replace each value as a unit, including
    /// objects and lists.
    Untyped,
}

/// The forms that a value of a type can have: map, scalar or list. Only open types allow several
/// forms.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Atom<'a> {
    pub(super) map: Option<MapAtom<'a>>,
    pub(super) scalar: Option<Scalar>,
    pub(super) list: Option<ListAtom<'a>>,
}

/// A scalar type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// An object or a map.
#[derive(Debug, Clone, Copy)]
pub(super) struct MapAtom<'a> {
    pub(super) fields: Option<&'a BTreeMap<String, Arc<Node>>>,
    /// The type of values whose key is not in `fields`. `None` if the map has no such values.
    pub(super) element: Option<Type<'a>>,
    pub(super) atomic: bool,
    open: bool,
}

/// The type of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListAtom<'a> {
    pub(super) element: Type<'a>,
    pub(super) kind: ListKind<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind<'a> {
    Atomic,
    Set,
    Keys(&'a [String]),
}

/// The form of a value: map, scalar or list.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form<'a> {
    Map(MapAtom<'a>),
    Scalar(Scalar),
    List(ListAtom<'a>),
}

impl<'a> Type<'a> {
    pub(super) const fn root(node: &'a Node) -> Self {
        Self::Node { node, open: false }
    }

    pub(super) fn atom(self) -> Atom<'a> {
        match self {
            Self::Deduced => Atom::open(Self::Deduced, false),
            Self::Untyped => Atom::open(Self::Untyped, true),
            Self::Node { node, open } => Atom::of(node, open || node.preserve_unknown),
        }
    }

    /// Returns the form of this value: map, scalar or list.
    pub(super) fn form(self, value: &Value) -> Form<'a> {
        self.atom().deduced(value).form()
    }
}

impl<'a> Atom<'a> {
    const fn open(element: Type<'a>, atomic: bool) -> Self {
        Self {
            map: Some(MapAtom {
                fields: None,
                element: Some(element),
                atomic,
                open: false,
            }),
            scalar: Some(Scalar::Untyped),
            list: Some(ListAtom {
                element: Type::Untyped,
                kind: ListKind::Atomic,
            }),
        }
    }

    fn of(node: &'a Node, open: bool) -> Self {
        let scalar = |scalar| Self {
            scalar: Some(scalar),
            ..Self::default()
        };
        match &node.shape {
            // Go's `RawExtension`.
            Shape::Any if node.go.is_some() => Self::open(Type::Untyped, true),
            Shape::Any | Shape::IntOrString => Self::open(Type::Deduced, false),
            Shape::Object {
                properties,
                additional,
                atomic,
                ..
            } => Self {
                map: Some(MapAtom {
                    fields: (!properties.is_empty()).then_some(properties),
                    element: match additional {
                        Some(node) => Some(Type::Node { node, open }),
                        None if open || properties.is_empty() => Some(Type::Deduced),
                        None => None,
                    },
                    atomic: *atomic,
                    open,
                }),
                ..Self::default()
            },
            Shape::Array { items, list, .. } => Self {
                list: Some(ListAtom {
                    element: Type::Node { node: items, open },
                    kind: match list {
                        ListType::Atomic => ListKind::Atomic,
                        ListType::Set => ListKind::Set,
                        ListType::Map(keys) => ListKind::Keys(keys),
                    },
                }),
                ..Self::default()
            },
            Shape::String { format } if format.is_empty() || format == "byte" => {
                scalar(Scalar::String)
            }
            Shape::String { .. } | Shape::Quantity => scalar(Scalar::Untyped),
            Shape::Integer { .. } | Shape::Number => scalar(Scalar::Numeric),
            Shape::Boolean => scalar(Scalar::Boolean),
        }
    }

    /// Limits an open type to the form of this value. All forms remain for `null`.
    pub(super) fn deduced(self, value: &Value) -> Self {
        let narrowed = match value {
            Value::Null => return self,
            Value::Object(_) => Self {
                map: self.map,
                ..Self::default()
            },
            Value::Array(_) => Self {
                list: self.list,
                ..Self::default()
            },
            _ => Self {
                scalar: self.scalar,
                ..Self::default()
            },
        };
        if narrowed.same_kinds(&Self::default()) {
            self
        } else {
            narrowed
        }
    }

    /// Reports whether two types allow the same forms.
    pub(super) const fn same_kinds(&self, other: &Self) -> bool {
        self.map.is_some() == other.map.is_some()
            && self.scalar.is_some() == other.scalar.is_some()
            && self.list.is_some() == other.list.is_some()
    }

    pub(super) fn form(self) -> Form<'a> {
        match (self.map, self.scalar, self.list) {
            (Some(map), _, _) => Form::Map(map),
            (None, Some(scalar), _) => Form::Scalar(scalar),
            (None, None, Some(list)) => Form::List(list),
            (None, None, None) => Form::Scalar(Scalar::Untyped),
        }
    }
}

impl<'a> MapAtom<'a> {
    /// Returns the type of a named field.
    pub(super) fn named(&self, key: &str) -> Option<Type<'a>> {
        let node = self.fields?.get(key)?;
        Some(Type::Node {
            node,
            open: self.open,
        })
    }

    /// Returns the type of the value at a key.
    pub(super) fn at(&self, key: &str) -> Option<Type<'a>> {
        self.named(key).or(self.element)
    }
}

impl ListAtom<'_> {
    /// Returns the path element of a list item. The error is the reason why the item has no path
    /// element.
    pub(super) fn element_of(&self, item: &Value) -> Result<PathElement, String> {
        match self.kind {
            ListKind::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListKind::Set => set_element(item),
            ListKind::Keys(keys) => self.keyed_element(keys, item),
        }
    }

    fn keyed_element(&self, keys: &[String], item: &Value) -> Result<PathElement, String> {
        let map = match item {
            Value::Null => {
                return Err("associative list with keys may not have a null element".to_owned());
            }
            Value::Object(map) => map,
            _ => {
                return Err("associative list with keys may not have non-map elements".to_owned());
            }
        };
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            if let Some(value) = map.get(key) {
                found.push((key.clone(), value.clone()));
            } else if let Some(default) = self.key_default(key)? {
                found.push((key.clone(), default.clone()));
            }
        }
        if found.is_empty() {
            let names: Vec<String> = keys.iter().map(|key| value::quote(key)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and \
                 doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(PathElement::key(found))
    }

    fn key_default(&self, key: &str) -> Result<Option<&Value>, String> {
        let Some(map) = self.element.atom().map else {
            return Err(format!(
                "couldn't find default value for {key}: associative list may not have non-map types"
            ));
        };
        let declared = map.fields.and_then(|fields| fields.get(key));
        if let Some(default) = declared.and_then(|node| node.default.as_ref()) {
            return Ok(Some(default));
        }
        // Key fields that Go always writes default to their zero value.
        let Type::Node { node, .. } = self.element else {
            return Ok(None);
        };
        let written = node.go.as_ref().and_then(|go| go.fields.get(key));
        Ok(match written {
            Some(FieldEncoding::Always(zero)) if !zero.is_null() => Some(zero),
            _ => None,
        })
    }
}

fn set_element(item: &Value) -> Result<PathElement, String> {
    match item {
        Value::Object(_) => {
            Err("associative list without keys has an element that's a map type".to_owned())
        }
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => {
            Err("associative list without keys has an element that's an explicit null".to_owned())
        }
        _ => Ok(PathElement::Value(Arc::new(item.clone()))),
    }
}

/// Returns the items of a list. The result is empty for null and other types.
fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn entries(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// An error about a value that does not match its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypeMismatch {
    pub(super) path: Path,
    pub(super) message: String,
}

/// All type errors of a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TypeMismatches(pub(super) Vec<TypeMismatch>);

impl TypeMismatches {
    pub(super) fn add(&mut self, path: &[PathElement], message: impl Into<String>) {
        self.0.push(TypeMismatch {
            path: Path(path.to_vec()),
            message: message.into(),
        });
    }

    pub(super) fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            Err(self)
        }
    }
}

impl fmt::Display for TypeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.0.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl fmt::Display for TypeMismatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = self.0.as_slice() {
            return one.fmt(f);
        }
        f.write_str("errors:")?;
        self.0.iter().try_for_each(|one| write!(f, "\n  {one}"))
    }
}
