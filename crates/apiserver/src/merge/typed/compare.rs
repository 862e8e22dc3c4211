//! Comparison of two values of a type.

use std::collections::BTreeMap;

use serde_json::Value;

use super::validate::scalar_misfit;
use super::{Atom, Form, ListAtom, ListKind, MapAtom, Type, TypeMismatches, entries, items, value};
use crate::merge::path::PathElement;
use crate::merge::set::Set;

/// The fields that differ between two values.
#[derive(Debug, Clone, Default)]
pub(in crate::merge) struct Comparison {
    /// The fields that only the old value contains.
    pub(in crate::merge) removed: Set,
    /// The fields that have different values.
    pub(in crate::merge) modified: Set,
    /// The fields that only the new value contains.
    pub(in crate::merge) added: Set,
}

impl Comparison {
    /// Returns the comparison without these fields and all fields below them.
    pub(in crate::merge) fn without(self, ignored: Option<&Set>) -> Self {
        let Some(ignored) = ignored else {
            return self;
        };
        Self {
            removed: self.removed.recursive_difference(ignored),
            modified: self.modified.recursive_difference(ignored),
            added: self.added.recursive_difference(ignored),
        }
    }
}

/// Compares an old value with a new value.
pub(in crate::merge) fn compare(
    old: &Value,
    new: &Value,
    ty: Type<'_>,
) -> Result<Comparison, TypeMismatches> {
    let mut walk = Walk::default();
    walk.value(Some(old), Some(new), ty);
    walk.mismatches.into_result(walk.comparison)
}

#[derive(Default)]
struct Walk {
    path: Vec<PathElement>,
    comparison: Comparison,
    mismatches: TypeMismatches,
}

/// The result granularity of a comparison: the value as a unit, or the fields inside the value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Granularity {
    Whole,
    Inside,
}

impl Walk {
    fn value(&mut self, old: Option<&Value>, new: Option<&Value>, ty: Type<'_>) {
        let atom = ty.atom();
        let seen = match (old, new) {
            (None, None) => return,
            (Some(value), None) | (None, Some(value)) => self.form(atom.deduced(value), old, new),
            (Some(before), Some(after)) => {
                let (before, after) = (atom.deduced(before), atom.deduced(after));
                if !before.same_kinds(&after) {
                    self.form(before, old, new);
                }
                self.form(after, old, new)
            }
        };
        if seen == Granularity::Inside {
            match (old, new) {
                (None, _) => self.comparison.added.insert_at(&self.path),
                (_, None) => self.comparison.removed.insert_at(&self.path),
                _ => {}
            }
        }
    }

    fn form(&mut self, atom: Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> Granularity {
        match atom.form() {
            Form::Map(map) => self.map(map, old, new),
            Form::List(list) => self.list(list, old, new),
            Form::Scalar(scalar) => {
                let mismatch =
                    |value: Option<&Value>| value.and_then(|value| scalar_misfit(scalar, value));
                if let (Some(before), Some(after)) = (mismatch(old), mismatch(new)) {
                    self.mismatches.add(&self.path, format!("lhs: {before}"));
                    self.mismatches.add(&self.path, format!("rhs: {after}"));
                    return Granularity::Inside;
                }
                self.whole(old, new)
            }
        }
    }

    fn whole(&mut self, old: Option<&Value>, new: Option<&Value>) -> Granularity {
        match (old, new) {
            (None, _) => self.comparison.added.insert_at(&self.path),
            (_, None) => self.comparison.removed.insert_at(&self.path),
            (Some(old), Some(new)) => {
                if !value::equal(old, new) {
                    self.comparison.modified.insert_at(&self.path);
                }
            }
        }
        Granularity::Whole
    }

    fn map(&mut self, map: MapAtom<'_>, old: Option<&Value>, new: Option<&Value>) -> Granularity {
        let (before, after) = (entries(old), entries(new));
        let empty = before.is_none_or(serde_json::Map::is_empty)
            && after.is_none_or(serde_json::Map::is_empty);
        if map.atomic || empty {
            return self.whole(old, new);
        }
        for (key, item) in before.into_iter().flatten() {
            self.field(map, key, Some(item), after.and_then(|after| after.get(key)));
        }
        for (key, item) in after.into_iter().flatten() {
            if !before.is_some_and(|before| before.contains_key(key)) {
                self.field(map, key, None, Some(item));
            }
        }
        Granularity::Inside
    }

    fn field(&mut self, map: MapAtom<'_>, key: &str, old: Option<&Value>, new: Option<&Value>) {
        // Fields that the schema does not contain have no owner.
        let Some(ty) = map.at(key) else {
            self.path.push(PathElement::field(key));
            self.mismatches
                .add(&self.path, "schema error: invalid atom: inlined");
            self.path.pop();
            return;
        };
        self.path.push(PathElement::field(key));
        self.value(old, new, ty);
        self.path.pop();
    }

    fn list(
        &mut self,
        list: ListAtom<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Granularity {
        let (before, after) = (items(old), items(new));
        if list.kind == ListKind::Atomic || (before.is_empty() && after.is_empty()) {
            return self.whole(old, new);
        }
        let mut groups: BTreeMap<PathElement, [Vec<&Value>; 2]> = BTreeMap::new();
        for (side, items) in [before, after].into_iter().enumerate() {
            for (index, item) in items.iter().enumerate() {
                match list.element_of(item) {
                    Ok(element) => groups.entry(element).or_default()[side].push(item),
                    Err(reason) => self
                        .mismatches
                        .add(&self.path, format!("element {index}: {reason}")),
                }
            }
        }
        for (element, [before, after]) in groups {
            self.items(list, element, &before, &after);
        }
        Granularity::Inside
    }

    /// Compares the items of one key. Items with duplicate keys are compared as a group.
    fn items(
        &mut self,
        list: ListAtom<'_>,
        element: PathElement,
        before: &[&Value],
        after: &[&Value],
    ) {
        self.path.push(element);
        match (before, after) {
            ([] | [_], [] | [_]) => {
                self.value(
                    before.first().copied(),
                    after.first().copied(),
                    list.element,
                );
            }
            ([_, _, ..], [_, _, ..]) => {
                let same = before.len() == after.len()
                    && before.iter().zip(after).all(|(l, r)| value::equal(l, r));
                if !same {
                    self.comparison.modified.insert_at(&self.path);
                }
            }
            ([_, _, ..], rest) => {
                if let [one] = rest {
                    self.value(None, Some(one), list.element);
                }
                self.comparison.removed.insert_at(&self.path);
            }
            (rest, _) => {
                if let [one] = rest {
                    self.value(Some(one), None, list.element);
                }
                self.comparison.added.insert_at(&self.path);
            }
        }
        self.path.pop();
    }
}
