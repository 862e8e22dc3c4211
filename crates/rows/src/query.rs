//! Text filters of lists.

/// A filter. An item matches if all terms match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    wanted: bool,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    /// The shown values contain the text.
    Text(String),
    /// The value of the label starts with the text (`env=prod`). Any value matches an empty text
    /// (`env=`).
    Label(String, String),
    /// A property of the item has the value (`state:ready`). The term matches as text if the item
    /// has no such property.
    Aspect(String, String),
}

/// An item that a filter can match.
pub trait Searched {
    /// Reports whether a shown value contains `text`. The argument is lower-case. The comparison
    /// ignores case.
    fn contains(&self, text: &str) -> bool;
    /// Returns the value of a label.
    fn label(&self, key: &str) -> Option<&str>;
    /// Reports whether a property such as `state` starts with the value. Returns `None` for an
    /// unknown property.
    fn is(&self, aspect: &str, value: &str) -> Option<bool>;
}

impl Query {
    /// Parses words, `label=value`, `state:…`, `image:…` and other properties. A leading `-` negates a
    /// term. Any text is valid.
    pub fn read(text: &str) -> Self {
        let terms = text.split_whitespace().filter_map(|word| {
            let (positive, word) = match word.strip_prefix('-') {
                Some(rest) => (false, rest),
                None => (true, word),
            };
            (!word.is_empty()).then(|| Term {
                wanted: positive,
                test: Test::read(word),
            })
        });
        Self(terms.collect())
    }

    /// Reports whether an item matches.
    pub fn passes(&self, thing: &impl Searched) -> bool {
        let holds = |term: &Term| term.test.holds(thing) == term.wanted;
        self.0.iter().all(holds)
    }

    /// Reports whether the filter has no terms.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Test {
    fn read(word: &str) -> Self {
        // Labels are case-sensitive.
        if let Some((key, value)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) {
            return Self::Label(key.to_owned(), value.to_owned());
        }
        let lower = word.to_lowercase();
        match lower.split_once(':') {
            Some((aspect, value)) if !aspect.is_empty() => {
                Self::Aspect(aspect.to_owned(), value.to_owned())
            }
            _ => Self::Text(lower),
        }
    }

    fn holds(&self, thing: &impl Searched) -> bool {
        match self {
            Self::Text(text) => thing.contains(text),
            Self::Label(key, value) => thing
                .label(key)
                .is_some_and(|found| found.starts_with(value.as_str())),
            Self::Aspect(aspect, value) => thing
                .is(aspect, value)
                .unwrap_or_else(|| thing.contains(&format!("{aspect}:{value}"))),
        }
    }
}

/// Reports whether `shown` contains `lower`, ignoring case. `lower` must be lower-case.
pub fn contains(shown: &str, lower: &str) -> bool {
    if !shown.is_ascii() {
        return shown.to_lowercase().contains(lower);
    }
    // The function runs for each row and key press, so it does not allocate.
    let (shown, lower) = (shown.as_bytes(), lower.as_bytes());
    let Some(first) = lower.first() else {
        return true;
    };
    let last = (shown.len() + 1).saturating_sub(lower.len());
    (0..last).any(|at| {
        shown[at].eq_ignore_ascii_case(first)
            && shown[at..at + lower.len()].eq_ignore_ascii_case(lower)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_search_ignores_case() {
        for (shown, typed, found) in [
            ("CrashLoopBackOff", "backoff", true),
            ("CrashLoopBackOff", "crashx", false),
            ("web", "", true),
            ("", "", true),
            ("", "a", false),
            ("ab", "abc", false),
            ("GRÜN", "grün", true),
            ("grun", "grün", false),
        ] {
            assert_eq!(contains(shown, typed), found, "{shown} {typed}");
        }
    }
}
