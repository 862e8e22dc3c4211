//! Merge of an applied value into a live value.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::validate::scalar_misfit;
use super::{Atom, Form, ListAtom, ListKind, MapAtom, Type, TypeMismatches, entries, items};
use crate::merge::path::PathElement;

/// Merges two values of a type. The applied value has precedence.
///
/// Applied list items keep their order. Items that only the live list contains keep their position
/// between the applied items.
pub(in crate::merge) fn combine(
    live: &Value,
    applied: &Value,
    ty: Type<'_>,
) -> Result<Value, TypeMismatches> {
    let mut walk = Walk::default();
    let merged = walk.value(Some(live), Some(applied), ty);
    walk.mismatches.into_result(merged.unwrap_or(Value::Null))
}

#[derive(Default)]
struct Walk {
    path: Vec<PathElement>,
    mismatches: TypeMismatches,
}

fn whole(live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    applied.or(live).cloned()
}

impl Walk {
    fn value(
        &mut self,
        live: Option<&Value>,
        applied: Option<&Value>,
        ty: Type<'_>,
    ) -> Option<Value> {
        let atom = ty.atom();
        match (live, applied) {
            (None, None) => None,
            (Some(value), None) | (None, Some(value)) => {
                self.form(atom.deduced(value), live, applied)
            }
            (Some(before), Some(after)) => {
                let (before, after) = (atom.deduced(before), atom.deduced(after));
                if !before.same_kinds(&after) {
                    self.form(before, live, applied);
                }
                self.form(after, live, applied)
            }
        }
    }

    fn form(
        &mut self,
        atom: Atom<'_>,
        live: Option<&Value>,
        applied: Option<&Value>,
    ) -> Option<Value> {
        match atom.form() {
            Form::Map(map) => self.map(map, live, applied),
            Form::List(list) => self.list(list, live, applied),
            Form::Scalar(scalar) => {
                let mismatch =
                    |value: Option<&Value>| value.and_then(|value| scalar_misfit(scalar, value));
                if let (Some(before), Some(after)) = (mismatch(live), mismatch(applied)) {
                    self.mismatches.add(&self.path, format!("lhs: {before}"));
                    self.mismatches.add(&self.path, format!("rhs: {after}"));
                    return None;
                }
                whole(live, applied)
            }
        }
    }

    fn map(
        &mut self,
        map: MapAtom<'_>,
        live: Option<&Value>,
        applied: Option<&Value>,
    ) -> Option<Value> {
        let (before, after) = (entries(live), entries(applied));
        let empty = before.is_none_or(Map::is_empty) && after.is_none_or(Map::is_empty);
        if map.atomic || empty {
            return whole(live, applied);
        }
        let keys: BTreeSet<&String> = [before, after]
            .into_iter()
            .flatten()
            .flat_map(Map::keys)
            .collect();
        let mut out = Map::new();
        for key in keys {
            let live = before.and_then(|side| side.get(key));
            let applied = after.and_then(|side| side.get(key));
            self.path.push(PathElement::field(key));
            if let Some(ty) = map.at(key) {
                if let Some(value) = self.value(live, applied, ty) {
                    out.insert(key.clone(), value);
                }
            } else {
                self.mismatches
                    .add(&self.path, "schema error: invalid atom: inlined");
            }
            self.path.pop();
        }
        (!out.is_empty()).then_some(Value::Object(out))
    }

    fn list(
        &mut self,
        list: ListAtom<'_>,
        live: Option<&Value>,
        applied: Option<&Value>,
    ) -> Option<Value> {
        let (before, after) = (items(live), items(applied));
        if list.kind == ListKind::Atomic || (before.is_empty() && after.is_empty()) {
            return whole(live, applied);
        }
        let known = self.mismatches.0.len();
        let after = self.index(list, after, false);
        let before = self.index(list, before, true);
        if self.mismatches.0.len() > known {
            return None;
        }
        let mut zip = Zip {
            walk: self,
            list,
            live: before,
            applied: after,
            out: Vec::new(),
        };
        zip.run();
        let out = zip.out;
        (!out.is_empty()).then_some(Value::Array(out))
    }

