//! Whose a namespace is, and what is in it. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_access::admission::roles::{is_reserved, quota};
use drover_api::kinds::{NamespaceInMaking, OwnedNamespace, Project, ProjectNamespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;

use super::MADE_WITH_ANNOTATION;

/// The namespaces of a cluster by name.
pub(crate) type Found = BTreeMap<String, ObjectMeta>;

/// What becomes of the projects of a cluster, by their UIDs.
pub(crate) type Plan = BTreeMap<String, Standing>;

/// What becomes of one project.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// Namespaces that are its own already, and stay so: UIDs by name.
    pub(crate) keeps: BTreeMap<String, String>,
    /// Namespaces that are there and become its own: UIDs by name.
    pub(crate) gains: BTreeMap<String, String>,
    /// Namespaces that are not there, and are made for it.
    pub(crate) makes: BTreeSet<String>,
    /// What is not as it says.
    pub(crate) impeded: Vec<Impediment>,
}

/// Why something is not as a project says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Impediment {
    /// Its quota or defaults cannot be; what is there of them stays as it is.
    Limits(quota::QuotaError),
    /// A namespace is not its own.
    Namespace {
        /// Its name.
        name: String,
        /// Why.
        why: Why,
    },
}

/// Why a namespace is not a project's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It is Kubernetes' own or Drover's.
    Reserved,
    /// It is this project's, or about to be.
    Held(String),
    /// It is there, and nobody said that it is to be taken over.
    There,
    /// The project adopts it, and it does not exist.
    Missing,
    /// It is being deleted.
    Terminating,
    /// It is not the one that is to be taken over: that one was deleted, and this one has its name.
    Replaced,
}

impl Standing {
    /// Its namespaces, those that are there by the end of this look: UIDs by name.
    pub(crate) fn own(&self) -> impl Iterator<Item = (&String, &String)> {
        self.keeps.iter().chain(&self.gains)
    }

    /// Whether its quota and defaults can be.
    pub(crate) fn is_bounded(&self) -> bool {
        let limits = |it: &Impediment| matches!(it, Impediment::Limits(_));
        !self.impeded.iter().any(limits)
    }
}

/// What becomes of the projects of one cluster. The older of two has its way.
pub(crate) fn decide(projects: &[Arc<Project>], found: &Found) -> Plan {
    let mut projects: Vec<&Project> = projects.iter().map(|project| &**project).collect();
    projects.sort_by_key(|project| (project.creation_timestamp(), project.uid()));
    let mut claims = Claims::of(&projects);
    let mut plan = Plan::new();
    for project in &projects {
        let keeps = claims.keeps(project, found);
        let standing = Standing {
            keeps,
            ..Standing::default()
        };
        plan.insert(uid(project), standing);
    }
    for project in &projects {
        if let Some(standing) = plan.get_mut(&uid(project)) {
            claims.gains(project, found, standing);
        }
    }
    plan
}

/// Which project has a namespace by its status, or comes first for it.
struct Claims<'a> {
    /// By the namespace's name.
    stated: BTreeMap<&'a str, Vec<&'a Project>>,
    kept: BTreeSet<String>,
    claimed: BTreeMap<String, String>,
}

