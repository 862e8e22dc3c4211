//! The text that filters a list of clusters.

use std::collections::BTreeMap;

use drover_api::rest::ClusterView;

use crate::cluster::State;

/// A filter: every term must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    wanted: bool,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    /// Letters anywhere in what is shown.
    Text(String),
    /// `env=prod`: the label has this value, or any that starts so; `env=` has the label.
    Label(String, String),
    /// `state:ready`.
    State(String),
    /// `version:1.36`.
    Version(String),
}

impl Query {
    /// Reads what a person typed: words, `label=value`, `state:…`, `version:…`, each negated by `-`.
    /// Everything that is typed is a filter; there are no errors.
    pub fn read(text: &str) -> Self {
        let terms = text.split_whitespace().filter_map(|word| {
            let (wanted, word) = match word.strip_prefix('-') {
                Some(rest) => (false, rest),
                None => (true, word),
            };
            (!word.is_empty()).then(|| Term {
                wanted,
                test: Test::read(word),
            })
        });
        Self(terms.collect())
    }

    /// Whether a cluster passes.
    pub fn passes(&self, cluster: &ClusterView, state: &State) -> bool {
        let holds = |term: &Term| term.test.holds(cluster, state) == term.wanted;
        self.0.iter().all(holds)
    }

    /// Whether every cluster passes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Test {
    fn read(word: &str) -> Self {
        let lower = word.to_lowercase();
        if let Some(state) = lower.strip_prefix("state:") {
            return Self::State(state.to_owned());
        }
        if let Some(version) = lower.strip_prefix("version:") {
            return Self::Version(version.trim_start_matches('v').to_owned());
        }
        match word.split_once('=') {
            // Labels have capitals that count.
            Some((key, value)) if !key.is_empty() => Self::Label(key.to_owned(), value.to_owned()),
            _ => Self::Text(lower),
        }
    }

    fn holds(&self, cluster: &ClusterView, state: &State) -> bool {
        match self {
            Self::Text(text) => contains_text(cluster, state, text),
            Self::Label(key, value) => cluster
                .labels
                .get(key)
                .is_some_and(|found| found.starts_with(value.as_str())),
            Self::State(word) => state.health.word().starts_with(word.as_str()),
            Self::Version(version) => cluster
                .kubernetes_version
                .as_deref()
                .is_some_and(|found| found.trim_start_matches('v').starts_with(version.as_str())),
        }
    }
}

fn contains_text(cluster: &ClusterView, state: &State, text: &str) -> bool {
    let contains = |shown: &str| shown.to_lowercase().contains(text);
    contains(&cluster.name)
        || contains(&state.words)
        || cluster.description.as_deref().is_some_and(contains)
        || cluster.kubernetes_version.as_deref().is_some_and(contains)
        || cluster
            .labels
            .iter()
            .any(|(key, value)| contains(&format!("{key}={value}")))
}

/// Labels as people type them: `env=prod team=shop`, commas allowed. The error says what to change.
/// Which letters a label may have is for the server to say.
pub fn labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let words = text
        .split([' ', ',', '\t', '\n'])
        .filter(|word| !word.is_empty());
    words
        .map(|word| match word.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(format!("“{word}” is not of the form key=value.")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Health;
    use crate::hub::HubCluster;

    #[test]
    fn labels_are_typed_as_kubectl_takes_them() {
        let read = labels(" env=prod,team=shop  empty= ").unwrap();
        let pairs: Vec<_> = read.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(pairs, [("empty", ""), ("env", "prod"), ("team", "shop")]);
        assert_eq!(labels("").map(|labels| labels.len()), Ok(0));
        let wrong = labels("env=prod shop");
        assert_eq!(
            wrong,
            Err("“shop” is not of the form key=value.".to_owned())
        );
        assert!(labels("=x").is_err());
    }

    #[test]
    fn every_term_must_hold() {
        let object = r#"{"metadata":{"name":"berlin-1","labels":{"env":"prod","Team":"A"}},
            "spec":{"description":"The old one"},"status":{"kubernetesVersion":"v1.36.1"}}"#;
        let object: HubCluster = serde_json::from_str(object).unwrap();
        let cluster = ClusterView::from(object);
        let state = State {
            health: Health::Disconnected,
            words: "agent not connected".to_owned(),
            why: None,
        };
        for (text, wanted) in [
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
            ("not connected", true),
            ("=x", false),
            ("-", true),
        ] {
            assert_eq!(
                Query::read(text).passes(&cluster, &state),
                wanted,
                "{text:?}"
            );
        }
        assert!(Query::read(" - ").is_empty());
    }
}
