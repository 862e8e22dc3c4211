//! The clusters of the search for objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_api::rest::ClusterView;

use super::SourceProblem;
use crate::cluster::is_connected;
use crate::messages::t;
use crate::problem::sentence;

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

/// Returns the clusters whose objects are not all searched: clusters without a connection, clusters
/// above the maximum, and clusters whose lists failed.
pub fn skipped_clusters(
    clusters: &[Arc<ClusterView>],
    most: usize,
    problems: impl Iterator<Item = SourceProblem>,
) -> Vec<SkippedCluster> {
    let searched = searched_clusters(clusters, most);
    let mut failed = BTreeMap::new();
    for problem in problems.filter(|problem| problem.since.is_none()) {
        failed
            .entry(problem.cluster)
            .or_insert_with(|| sentence(problem.problem.message));
    }
    let reason = |cluster: &ClusterView| {
        if !is_connected(cluster) {
            return Some(t().palette.not_connected().to_owned());
        }
        if !searched.contains(&cluster.name) {
            return Some(t().palette.above_limit(most));
        }
        failed.get(&cluster.name).cloned()
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
    use drover_rows::protocol::ListProblem;

    use super::*;
    use crate::hub::HubCluster;

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
        let failed = SourceProblem {
            cluster: "b".to_owned(),
            namespace: String::new(),
            since: None,
            problem: ListProblem {
                message: "no role".to_owned(),
                ..ListProblem::default()
            },
        };
        let stale = SourceProblem {
            cluster: "a".to_owned(),
            since: Some(jiff::Timestamp::UNIX_EPOCH),
            ..failed.clone()
        };
        let skipped = skipped_clusters(&clusters, 2, [failed, stale].into_iter());
        let names: Vec<_> = skipped.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["b", "c", "d"]);
        assert!(
            skipped[0].reason.contains("o role"),
            "{}",
            skipped[0].reason
        );
    }
}
