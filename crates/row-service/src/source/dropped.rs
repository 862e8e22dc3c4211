//! The rows that a source dropped because of its memory limits.

use std::collections::HashMap;

use drover_rows::table::Key;

/// Number of dropped rows whose sizes are stored.
const MAX_KEYS: usize = 1024;

/// The rows that a source dropped because of its memory limits.
#[derive(Debug, Default)]
pub(super) struct DroppedRows {
    /// The sizes of dropped rows in bytes.
    rows: HashMap<Key, usize>,
    /// True if more rows were dropped. Only a new list shows whether these rows still exist.
    has_more: bool,
}

impl DroppedRows {
    /// Adds a dropped row.
    pub(super) fn add(&mut self, key: Key, bytes: usize) {
        if self.rows.len() < MAX_KEYS || self.rows.contains_key(&key) {
            self.rows.insert(key, bytes);
        } else {
            self.has_more = true;
        }
    }

    /// Removes a row that the source stores again, or that the cluster deleted.
    pub(super) fn remove(&mut self, key: &Key) {
        if !self.rows.is_empty() {
            self.rows.remove(key);
        }
    }

    /// Reports whether no row is missing.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && !self.has_more
    }

    /// Reports whether a new list can store dropped rows in the free memory. If many rows were
    /// dropped, an eighth of the limit must be free, because each new list costs the cluster time.
    pub(super) fn fit(&self, room: usize, limit: usize) -> bool {
        let needed = if self.has_more {
            limit / 8
        } else {
            self.rows.values().sum()
        };
        !self.is_empty() && needed <= room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        ("".into(), number.to_string().into())
    }

    #[test]
    fn few_dropped_rows_fit_when_their_memory_is_free() {
        let mut dropped = DroppedRows::default();
        assert!(!dropped.fit(1_000, 1_000), "no row is missing");
        dropped.add(key(1), 300);
        dropped.add(key(1), 400);
        dropped.add(key(2), 100);
        assert!(!dropped.fit(499, 1_000) && dropped.fit(500, 1_000));
        dropped.remove(&key(1));
        assert!(dropped.fit(100, 1_000));
        dropped.remove(&key(2));
        assert!(dropped.is_empty());
    }

    #[test]
    fn many_dropped_rows_need_an_eighth_of_the_limit_and_little_memory() {
        let mut dropped = DroppedRows::default();
        for number in 0..3 * MAX_KEYS {
            dropped.add(key(number), 1);
        }
        assert_eq!(dropped.rows.len(), MAX_KEYS);
        for number in 0..3 * MAX_KEYS {
            dropped.remove(&key(number));
        }
        assert!(!dropped.is_empty(), "the other rows can still exist");
        assert!(!dropped.fit(999, 8_000) && dropped.fit(1_000, 8_000));
    }
}
