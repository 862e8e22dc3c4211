//! The compiled state of one bundle, so that a reconciliation computes only what changed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use drover_api::fleet::{Bundle, BundleDeployment, Content, FleetCluster, LabelSelector};
use drover_gitops::ids::{Manifest, content_id};
use drover_gitops::states::{Aggregate, DeploymentState};
use drover_gitops::targeting::{
    ClusterFacts, GoTemplates, Group, Groups, Target, TargetError, Targeting, deployment_namespace,
};
use kube::ResourceExt as _;

use super::error::BundleError;
use super::is_off_schedule;
use crate::mirror::Key;

/// A cluster that a bundle selects, and its deployment.
pub(super) struct Member {
    /// Text of the key, `namespace/name`.
    pub(super) name: String,
    pub(super) cluster: Arc<FleetCluster>,
    pub(super) target: Target,
    /// Namespace of the bundle deployment. A new Fleet Cluster has none.
    pub(super) namespace: Option<String>,
    pub(super) deployment: Option<Arc<BundleDeployment>>,
    pub(super) state: DeploymentState,
    /// False until the roll-up contains the state.
    is_counted: bool,
    /// The bundle deployment that needs no write.
    verified: Option<Verified>,
}

/// A bundle deployment that needs no write, and the facts on which that depends.
struct Verified {
    deployment: Arc<BundleDeployment>,
    is_released: bool,
    is_paused: bool,
    is_off_schedule: bool,
}

/// The target of a cluster, and the facts that it depends on.
struct Entry {
    /// The object of the last computation.
    cluster: Arc<FleetCluster>,
    /// Hash of the facts that the target depends on.
    facts: u64,
    /// `None` for a cluster that the bundle does not select.
    member: Option<Member>,
}

/// The content and the targets of one version of a bundle.
pub(super) struct Compiled {
    /// Version of the bundle.
    version: Version,
    /// The bundle with its Helm values.
    pub(super) bundle: Arc<Bundle>,
    pub(super) files: Files,
    /// SHA-256 of the manifest, in hexadecimal digits.
    pub(super) sha256: String,
    entries: BTreeMap<Key, Entry>,
    /// The roll-up of the states of all members.
    pub(super) aggregate: Aggregate,
    /// The selector of target namespaces that all targets depend on.
    namespaces: Option<LabelSelector>,
    /// The groups that all targets depend on.
    groups: u64,
}

/// The files of a bundle.
pub(super) enum Files {
    /// The files in the bundle, and the name of their Content.
    Inline(String, Arc<Manifest>),
    /// The name of the Content with the files.
    Separate(String),
    /// Agents pull the chart of a HelmOp, so there is no Content.
    Chart,
}

impl Files {
    fn content(&self) -> &str {
        match self {
            Self::Inline(name, _) | Self::Separate(name) => name,
            Self::Chart => "",
        }
    }
}

/// The parts of a bundle that targets depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    uid: String,
    generation: i64,
    labels: BTreeMap<String, String>,
}

impl Version {
    pub(super) fn of(bundle: &Bundle) -> Self {
        Self {
            uid: bundle.uid().unwrap_or_default(),
            generation: bundle.metadata.generation.unwrap_or_default(),
            labels: bundle.labels().clone(),
        }
    }
}

impl Compiled {
    /// Computes the content of a bundle. `bundle` contains the Helm values of the bundle's Secret.
    /// `contents` finds the Content that a large bundle names.
    pub(super) fn new(
        version: Version,
        bundle: Bundle,
        contents: impl Fn(&str) -> Option<Arc<Content>>,
    ) -> Result<Self, BundleError> {
        let separate = &bundle.spec.contents_id;
        let (files, sha256) = if bundle.spec.helm_op_options.is_some() {
            (Files::Chart, Manifest::default().sha256())
        } else if separate.is_empty() {
            let resources = bundle.spec.resources.clone();
            let manifest = Manifest { resources };
            let sha256 = manifest.sha256();
            let name = content_id(&sha256);
            (Files::Inline(name, Arc::new(manifest)), sha256)
        } else {
            let sha256 = contents(separate).map(|content| content.sha256_sum.clone());
            let sha256 = sha256.filter(|sha256| content_id(sha256) == *separate);
            let sha256 = sha256.ok_or_else(|| BundleError::NoContent(separate.clone()))?;
            (Files::Separate(separate.clone()), sha256)
        };
        Ok(Self {
            version,
            files,
            sha256,
            bundle: Arc::new(bundle),
            entries: BTreeMap::new(),
            aggregate: Aggregate::default(),
            namespaces: None,
            groups: 0,
        })
    }

    /// Returns the name of the Content. The name is empty for a HelmOp.
    pub(super) fn content(&self) -> &str {
        self.files.content()
    }

    pub(super) fn is_current(&self, version: &Version) -> bool {
        self.version == *version
    }

    /// Returns the clusters that the bundle selects, in the order of their names.
    pub(super) fn members(&self) -> impl Iterator<Item = &Member> {
        self.entries
            .values()
            .filter_map(|entry| entry.member.as_ref())
    }

