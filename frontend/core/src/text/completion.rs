//! Completion of the last term of a filter.

/// A text that replaces the entered text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The new text of the field.
    pub text: String,
    /// The term that the suggestion adds.
    pub term: String,
    /// The meaning of the term; can be empty.
    pub note: &'static str,
}

/// The last term of an entered text, and the text before the term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastTerm<'a> {
    /// The text before the term. Ends with white space unless it is empty.
    pub before: &'a str,
    /// The term; empty after white space.
    pub term: &'a str,
}

impl<'a> LastTerm<'a> {
    /// Splits a text at its last white space.
    pub fn of(text: &'a str) -> Self {
        let last = text.char_indices().rev().find(|(_, it)| it.is_whitespace());
        let start = last.map_or(0, |(at, space)| at + space.len_utf8());
        let (before, term) = text.split_at(start);
        Self { before, term }
    }

    /// Returns the suggestion that replaces the term.
    pub fn replaced_by(self, term: String, note: &'static str) -> Suggestion {
        Suggestion {
            text: format!("{}{term}", self.before),
            term,
            note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_term_starts_after_the_last_white_space() {
        for (text, before, term) in [
            ("", "", ""),
            ("state:f", "", "state:f"),
            ("web st", "web ", "st"),
            ("web ", "web ", ""),
            ("web\u{3000}st", "web\u{3000}", "st"),
        ] {
            let last = LastTerm::of(text);
            assert_eq!((last.before, last.term), (before, term), "{text:?}");
            let replaced = last.replaced_by("state:".to_owned(), "");
            assert_eq!(replaced.text, format!("{before}state:"));
        }
    }
}
