//! Sizes of CEL values: one [`Size`] bounds all values that an expression may have.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::cel::Value as Cel;
use kube_cel::cel::objects::Key;

/// Maximum number of map entries for which a [`Size`] contains a separate bound for each key. A
/// larger map has one bound for all entries.
const MAX_NAMED_FIELDS: usize = 64;
/// Number of bytes of text that have the weight of one value.
const BYTES_PER_UNIT: u64 = 16;

/// An upper bound of the size of a value.
#[derive(Debug, Clone)]
pub(super) struct Size {
    /// The number of contained values, the value itself included, plus the weight of texts.
    pub(super) weight: u64,
    /// The number of list items, map entries, or bytes of text.
    pub(super) count: u64,
    /// The largest item. `None` if unknown.
    item: Option<Arc<Self>>,
    /// The map entries by name. `None` if unknown.
    fields: Option<BTreeMap<String, Arc<Self>>>,
    /// The length of the longest map key.
    names: Option<u64>,
    /// The longest duration that the value contains, in years.
    pub(super) years: u64,
    /// True if the value may contain a time.
    pub(super) timed: bool,
}

impl Default for Size {
    fn default() -> Self {
        Self::scalar()
    }
}

impl Size {
    /// Returns the size of a number, boolean or null.
    pub(super) fn scalar() -> Self {
        Self {
            weight: 1,
            count: 0,
            item: None,
            fields: Some(BTreeMap::new()),
            names: None,
            years: 0,
            timed: false,
        }
    }

    /// Returns the size of a text with `bytes` bytes.
    pub(super) fn text(bytes: u64) -> Self {
        Self {
            weight: 1 + bytes / BYTES_PER_UNIT,
            count: bytes,
            ..Self::scalar()
        }
    }

    /// Returns an upper bound of the size of a value whose weight is known and whose type is
    /// unknown.
    pub(super) fn opaque(weight: u64) -> Self {
        Self {
            weight,
            count: weight.saturating_mul(BYTES_PER_UNIT),
            fields: None,
            ..Self::scalar()
        }
    }

    /// Returns the size of an empty list.
    pub(super) fn list() -> Self {
        Self {
            item: Some(Arc::default()),
            fields: None,
            ..Self::scalar()
        }
    }

    /// Returns the size of a CEL value.
    pub(super) fn of(value: &Cel) -> Self {
        match value {
            Cel::String(text) => Self::text(text.len() as u64),
            Cel::Bytes(bytes) => Self::text(bytes.len() as u64),
            Cel::Duration(duration) => Self {
                years: duration.num_days().unsigned_abs() / 365 + 1,
                ..Self::scalar()
            },
            Cel::Timestamp(_) => Self {
                timed: true,
                ..Self::scalar()
            },
            Cel::List(items) => {
                let mut list = Self::list();
                items.iter().for_each(|item| list.push(&Self::of(item)));
                list
            }
            Cel::Map(map) => Self::of_entries(map.map.iter()),
            _ => Self::scalar(),
        }
    }

