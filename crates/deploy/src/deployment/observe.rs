//! Compares a release with the objects in the cluster.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::fleet::status::{ModifiedStatus, NonReadyStatus, ResourceCounts};
use drover_api::fleet::{BundleDeploymentResource, BundleDeploymentSpec};
use serde_json::Value;

use super::{DeployError, Deployer, Outcome, Target};
use crate::apply::Owner;
use crate::cluster::{Cluster, ClusterError};
use crate::drift::{Rules, difference};
use crate::object::{DEPLOYMENT_LABEL, Object, ObjectKey};
use crate::readiness::{Readiness, readiness, summary};
use crate::record;

/// Maximum number of objects in a list of the status.
pub(super) const MAX_LISTED: usize = 10;

/// The state of a deployment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Objects that are not ready.
    pub non_ready: Vec<NonReadyStatus>,
    /// Objects that differ from the release.
    pub modified: Vec<ModifiedStatus>,
    /// The objects in the cluster.
    pub resources: Vec<BundleDeploymentResource>,
    /// Numbers of objects by state.
    pub counts: ResourceCounts,
    /// UID and version of each object in the cluster.
    pub versions: Vec<(String, u64)>,
}

/// The objects of a release and of the cluster.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) desired: Vec<Object>,
    pub(super) owner: Owner,
    /// True if the agent signed the record for this bundle deployment.
    pub(super) is_own: bool,
    live: BTreeMap<ObjectKey, Object>,
}

impl Deployer {
    /// Observes a release of a status, `namespace/name:revision`.
    pub async fn observe(
        &self,
        name: &str,
        spec: &BundleDeploymentSpec,
        release: &str,
    ) -> Result<Report, DeployError> {
        let observed = self.read(name, release).await?;
        self.report(spec, &observed).await
    }

    /// Returns the state after a deployment, without requests. Returns `None` if an object differs from
    /// the release, or if the release was already complete.
    pub fn report_of(&self, spec: &BundleDeploymentSpec, outcome: &Outcome) -> Option<Report> {
        let observed = outcome.applied.as_ref()?;
        let (report, missing) = compare(spec, observed);
        (missing.is_empty() && report.is_unmodified()).then_some(report)
    }

    pub(super) async fn read(&self, name: &str, release: &str) -> Result<Observed, DeployError> {
        let missing = || DeployError::NoRelease(release.to_owned());
        let (target, revision) = Target::parse(release).ok_or_else(missing)?;
        let history = self.history(&self.cluster, &target, name).await?;
        let stored = history.get(revision).await?.ok_or_else(missing)?;
        let desired = record::objects(&stored.release.manifest)?;
        let owner = target.owner(name);
        let live = live_objects(&self.cluster, &owner, &desired).await?;
        Ok(Observed {
            is_own: stored.deployment.as_deref() == Some(name),
            desired,
            owner,
            live,
        })
    }

    pub(super) async fn report(
        &self,
        spec: &BundleDeploymentSpec,
        observed: &Observed,
    ) -> Result<Report, DeployError> {
        let (mut report, missing) = compare(spec, observed);
        for key in missing {
            let exist = self.exists(&key, report.modified.len()).await?;
            report.modified.push(ModifiedStatus {
                create: true,
                exist,
                ..modified(&key)
            });
        }
        report.sort();
        report.counts = report.count();
        Ok(report)
    }

    /// Returns true if an object with another owner exists. Only the first objects are read.
    async fn exists(&self, key: &ObjectKey, position: usize) -> Result<bool, DeployError> {
        if position >= MAX_LISTED {
            return Ok(false);
        }
        match self.cluster.get(key).await {
            Err(ClusterError::UnknownKind { .. }) => Ok(false),
            found => Ok(found?.is_some()),
        }
    }
}

/// Compares a release with the objects in the cluster. Returns the report without missing objects, and the
/// missing objects.
fn compare(spec: &BundleDeploymentSpec, observed: &Observed) -> (Report, Vec<ObjectKey>) {
    let options = &spec.options;
    let ignored = options
        .ignore_options
        .as_ref()
        .map_or(&[][..], |ignore| &ignore.conditions);
    let patches = options
        .diff
        .as_ref()
        .map_or(&[][..], |diff| &diff.compare_patches);
    let live: Vec<Object> = observed.live.values().cloned().collect();
    let rules = Rules::new(patches, &live);
    let (mut report, mut missing) = (Report::default(), Vec::new());
    for desired in &observed.desired {
        let key = desired.key();
        let Some(live) = observed.find(&key) else {
            if !rules.ignores(&key) {
                missing.push(key);
            }
            continue;
        };
        report.resources.push(resource(&key, live));
        let state = readiness(live, ignored);
        if state != Readiness::Current {
            report.non_ready.push(non_ready(&key, live, &state));
        }
        if !rules.ignores(&key)
            && let Some(patch) = difference(desired, live, &rules)
        {
            let patch = redacted(&key, patch).to_string();
            report.modified.push(ModifiedStatus {
                patch,
                ..modified(&key)
            });
        }
    }
    let desired = observed.desired.iter();
    let desired: BTreeSet<ObjectKey> = desired
        .map(|object| object.key().without_version())
        .collect();
    for (key, object) in &observed.live {
        if !desired.contains(&key.without_version()) && !object.is_kept() && !is_controlled(object)
        {
            report.modified.push(ModifiedStatus {
                delete: true,
                ..modified(key)
            });
        }
    }
    let versions = observed.live.values();
    report.versions = versions
        .filter_map(|object| Some((object.uid().to_owned(), object.version()?)))
        .collect();
    report.sort();
    report.counts = report.count();
    (report, missing)
}

