//! Pure functions that assign namespaces to the projects of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_access::admission::roles::{is_reserved, quota};
use drover_api::kinds::{NamespaceInCreation, OwnedNamespace, Project, ProjectNamespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;

use super::CREATED_WITH_ANNOTATION;

/// Maps the name of each namespace in the cluster to its metadata.
pub(crate) type Namespaces = BTreeMap<String, ObjectMeta>;

/// Maps the UID of each project of a cluster to the decision about the project.
pub(crate) type Decisions = BTreeMap<String, Decision>;

/// The namespaces that one project keeps, gains and creates, and the blocked reasons of the project.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Decision {
    /// Namespaces that the project owns already and keeps. Maps each name to the UID.
    pub(crate) retained: BTreeMap<String, String>,
    /// Existing namespaces that the project gains. Maps each name to the UID.
    pub(crate) gained: BTreeMap<String, String>,
    /// Missing namespaces that the server creates for the project.
    pub(crate) to_create: BTreeSet<String>,
    /// The problems that prevent the server from applying the quota and limits, or from assigning a
    /// namespace.
    pub(crate) blocked_reasons: Vec<BlockedReason>,
}

/// A problem that prevents the server from applying the quota and limits, or from assigning a
/// namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlockedReason {
    /// The quota or the defaults are invalid. The controller does not change the quota and limits
    /// in the namespaces.
    Limits(quota::QuotaError),
    /// The project does not own a namespace of its spec.
    Namespace {
        name: String,
        problem: OwnershipProblem,
    },
}

/// The reason why a project does not own a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnershipProblem {
    /// The namespace is reserved for Kubernetes or Drover.
    Reserved,
    /// The namespace belongs to the project with this name, or this reconciliation assigns the
    /// namespace to this project.
    Taken(String),
    /// The namespace exists, and the project's spec does not adopt the namespace.
    Exists,
    /// The project's spec adopts a namespace that does not exist.
    Missing,
    /// The namespace is being deleted.
    Terminating,
    /// The namespace to adopt was deleted, and a new namespace has the same name.
    Replaced,
}

impl Decision {
    /// Returns the name and UID of each existing namespace that the project owns after this
    /// reconciliation.
    pub(crate) fn own(&self) -> impl Iterator<Item = (&String, &String)> {
        self.retained.iter().chain(&self.gained)
    }

    /// Reports whether the quota and the defaults are valid.
    pub(crate) fn has_valid_limits(&self) -> bool {
        let limits = |it: &BlockedReason| matches!(it, BlockedReason::Limits(_));
        !self.blocked_reasons.iter().any(limits)
    }
}

/// Assigns namespaces to all projects of one cluster. If two projects list the same namespace, the
/// older project owns the namespace.
pub(crate) fn decide(projects: &[Arc<Project>], found: &Namespaces) -> Decisions {
    let mut projects: Vec<&Project> = projects.iter().map(|project| &**project).collect();
    projects.sort_by_key(|project| (project.creation_timestamp(), project.uid()));
    let mut claims = Claims::of(&projects);
    let mut decisions = Decisions::new();
    for project in &projects {
        let retained = claims.retain(project, found);
        let decision = Decision {
            retained,
            ..Decision::default()
        };
        decisions.insert(uid(project), decision);
    }
    for project in &projects {
        if let Some(decision) = decisions.get_mut(&uid(project)) {
            claims.gain(project, found, decision);
        }
    }
    decisions
}

/// The claims of projects on namespaces. A namespace belongs to the project whose status contains
/// the namespace, else to the oldest project whose spec lists the namespace.
struct Claims<'a> {
    /// Maps the name of a namespace to the projects whose status contains the namespace.
    recorded_by_name: BTreeMap<&'a str, Vec<&'a Project>>,
    retained: BTreeSet<String>,
    claimed: BTreeMap<String, String>,
}