    fn of_entries<'v>(entries: impl Iterator<Item = (&'v Key, &'v Cel)>) -> Self {
        let mut map = Self::list();
        let (mut fields, mut names) = (BTreeMap::new(), 0);
        for (key, value) in entries {
            let value = Self::of(value);
            map.push(&value);
            if let Key::String(name) = key {
                names = names.max(name.len() as u64);
                map.weight = map
                    .weight
                    .saturating_add(1 + name.len() as u64 / BYTES_PER_UNIT);
                if fields.len() <= MAX_NAMED_FIELDS {
                    fields.insert(name.to_string(), Arc::new(value));
                }
            }
        }
        map.names = Some(names);
        map.fields = (fields.len() <= MAX_NAMED_FIELDS).then_some(fields);
        map
    }

    /// Adds a list item to the size.
    pub(super) fn push(&mut self, item: &Self) {
        self.count = self.count.saturating_add(1);
        self.weight = self.weight.saturating_add(item.weight);
        self.years = self.years.max(item.years);
        self.timed |= item.timed;
        match &mut self.item {
            Some(largest) => Arc::make_mut(largest).absorb(item),
            none => *none = Some(Arc::new(item.clone())),
        }
    }

    /// Raises this upper bound, so that it is also an upper bound of `other`.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.weight = self.weight.max(other.weight);
        self.count = self.count.max(other.count);
        self.names = self.names.max(other.names);
        self.years = self.years.max(other.years);
        self.timed |= other.timed;
        self.item = match (self.item.take(), &other.item) {
            (Some(mut own), Some(other)) => {
                Arc::make_mut(&mut own).absorb(other);
                Some(own)
            }
            // An empty map has no unknown entries.
            (Some(own), None) if other.count == 0 => Some(own),
            (None, Some(item)) if self.is_scalar() => Some(Arc::clone(item)),
            _ => None,
        };
        self.fields = match (self.fields.take(), &other.fields) {
            (Some(mut own), Some(fields)) => {
                for (name, field) in fields {
                    match own.get_mut(name) {
                        Some(own) => Arc::make_mut(own).absorb(field),
                        None => drop(own.insert(name.clone(), Arc::clone(field))),
                    }
                }
                (own.len() <= 4 * MAX_NAMED_FIELDS).then_some(own)
            }
            _ => None,
        };
    }

    fn is_scalar(&self) -> bool {
        self.names.is_none() && self.fields.as_ref().is_some_and(BTreeMap::is_empty)
    }

    /// Returns the maximum size of a field.
    pub(super) fn field(&self, name: &str) -> Arc<Self> {
        match &self.fields {
            Some(fields) => fields.get(name).map(Arc::clone).unwrap_or_default(),
            None => self.item(),
        }
    }

    /// Returns the maximum size of a list item or map value.
    pub(super) fn item(&self) -> Arc<Self> {
        self.item.clone().unwrap_or_else(|| {
            Arc::new(Self {
                years: self.years,
                timed: self.timed,
                ..Self::opaque(self.weight)
            })
        })
    }

    /// Returns the maximum size of the iteration variable: a map key or a list item.
    pub(super) fn turned(&self) -> Arc<Self> {
        let item = self.item();
        let Some(longest) = self.names else {
            return item;
        };
        let mut item = (*item).clone();
        item.absorb(&Self::text(longest));
        Arc::new(item)
    }

    /// Returns the maximum size of the concatenation of two values.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.absorb(other);
        both.years = self.years.saturating_add(other.years);
        if self.count > 0 || other.count > 0 || !self.is_scalar() || !other.is_scalar() {
            both.weight = self.weight.saturating_add(other.weight);
            both.count = self.count.saturating_add(other.count);
        }
        both
    }

    /// Returns the upper bound after `steps` iterations. `start` is the bound before the first
    /// iteration, and `self` is the bound after the first iteration.
    pub(super) fn grown_from(&self, start: &Self, steps: u64) -> Self {
        let grown = |now: u64, before: u64| {
            before.saturating_add(steps.saturating_mul(now.saturating_sub(before)))
        };
        Self {
            weight: grown(self.weight, start.weight).max(self.weight),
            count: grown(self.count, start.count).max(self.count),
            ..self.clone()
        }
    }

    /// Returns the size of a list of numbers.
    pub(super) fn numbers(count: u64) -> Self {
        Self {
            weight: count.saturating_add(1),
            count,
            ..Self::list()
        }
    }

    /// Returns the maximum size of the result of `split` on this text.
    pub(super) fn split(&self) -> Self {
        Self {
            weight: self.weight.saturating_add(self.count).saturating_add(2),
            count: self.count.saturating_add(1),
            item: Some(Arc::new(Self::text(self.count))),
            ..Self::list()
        }
    }
}
