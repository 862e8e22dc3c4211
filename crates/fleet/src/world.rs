//! The mirrors of all kinds that the controllers use.

use drover_api::fleet::labels::{BUNDLE_NAME, BUNDLE_NAMESPACE, CONTENT_NAME};
use drover_api::fleet::{
    Bundle, BundleDeployment, BundleNamespaceMapping, ClusterGroup, ClusterRegistration, Content,
    FleetCluster, FleetClusterRegistrationToken, GitRepo, GitRepoRestriction, HelmOp, ImageScan,
    Policy, Schedule,
};
use drover_gitops::ids::part_names;
use drover_hub::stores::reflector::reflect_into;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ApiResource;
use kube::{Client, ResourceExt as _};
use parking_lot::RwLock;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::mirror::{Key, Mirror, Mirrored};

/// The objects of Fleet's kinds in the last known state. Clones share the objects.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub(crate) clusters: Mirror<FleetCluster>,
    pub(crate) groups: Mirror<ClusterGroup>,
    pub(crate) git_repos: Mirror<GitRepo>,
    pub(crate) bundles: Mirror<Bundle>,
    pub(crate) deployments: Mirror<BundleDeployment>,
    pub(crate) mappings: Mirror<BundleNamespaceMapping>,
    pub(crate) contents: Mirror<Content>,
    pub(crate) namespaces: Mirror<Namespace>,
    pub(crate) tokens: Mirror<FleetClusterRegistrationToken>,
    pub(crate) registrations: Mirror<ClusterRegistration>,
    pub(crate) restrictions: Mirror<GitRepoRestriction>,
    pub(crate) policies: Mirror<Policy>,
    pub(crate) schedules: Mirror<Schedule>,
    pub(crate) helm_ops: Mirror<HelmOp>,
    pub(crate) image_scans: Mirror<ImageScan>,
    /// The bundle deployments of each bundle.
    by_bundle: Arc<RwLock<BTreeMap<Key, BTreeSet<Key>>>>,
}

impl Mirrored for Namespace {}

impl Mirrored for FleetCluster {}
impl Mirrored for ClusterGroup {}
impl Mirrored for GitRepo {}
impl Mirrored for Bundle {}
impl Mirrored for BundleNamespaceMapping {}
impl Mirrored for FleetClusterRegistrationToken {}
impl Mirrored for ClusterRegistration {}
impl Mirrored for GitRepoRestriction {}
impl Mirrored for Policy {}
impl Mirrored for Schedule {}
impl Mirrored for HelmOp {}
impl Mirrored for ImageScan {}

impl Mirrored for BundleDeployment {
    fn trimmed(mut self) -> Self {
        // The counts of the objects remain.
        if let Some(status) = &mut self.status {
            status.resources = Vec::new();
        }
        self
    }
}

impl Mirrored for Content {
    fn trimmed(mut self) -> Self {
        self.content = None;
        self
    }
}

impl World {
    /// Creates empty mirrors.
    pub(crate) fn new() -> Self {
        let world = Self::default();
        let by_bundle = Arc::clone(&world.by_bundle);
        world.deployments.listen(move |change| {
            let bundle = |it: &Option<Arc<BundleDeployment>>| it.as_deref().and_then(bundle_of);
            let (before, after) = (bundle(&change.before), bundle(&change.after));
            if before == after {
                return;
            }
            let mut by_bundle = by_bundle.write();
            if let Some(bundle) = before
                && let Some(keys) = by_bundle.get_mut(&bundle)
            {
                keys.remove(&change.key);
                if keys.is_empty() {
                    by_bundle.remove(&bundle);
                }
            }
            if let Some(bundle) = after {
                by_bundle
                    .entry(bundle)
                    .or_default()
                    .insert(change.key.clone());
            }
        });
        world
    }

    /// Returns the bundle deployments of a bundle.
    pub(crate) fn of_bundle(&self, bundle: &Key) -> Vec<Arc<BundleDeployment>> {
        let by_bundle = self.by_bundle.read();
        let keys = by_bundle.get(bundle).into_iter().flatten();
        keys.filter_map(|key| self.deployments.get(key)).collect()
    }

    /// Returns the names of a Content and of its parts.
    pub(crate) fn with_parts(&self, content: &str) -> Vec<String> {
        let present = self.contents.get(&Key::new("", content));
        // An agent cannot read a Content with a wrong number of parts.
        let parts = present.and_then(|present| part_names(&present).ok());
        let mut names = parts.unwrap_or_default();
        names.push(content.to_owned());
        names
    }

    /// Updates all mirrors until `stop`.
    pub(crate) async fn run(&self, client: &Client, stop: &CancellationToken) {
        tokio::join!(
            follow(client, &self.clusters, stop),
            follow(client, &self.groups, stop),
            follow(client, &self.git_repos, stop),
            follow(client, &self.bundles, stop),
            follow(client, &self.deployments, stop),
            follow(client, &self.mappings, stop),
            follow(client, &self.contents, stop),
            follow(client, &self.namespaces, stop),
            follow(client, &self.tokens, stop),
            follow(client, &self.registrations, stop),
            follow(client, &self.restrictions, stop),
            follow(client, &self.policies, stop),
            follow(client, &self.schedules, stop),
            follow(client, &self.helm_ops, stop),
            follow(client, &self.image_scans, stop),
        );
    }

    /// Waits until each kind has been listed once.
    pub(crate) async fn synced(&self) {
        self.clusters.synced().await;
        self.groups.synced().await;
        self.git_repos.synced().await;
        self.bundles.synced().await;
        self.deployments.synced().await;
        self.mappings.synced().await;
        self.contents.synced().await;
        self.namespaces.synced().await;
        self.tokens.synced().await;
        self.registrations.synced().await;
        self.restrictions.synced().await;
        self.policies.synced().await;
        self.schedules.synced().await;
        self.helm_ops.synced().await;
        self.image_scans.synced().await;
    }
}

async fn follow<K: Mirrored>(client: &Client, mirror: &Mirror<K>, stop: &CancellationToken) {
    let resource = ApiResource::erase::<K>(&());
    reflect_into(client.clone(), resource, mirror.clone(), stop.clone()).await;
}

/// Returns the key of the bundle of a bundle deployment.
pub(crate) fn bundle_of(deployment: &BundleDeployment) -> Option<Key> {
    let labels = deployment.labels();
    Some(Key::new(
        labels.get(BUNDLE_NAMESPACE)?,
        labels.get(BUNDLE_NAME)?,
    ))
}

/// Returns the names of the Contents that the server assigns to a bundle deployment. The agent can write
/// the status, so the status does not count.
pub(crate) fn contents_of(deployment: &BundleDeployment) -> BTreeSet<String> {
    let spec = &deployment.spec;
    let ids = [&*spec.deployment_id, &*spec.staged_deployment_id];
    let mut names: BTreeSet<String> = ids
        .iter()
        .filter_map(|id| id.split_once(':'))
        .map(|(content, _)| content.to_owned())
        // Bundle deployments of HelmOps have no Content.
        .filter(|content| !content.is_empty())
        .collect();
    names.extend(deployment.labels().get(CONTENT_NAME).cloned());
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_that_only_the_agent_names_is_not_readable() {
        let deployment = json!({
            "metadata": { "name": "web" },
            "spec": { "deploymentID": "s-new:1", "stagedDeploymentID": "s-next:1" },
            "status": { "appliedDeploymentID": "s-foreign:1" },
        });
        let deployment = serde_json::from_value(deployment).unwrap();
        let names = contents_of(&deployment);
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["s-new", "s-next"]);
    }
}