    fn index<'v>(
        &mut self,
        list: ListAtom<'_>,
        items: &'v [Value],
        duplicates: bool,
    ) -> Indexed<'v> {
        let mut indexed = Indexed::default();
        for (index, item) in items.iter().enumerate() {
            let element = match list.element_of(item) {
                Ok(element) => element,
                Err(reason) => {
                    self.mismatches
                        .add(&self.path, format!("element {index}: {reason}"));
                    continue;
                }
            };
            let twice = indexed.by_element.contains_key(&element);
            if twice && !duplicates {
                self.mismatches
                    .add(&self.path, format!("duplicate entries for key {element}"));
                continue;
            }
            // An item with duplicate keys is merged with none of them.
            let value = if twice { &Value::Null } else { item };
            indexed.by_element.insert(element.clone(), value);
            indexed.order.push((element, item));
        }
        indexed
    }

    fn item(
        &mut self,
        list: ListAtom<'_>,
        element: &PathElement,
        live: Option<&Value>,
        applied: Option<&Value>,
    ) -> Option<Value> {
        // Errors inside of items do not prevent the merge.
        let known = self.mismatches.0.len();
        self.path.push(element.clone());
        let merged = self.value(live, applied, list.element);
        self.path.pop();
        self.mismatches.0.truncate(known);
        merged
    }
}

/// A list with its items by position and by key.
#[derive(Default)]
struct Indexed<'v> {
    order: Vec<(PathElement, &'v Value)>,
    by_element: BTreeMap<PathElement, &'v Value>,
}

/// The state of a merge of two lists.
struct Zip<'w, 't, 'v> {
    walk: &'w mut Walk,
    list: ListAtom<'t>,
    live: Indexed<'v>,
    applied: Indexed<'v>,
    out: Vec<Value>,
}

impl Zip<'_, '_, '_> {
    fn run(&mut self) {
        let mut shared: VecDeque<PathElement> = self
            .applied
            .order
            .iter()
            .filter(|(element, _)| self.live.by_element.contains_key(element))
            .map(|(element, _)| element.clone())
            .collect();
        let mut merged: BTreeSet<PathElement> = BTreeSet::new();
        let (mut l, mut r) = (0, 0);
        while l < self.live.order.len() || r < self.applied.order.len() {
            let ours = self.live.order.get(l).cloned();
            let theirs = self.applied.order.get(r).cloned();
            if let (Some((ours, _)), Some((theirs, _))) = (&ours, &theirs) {
                if ours == theirs {
                    merged.insert(ours.clone());
                    self.merge(ours);
                    (l, r) = (l + 1, r + 1);
                    shared.pop_front();
                    continue;
                }
                // The item is in both lists, at a later position in the applied list.
                if self.applied.by_element.contains_key(ours)
                    && shared.front().is_some_and(|next| next != ours)
                {
                    l += 1;
                    continue;
                }
            }
            if let Some((ours, item)) = ours {
                if !self.applied.by_element.contains_key(&ours) {
                    self.push(&ours, Some(item), None);
                    l += 1;
                    continue;
                }
                l += usize::from(merged.contains(&ours));
            }
            if let Some((theirs, _)) = theirs {
                self.merge(&theirs);
                if shared.front() == Some(&theirs) {
                    shared.pop_front();
                }
                merged.insert(theirs);
                r += 1;
            }
        }
    }

    fn merge(&mut self, element: &PathElement) {
        let live = self.live.by_element.get(element).copied();
        let applied = self.applied.by_element.get(element).copied();
        self.push(element, live, applied);
    }

    fn push(&mut self, element: &PathElement, live: Option<&Value>, applied: Option<&Value>) {
        let merged = self.walk.item(self.list, element, live, applied);
        self.out.extend(merged);
    }
}
