//! The rows of a source, their latest changes and their usage.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use drover_rows::column::with_usage;
use drover_rows::protocol::{ListProblem, SourceState};
use drover_rows::table::Key;
use drover_rows::view::{Change, Item};
use drover_rows::{Amounts, Columns, Row};

use super::dropped::DroppedRows;
use crate::budget::Budget;

/// Number of changes that a source stores. A page that missed more changes receives all rows.
pub(super) const MAX_CHANGES: usize = 1024;
/// Maximum size of the rows in the stored changes of a source in bytes.
pub(super) const MAX_CHANGES_BYTES: usize = 4 << 20;
/// Maximum size of the rows of a source in bytes.
pub(super) const MAX_SOURCE_BYTES: usize = 192 << 20;
/// Approximate memory of a row in addition to its content: the key, the counters and the map entry.
const ROW_OVERHEAD: usize = 160;

/// Identifies the versions of rows in this process.
static NEXT: AtomicU64 = AtomicU64::new(1);

fn next_number() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The rows of a source and their latest changes.
pub(super) struct Content {
    pub(super) columns: Columns,
    pub(super) rows: BTreeMap<Key, Arc<Item>>,
    pub(super) state: SourceState,
    pub(super) dropped: DroppedRows,
    pub(super) usage: UsageState,
    pub(super) bytes: usize,
    /// The latest changes. The last change has the number `revision`.
    pub(super) changes: VecDeque<Change>,
    pub(super) changes_bytes: usize,
    pub(super) revision: u64,
}

/// The usage of CPU and memory by the objects of a source.
pub(super) enum UsageState {
    /// The source has not received the usage, or its kind has no usage.
    Unknown,
    /// The rows contain the usage. The columns are the columns of the table and of the usage.
    Known { columns: Columns },
    /// The cluster reports no usage.
    Problem(ListProblem),
}

impl UsageState {
    pub(super) fn problem(&self) -> Option<ListProblem> {
        match self {
            Self::Problem(problem) => Some(problem.clone()),
            Self::Unknown | Self::Known { .. } => None,
        }
    }
}

impl Content {
    pub(super) fn empty() -> Self {
        Self {
            columns: Columns::from([]),
            rows: BTreeMap::new(),
            state: SourceState::Loading { expected: None },
            dropped: DroppedRows::default(),
            usage: UsageState::Unknown,
            bytes: 0,
            changes: VecDeque::new(),
            changes_bytes: 0,
            revision: 0,
        }
    }

    pub(super) fn learn(&mut self, columns: &Columns) {
        if !Arc::ptr_eq(&self.columns, columns) {
            self.columns = Arc::clone(columns);
            if let UsageState::Known { columns } = &mut self.usage {
                *columns = with_usage(&self.columns);
            }
        }
    }

    /// Returns the columns of the rows, with the columns of the usage if the cluster reports usage.
    pub(super) fn shown_columns(&self) -> Columns {
        match &self.usage {
            UsageState::Known { columns } => Arc::clone(columns),
            UsageState::Unknown | UsageState::Problem(_) => Arc::clone(&self.columns),
        }
    }

    pub(super) fn set_usage(&mut self, usage: &HashMap<Key, Amounts>) {
        if !matches!(self.usage, UsageState::Known { .. }) {
            let columns = with_usage(&self.columns);
            self.usage = UsageState::Known { columns };
        }
        let changed = self.rows.iter().filter_map(|(key, item)| {
            let usage = usage.get(key).copied().map(rounded);
            (item.row.usage != usage).then(|| (key.clone(), usage))
        });
        let changed: Vec<_> = changed.collect();
        for (key, usage) in changed {
            let Some(stored) = self.rows.get_mut(&key) else {
                continue;
            };
            let mut row = stored.row.clone();
            row.usage = usage;
            let item = Arc::new(Item {
                id: stored.id,
                version: next_number(),
                row,
            });
            let old = std::mem::replace(stored, Arc::clone(&item));
            self.log(Change {
                old: Some(old),
                new: Some(item),
            });
        }
    }

    /// Stores a row. Returns false if the row exceeds the limits.
    pub(super) fn put(&mut self, budget: &Budget, key: Key, mut row: Row) -> bool {
        let old = self.rows.get(&key);
        row.usage = old.and_then(|old| old.row.usage);
        if old.is_some_and(|old| old.row.looks_like(&row)) {
            return true;
        }
        let (new_bytes, old_bytes) = (size(&row), old.map_or(0, |old| size(&old.row)));
        let grown = new_bytes.saturating_sub(old_bytes);
        if self.bytes + grown > MAX_SOURCE_BYTES || !budget.take(grown) {
            // The previous version would be wrong.
            self.delete(budget, &key);
            self.dropped.add(key, new_bytes);
            return false;
        }
        budget.free(old_bytes.saturating_sub(new_bytes));
        self.bytes = self.bytes + new_bytes - old_bytes;
        let item = Arc::new(Item {
            id: old.map_or_else(next_number, |old| old.id),
            version: next_number(),
            row,
        });
        self.dropped.remove(&key);
        let old = self.rows.insert(key, Arc::clone(&item));
        self.log(Change {
            old,
            new: Some(item),
        });
        true
    }

    pub(super) fn delete(&mut self, budget: &Budget, key: &Key) {
        self.dropped.remove(key);
        let Some(old) = self.rows.remove(key) else {
            return;
        };
        let bytes = size(&old.row);
        self.bytes -= bytes;
        budget.free(bytes);
        self.log(Change {
            old: Some(old),
            new: None,
        });
    }

    fn log(&mut self, change: Change) {
        self.revision += 1;
        self.changes_bytes += change_size(&change);
        self.changes.push_back(change);
        while self.changes.len() > MAX_CHANGES || self.changes_bytes > MAX_CHANGES_BYTES {
            let Some(first) = self.changes.pop_front() else {
                break;
            };
            self.changes_bytes -= change_size(&first);
        }
    }
}

/// Rounds the memory to MiB, so that small changes do not cause updates.
const fn rounded(usage: Amounts) -> Amounts {
    Amounts {
        cpu: usage.cpu,
        memory: usage.memory >> 20 << 20,
    }
}

fn change_size(change: &Change) -> usize {
    let items = [&change.old, &change.new].into_iter().flatten();
    items.map(|item| size(&item.row)).sum()
}

fn size(row: &Row) -> usize {
    row.bytes() + ROW_OVERHEAD
}
