//! The groups of clusters.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use drover_api::fleet::{ClusterGroup, FleetCluster};
use serde_json::json;

use super::clusters::labels;
use super::{Group, Selector};

/// A ClusterGroup with a valid selector.
#[derive(Debug)]
pub struct GroupMember {
    group: Arc<ClusterGroup>,
    name: String,
    selector: Selector,
}

impl GroupMember {
    /// Returns the name and the labels of the group.
    #[must_use]
    pub fn as_group(&self) -> Group<'_> {
        Group {
            name: &self.name,
            labels: labels(&self.group.metadata),
        }
    }
}

/// The groups of clusters in some namespaces.
#[derive(Debug)]
pub struct Groups(Vec<GroupMember>);

impl Groups {
    /// Compiles the selectors. A group with an invalid selector has no clusters, and its own status
    /// shows the reason.
    #[must_use]
    pub fn new(groups: Vec<Arc<ClusterGroup>>) -> Self {
        let compile = |group: Arc<ClusterGroup>| {
            let selector = Selector::new(group.spec.selector.as_ref()?).ok()?;
            Some(GroupMember {
                name: group.metadata.name.clone().unwrap_or_default(),
                selector,
                group,
            })
        };
        Self(groups.into_iter().filter_map(compile).collect())
    }

    /// Returns a hash of the names, labels and selectors.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for member in &self.0 {
            member.group.metadata.namespace.hash(&mut hasher);
            member.name.hash(&mut hasher);
            labels(&member.group.metadata).hash(&mut hasher);
            // The JSON of a selector contains all its fields.
            json!(member.group.spec.selector)
                .to_string()
                .hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Returns the groups that select a cluster.
    #[must_use]
    pub fn of(&self, cluster: &FleetCluster) -> Vec<&GroupMember> {
        let namespace = &cluster.metadata.namespace;
        let selects = |member: &&GroupMember| {
            member.group.metadata.namespace == *namespace
                && member.selector.matches(labels(&cluster.metadata))
        };
        self.0.iter().filter(selects).collect()
    }
}
