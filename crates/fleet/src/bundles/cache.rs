//! The compiled state of one bundle, so that a reconciliation computes only what changed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use drover_api::fleet::{Bundle, FleetCluster, LabelSelector};
use drover_gitops::ids::{Manifest, content_id};
use drover_gitops::targeting::{ClusterFacts, Group, Target, TargetError, Targeting};
use kube::ResourceExt as _;

use super::templates::GoTemplates;
use crate::groups::Groups;
use crate::mirror::Key;

/// A cluster that a bundle selects, and its deployment.
pub(super) type ClusterTarget = (Arc<FleetCluster>, Arc<Target>);

/// The content and the targets of one version of a bundle.
pub(super) struct Compiled {
    /// Version of the bundle.
    version: Version,
    /// The bundle with its Helm values.
    pub(super) bundle: Arc<Bundle>,
    pub(super) manifest: Manifest,
    /// SHA-256 of the manifest, in hexadecimal digits.
    pub(super) sha256: String,
    /// Name of the Content. Empty for a HelmOp.
    pub(super) content: String,
    /// The targets of clusters, with the hash of the facts about each cluster.
    targets: BTreeMap<Key, (u64, Option<Arc<Target>>)>,
    /// The selector of target namespaces that `targets` depends on.
    namespaces: Option<LabelSelector>,
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
    pub(super) fn new(version: Version, bundle: Bundle) -> Self {
        let manifest = Manifest {
            resources: bundle.spec.resources.clone(),
        };
        let sha256 = manifest.sha256();
        // Agents pull the chart of a HelmOp, so there is no Content.
        let content = match bundle.spec.helm_op_options {
            Some(_) => String::new(),
            None => content_id(&sha256),
        };
        Self {
            version,
            content,
            sha256,
            manifest,
            bundle: Arc::new(bundle),
            targets: BTreeMap::new(),
            namespaces: None,
        }
    }

    pub(super) fn is_current(&self, version: &Version) -> bool {
        self.version == *version
    }

    /// Returns the targets of the clusters that the bundle selects. Computes only targets whose cluster
    /// has changed. `namespaces` is the selector of target namespaces from the restrictions.
    pub(super) fn targets(
        &mut self,
        clusters: &[Arc<FleetCluster>],
        groups: &Groups,
        namespaces: Option<&LabelSelector>,
    ) -> Result<Vec<ClusterTarget>, TargetError> {
        let bundle = Arc::clone(&self.bundle);
        let targeting = Targeting::new(&bundle)?;
        if self.namespaces.as_ref() != namespaces {
            self.targets.clear();
            self.namespaces = namespaces.cloned();
        }
        let mut targets = BTreeMap::new();
        let mut selected = Vec::new();
        for cluster in clusters {
            let key = Key::of(&**cluster);
            let groups = groups.of(cluster);
            let groups: Vec<Group<'_>> = groups.iter().map(|group| group.as_group()).collect();
            let facts = facts(cluster, &key, &groups);
            let hash = hash(&facts);
            let target = match self.targets.remove(&key) {
                Some((known, target)) if known == hash => target,
                _ => targeting
                    .target(&facts, &self.content, namespaces, &GoTemplates)?
                    .map(Arc::new),
            };
            if let Some(target) = &target {
                selected.push((Arc::clone(cluster), Arc::clone(target)));
            }
            targets.insert(key, (hash, target));
        }
        self.targets = targets;
        Ok(selected)
    }
}

/// Returns the facts about a cluster that targets depend on.
pub(crate) fn facts<'a>(
    cluster: &'a FleetCluster,
    key: &'a Key,
    groups: &'a [Group<'a>],
) -> ClusterFacts<'a> {
    ClusterFacts {
        namespace: &key.namespace,
        name: &key.name,
        labels: cluster.labels(),
        annotations: cluster.annotations(),
        template_values: cluster.spec.template_values.as_ref(),
        groups,
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
