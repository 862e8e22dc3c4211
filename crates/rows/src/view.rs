//! A sorted and filtered list, which follows changes of rows without a new sort.

use std::collections::HashMap;
use std::sync::Arc;

use crate::order::{Order, Sorting, Value};
use crate::protocol::{RowId, ViewSpec};
use crate::query::Query;
use crate::row::Row;
use crate::severity::Severity;

/// A version of a row.
#[derive(Debug)]
pub struct Item {
    /// The identity of the row. All versions of a row have the same ID.
    pub id: RowId,
    /// The version. A new version has a larger number.
    pub version: u64,
    /// The row.
    pub row: Row,
}

/// A change of a list.
#[derive(Clone, Debug)]
pub struct Change {
    /// The previous version; `None` for a new row.
    pub old: Option<Arc<Item>>,
    /// The new version; `None` for a deleted row.
    pub new: Option<Arc<Item>>,
}

/// The rows of a list, sorted and filtered.
#[derive(Debug)]
pub struct View {
    query: Query,
    severity: Option<Severity>,
    sorting: Sorting,
    /// All rows of the list, sorted.
    all: Vec<Arc<Item>>,
    /// The rows that match the filter, sorted. `None` if the view has no filter.
    matching: Option<Vec<Arc<Item>>>,
    severities: [usize; Severity::ALL.len()],
}

impl View {
    /// Creates a view of rows.
    pub fn new(spec: &ViewSpec, items: &[Arc<Item>]) -> Self {
        let mut view = Self {
            query: Query::default(),
            severity: None,
            sorting: sorting(spec),
            all: Vec::new(),
            matching: None,
            severities: [0; Severity::ALL.len()],
        };
        view.replace(items);
        view.filter(spec);
        view
    }

    /// Returns the maximum memory of a view of this number of rows, in bytes, without the rows.
    pub const fn max_bytes(rows: usize) -> usize {
        rows.saturating_mul(2 * size_of::<Arc<Item>>())
    }

    /// Returns the rows that match the filter, sorted.
    pub fn rows(&self) -> &[Arc<Item>] {
        self.matching.as_deref().unwrap_or(&self.all)
    }

    /// Returns the number of rows of the list, with and without a match.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Reports whether the list has no rows.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the number of rows of the list for each severity, worst first.
    pub fn severities(&self) -> [usize; Severity::ALL.len()] {
        self.severities
    }

    /// Changes the filter and the sort order.
    pub fn set(&mut self, spec: &ViewSpec) {
        let sorting = sorting(spec);
        if self.sorting != sorting {
            self.sorting = sorting;
            let all = std::mem::take(&mut self.all);
            self.all = sort(&all, &self.sorting);
            // The filter is applied again, in the new order.
            self.matching = None;
            self.query = Query::default();
            self.severity = None;
        }
        self.filter(spec);
    }

    fn filter(&mut self, spec: &ViewSpec) {
        let (query, severity) = (Query::read(&spec.filter), spec.severity);
        if self.query == query && self.severity == severity {
            return;
        }
        (self.query, self.severity) = (query, severity);
        self.select();
    }

    /// Computes the matching rows.
    fn select(&mut self) {
        if self.query.is_empty() && self.severity.is_none() {
            self.matching = None;
            return;
        }
        let matching = self.all.iter().filter(|item| self.matches(&item.row));
        self.matching = Some(matching.cloned().collect());
    }

    fn matches(&self, row: &Row) -> bool {
        let severity = self.severity;
        severity.is_none_or(|severity| severity == row.severity) && self.query.passes(row)
    }

    /// Replaces all rows.
    pub fn replace(&mut self, items: &[Arc<Item>]) {
        self.severities = [0; Severity::ALL.len()];
        for item in items {
            self.severities[item.row.severity as usize] += 1;
        }
        self.all = sort(items, &self.sorting);
        self.select();
    }

    /// Applies changes in their order. Many changes cause a new sort, because each single change
    /// moves the following rows.
    pub fn apply(&mut self, changes: &[Change]) {
        if changes.len() > 64 + self.all.len() / 16 {
            self.apply_all(changes);
            return;
        }
        for change in changes {
            if let Some(old) = &change.old {
                let count = &mut self.severities[old.row.severity as usize];
                *count = count.saturating_sub(1);
                remove(&mut self.all, old, &self.sorting);
                if let Some(matching) = &mut self.matching {
                    remove(matching, old, &self.sorting);
                }
            }
            if let Some(new) = &change.new {
                self.severities[new.row.severity as usize] += 1;
                insert(&mut self.all, new, &self.sorting);
                let matches = self.matches(&new.row);
                if let Some(matching) = self.matching.as_mut().filter(|_| matches) {
                    insert(matching, new, &self.sorting);
                }
            }
        }
    }

    fn apply_all(&mut self, changes: &[Change]) {
        let all = std::mem::take(&mut self.all).into_iter();
        let mut rows: HashMap<RowId, Arc<Item>> = all.map(|item| (item.id, item)).collect();
        for change in changes {
            if let Some(old) = &change.old {
                rows.remove(&old.id);
            }
            if let Some(new) = &change.new {
                rows.insert(new.id, Arc::clone(new));
            }
        }
        let rows: Vec<Arc<Item>> = rows.into_values().collect();
        self.replace(&rows);
    }
}

fn sorting(spec: &ViewSpec) -> Sorting {
    Sorting {
        order: Order::of_key(&spec.sort),
        descending: spec.descending,
    }
}

/// Sorts rows. Computes the sort key of each row once.
fn sort(items: &[Arc<Item>], sorting: &Sorting) -> Vec<Arc<Item>> {
    let mut keyed: Vec<(Value<'_>, &Arc<Item>)> = items
        .iter()
        .map(|item| (sorting.value(&item.row), item))
        .collect();
    keyed.sort_by(|(a, left), (b, right)| sorting.compare((a, &left.row), (b, &right.row)));
    keyed
        .into_iter()
        .map(|(_, item)| Arc::clone(item))
        .collect()
}

/// Returns the index of a row, or the index at which the row belongs.
fn find(items: &[Arc<Item>], row: &Row, sorting: &Sorting) -> Result<usize, usize> {
    let value = sorting.value(row);
    items.binary_search_by(|item| {
        sorting.compare((&sorting.value(&item.row), &item.row), (&value, row))
    })
}

fn remove(items: &mut Vec<Arc<Item>>, old: &Item, sorting: &Sorting) {
    if let Ok(at) = find(items, &old.row, sorting) {
        items.remove(at);
    }
}

fn insert(items: &mut Vec<Arc<Item>>, new: &Arc<Item>, sorting: &Sorting) {
    match find(items, &new.row, sorting) {
        Ok(at) => items[at] = Arc::clone(new),
        Err(at) => items.insert(at, Arc::clone(new)),
    }
}

#[cfg(test)]
mod tests;