    /// Returns the members for changes of their records.
    pub(super) fn members_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        let entries = self.entries.values_mut();
        entries.filter_map(|entry| entry.member.as_mut())
    }

    /// Computes the targets of clusters that have changed. `namespaces` is the selector of target
    /// namespaces from the restrictions.
    pub(super) fn select(
        &mut self,
        clusters: Vec<Arc<FleetCluster>>,
        groups: &Groups,
        namespaces: Option<&LabelSelector>,
    ) -> Result<(), TargetError> {
        if self.namespaces.as_ref() != namespaces {
            self.clear();
            self.namespaces = namespaces.cloned();
        }
        let selected = self.select_changed(clusters, groups, namespaces);
        if selected.is_err() {
            self.clear();
        }
        selected
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.aggregate = Aggregate::default();
    }

    fn select_changed(
        &mut self,
        clusters: Vec<Arc<FleetCluster>>,
        groups: &Groups,
        namespaces: Option<&LabelSelector>,
    ) -> Result<(), TargetError> {
        let are_groups_equal = self.groups == groups.fingerprint();
        let bundle = Arc::clone(&self.bundle);
        let targeting = Targeting::new(&bundle)?;
        let mut before = std::mem::take(&mut self.entries);
        for cluster in clusters {
            let key = Key::of(&*cluster);
            let known = before.remove(&key);
            let entry = match known {
                Some(known) if are_groups_equal && Arc::ptr_eq(&known.cluster, &cluster) => known,
                known => {
                    let of_cluster = groups.of(&cluster);
                    let of_cluster: Vec<Group<'_>> =
                        of_cluster.iter().map(|group| group.as_group()).collect();
                    let facts = ClusterFacts::of(&cluster, &of_cluster);
                    let hash = hash(&facts);
                    match known {
                        Some(known) if known.facts == hash => known.with_cluster(cluster),
                        _ => {
                            let content = self.files.content();
                            let target =
                                targeting.target(&facts, content, namespaces, &GoTemplates)?;
                            Entry::new(cluster, &key, hash, target)
                        }
                    }
                }
            };
            if entry.member.is_none() {
                self.aggregate.remove(&key.to_string());
            }
            self.entries.insert(key, entry);
        }
        for key in before.into_keys() {
            self.aggregate.remove(&key.to_string());
        }
        self.groups = groups.fingerprint();
        Ok(())
    }

    /// Records the present bundle deployments, by the namespaces of their clusters.
    pub(super) fn observe(&mut self, present: &BTreeMap<String, Arc<BundleDeployment>>) {
        let entries = self.entries.values_mut();
        for member in entries.filter_map(|entry| entry.member.as_mut()) {
            let namespace = member.namespace.as_ref();
            let found = namespace.and_then(|namespace| present.get(namespace));
            if is_same(member.deployment.as_ref(), found) && member.is_counted {
                continue;
            }
            member.deployment = found.cloned();
            member.is_counted = true;
            let wanted = &member.target.deployment_id;
            let deployment = found.map(|deployment| &**deployment);
            member.state = DeploymentState::of_target(&member.name, deployment, wanted);
            self.aggregate.set(&member.name, member.state.clone());
        }
    }
}

fn is_same<T>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl Entry {
    fn new(cluster: Arc<FleetCluster>, key: &Key, facts: u64, target: Option<Target>) -> Self {
        let member = target.map(|target| {
            let name = key.to_string();
            Member {
                state: DeploymentState::of_target(&name, None, &target.deployment_id),
                name,
                cluster: Arc::clone(&cluster),
                target,
                namespace: deployment_namespace(&cluster),
                deployment: None,
                is_counted: false,
                verified: None,
            }
        });
        Self {
            cluster,
            facts,
            member,
        }
    }

    /// Returns the entry with a changed object of the cluster. The target stays.
    fn with_cluster(mut self, cluster: Arc<FleetCluster>) -> Self {
        if let Some(member) = &mut self.member {
            member.namespace = deployment_namespace(&cluster);
            member.cluster = Arc::clone(&cluster);
        }
        self.cluster = cluster;
        self
    }
}

impl Member {
    /// Reports whether the bundle deployment is known to need no write.
    pub(super) fn is_verified(&self, is_released: bool) -> bool {
        let deployment = self.deployment.as_ref();
        self.verified.as_ref().is_some_and(|verified| {
            is_same(Some(&verified.deployment), deployment)
                && verified.is_released == is_released
                && verified.is_paused == self.cluster.spec.paused
                && verified.is_off_schedule == is_off_schedule(&self.cluster)
        })
    }

    /// Records that the bundle deployment needs no write.
    pub(super) fn set_verified(&mut self, is_released: bool) {
        self.verified = self.deployment.clone().map(|deployment| Verified {
            deployment,
            is_released,
            is_paused: self.cluster.spec.paused,
            is_off_schedule: is_off_schedule(&self.cluster),
        });
    }
}

fn hash(facts: &ClusterFacts<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    facts.labels.hash(&mut hasher);
    facts.annotations.hash(&mut hasher);
    let values = facts.template_values.map(ToString::to_string);
    values.hash(&mut hasher);
    for group in facts.groups {
        group.name.hash(&mut hasher);
        group.labels.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
