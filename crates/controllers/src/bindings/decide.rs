//! Pure functions that decide the UIDs and conditions of bindings and projects from the stores.

use std::collections::BTreeMap;

use drover_access::grants::{Binding, BindingId, BindingKind, Problem};
use drover_access::names::GroupName;
use drover_access::pin::{Candidate, PinError, pin};
use drover_api::conditions::{ConditionValue, READY, Tristate};
use drover_api::kinds::Project;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::changes::{condition_false, condition_true};
use drover_hub::{Store, Stores};

/// The pending write of a binding or project.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// Merge this patch into the object. The patch stores the UIDs in the spec.
    Pin(Value),
    /// Write this condition to the status.
    SetCondition(ConditionValue),
    /// The stores do not contain the subject, cluster or project of the binding. The controller
    /// deletes the binding if the hub confirms that this object was deleted.
    Orphan,
}

/// Decides the UIDs and the condition of a binding. Returns `None` if the stores lack the necessary
/// data.
pub(crate) fn binding(
    stores: &Stores,
    problems: &BTreeMap<BindingId, Problem>,
    meta: &ObjectMeta,
    binding: Binding<'_>,
) -> Option<Decision> {
    if is_orphan(stores, binding) {
        return Some(Decision::Orphan);
    }
    let mut pins = Pins::of(meta)?;
    pins.resolve_all(stores, binding);
    if let Some(patch) = pins.patch() {
        return Some(Decision::Pin(patch));
    }
    if let Some(error) = pins.error {
        return Some(Decision::SetCondition(unpinned(&error)));
    }
    let id = BindingId {
        kind: kind(binding),
        name: meta.name.clone()?,
    };
    let condition_value = match problems.get(&id) {
        // The binding was pinned after the grants were computed.
        Some(Problem::Unpinned(_)) => return None,
        Some(problem) => impeded(stores, binding, problem),
        None => subject(stores, binding),
    };
    Some(Decision::SetCondition(condition_value))
}

/// Reports whether the stores lack the user, cluster or project with the UID in the binding. UIDs
/// are never reused. A binding of a deleted role or provider stays, and its condition shows the
/// reason.
fn is_orphan(stores: &Stores, binding: Binding<'_>) -> bool {
    dependencies(binding).any(|kind| !kind.is_known(stores))
}

/// The kind of an object that a binding refers to. When the object is deleted, the controller also
/// deletes the binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DependencyKind {
    /// The user who is the subject of the binding.
    User,
    /// The cluster of the binding.
    Cluster,
    /// The project of the binding.
    Project,
}

/// A reference from a binding to an object. When the object is deleted, the controller also deletes
/// the binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependency<'a> {
    /// Kind of the object.
    pub(crate) kind: DependencyKind,
    /// Name of the object.
    pub(crate) name: &'a str,
    /// UID of the object.
    pub(crate) uid: &'a str,
}

impl Dependency<'_> {
    /// Reports whether the stores contain the referenced object.
    pub(crate) fn is_known(&self, stores: &Stores) -> bool {
        match self.kind {
            DependencyKind::User => stores.users.by_uid(self.uid).is_some(),
            DependencyKind::Cluster => stores.clusters.by_uid(self.uid).is_some(),
            DependencyKind::Project => stores.projects.by_uid(self.uid).is_some(),
        }
    }
}

