//! The selection of rows in a table.

use std::collections::BTreeSet;

/// The maximum number of rows that "select all" selects in a list whose rows the page does not have.
pub const MAX_SELECTED: usize = 500;

/// The keys of the selected rows, and the anchor of a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    keys: BTreeSet<String>,
    anchor: Option<String>,
}

/// States whether no rows, some rows or all rows of a list are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectedShare {
    /// No row is selected.
    None,
    /// Some rows are selected, but not all rows.
    Some,
    /// All rows are selected. An empty list never has this state.
    All,
}

impl Selection {
    /// Reports whether a row is selected.
    pub fn contains(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// Returns the number of selected rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Reports whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Selects or deselects a row. The row becomes the anchor.
    pub fn set(&mut self, key: &str, chosen: bool) {
        self.put(key, chosen);
        self.anchor = Some(key.to_owned());
    }

    /// Selects or deselects the range from the anchor to a row. Without a visible anchor, the range
    /// contains only the row.
    pub fn reach(&mut self, order: &[String], key: &str, chosen: bool) {
        let place = |name: &str| order.iter().position(|key| key == name);
        let from = self.anchor.as_deref().and_then(place);
        if let (Some(from), Some(to)) = (from, place(key)) {
            for key in &order[from.min(to)..=from.max(to)] {
                self.put(key, chosen);
            }
        }
        self.set(key, chosen);
    }

    /// Selects or deselects several rows.
    pub fn set_all<'a>(&mut self, keys: impl IntoIterator<Item = &'a String>, chosen: bool) {
        for key in keys {
            self.put(key, chosen);
        }
        self.anchor = None;
    }

    /// Returns the keys of the selected rows.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }

    /// Deselects all rows.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Deselects rows that no longer exist. Returns true if a row was deselected.
    pub fn retain(&mut self, known: impl Fn(&str) -> bool) -> bool {
        let before = self.keys.len();
        self.keys.retain(|key| known(key));
        self.keys.len() < before
    }

    /// Returns whether none, some or all of these rows are selected.
    pub fn part<'a>(&self, keys: impl IntoIterator<Item = &'a String>) -> SelectedShare {
        let (mut all, mut some) = (true, false);
        for key in keys {
            let chosen = self.contains(key);
            all &= chosen;
            some |= chosen;
        }
        match (some, all) {
            (false, _) => SelectedShare::None,
            (true, true) => SelectedShare::All,
            (true, false) => SelectedShare::Some,
        }
    }

    fn put(&mut self, key: &str, chosen: bool) {
        if chosen {
            self.keys.insert(key.to_owned());
        } else {
            self.keys.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Vec<String> {
        ["d", "c", "b", "a"].map(str::to_owned).to_vec()
    }

    fn chosen(selection: &Selection) -> String {
        let chosen = order().into_iter().filter(|key| selection.contains(key));
        chosen.collect()
    }

    #[test]
    fn range_selection_selects_rows_in_their_displayed_order() {
        let mut selection = Selection::default();
        selection.set("c", true);
        selection.reach(&order(), "a", true);
        assert_eq!(chosen(&selection), "cba");
        selection.reach(&order(), "b", false);
        assert_eq!(
            chosen(&selection),
            "c",
            "the range starts at the row that was set last"
        );
        selection.set("a", true);
        selection.reach(&order()[..2], "d", true);
        assert_eq!(
            chosen(&selection),
            "dca",
            "a range without a shown start row contains one row"
        );
    }

    #[test]
    fn select_all_selects_all_rows_that_match_the_filter() {
        let mut selection = Selection::default();
        selection.set("a", true);
        let passing = &order()[..2];
        assert_eq!(selection.part(passing), SelectedShare::None);
        selection.set_all(passing, true);
        assert_eq!(chosen(&selection), "dca");
        assert_eq!(selection.part(passing), SelectedShare::All);
        assert_eq!(selection.part(&order()), SelectedShare::Some);
        selection.set_all(passing, false);
        assert_eq!(chosen(&selection), "a");
        assert_eq!(selection.part(&[]), SelectedShare::None);
    }

    #[test]
    fn rows_removed_from_the_list_are_deselected() {
        let mut selection = Selection::default();
        selection.set_all(&order(), true);
        assert!(selection.retain(|key| key < "c"));
        assert!(
            !selection.retain(|key| key < "c"),
            "no row is removed twice"
        );
        assert_eq!((chosen(&selection).as_str(), selection.len()), ("ba", 2));
        selection.clear();
        assert!(selection.is_empty());
    }
}
