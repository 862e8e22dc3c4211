//! The set of fields in a value.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Form, ListAtom, ListKind, MapAtom, Type};
use crate::merge::path::PathElement;
use crate::merge::set::Set;

/// Returns all fields of a validated value.
pub(in crate::merge) fn field_set(value: &Value, ty: Type<'_>) -> Set {
    let mut walk = Walk::default();
    walk.value(value, ty);
    walk.set
}

#[derive(Default)]
struct Walk {
    path: Vec<PathElement>,
    set: Set,
}

impl Walk {
    fn here(&mut self) {
        self.set.insert_at(&self.path);
    }

    fn value(&mut self, value: &Value, ty: Type<'_>) {
        match ty.form(value) {
            Form::Scalar(_) => self.here(),
            Form::Map(map) if map.atomic => self.here(),
            Form::List(list) if list.kind == ListKind::Atomic => self.here(),
            Form::Map(map) => {
                if let Value::Object(entries) = value {
                    self.map(entries, map);
                }
            }
            Form::List(list) => {
                if let Value::Array(items) = value {
                    self.list(items, list);
                }
            }
        }
    }

    fn map(&mut self, entries: &Map<String, Value>, map: MapAtom<'_>) {
        for (key, item) in entries {
            self.path.push(PathElement::field(key));
            let named = map.named(key);
            if let Some(ty) = named.or(map.element) {
                self.value(item, ty);
            }
            let empty = match item {
                Value::Null => true,
                Value::Object(inside) => inside.is_empty(),
                _ => false,
            };
            if empty || named.is_none() {
                self.here();
            }
            self.path.pop();
        }
    }

    fn list(&mut self, items: &[Value], list: ListAtom<'_>) {
        let elements: Vec<Option<PathElement>> = items
            .iter()
            .map(|item| list.element_of(item).ok())
            .collect();
        let mut times: BTreeMap<&PathElement, usize> = BTreeMap::new();
        for element in elements.iter().flatten() {
            *times.entry(element).or_default() += 1;
        }
        let several: BTreeSet<PathElement> = times
            .into_iter()
            .filter(|(_, times)| *times > 1)
            .map(|(element, _)| element.clone())
            .collect();
        for (item, element) in items.iter().zip(elements) {
            let Some(element) = element else {
                continue;
            };
            // Duplicate items have one owner together.
            let duplicate = several.contains(&element);
            self.path.push(element);
            if !duplicate {
                self.value(item, list.element);
            }
            self.here();
            self.path.pop();
        }
    }
}

/// Returns the set with all named fields on the paths of its members.
pub(in crate::merge) fn with_named_fields(set: &Set, ty: Option<Type<'_>>) -> Set {
    let atom = ty.map(Type::atom).unwrap_or_default();
    let mut out = Set::default();
    for (element, branch) in set.branches() {
        let mut member = branch.member;
        let inside = match element {
            PathElement::Field(name) => {
                let named = atom.map.and_then(|map| map.named(name));
                member |= named.is_some() && !branch.children.is_empty();
                named.or_else(|| atom.map.and_then(|map| map.element))
            }
            PathElement::Key(_) => atom.list.map(|list| list.element),
            PathElement::Value(_) | PathElement::Index(_) => None,
        };
        out.graft(
            element.clone(),
            member,
            with_named_fields(&branch.children, inside),
        );
    }
    out
}
