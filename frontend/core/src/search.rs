//! Text filters of the page's own lists.

use drover_api::rest::ClusterView;
use drover_rows::query::{Searched, contains};

use crate::cluster::State;

/// Reports whether the shown values contain all entered words, ignoring case.
pub fn has_words<'a>(shown: impl IntoIterator<Item = &'a str>, typed: &str) -> bool {
    let shown: Vec<&str> = shown.into_iter().collect();
    let mut words = typed.split_whitespace().map(str::to_lowercase);
    words.all(|word| shown.iter().any(|text| contains(text, &word)))
}

/// A cluster with its state.
#[derive(Clone, Copy, Debug)]
pub struct SearchedCluster<'a> {
    /// The cluster.
    pub cluster: &'a ClusterView,
    /// The state of the cluster.
    pub state: &'a State,
}

impl Searched for SearchedCluster<'_> {
    fn contains(&self, text: &str) -> bool {
        let Self { cluster, state } = self;
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
        self.cluster.labels.get(key).map(String::as_str)
    }

    fn is(&self, aspect: &str, value: &str) -> Option<bool> {
        let Self { cluster, state } = self;
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
    use drover_rows::Query;

    use super::*;
    use crate::cluster::Health;
    use crate::hub::HubCluster;

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
                Query::read(text).passes(&SearchedCluster {
                    cluster: &cluster,
                    state: &state
                }),
                expected,
                "{text:?}"
            );
        }
        assert!(Query::read(" - ").is_empty());
    }
}
