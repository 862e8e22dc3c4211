//! Case-insensitive search in lines.

use std::ops::Range;

/// The text to search for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Find {
    /// The case-folded text; empty if no search is active.
    wanted: Vec<char>,
}

impl Find {
    /// Creates a search for the entered text.
    pub fn new(typed: &str) -> Self {
        Self {
            wanted: typed.chars().map(fold).collect(),
        }
    }

    /// Reports whether the search text is empty.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Reports whether a line contains the search text.
    pub fn is_in(&self, line: &str) -> bool {
        !self.is_empty() && self.next(line, 0).is_some()
    }

    /// Returns the byte ranges of all matches in a line.
    pub fn places(&self, line: &str) -> Vec<Range<usize>> {
        let (mut places, mut from) = (Vec::new(), 0);
        if self.is_empty() {
            return places;
        }
        while let Some(place) = self.next(line, from) {
            from = place.end;
            places.push(place);
        }
        places
    }

    fn next(&self, line: &str, from: usize) -> Option<Range<usize>> {
        let rest = line.get(from..)?;
        let mut starts = rest.char_indices();
        starts.find_map(|(at, _)| {
            let end = self.matched(rest.get(at..)?)?;
            Some(from + at..from + at + end)
        })
    }

    /// Returns the number of bytes of a match at the start of the text.
    fn matched(&self, text: &str) -> Option<usize> {
        let mut letters = text.char_indices();
        for expected in &self.wanted {
            let (_, letter) = letters.next()?;
            if fold(letter) != *expected {
                return None;
            }
        }
        Some(letters.next().map_or(text.len(), |(end, _)| end))
    }
}

/// Maps a character to its case-folded form. The result is always one character, so that match
/// positions stay valid.
fn fold(letter: char) -> char {
    let mut folded = letter.to_lowercase();
    match (folded.next(), folded.next()) {
        (Some(one), None) => one,
        _ => letter,
    }
}

/// Returns the index of the next or previous match. The index wraps around at both ends.
pub fn step(count: usize, at: Option<usize>, forward: bool) -> Option<usize> {
    let last = count.checked_sub(1)?;
    Some(match (at, forward) {
        (None, true) => 0,
        (Some(at), true) if at >= last => 0,
        (Some(at), true) => at + 1,
        (None | Some(0), false) => last,
        (Some(at), false) => (at - 1).min(last),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn log_search_ignores_case() {
        let find = Find::new("erRor");
        assert_eq!(find.places("Error: no ERROR"), [0..5, 10..15]);
        assert!(!find.is_in("err or"));
        assert!(!Find::new("").is_in("anything"));
        assert_eq!(Find::new("ü").places("ÜüI"), [0..2, 2..4]);
    }

    #[test]
    fn log_search_wraps_from_the_last_match_to_the_first_match() {
        assert_eq!(step(0, None, true), None);
        assert_eq!(step(3, None, true), Some(0));
        assert_eq!(step(3, Some(2), true), Some(0));
        assert_eq!(step(3, Some(0), false), Some(2));
        assert_eq!(
            step(3, Some(9), false),
            Some(2),
            "a position above the number of matches is clamped"
        );
    }

    proptest! {
        #[test]
        fn search_match_ranges_are_on_character_boundaries(line in "\\PC{0,40}", wanted in "\\PC{0,3}") {
            for place in Find::new(&wanted).places(&line) {
                prop_assert!(line.get(place).is_some_and(|found| found.chars().count() == wanted.chars().count()));
            }
        }
    }
}
