//! Matches of clusters: by name, labels, group and labels of groups.

use std::collections::BTreeMap;

use drover_api::fleet::{BundleTarget, FleetCluster, GitTarget, LabelSelector, Partition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::selector::{Selector, SelectorError};
use crate::ids::cluster_namespace;

/// The labels of an object without labels.
static NONE: BTreeMap<String, String> = BTreeMap::new();
/// Label with the name that Rancher displays for a cluster.
const DISPLAY_NAME: &str = "management.cattle.io/cluster-display-name";

/// A group of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Name of the ClusterGroup.
    pub name: &'a str,
    /// Labels of the ClusterGroup.
    pub labels: &'a BTreeMap<String, String>,
}

/// The parts of a cluster that targets depend on.
#[derive(Clone, Copy, Debug)]
pub struct ClusterFacts<'a> {
    /// Namespace of the Cluster.
    pub namespace: &'a str,
    /// Name of the Cluster.
    pub name: &'a str,
    /// Labels of the Cluster.
    pub labels: &'a BTreeMap<String, String>,
    /// Annotations of the Cluster.
    pub annotations: &'a BTreeMap<String, String>,
    /// `spec.templateValues` of the Cluster.
    pub template_values: Option<&'a Value>,
    /// The groups whose selectors match the Cluster.
    pub groups: &'a [Group<'a>],
}

impl<'a> ClusterFacts<'a> {
    /// Returns the parts of a cluster. `groups` are the groups of the cluster.
    #[must_use]
    pub fn of(cluster: &'a FleetCluster, groups: &'a [Group<'a>]) -> Self {
        let metadata = &cluster.metadata;
        Self {
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            name: metadata.name.as_deref().unwrap_or_default(),
            labels: labels(metadata),
            annotations: metadata.annotations.as_ref().unwrap_or(&NONE),
            template_values: cluster.spec.template_values.as_ref(),
            groups,
        }
    }
}

/// Returns the namespace of a cluster's bundle deployments. A new Fleet Cluster has none.
///
/// The agent of the cluster can write the status, so the value in the status does not count.
#[must_use]
pub fn deployment_namespace(cluster: &FleetCluster) -> Option<String> {
    let status = cluster.status.as_ref()?;
    let facts = ClusterFacts::of(cluster, &[]);
    (!status.namespace.is_empty()).then(|| cluster_namespace(facts.namespace, facts.name))
}

/// Returns the labels of an object.
pub(super) fn labels(metadata: &ObjectMeta) -> &BTreeMap<String, String> {
    metadata.labels.as_ref().unwrap_or(&NONE)
}

impl ClusterFacts<'_> {
    /// Reports whether a test is true for one of the groups, or without a group if the cluster has no
    /// groups.
    pub(crate) fn any_group(&self, test: impl Fn(Option<&Group<'_>>) -> bool) -> bool {
        if self.groups.is_empty() {
            return test(None);
        }
        self.groups.iter().any(|group| test(Some(group)))
    }
}

/// Reports whether templates and bundle deployments receive a label or annotation.
pub(super) fn is_exported(key: &str) -> bool {
    !key.starts_with("kubectl.kubernetes.io/") && !key.contains("cattle.io/")
}

/// Criteria that a cluster must meet. Without criteria, no cluster matches.
#[derive(Clone, Debug, Default)]
pub struct ClusterMatcher {
    name: Option<String>,
    group: Option<String>,
    group_selector: Option<Selector>,
    selector: Option<Selector>,
}

impl ClusterMatcher {
    fn new(
        name: &str,
        group: &str,
        group_selector: Option<&LabelSelector>,
        selector: Option<&LabelSelector>,
    ) -> Result<Self, SelectorError> {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Self {
            name: text(name),
            group: text(group),
            group_selector: group_selector.map(Selector::new).transpose()?,
            selector: selector.map(Selector::new).transpose()?,
        })
    }

    /// Returns the criteria of a bundle's target.
    ///
    /// # Errors
    ///
    /// A selector is not valid.
    pub fn of_target(target: &BundleTarget) -> Result<Self, SelectorError> {
        Self::new(
            &target.cluster_name,
            &target.cluster_group,
            target.cluster_group_selector.as_ref(),
            target.cluster_selector.as_ref(),
        )
    }

    /// Returns the criteria of a target of a GitRepo, a restriction or a Schedule.
    ///
    /// # Errors
    ///
    /// A selector is not valid.
    pub fn of_git_target(target: &GitTarget) -> Result<Self, SelectorError> {
        Self::new(
            &target.cluster_name,
            &target.cluster_group,
            target.cluster_group_selector.as_ref(),
            target.cluster_selector.as_ref(),
        )
    }

    /// Returns the criteria of a partition.
    ///
    /// # Errors
    ///
    /// A selector is not valid.
    pub fn of_partition(partition: &Partition) -> Result<Self, SelectorError> {
        Self::new(
            &partition.cluster_name,
            &partition.cluster_group,
            partition.cluster_group_selector.as_ref(),
            partition.cluster_selector.as_ref(),
        )
    }

    /// Reports whether a cluster meets the criteria as a member of `group`.
    #[must_use]
    pub fn matches(&self, cluster: &ClusterFacts<'_>, group: Option<&Group<'_>>) -> bool {
        let no_labels = BTreeMap::new();
        let is_empty = self.name.is_none()
            && self.group.is_none()
            && self.group_selector.is_none()
            && self.selector.is_none();
        let names = [
            Some(cluster.name),
            cluster.labels.get(DISPLAY_NAME).map(String::as_str),
        ];
        !is_empty
            && self
                .name
                .as_deref()
                .is_none_or(|name| names.contains(&Some(name)))
            && self
                .group
                .as_deref()
                .is_none_or(|name| group.is_some_and(|it| it.name == name))
            && self.group_selector.as_ref().is_none_or(|selector| {
                selector.matches(group.map_or(&no_labels, |group| group.labels))
            })
            && self
                .selector
                .as_ref()
                .is_none_or(|it| it.matches(cluster.labels))
    }

    /// Reports whether a cluster meets the criteria as a member of any of its groups.
    #[must_use]
    pub fn matches_any_group(&self, cluster: &ClusterFacts<'_>) -> bool {
        cluster.any_group(|group| self.matches(cluster, group))
    }
}
