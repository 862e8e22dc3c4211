//! The groups of clusters.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use drover_api::fleet::{ClusterGroup, FleetCluster};
use drover_gitops::targeting::{Group, Selector};
use kube::ResourceExt as _;
use serde_json::json;

/// A ClusterGroup with a valid selector.
pub(crate) struct Member {
    group: Arc<ClusterGroup>,
    name: String,
    selector: Selector,
}

impl Member {
    pub(crate) fn as_group(&self) -> Group<'_> {
        Group {
            name: &self.name,
            labels: self.group.labels(),
        }
    }
}

/// The groups of clusters in some namespaces.
pub(crate) struct Groups(Vec<Member>);

impl Groups {
    /// Compiles the selectors. A group with an invalid selector has no clusters, and its own status
    /// shows the reason.
    pub(crate) fn new(groups: Vec<Arc<ClusterGroup>>) -> Self {
        let compile = |group: Arc<ClusterGroup>| {
            let selector = Selector::new(group.spec.selector.as_ref()?).ok()?;
            Some(Member {
                name: group.name_any(),
                selector,
                group,
            })
        };
        Self(groups.into_iter().filter_map(compile).collect())
    }

    /// Returns a hash of the names, labels and selectors.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for member in &self.0 {
            member.group.namespace().hash(&mut hasher);
            member.name.hash(&mut hasher);
            member.group.labels().hash(&mut hasher);
            // The JSON of a selector contains all its fields.
            json!(member.group.spec.selector)
                .to_string()
                .hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Returns the groups that select a cluster.
    pub(crate) fn of(&self, cluster: &FleetCluster) -> Vec<&Member> {
        let namespace = cluster.namespace();
        let selects = |member: &&Member| {
            member.group.namespace() == namespace && member.selector.matches(cluster.labels())
        };
        self.0.iter().filter(selects).collect()
    }
}