impl<'a> Claims<'a> {
    fn of(projects: &[&'a Project]) -> Self {
        let mut recorded_by_name: BTreeMap<&str, Vec<&Project>> = BTreeMap::new();
        for project in projects {
            for own in recorded(project) {
                recorded_by_name.entry(&own.name).or_default().push(project);
            }
        }
        Self {
            recorded_by_name,
            retained: BTreeSet::new(),
            claimed: BTreeMap::new(),
        }
    }

    fn retain(&mut self, project: &Project, found: &Namespaces) -> BTreeMap<String, String> {
        let mut retained = BTreeMap::new();
        if is_being_deleted(project) {
            return retained;
        }
        let desired: BTreeSet<&str> = project
            .spec
            .namespaces
            .iter()
            .map(|desired| desired.name.as_str())
            .collect();
        for own in recorded(project) {
            let same = found.get(&own.name).is_some_and(|there| {
                there.uid.as_ref() == Some(&own.uid) && there.deletion_timestamp.is_none()
            });
            let stays = same && desired.contains(own.name.as_str()) && !is_reserved(&own.name);
            // Only another writer could record a namespace in two projects; the older project owns
            // it.
            if stays && self.retained.insert(own.name.clone()) {
                retained.insert(own.name.clone(), own.uid.clone());
            }
        }
        retained
    }

    fn gain(&mut self, project: &Project, found: &Namespaces, decision: &mut Decision) {
        if is_being_deleted(project) {
            return;
        }
        if let Err(error) = quota::check(&project.spec) {
            decision.blocked_reasons.push(BlockedReason::Limits(error));
        }
        for desired in &project.spec.namespaces {
            let name = &desired.name;
            if decision.retained.contains_key(name) {
                continue;
            }
            let found = found.get(name);
            if let Some(problem) = self.blocked_reasons(project, desired, found) {
                let name = name.clone();
                decision
                    .blocked_reasons
                    .push(BlockedReason::Namespace { name, problem });
                continue;
            }
            // More namespaces would exceed the project's quota.
            if !decision.has_valid_limits() {
                continue;
            }
            self.claimed.insert(name.clone(), project.name_any());
            match found.and_then(|found| found.uid.clone()) {
                Some(uid) => _ = decision.gained.insert(name.clone(), uid),
                None => _ = decision.to_create.insert(name.clone()),
            }
        }
    }

    fn blocked_reasons(
        &self,
        project: &Project,
        desired: &ProjectNamespace,
        found: Option<&ObjectMeta>,
    ) -> Option<OwnershipProblem> {
        let name = desired.name.as_str();
        if is_reserved(name) {
            return Some(OwnershipProblem::Reserved);
        }
        let recorded_by_name = self.recorded_by_name.get(name).into_iter().flatten();
        let mut others = recorded_by_name.filter(|other| other.uid() != project.uid());
        let holder = others.next().map(|other| other.name_any());
        if let Some(holder) = holder.or_else(|| self.claimed.get(name).cloned()) {
            return Some(OwnershipProblem::Taken(holder));
        }
        // Drover does not create a namespace that a project adopts: its name may be a typo.
        let Some(found) = found else {
            return desired.adopt.then_some(OwnershipProblem::Missing);
        };
        if found.deletion_timestamp.is_some() {
            return Some(OwnershipProblem::Terminating);
        }
        if is_created_for(project, name, found) {
            return None;
        }
        if !desired.adopt {
            return Some(OwnershipProblem::Exists);
        }
        let asked_for = to_adopt(project, desired);
        let same = asked_for.is_none_or(|uid| found.uid.as_deref() == Some(uid));
        (!same).then_some(OwnershipProblem::Replaced)
    }
}

/// Returns the UID of the namespace that a project adopts: the UID in the spec, else the recorded
/// UID. The status of a project from an earlier version has records only in `status.namespaces`.
fn to_adopt<'a>(project: &'a Project, desired: &'a ProjectNamespace) -> Option<&'a str> {
    let status = project.status.as_ref();
    let recorded = || {
        let adopted = status.into_iter().flat_map(|status| &status.adopted);
        let mut records = adopted.chain(recorded(project));
        records
            .find(|record| record.name == desired.name)
            .map(|record| record.uid.as_str())
    };
    desired.uid.as_deref().or_else(recorded)
}

/// Computes `status.adopted` of a project. The list records the UIDs of adopted namespaces. The
/// entry of a deleted namespace contains its last known UID.
pub(crate) fn adopted(project: &Project, decision: &Decision) -> Vec<OwnedNamespace> {
    let desired = project.spec.namespaces.iter().filter(|it| it.adopt);
    let records = desired.filter_map(|desired| {
        let name = &desired.name;
        let own = decision
            .retained
            .get(name)
            .or_else(|| decision.gained.get(name));
        let uid = own
            .map(String::as_str)
            .or_else(|| to_adopt(project, desired))?;
        Some(OwnedNamespace {
            name: name.clone(),
            uid: uid.to_owned(),
        })
    });
    records.collect()
}

/// Reports whether the server created the namespace for this project but failed to record the
/// creation.
fn is_created_for(project: &Project, name: &str, found: &ObjectMeta) -> bool {
    let secret = found
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(CREATED_WITH_ANNOTATION));
    let making = project.status.iter().flat_map(|status| &status.making);
    let mut same = making.filter(|making| making.name == name);
    secret.is_some_and(|secret| same.any(|making| making.digest == digest_of(secret)))
}

/// Returns the status entry that announces the creation of a namespace with a secret value.
pub(crate) fn pending_namespace(name: &str, secret: &str) -> NamespaceInCreation {
    NamespaceInCreation {
        name: name.to_owned(),
        digest: digest_of(secret),
    }
}

fn digest_of(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, secret.as_bytes()))
}

/// Reports whether the project is being deleted. A project that is being deleted owns no namespace.
pub(crate) fn is_being_deleted(project: &Project) -> bool {
    project.metadata.deletion_timestamp.is_some()
}

/// Returns the UID of a project. Returns an empty string if the project has no UID.
pub(crate) fn uid(project: &Project) -> String {
    project.uid().unwrap_or_default()
}

fn recorded(project: &Project) -> impl Iterator<Item = &OwnedNamespace> {
    project.status.iter().flat_map(|status| &status.namespaces)
}

#[cfg(test)]
pub(super) mod tests;
