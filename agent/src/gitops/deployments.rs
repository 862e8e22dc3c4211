//! The bundle deployments of this cluster in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use drover_api::fleet::{BundleDeployment, BundleDeploymentOptions};
use drover_deploy::names::label_value;
use drover_deploy::watch::{KindName, ObjectChange};
use kube::ResourceExt as _;
use parking_lot::Mutex;

/// A release whose bundle deployment no longer exists on the hub.
#[derive(Clone, Debug)]
pub(super) struct Removed {
    pub(super) options: BundleDeploymentOptions,
    /// Release, `namespace/name:revision`. Empty if unknown.
    pub(super) release: String,
}

#[derive(Default)]
struct State {
    present: BTreeMap<String, Arc<BundleDeployment>>,
    removed: BTreeMap<String, Removed>,
    /// The kinds of the objects of each deployment.
    kinds: BTreeMap<String, BTreeSet<KindName>>,
    /// The UIDs and versions of the objects of each deployment in the last observation.
    versions: BTreeMap<String, HashMap<String, u64>>,
}

/// The bundle deployments on the hub, and the releases to remove.
#[derive(Default)]
pub(super) struct Deployments(Mutex<State>);

impl Deployments {
    /// Stores a bundle deployment of a complete list. Returns its name. A list is always newer than the
    /// stored version: after the restore of a backup of the hub, the versions are lower.
    pub(super) fn set(&self, deployment: BundleDeployment) -> String {
        let name = deployment.name_any();
        let mut state = self.0.lock();
        state.removed.remove(&name);
        state.present.insert(name.clone(), Arc::new(deployment));
        name
    }

    /// Stores a changed bundle deployment unless the stored version is newer. Returns its name if more than
    /// the status changed, because the agent itself writes the status.
    pub(super) fn set_changed(&self, deployment: BundleDeployment) -> Option<String> {
        let name = deployment.name_any();
        let mut state = self.0.lock();
        let present = state.present.get(&name);
        if present.is_some_and(|present| is_newer(present, &deployment)) {
            return None;
        }
        let is_same = present.is_some_and(|present| has_same_request(present, &deployment));
        state.removed.remove(&name);
        state.present.insert(name.clone(), Arc::new(deployment));
        (!is_same).then_some(name)
    }