impl Observed {
    /// Returns the objects after a deployment.
    pub(super) fn applied(owner: Owner, desired: Vec<Object>, live: Vec<Object>) -> Self {
        let live = live.into_iter().map(|object| (object.key(), object));
        Self {
            desired,
            owner,
            is_own: true,
            live: live.collect(),
        }
    }

    pub(super) fn find(&self, key: &ObjectKey) -> Option<&Object> {
        self.live.get(key)
    }
}

/// Lists the objects of the release: one request for each kind and namespace.
async fn live_objects(
    cluster: &Cluster,
    owner: &Owner,
    desired: &[Object],
) -> Result<BTreeMap<ObjectKey, Object>, ClusterError> {
    let places: BTreeSet<_> = desired
        .iter()
        .map(|object| (object.api_version(), object.kind(), object.namespace()))
        .collect();
    let selector = format!("{DEPLOYMENT_LABEL}={}", owner.label);
    let mut live = BTreeMap::new();
    for (api_version, kind, namespace) in places {
        match cluster.list(api_version, kind, namespace, &selector).await {
            // Its definition is deleted, so that its objects are missing.
            Err(ClusterError::UnknownKind { .. }) => {}
            listed => live.extend(listed?.into_iter().map(|object| (object.key(), object))),
        }
    }
    Ok(live)
}

/// Returns true if a controller created the object, with the labels of the release's object.
fn is_controlled(object: &Object) -> bool {
    let owners = object
        .0
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    owners.is_some_and(|owners| !owners.is_empty())
}

fn modified(key: &ObjectKey) -> ModifiedStatus {
    ModifiedStatus {
        kind: key.kind.clone(),
        api_version: key.api_version.clone(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        ..ModifiedStatus::default()
    }
}

fn non_ready(key: &ObjectKey, live: &Object, state: &Readiness) -> NonReadyStatus {
    NonReadyStatus {
        uid: live.uid().to_owned(),
        kind: key.kind.clone(),
        api_version: key.api_version.clone(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        summary: summary(state),
    }
}

fn resource(key: &ObjectKey, live: &Object) -> BundleDeploymentResource {
    let created = live.0.pointer("/metadata/creationTimestamp").cloned();
    BundleDeploymentResource {
        kind: key.kind.clone(),
        api_version: key.api_version.clone(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        created_at: created.and_then(|created| serde_json::from_value(created).ok()),
    }
}

/// Hides the values of a Secret. The status is on the hub, where more users may read it.
fn redacted(key: &ObjectKey, mut patch: Value) -> Value {
    if key.kind == "Secret"
        && let Some(data) = patch.get_mut("data").and_then(Value::as_object_mut)
    {
        for value in data.values_mut() {
            *value = "(hidden)".into();
        }
    }
    patch
}

impl Report {
    /// Returns true if all objects are ready.
    pub const fn is_ready(&self) -> bool {
        self.non_ready.is_empty()
    }

    /// Returns true if no object differs from the release.
    pub const fn is_unmodified(&self) -> bool {
        self.modified.is_empty()
    }

    fn sort(&mut self) {
        self.non_ready.sort_by(|a, b| a.uid.cmp(&b.uid));
        self.modified.sort_by(|a, b| {
            let key = |status: &ModifiedStatus| {
                (
                    status.api_version.clone(),
                    status.kind.clone(),
                    status.namespace.clone(),
                    status.name.clone(),
                )
            };
            key(a).cmp(&key(b))
        });
    }

    fn count(&self) -> ResourceCounts {
        let mut counts = ResourceCounts::default();
        let key = |kind: &str, namespace: &str, name: &str| format!("{kind}/{namespace}/{name}");
        let mut ready: BTreeSet<_> = self
            .resources
            .iter()
            .map(|one| key(&one.kind, &one.namespace, &one.name))
            .collect();
        counts.desired_ready = length(ready.len());
        for one in &self.modified {
            if one.create {
                counts.missing += 1;
                counts.desired_ready += 1;
            } else if one.delete {
                counts.orphaned += 1;
            } else {
                counts.modified += 1;
            }
            ready.remove(&key(&one.kind, &one.namespace, &one.name));
        }
        for one in &self.non_ready {
            if ready.remove(&key(&one.kind, &one.namespace, &one.name)) {
                counts.not_ready += 1;
            }
        }
        counts.ready = length(ready.len());
        counts
    }
}

fn length(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
