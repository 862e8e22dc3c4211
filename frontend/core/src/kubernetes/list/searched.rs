//! The clusters of the search for objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_api::rest::ClusterView;

use super::KnownList;
use crate::cluster::is_connected;
use crate::messages::t;
use crate::problem::{Problem, sentence};

/// A cluster whose objects are not all searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedCluster {
    /// The name of the cluster.
    pub name: String,
    /// The reason.
    pub reason: String,
}

impl SkippedCluster {
    /// Returns the line of the cluster in the result.
    pub fn line(&self) -> String {
        t().kinds.missing_cluster(&self.name, &self.reason)
    }
}

/// Returns the names of the clusters whose objects the page searches, at most `most`.
pub fn searched_clusters(clusters: &[Arc<ClusterView>], most: usize) -> Vec<String> {
    let connected = clusters.iter().filter(|cluster| is_connected(cluster));
    let names = connected.map(|cluster| cluster.name.clone());
    names.take(most).collect()
}

/// The reasons why lists of the search do not contain all objects.
#[derive(Clone, Debug, Default)]
pub struct SearchGaps {
    /// The reason for each cluster.
    of_clusters: BTreeMap<String, String>,
    /// The reason why the server refused a list of all clusters.
    of_all: Option<String>,
}

impl SearchGaps {
    /// Adds the failed clusters of a list. Users may lack the permission for lists without a
    /// namespace, so callers add only namespaced lists.
    pub fn add_failed(&mut self, list: &KnownList) {
        for problem in list.problems() {
            // An outdated list still contains the objects.
            if problem.since.is_none() {
                let reason = || sentence(problem.problem.message);
                let entry = self.of_clusters.entry(problem.cluster);
                entry.or_insert_with(reason);
            }
        }
    }

    /// Adds the clusters whose objects the server dropped above its limits.
    pub fn add_truncated(&mut self, list: &KnownList) {
        for cluster in list.truncated_clusters() {
            let reason = || t().palette.truncated().to_owned();
            let entry = self.of_clusters.entry(cluster.to_owned());
            entry.or_insert_with(reason);
        }
    }

    /// Adds a list that the server refused for all clusters.
    pub fn add_refused(&mut self, problem: Problem) {
        self.of_all.get_or_insert_with(|| sentence(problem.message));
    }
}

/// Returns the clusters whose objects are not all searched: clusters without a connection, clusters
/// above the maximum, and clusters whose lists failed or are truncated.
pub fn skipped_clusters(
    clusters: &[Arc<ClusterView>],
    most: usize,
    gaps: &SearchGaps,
) -> Vec<SkippedCluster> {
    let searched = searched_clusters(clusters, most);
    let reason = |cluster: &ClusterView| {
        if !is_connected(cluster) {
            return Some(t().palette.not_connected().to_owned());
        }
        if !searched.contains(&cluster.name) {
            return Some(t().palette.above_limit(most));
        }
        let gap = gaps.of_clusters.get(&cluster.name);
        gap.or(gaps.of_all.as_ref()).cloned()
    };
    let skipped = clusters.iter().filter_map(|cluster| {
        Some(SkippedCluster {
            reason: reason(cluster)?,
            name: cluster.name.clone(),
        })
    });
    skipped.collect()
}

#[cfg(test)]
mod tests {
    use drover_rows::protocol::{ListProblem, SourceState, SourceStatus};

    use super::*;
    use crate::hub::HubCluster;
    use crate::problem::ProblemKind;

    #[test]
    fn search_names_clusters_that_are_not_searched() {
        let cluster = |name: &str, connected: &str| {
            let conditions = [
                ("Registered", "True"),
                ("Connected", connected),
                ("Ready", "True"),
            ];
            let conditions = conditions.map(|(name, status)| {
                serde_json::json!({"type": name, "status": status, "reason": "x", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"})
            });
            let object = serde_json::json!({
                "metadata": {"name": name}, "spec": {}, "status": {"conditions": conditions},
            });
            let object: HubCluster = serde_json::from_value(object).unwrap();
            Arc::new(ClusterView::from(object))
        };
        let clusters = [
            cluster("a", "True"),
            cluster("b", "True"),
            cluster("c", "False"),
            cluster("d", "True"),
        ];
        assert_eq!(searched_clusters(&clusters, 2), ["a", "b"]);
        let source = |cluster: &str, state, truncated| SourceStatus {
            cluster: cluster.to_owned(),
            namespace: String::new(),
            state,
            rows: 1,
            truncated,
            usage: None,
        };
        let problem = ListProblem {
            message: "no role".to_owned(),
            ..ListProblem::default()
        };
        let stale = SourceState::Stale {
            since: jiff::Timestamp::UNIX_EPOCH,
            problem: problem.clone(),
        };
        let list = KnownList {
            sources: vec![
                source("a", stale, false),
                source("b", SourceState::Failed(problem), false),
            ],
            ..KnownList::default()
        };
        let mut gaps = SearchGaps::default();
        gaps.add_failed(&list);
        gaps.add_truncated(&list);
        let names = |gaps: &SearchGaps| {
            let skipped = skipped_clusters(&clusters, 2, gaps).into_iter();
            skipped.map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&gaps), ["b", "c", "d"]);
        let skipped = skipped_clusters(&clusters, 2, &gaps);
        let reason = &skipped[0].reason;
        assert!(reason.contains("o role"), "{reason}");
        gaps.add_truncated(&KnownList {
            sources: vec![source("a", SourceState::Live, true)],
            ..KnownList::default()
        });
        assert_eq!(names(&gaps), ["a", "b", "c", "d"]);
        let mut refused = SearchGaps::default();
        let problem = Problem::new(ProblemKind::Invalid, "too many lists");
        refused.add_refused(problem);
        assert_eq!(names(&refused), ["a", "b", "c", "d"]);
        assert_eq!(names(&SearchGaps::default()), ["c", "d"]);
    }
}
