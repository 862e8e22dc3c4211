//! Text filters of lists.

use drover_api::rest::ClusterView;

use crate::cluster::State;

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
    /// Parses words, `label=value`, `state:…` and `version:…`. A leading `-` negates a term. Any
    /// text is valid.
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

/// Reports whether the shown values contain all entered words, ignoring case.
pub fn has_words<'a>(shown: impl IntoIterator<Item = &'a str>, typed: &str) -> bool {
    let shown: Vec<&str> = shown.into_iter().collect();
    let mut words = typed.split_whitespace().map(str::to_lowercase);
    words.all(|word| shown.iter().any(|text| contains(text, &word)))
}

/// A cluster with its state.
impl Searched for (&ClusterView, &State) {
    fn contains(&self, text: &str) -> bool {
        let (cluster, state) = self;
        let has = |shown: &str| contains(shown, text);
        has(&cluster.name)
            || has(&state.summary)
            || cluster.description.as_deref().is_some_and(has)
            || cluster.kubernetes_version.as_deref().is_some_and(has)
            || cluster
                .labels
                .iter()
                .any(|(key, value)| has(&format!("{key}={value}")))
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.0.labels.get(key).map(String::as_str)
    }

    fn is(&self, aspect: &str, value: &str) -> Option<bool> {
        let (cluster, state) = self;
        match aspect {
            "state" => Some(state.health.label().starts_with(value)),
            "version" => {
                let version = cluster.kubernetes_version.as_deref();
                let wanted = value.trim_start_matches('v');
                let found = |it: &str| it.trim_start_matches('v').starts_with(wanted);
                Some(version.is_some_and(found))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Health;
    use crate::hub::HubCluster;

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

    #[test]
    fn text_filter_requires_all_terms() {
        let object = r#"{"metadata":{"name":"berlin-1","labels":{"env":"prod","Team":"A"}},
            "spec":{"description":"The old one"},"status":{"kubernetesVersion":"v1.36.1"}}"#;
        let object: HubCluster = serde_json::from_str(object).unwrap();
        let cluster = ClusterView::from(object);
        let state = State {
            health: Health::Disconnected,
            summary: "agent not connected".to_owned(),
            detail: None,
        };
        for (text, expected) in [
            ("", true),
            ("  BERLIN  ", true),
            ("berlin old", true),
            ("berlin new", false),
            ("env=prod", true),
            ("env=pr", true),
            ("env=", true),
            ("env=test", false),
            ("Team=A", true),
            ("-env=prod", false),
            ("-env=test", true),
            ("state:dis", true),
            ("state:ready", false),
            ("-state:ready", true),
            ("version:1.36", true),
            ("version:v1.36", true),
            ("version:1.35", false),
            ("image:1.35", false),
            ("not connected", true),
            ("=x", false),
            ("-", true),
        ] {
            assert_eq!(
                Query::read(text).passes(&(&cluster, &state)),
                expected,
                "{text:?}"
            );
        }
        assert!(Query::read(" - ").is_empty());
    }
}