    /// Stores the response to a write of the status, unless the bundle deployment was deleted or changed in
    /// the meantime. The watch then returns the change.
    pub(super) fn set_written(&self, written: BundleDeployment) {
        let mut state = self.0.lock();
        if let Some(present) = state.present.get_mut(&written.name_any())
            && present.uid() == written.uid()
            && !is_newer(present, &written)
            && has_same_request(present, &written)
        {
            *present = Arc::new(written);
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<BundleDeployment>> {
        self.0.lock().present.get(name).cloned()
    }

    /// Records that a bundle deployment no longer exists on the hub.
    pub(super) fn remove(&self, name: &str) {
        let mut state = self.0.lock();
        if let Some(deployment) = state.present.remove(name) {
            let status = deployment.status.as_ref();
            let removed = Removed {
                options: deployment.spec.options.clone(),
                release: status
                    .map(|status| status.release.clone())
                    .unwrap_or_default(),
            };
            state.removed.insert(name.to_owned(), removed);
        }
    }

    /// Returns the names of the bundle deployments that are not in a complete list.
    pub(super) fn missing(&self, listed: &BTreeSet<String>) -> BTreeSet<String> {
        let state = self.0.lock();
        let known = state.present.keys();
        known
            .filter(|name| !listed.contains(*name))
            .cloned()
            .collect()
    }

    /// Records a release in the cluster without a bundle deployment. Reports whether it is to remove.
    pub(super) fn add_stale(&self, name: &str, removed: Removed) -> bool {
        let mut state = self.0.lock();
        if state.present.contains_key(name) {
            return false;
        }
        state.removed.entry(name.to_owned()).or_insert(removed);
        true
    }

    pub(super) fn removed(&self, name: &str) -> Option<Removed> {
        self.0.lock().removed.get(name).cloned()
    }

    /// Forgets a removed release.
    pub(super) fn forget(&self, name: &str) {
        let mut state = self.0.lock();
        state.removed.remove(name);
        state.kinds.remove(name);
        state.versions.remove(name);
    }

    /// Stores the UIDs and versions of the observed objects of a deployment.
    pub(super) fn set_versions(&self, name: &str, versions: Vec<(String, u64)>) {
        let versions = versions.into_iter().collect();
        self.0.lock().versions.insert(name.to_owned(), versions);
    }

    /// Returns the names of the bundle deployments whose last observation does not contain the change of an
    /// object.
    pub(super) fn unobserved(&self, change: &ObjectChange) -> Vec<String> {
        let state = self.0.lock();
        let is_observed = |name: &String| {
            let versions = state.versions.get(name);
            let change = change.version.as_ref();
            change.zip(versions).is_some_and(|((uid, changed), known)| {
                known.get(uid).is_some_and(|version| version >= changed)
            })
        };
        let names = state.present.keys();
        let names = names.filter(|name| label_value(name) == change.label && !is_observed(name));
        names.cloned().collect()
    }

    /// Stores the kinds of a deployment's objects. Returns the kinds of all deployments.
    pub(super) fn set_kinds(&self, name: &str, kinds: BTreeSet<KindName>) -> BTreeSet<KindName> {
        let mut state = self.0.lock();
        state.kinds.insert(name.to_owned(), kinds);
        state.kinds.values().flatten().cloned().collect()
    }

    /// Returns all bundle deployments.
    pub(super) fn all(&self) -> Vec<Arc<BundleDeployment>> {
        self.0.lock().present.values().cloned().collect()
    }
}

/// Returns true if the first version is newer. Both kinds of hubs count resource versions.
fn is_newer(one: &BundleDeployment, other: &BundleDeployment) -> bool {
    let version = |object: &BundleDeployment| object.resource_version()?.parse::<u64>().ok();
    match (version(one), version(other)) {
        (Some(one_version), Some(other_version)) => {
            one.uid() == other.uid() && one_version > other_version
        }
        _ => false,
    }
}

/// Returns true if two versions request the same deployment.
fn has_same_request(one: &BundleDeployment, other: &BundleDeployment) -> bool {
    one.uid() == other.uid() && one.spec == other.spec && one.labels() == other.labels()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(uid: &str, version: &str) -> BundleDeployment {
        serde_json::from_value(json!({
            "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "BundleDeployment",
            "metadata": { "name": "a", "uid": uid, "resourceVersion": version },
            "spec": {},
        }))
        .unwrap()
    }

    fn version(deployments: &Deployments) -> Option<String> {
        deployments
            .get("a")
            .and_then(|found| found.resource_version())
    }

    #[test]
    fn response_to_a_write_does_not_replace_a_newer_version() {
        let deployments = Deployments::default();
        deployments.set_changed(deployment("u", "10"));
        deployments.set_written(deployment("u", "9"));
        assert_eq!(version(&deployments).as_deref(), Some("10"));
        deployments.set_written(deployment("u", "11"));
        assert_eq!(version(&deployments).as_deref(), Some("11"));
        deployments.set_changed(deployment("u", "10"));
        assert_eq!(version(&deployments).as_deref(), Some("11"));
        deployments.set_written(deployment("recreated", "12"));
        assert_eq!(version(&deployments).as_deref(), Some("11"));
        deployments.set_changed(deployment("recreated", "12"));
        assert_eq!(version(&deployments).as_deref(), Some("12"));
        // A hub that was restored from a backup has lower versions.
        deployments.set(deployment("recreated", "5"));
        assert_eq!(version(&deployments).as_deref(), Some("5"));
    }

    #[test]
    fn change_of_the_status_causes_no_reconciliation() {
        let deployments = Deployments::default();
        let name = Some("a".to_owned());
        assert_eq!(deployments.set_changed(deployment("u", "10")), name);
        assert_eq!(deployments.set_changed(deployment("u", "11")), None);
        let mut changed = deployment("u", "12");
        changed.spec.deployment_id = "new".to_owned();
        assert_eq!(deployments.set_changed(changed.clone()), name);
        changed.labels_mut().insert("a".to_owned(), "b".to_owned());
        assert_eq!(deployments.set_changed(changed), name);
        assert_eq!(deployments.set_changed(deployment("recreated", "14")), name);
    }

    #[test]
    fn change_during_a_write_of_the_status_causes_a_reconciliation() {
        let deployments = Deployments::default();
        deployments.set(deployment("u", "10"));
        let changed = |version| {
            let mut changed = deployment("u", version);
            changed.spec.deployment_id = "new".to_owned();
            changed
        };
        deployments.set_written(changed("12"));
        let name = Some("a".to_owned());
        assert_eq!(deployments.set_changed(changed("11")), name);
        assert_eq!(deployments.set_changed(changed("12")), None);
    }

    #[test]
    fn change_is_unobserved_until_an_observation_has_its_version() {
        let deployments = Deployments::default();
        deployments.set_changed(deployment("u", "10"));
        let change = |version: Option<u64>| ObjectChange {
            label: label_value("a"),
            version: version.map(|version| ("map".to_owned(), version)),
            at: tokio::time::Instant::now(),
        };
        let unobserved = |version| !deployments.unobserved(&change(version)).is_empty();
        assert!(unobserved(Some(5)));
        deployments.set_versions("a", vec![("map".to_owned(), 5)]);
        assert!(!unobserved(Some(4)) && !unobserved(Some(5)));
        assert!(unobserved(Some(6)));
        assert!(unobserved(None), "the object was deleted");
        deployments.set_versions("a", vec![("other".to_owned(), 9)]);
        assert!(unobserved(Some(5)));
    }

    #[test]
    fn response_to_a_write_does_not_revive_a_deleted_bundle_deployment() {
        let deployments = Deployments::default();
        deployments.set_changed(deployment("u", "10"));
        deployments.remove("a");
        deployments.set_written(deployment("u", "11"));
        assert_eq!(version(&deployments), None);
        assert!(deployments.removed("a").is_some());
    }
}
