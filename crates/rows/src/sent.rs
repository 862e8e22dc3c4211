//! The rows of a window that a page already has.

use std::collections::HashMap;
use std::sync::Arc;

use crate::protocol::{MAX_WINDOW, RowId, ViewSpec};
use crate::view::{Item, View};

/// The rows of a window that a page already has, with their versions.
#[derive(Debug, Default)]
pub struct SentWindow {
    order: Vec<RowId>,
    versions: HashMap<RowId, u64>,
}

/// The changes of a window.
#[derive(Debug)]
pub struct WindowChange {
    /// The index of the first row of the window.
    pub first: usize,
    /// The index after the last row of the window.
    pub end: usize,
    /// The IDs of the rows in their order, if they changed.
    pub order: Option<Vec<RowId>>,
    /// The rows that the page does not have.
    pub items: Vec<Arc<Item>>,
}

impl SentWindow {
    /// Returns the changes of the window, and stores that the page has them. A window after the
    /// last row moves to the last rows.
    pub fn advance(&mut self, view: &View, spec: &ViewSpec) -> WindowChange {
        let (rows, count) = (view.rows(), spec.count.min(MAX_WINDOW));
        let first = spec.first.min(rows.len().saturating_sub(count));
        let end = (first + count).min(rows.len());
        let window = &rows[first..end];
        let order: Vec<RowId> = window.iter().map(|item| item.id).collect();
        let changed = |item: &&Arc<Item>| self.versions.get(&item.id) != Some(&item.version);
        let items: Vec<Arc<Item>> = window.iter().filter(changed).cloned().collect();
        self.versions = window.iter().map(|item| (item.id, item.version)).collect();
        let order = (order != self.order).then(|| {
            self.order.clone_from(&order);
            order
        });
        WindowChange {
            first,
            end,
            order,
            items,
        }
    }

    /// Forgets all rows, so that the next update contains the complete window.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