impl<'a> Claims<'a> {
    fn of(projects: &[&'a Project]) -> Self {
        let mut stated: BTreeMap<&str, Vec<&Project>> = BTreeMap::new();
        for project in projects {
            for own in stated_of(project) {
                stated.entry(&own.name).or_default().push(project);
            }
        }
        Self {
            stated,
            kept: BTreeSet::new(),
            claimed: BTreeMap::new(),
        }
    }

    fn keeps(&mut self, project: &Project, found: &Found) -> BTreeMap<String, String> {
        let mut keeps = BTreeMap::new();
        if is_ending(project) {
            return keeps;
        }
        let wanted: BTreeSet<&str> = project
            .spec
            .namespaces
            .iter()
            .map(|wanted| wanted.name.as_str())
            .collect();
        for own in stated_of(project) {
            let same = found.get(&own.name).is_some_and(|there| {
                there.uid.as_ref() == Some(&own.uid) && there.deletion_timestamp.is_none()
            });
            let stays = same && wanted.contains(own.name.as_str()) && !is_reserved(&own.name);
            // Two can only have the same if something else than this wrote it; the older has it.
            if stays && self.kept.insert(own.name.clone()) {
                keeps.insert(own.name.clone(), own.uid.clone());
            }
        }
        keeps
    }

    fn gains(&mut self, project: &Project, found: &Found, standing: &mut Standing) {
        if is_ending(project) {
            return;
        }
        if let Err(error) = quota::check(&project.spec) {
            standing.impeded.push(Impediment::Limits(error));
        }
        for wanted in &project.spec.namespaces {
            let name = &wanted.name;
            if standing.keeps.contains_key(name) {
                continue;
            }
            let found = found.get(name);
            if let Some(why) = self.impeded(project, wanted, found) {
                let name = name.clone();
                standing.impeded.push(Impediment::Namespace { name, why });
                continue;
            }
            // More namespaces would be more than the project may use.
            if !standing.is_bounded() {
                continue;
            }
            self.claimed.insert(name.clone(), project.name_any());
            match found.and_then(|found| found.uid.clone()) {
                Some(uid) => _ = standing.gains.insert(name.clone(), uid),
                None => _ = standing.makes.insert(name.clone()),
            }
        }
    }

    fn impeded(
        &self,
        project: &Project,
        wanted: &ProjectNamespace,
        found: Option<&ObjectMeta>,
    ) -> Option<Why> {
        let name = wanted.name.as_str();
        if is_reserved(name) {
            return Some(Why::Reserved);
        }
        let stated = self.stated.get(name).into_iter().flatten();
        let mut others = stated.filter(|other| other.uid() != project.uid());
        let holder = others.next().map(|other| other.name_any());
        if let Some(holder) = holder.or_else(|| self.claimed.get(name).cloned()) {
            return Some(Why::Held(holder));
        }
        // Drover does not create a namespace that a project adopts: its name may be a typo.
        let Some(found) = found else {
            return wanted.adopt.then_some(Why::Missing);
        };
        if found.deletion_timestamp.is_some() {
            return Some(Why::Terminating);
        }
        if is_made_for(project, name, found) {
            return None;
        }
        if !wanted.adopt {
            return Some(Why::There);
        }
        let asked_for = to_adopt(project, wanted);
        let same = asked_for.is_none_or(|uid| found.uid.as_deref() == Some(uid));
        (!same).then_some(Why::Replaced)
    }
}

/// UID of the namespace that a project is to take over: the one that its spec names, else the one that
/// was recorded. A project of an earlier version has a record in `status.namespaces` only.
fn to_adopt<'a>(project: &'a Project, wanted: &'a ProjectNamespace) -> Option<&'a str> {
    let status = project.status.as_ref();
    let recorded = || {
        let adopted = status.into_iter().flat_map(|status| &status.adopted);
        let mut records = adopted.chain(stated_of(project));
        records
            .find(|record| record.name == wanted.name)
            .map(|record| record.uid.as_str())
    };
    wanted.uid.as_deref().or_else(recorded)
}

/// What the status records of namespaces to be taken over, before any is: their UIDs now, or as they
/// were when the namespace was there last.
pub(crate) fn adopted(project: &Project, standing: &Standing) -> Vec<OwnedNamespace> {
    let wanted = project.spec.namespaces.iter().filter(|it| it.adopt);
    let records = wanted.filter_map(|wanted| {
        let name = &wanted.name;
        let own = standing
            .keeps
            .get(name)
            .or_else(|| standing.gains.get(name));
        let uid = own
            .map(String::as_str)
            .or_else(|| to_adopt(project, wanted))?;
        Some(OwnedNamespace {
            name: name.clone(),
            uid: uid.to_owned(),
        })
    });
    records.collect()
}

/// Whether the server made it for this project, and did not come to write that it has.
fn is_made_for(project: &Project, name: &str, found: &ObjectMeta) -> bool {
    let made_with = found
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(MADE_WITH_ANNOTATION));
    let making = project.status.iter().flat_map(|status| &status.making);
    let mut same = making.filter(|making| making.name == name);
    made_with.is_some_and(|made_with| same.any(|making| making.digest == digest_of(made_with)))
}

/// What the status says of a namespace that is made with a secret.
pub(crate) fn in_making(name: &str, secret: &str) -> NamespaceInMaking {
    NamespaceInMaking {
        name: name.to_owned(),
        digest: digest_of(secret),
    }
}

fn digest_of(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, secret.as_bytes()))
}

/// Whether it is being deleted, so that nothing is its own any more.
pub(crate) fn is_ending(project: &Project) -> bool {
    project.metadata.deletion_timestamp.is_some()
}

/// UID of a project.
pub(crate) fn uid(project: &Project) -> String {
    project.uid().unwrap_or_default()
}

fn stated_of(project: &Project) -> impl Iterator<Item = &OwnedNamespace> {
    project.status.iter().flat_map(|status| &status.namespaces)
}

#[cfg(test)]
pub(super) mod tests;
