//! What is pinned in a binding or a project, and what its condition says. Pure, of what memory holds.

use std::collections::BTreeMap;

use drover_access::grants::{Binding, BindingId, BindingKind, Problem};
use drover_access::names::GroupName;
use drover_access::pin::{Candidate, PinError, pin};
use drover_api::conditions::{READY, Tristate, Verdict};
use drover_api::kinds::Project;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::status_writer::{condition_false, condition_true};
use drover_hub::{Store, Stores};

/// What is to be done about an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Judged {
    /// These UIDs go into its spec.
    Pin(Value),
    /// It should say this.
    Says(Verdict),
    /// Whom it is for, or where, is not in memory: if it is gone for ever, this should go as well.
    Orphan,
}

/// Whether a binding's names are pinned, and whether it gives what it says; `None` if nobody can say
/// yet.
pub(crate) fn binding(
    stores: &Stores,
    problems: &BTreeMap<BindingId, Problem>,
    meta: &ObjectMeta,
    said: Binding<'_>,
) -> Option<Judged> {
    if is_orphan(stores, said) {
        return Some(Judged::Orphan);
    }
    let mut pins = Pins::of(meta)?;
    pins.all(stores, said);
    if let Some(patch) = pins.patch() {
        return Some(Judged::Pin(patch));
    }
    if let Some(error) = pins.error {
        return Some(Judged::Says(unpinned(&error)));
    }
    let id = BindingId {
        kind: kind(said),
        name: meta.name.clone()?,
    };
    let verdict = match problems.get(&id) {
        // It was pinned after the grants were gathered.
        Some(Problem::Unpinned(_)) => return None,
        Some(problem) => impeded(stores, said, problem),
        None => subject(stores, said),
    };
    Some(Judged::Says(verdict))
}

/// Whether memory lacks a person, cluster or project that it is pinned to: no UID comes twice. A role
/// or a provider that is gone stays for people to see.
fn is_orphan(stores: &Stores, said: Binding<'_>) -> bool {
    pinned(said).any(|holder| !holder.is_known(stores))
}

/// A kind of whose objects a binding does not outlive the one that it is pinned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// Whom it is for.
    User,
    /// Where it holds.
    Cluster,
    /// Where it holds.
    Project,
}

/// What a binding is pinned to and does not outlive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pinned<'a> {
    /// Its kind.
    pub(crate) holder: Holder,
    /// Its name.
    pub(crate) name: &'a str,
    /// Which object of that name.
    pub(crate) uid: &'a str,
}

impl Pinned<'_> {
    /// Whether memory has it.
    pub(crate) fn is_known(&self, stores: &Stores) -> bool {
        match self.holder {
            Holder::User => stores.users.by_uid(self.uid).is_some(),
            Holder::Cluster => stores.clusters.by_uid(self.uid).is_some(),
            Holder::Project => stores.projects.by_uid(self.uid).is_some(),
        }
    }
}