/// Returns the references of a binding to its user, cluster and project. Omits references without a
/// UID.
pub(crate) fn dependencies(binding: Binding<'_>) -> impl Iterator<Item = Dependency<'_>> {
    let user = binding.subject().user.as_ref();
    let user = user.and_then(|user| {
        Some((
            DependencyKind::User,
            &*user.name,
            user.uid.as_ref()?.as_str(),
        ))
    });
    let pointer = match binding {
        Binding::Global(_) => None,
        Binding::Cluster(spec) => {
            let uid = spec.cluster.uid.as_ref();
            uid.map(|uid| (DependencyKind::Cluster, &*spec.cluster.name, uid.as_str()))
        }
        Binding::Project(spec) => {
            let uid = spec.project.uid.as_ref();
            uid.map(|uid| (DependencyKind::Project, &*spec.project.name, uid.as_str()))
        }
    };
    let both = user.into_iter().chain(pointer);
    both.map(|(kind, name, uid)| Dependency { kind, name, uid })
}

/// Decides the cluster UID and the condition of a project. Returns `None` if the project needs no
/// write.
pub(crate) fn project(stores: &Stores, project: &Project) -> Option<Decision> {
    let cluster = &project.spec.cluster;
    let name = cluster.name.as_str();
    let Some(uid) = &cluster.uid else {
        let mut pins = Pins::of(&project.metadata)?;
        pins.pin_uid("/cluster", "cluster", name, &stores.clusters);
        return match (pins.patch(), pins.error) {
            (Some(patch), _) => Some(Decision::Pin(patch)),
            (None, Some(error)) => Some(Decision::SetCondition(unpinned(&error))),
            (None, None) => None,
        };
    };
    if stores.clusters.by_uid(uid.as_str()).is_none() {
        let message = format!(
            "the project's cluster {name:?} was deleted: delete the project; for a new cluster \
             with the name {name:?}, create a new project"
        );
        return Some(Decision::SetCondition(condition_false("Gone", message)));
    }
    // The projects controller decides the condition while the cluster exists. Reset an earlier
    // condition of this controller only.
    let binding = project.status.iter().flat_map(|status| &status.conditions);
    let mut ours = binding.filter(|condition| {
        condition.type_ == READY && ["Gone", "Missing", "Newer"].contains(&&*condition.reason)
    });
    ours.next().map(|_| {
        Decision::SetCondition(ConditionValue {
            status: Tristate::Unknown,
            reason: "Pending",
            message: "the server has not checked the project's namespaces yet".to_owned(),
        })
    })
}

fn kind(binding: Binding<'_>) -> BindingKind {
    match binding {
        Binding::Global(_) => BindingKind::Global,
        Binding::Cluster(_) => BindingKind::Cluster,
        Binding::Project(_) => BindingKind::Project,
    }
}

/// The UIDs to store in a binding or project.
struct Pins {
    bound_at: Timestamp,
    /// The UIDs to store. Each entry contains the JSON pointer to the reference in the spec, the
    /// name of the UID field, and the UID.
    found: Vec<(&'static str, &'static str, String)>,
    /// The error of the first name whose UID cannot be stored.
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

    /// Resolves all names without a stored UID.
    fn resolve_all(&mut self, stores: &Stores, binding: Binding<'_>) {
        let subject = binding.subject();
        if let Some(user) = subject.user.as_ref().filter(|user| user.uid.is_none()) {
            self.pin_uid("/subject/user", "user", &user.name, &stores.users);
        }
        let group = subject.group.as_ref();
        if let Some(group) = group.filter(|group| group.provider_uid.is_none())
            && let Some(name) = GroupName::parse(&group.name)
        {
            let (kind, provider) = ("provider", name.provider());
            self.pin_field(
                ("/subject/group", "providerUid"),
                kind,
                provider,
                &stores.auth_providers,
            );
        }
        match binding {
            Binding::Global(_) => {}
            Binding::Cluster(spec) if spec.cluster.uid.is_some() => {}
            Binding::Cluster(spec) => {
                self.pin_uid("/cluster", "cluster", &spec.cluster.name, &stores.clusters);
            }
            Binding::Project(spec) if spec.project.uid.is_some() => {}
            Binding::Project(spec) => {
                self.pin_uid("/project", "project", &spec.project.name, &stores.projects);
            }
        }
        let role = binding.role();
        match binding {
            _ if role.uid.is_some() => {}
            Binding::Global(_) => self.pin_uid("/role", "role", &role.name, &stores.global_roles),
            Binding::Cluster(_) | Binding::Project(_) => {
                self.pin_uid("/role", "role", &role.name, &stores.role_templates);
            }
        }
    }

    fn pin_uid<K: ResourceExt>(
        &mut self,
        pointer: &'static str,
        kind: &'static str,
        name: &str,
        store: &Store<K>,
    ) {
        self.pin_field((pointer, "uid"), kind, name, store);
    }

    fn pin_field<K: ResourceExt>(
        &mut self,
        (pointer, field): (&'static str, &'static str),
        kind: &'static str,
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
        match pin(kind, name, self.bound_at, candidate) {
            Ok(uid) => self.found.push((pointer, field, uid.to_owned())),
            Err(error) => drop(self.error.get_or_insert(error)),
        }
    }

    /// Returns the merge patch that stores the UIDs in the spec. Returns `None` if no UID must be
    /// stored.
    fn patch(&self) -> Option<Value> {
        let mut patch = json!({});
        for (pointer, field, uid) in &self.found {
            let mut at = &mut patch;
            for part in pointer.split('/').skip(1) {
                at = &mut at[part];
            }
            at[field] = json!(uid);
        }
        (!self.found.is_empty()).then_some(patch)
    }
}

fn unpinned(error: &PinError) -> ConditionValue {
    let reason = match error {
        PinError::Missing { .. } => "Missing",
        PinError::Newer { .. } => "Newer",
    };
    condition_false(reason, error.to_string())
}

/// Returns the reason why a binding with stored UIDs grants no access.
fn impeded(stores: &Stores, binding: Binding<'_>, problem: &Problem) -> ConditionValue {
    // A project is in a cluster only after its own cluster is pinned.
    if let (Problem::Gone { kind, name }, Binding::Project(spec)) = (problem, binding)
        && *kind == "project"
        && let Some(uid) = &spec.project.uid
        && stores.projects.by_uid(uid.as_str()).is_some()
    {
        let message = format!(
            "the cluster of project {name:?} was deleted: see condition Ready of the project"
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

/// Decides the condition of a binding from the state of its subject. The condition is False for a
/// disabled user and for a group of a disabled provider.
fn subject(stores: &Stores, binding: Binding<'_>) -> ConditionValue {
    let subject = binding.subject();
    if let Some(user) = &subject.user {
        let known = stores.users.by_name(&user.name);
        if known.is_some_and(|user| !user.spec.enabled) {
            let name = &user.name;
            return condition_false(
                "Disabled",
                format!(
                    "the user is disabled and has no roles; \"drover user enable {name}\" \
                     enables the user and its roles"
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
                    "the provider {provider:?} of the group is disabled, so groups of this \
                     provider have no roles; \"drover provider enable {provider}\" restores the roles"
                ),
            );
        }
    }
    condition_true("Given", "the subject has the role")
}
