//! Which rows of a list are chosen.

use std::collections::BTreeSet;

/// Chosen rows by their keys, and the one from which a range begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    keys: BTreeSet<String>,
    anchor: Option<String>,
}

/// How much of a list is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nothing.
    None,
    /// Some, not all.
    Some,
    /// Everything; an empty list is never chosen.
    All,
}

impl Selection {
    /// Whether a row is chosen.
    pub fn contains(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// How many are chosen, in sight or not.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Chooses a row, or does so no more; the next range begins there.
    pub fn set(&mut self, key: &str, chosen: bool) {
        self.put(key, chosen);
        self.anchor = Some(key.to_owned());
    }

    /// The same for every row from the last one that was set to this, in the order that is shown.
    /// If that one is not shown any more, for this row alone.
    pub fn reach(&mut self, order: &[String], key: &str, chosen: bool) {
        let place = |wanted: &str| order.iter().position(|key| key == wanted);
        let from = self.anchor.as_deref().and_then(place);
        if let (Some(from), Some(to)) = (from, place(key)) {
            for key in &order[from.min(to)..=from.max(to)] {
                self.put(key, chosen);
            }
        }
        self.set(key, chosen);
    }

    /// The same for all of these.
    pub fn set_all<'a>(&mut self, keys: impl IntoIterator<Item = &'a String>, chosen: bool) {
        for key in keys {
            self.put(key, chosen);
        }
        self.anchor = None;
    }

    /// Chooses nothing any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Forgets rows that are gone; gives whether one was.
    pub fn retain(&mut self, known: impl Fn(&str) -> bool) -> bool {
        let before = self.keys.len();
        self.keys.retain(|key| known(key));
        self.keys.len() < before
    }

    /// How many of these are chosen.
    pub fn part<'a>(&self, keys: impl IntoIterator<Item = &'a String>) -> Part {
        let (mut all, mut some) = (true, false);
        for key in keys {
            let chosen = self.contains(key);
            all &= chosen;
            some |= chosen;
        }
        match (some, all) {
            (false, _) => Part::None,
            (true, true) => Part::All,
            (true, false) => Part::Some,
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
    fn a_range_follows_the_order_that_is_shown() {
        let mut selection = Selection::default();
        selection.set("c", true);
        selection.reach(&order(), "a", true);
        assert_eq!(chosen(&selection), "cba");
        selection.reach(&order(), "b", false);
        assert_eq!(
            chosen(&selection),
            "c",
            "back from the last row that was set"
        );
        selection.set("a", true);
        selection.reach(&order()[..2], "d", true);
        assert_eq!(
            chosen(&selection),
            "dca",
            "where it began is not shown any more"
        );
    }

    #[test]
    fn all_that_pass_are_chosen_beside_what_is_chosen_already() {
        let mut selection = Selection::default();
        selection.set("a", true);
        let passing = &order()[..2];
        assert_eq!(selection.part(passing), Part::None);
        selection.set_all(passing, true);
        assert_eq!(chosen(&selection), "dca");
        assert_eq!(selection.part(passing), Part::All);
        assert_eq!(selection.part(&order()), Part::Some);
        selection.set_all(passing, false);
        assert_eq!(chosen(&selection), "a");
        assert_eq!(selection.part(&[]), Part::None);
    }

    #[test]
    fn what_is_gone_is_not_chosen() {
        let mut selection = Selection::default();
        selection.set_all(&order(), true);
        assert!(selection.retain(|key| key < "c"));
        assert!(!selection.retain(|key| key < "c"), "they are gone already");
        assert_eq!((chosen(&selection).as_str(), selection.len()), ("ba", 2));
        selection.clear();
        assert!(selection.is_empty());
    }
}