/// What a binding is pinned to and does not outlive, as far as it is pinned.
pub(crate) fn pinned(said: Binding<'_>) -> impl Iterator<Item = Pinned<'_>> {
    let user = said.subject().user.as_ref();
    let user = user.and_then(|user| Some((Holder::User, &*user.name, user.uid.as_ref()?.as_str())));
    let place = match said {
        Binding::Global(_) => None,
        Binding::Cluster(spec) => {
            let uid = spec.cluster.uid.as_ref();
            uid.map(|uid| (Holder::Cluster, &*spec.cluster.name, uid.as_str()))
        }
        Binding::Project(spec) => {
            let uid = spec.project.uid.as_ref();
            uid.map(|uid| (Holder::Project, &*spec.project.name, uid.as_str()))
        }
    };
    let both = user.into_iter().chain(place);
    both.map(|(holder, name, uid)| Pinned { holder, name, uid })
}

/// Whether a project's cluster is pinned, and is there; `None` if that is not what keeps it.
pub(crate) fn project(stores: &Stores, project: &Project) -> Option<Judged> {
    let cluster = &project.spec.cluster;
    let name = cluster.name.as_str();
    let Some(uid) = &cluster.uid else {
        let mut pins = Pins::of(&project.metadata)?;
        pins.one("/cluster", "cluster", name, &stores.clusters);
        return match (pins.patch(), pins.error) {
            (Some(patch), _) => Some(Judged::Pin(patch)),
            (None, Some(error)) => Some(Judged::Says(unpinned(&error))),
            (None, None) => None,
        };
    };
    if stores.clusters.by_uid(uid.as_str()).is_none() {
        let message = format!(
            "the cluster {name:?} that it was made in is not there: delete the project, and make it \
             anew if another cluster of that name is meant"
        );
        return Some(Judged::Says(condition_false("Gone", message)));
    }
    // What else it comes to is not for here to say; but what was said here is true no more.
    let said = project.status.iter().flat_map(|status| &status.conditions);
    let mut ours = said.filter(|condition| {
        condition.type_ == READY && ["Gone", "Missing", "Newer"].contains(&&*condition.reason)
    });
    ours.next().map(|_| {
        Judged::Says(Verdict {
            status: Tristate::Unknown,
            reason: "Pending",
            message: "its cluster is there; its namespaces have not been looked at yet".to_owned(),
        })
    })
}

fn kind(said: Binding<'_>) -> BindingKind {
    match said {
        Binding::Global(_) => BindingKind::Global,
        Binding::Cluster(_) => BindingKind::Cluster,
        Binding::Project(_) => BindingKind::Project,
    }
}

/// What the names of an object mean that was made at this time.
struct Pins {
    bound_at: Timestamp,
    /// JSON pointers into the spec, to the object that holds a name, and the field and UID for it.
    found: Vec<(&'static str, &'static str, String)>,
    /// The first name that means nothing.
    error: Option<PinError>,
}

impl Pins {
    fn of(meta: &ObjectMeta) -> Option<Self> {
        Some(Self {
            bound_at: meta.creation_timestamp.as_ref()?.0,
            found: Vec::new(),
            error: None,
        })
    }

    /// Looks for every name that is not pinned.
    fn all(&mut self, stores: &Stores, said: Binding<'_>) {
        let subject = said.subject();
        if let Some(user) = subject.user.as_ref().filter(|user| user.uid.is_none()) {
            self.one("/subject/user", "user", &user.name, &stores.users);
        }
        let group = subject.group.as_ref();
        if let Some(group) = group.filter(|group| group.provider_uid.is_none())
            && let Some(name) = GroupName::parse(&group.name)
        {
            let (what, provider) = ("provider", name.provider());
            self.in_field(
                ("/subject/group", "providerUid"),
                what,
                provider,
                &stores.auth_providers,
            );
        }
        match said {
            Binding::Global(_) => {}
            Binding::Cluster(spec) if spec.cluster.uid.is_some() => {}
            Binding::Cluster(spec) => {
                self.one("/cluster", "cluster", &spec.cluster.name, &stores.clusters);
            }
            Binding::Project(spec) if spec.project.uid.is_some() => {}
            Binding::Project(spec) => {
                self.one("/project", "project", &spec.project.name, &stores.projects);
            }
        }
        let role = said.role();
        match said {
            _ if role.uid.is_some() => {}
            Binding::Global(_) => self.one("/role", "role", &role.name, &stores.global_roles),
            Binding::Cluster(_) | Binding::Project(_) => {
                self.one("/role", "role", &role.name, &stores.role_templates);
            }
        }
    }

    fn one<K: ResourceExt>(
        &mut self,
        place: &'static str,
        what: &'static str,
        name: &str,
        store: &Store<K>,
    ) {
        self.in_field((place, "uid"), what, name, store);
    }

    fn in_field<K: ResourceExt>(
        &mut self,
        (place, field): (&'static str, &'static str),
        what: &'static str,
        name: &str,
        store: &Store<K>,
    ) {
        let stored = store.by_name(name);
        let candidate = stored.as_ref().and_then(|object| {
            let meta = object.meta();
            Some(Candidate {
                uid: meta.uid.as_deref()?,
                created_at: meta.creation_timestamp.as_ref()?.0,
                leaves: meta.deletion_timestamp.is_some(),
            })
        });
        match pin(what, name, self.bound_at, candidate) {
            Ok(uid) => self.found.push((place, field, uid.to_owned())),
            Err(error) => drop(self.error.get_or_insert(error)),
        }
    }

    /// What to merge into the spec, if anything was found.
    fn patch(&self) -> Option<Value> {
        let mut patch = json!({});
        for (place, field, uid) in &self.found {
            let mut at = &mut patch;
            for part in place.split('/').skip(1) {
                at = &mut at[part];
            }
            at[field] = json!(uid);
        }
        (!self.found.is_empty()).then_some(patch)
    }
}

fn unpinned(error: &PinError) -> Verdict {
    let reason = match error {
        PinError::Missing { .. } => "Missing",
        PinError::Newer { .. } => "Newer",
    };
    condition_false(reason, error.to_string())
}

/// Why a binding whose names are pinned gives nothing.
fn impeded(stores: &Stores, said: Binding<'_>, problem: &Problem) -> Verdict {
    // A project is somewhere only once its own cluster is pinned.
    if let (Problem::Gone { what, name }, Binding::Project(spec)) = (problem, said)
        && *what == "project"
        && let Some(uid) = &spec.project.uid
        && stores.projects.by_uid(uid.as_str()).is_some()
    {
        let message = format!(
            "the cluster of the project {name:?} is not there: see the project's own condition Ready"
        );
        return condition_false("ProjectNotReady", message);
    }
    let reason = match problem {
        Problem::Unpinned(_) => "Unpinned",
        Problem::Missing { .. } => "Missing",
        Problem::Gone { .. } => "Gone",
        Problem::NoGroup(_) => "NoGroup",
        Problem::Context(_) => "OtherContext",
        Problem::NoSubject => "NoSubject",
        Problem::Role { .. } => "RoleUnusable",
    };
    condition_false(reason, problem.to_string())
}

/// Whether those who are given the role can use it at all.
fn subject(stores: &Stores, said: Binding<'_>) -> Verdict {
    let subject = said.subject();
    if let Some(user) = &subject.user {
        let known = stores.users.by_name(&user.name);
        if known.is_some_and(|user| !user.spec.enabled) {
            let name = &user.name;
            return condition_false(
                "Disabled",
                format!(
                    "the user is disabled, and has no roles; \"drover user enable {name}\" gives \
                     them back"
                ),
            );
        }
    }
    let group = subject.group.as_ref();
    if let Some(group) = group.and_then(|group| GroupName::parse(&group.name)) {
        let known = stores.auth_providers.by_name(group.provider());
        if known.is_some_and(|provider| !provider.spec.enabled) {
            let provider = group.provider();
            return condition_false(
                "Disabled",
                format!(
                    "the provider {provider:?} of the group is disabled, and its groups have no \
                     roles; set its spec.enabled to give them back"
                ),
            );
        }
    }
    condition_true("Given", "whoever it names has the role")
}
