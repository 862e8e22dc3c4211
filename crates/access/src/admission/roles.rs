//! Admission of roles, bindings and projects: users cannot grant permissions that they do not have.
//!
//! | write | permissions that the writer needs |
//! |---|---|
//! | a RoleTemplate | all permissions of the role before and after the write, in every cluster |
//! | a GlobalRole | all permissions of the role before and after the write, on the hub and in every cluster |
//! | creation or deletion of a binding | all permissions of the role, in the binding's scope |
//! | quota, defaults and pod security of a project | permission to change projects in the cluster |
//! | namespaces of a project | permission to change the namespaces of the project |
//! | adoption of a namespace from a project | permission to change the namespaces of that project |
//! | adoption of a namespace without a project | all permissions in the cluster |
//!
//! The check ignores the groups in the request, because the hub receives only some of the user's
//! groups, and a user who may impersonate can add any group. The check uses the stored groups in
//! [`UserWithGroups`].
//!
//! Admission rejects writes and bindings of roles that cannot be resolved, because the permissions
//! of these roles are unknown.

mod bindings;
mod projects;
pub mod quota;
mod templates;

pub use projects::is_reserved;

use drover_api::group::GROUP;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Operation, Refusal, Write};
use crate::grants::{Escalation, Facts, Grants, RightsHolder, Scope};
use crate::names::{GroupName, UserName};
use crate::roles::{BUILT_IN_LABEL, Rights, Scoped, is_built_in};

/// The hub's roles and bindings at the time of a write.
#[derive(Clone, Copy, Debug)]
pub struct HubRoles<'a> {
    /// The roles and bindings on the hub.
    pub facts: &'a Facts<'a>,
    /// The grants of all roles and bindings on the hub.
    pub grants: &'a Grants,
}

/// A user with a User object, and the user's stored groups. Admission never uses the groups in the
/// request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserWithGroups {
    /// Name of the user in clusters: `drover:user:<uid>`.
    pub user: UserName,
    /// Groups of the user, as stored on the hub.
    pub groups: Vec<GroupName>,
}

impl UserWithGroups {
    /// Returns the user and the groups for a query of [`Grants`].
    pub fn rights_holder(&self) -> RightsHolder<'_> {
        RightsHolder {
            user: &self.user,
            groups: &self.groups,
        }
    }
}

/// The permissions of a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriterRights {
    /// A Drover user with roles.
    User(UserWithGroups),
    /// The writer has the name of a Drover user whose User object is deleted or disabled. The check
    /// ignores the writer's permissions on the hub.
    DisabledUser,
    /// A user with all permissions on the hub. Such a user can create an administrator.
    HubAdministrator,
    /// A user of the hub who is neither a Drover user nor has all permissions on the hub.
    OtherUser,
}

/// The identity of a writer, before the lookup of the writer's permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A Drover user, whose state and groups are stored on the hub.
    User(UserName),
    /// A user of the hub without a Drover name. The permissions of this user result from a review
    /// by the hub.
    HubUser,
    /// A user name that starts with `drover:` but is not the name of a Drover user.
    InvalidUser,
}

impl Writer {
    /// Creates the writer from the user name in a write.
    pub fn of(write: &Write<'_>) -> Self {
        match UserName::parse(write.writer) {
            Some(user) => Self::User(user),
            None if write.is_by_drover_user() => Self::InvalidUser,
            None => Self::HubUser,
        }
    }
}

impl WriterRights {
    /// Checks the permissions of a Drover user with the function `check`. Accepts a hub
    /// administrator, and rejects all other writers.
    fn check(
        &self,
        check: impl FnOnce(RightsHolder<'_>) -> Result<(), Escalation>,
    ) -> Result<(), Refusal> {
        match self {
            Self::HubAdministrator => Ok(()),
            Self::DisabledUser => Err(disabled_user()),
            Self::OtherUser => Err(other_user()),
            Self::User(person) => check(person.rights_holder())
                .map_err(|escalation| Refusal::new(escalation.to_string())),
        }
    }

    /// Reports whether the writer may perform a verb on a Drover object in a scope.
    fn may(&self, hub_roles: HubRoles<'_>, verb: &str, resource: &str, scope: &Scope) -> bool {
        match self {
            Self::HubAdministrator => true,
            Self::DisabledUser | Self::OtherUser => false,
            Self::User(person) => {
                let holder = person.rights_holder();
                hub_roles.grants.may(holder, verb, resource, "", scope)
            }
        }
    }

    /// Reports whether the writer has all permissions on the hub and in every cluster.
    pub(super) fn administers(&self, hub_roles: HubRoles<'_>) -> bool {
        match self {
            Self::HubAdministrator => true,
            Self::DisabledUser | Self::OtherUser => false,
            Self::User(person) => hub_roles.grants.administers(person.rights_holder()),
        }
    }
}

fn other_user() -> Refusal {
    Refusal::new(
        "only Drover users and users with all permissions on the hub can write roles, bindings \
         and projects: send the request through Drover to the cluster \"local\"",
    )
}

fn disabled_user() -> Refusal {
    Refusal::new(
        "your user was deleted or disabled: ask an administrator to enable or create \
                  your user",
    )
}

/// Kinds whose writes grant or revoke permissions.
const RESOURCES: [&str; 6] = [
    "clusterroletemplatebindings",
    "globalrolebindings",
    "globalroles",
    "projectroletemplatebindings",
    "projects",
    "roletemplates",
];

/// Reports whether these rules apply to a write.
pub(super) fn concerns(write: &Write<'_>) -> bool {
    write.group == GROUP && write.subresource.is_empty() && RESOURCES.contains(&write.resource)
}

/// Kind of the object that a reference names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A reference to a Cluster.
    Cluster,
    /// A reference to a Project.
    Project,
    /// A reference to a RoleTemplate: a role for clusters or projects.
    RoleTemplate,
    /// A reference to a GlobalRole: a role for the hub and all clusters.
    GlobalRole,
}

/// A reference to an object in a new binding or project. The server later adds the UID of the
/// object to the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectReference<'a> {
    /// Kind of the named object.
    pub kind: ReferenceKind,
    /// Name of the object.
    pub name: &'a str,
}

/// Returns the references in a new binding or project that determine the permissions that the
/// writer needs.
pub fn references_in<'a>(write: &Write<'a>) -> Vec<ObjectReference<'a>> {
    if write.operation != Operation::Create || !concerns(write) {
        return Vec::new();
    }
    let (role, cluster, project) = (
        "/spec/role/name",
        "/spec/cluster/name",
        "/spec/project/name",
    );
    let named = match write.resource {
        "globalrolebindings" => vec![(ReferenceKind::GlobalRole, role)],
        "clusterroletemplatebindings" => vec![
            (ReferenceKind::RoleTemplate, role),
            (ReferenceKind::Cluster, cluster),
        ],
        "projectroletemplatebindings" => vec![
            (ReferenceKind::RoleTemplate, role),
            (ReferenceKind::Project, project),
        ],
        "projects" => vec![(ReferenceKind::Cluster, cluster)],
        _ => Vec::new(),
    };
    let named = named.into_iter().filter_map(|(kind, field)| {
        let name = write.of(field).and_then(Value::as_str)?;
        Some(ObjectReference { kind, name })
    });
    named.collect()
}

/// Returns the name of the RoleTemplate that a write deletes. Admission rejects the write if other
/// roles inherit this RoleTemplate.
pub fn deleted_role<'a>(write: &Write<'a>) -> Option<&'a str> {
    let deletes = write.operation == Operation::Delete && write.resource == "roletemplates";
    (deletes && concerns(write)).then(|| write.object_name())
}

/// Reports whether a write leaves the spec unchanged. Such a write does not grant or revoke
/// permissions.
pub(super) fn keeps_spec(write: &Write<'_>) -> bool {
    write.operation == Operation::Update && !write.changes("/spec")
}

/// Allows or rejects a write of a role, a binding or a project.
pub(super) fn admit(
    write: &Write<'_>,
    writer: &WriterRights,
    hub_roles: HubRoles<'_>,
) -> Result<(), Refusal> {
    if !concerns(write) {
        return Ok(());
    }
    match writer {
        WriterRights::DisabledUser => return Err(disabled_user()),
        WriterRights::OtherUser if !keeps_spec(write) => return Err(other_user()),
        WriterRights::User(_) | WriterRights::HubAdministrator | WriterRights::OtherUser => {}
    }
    reject_ownership_changes(write)?;
    match write.resource {
        "roletemplates" => {
            built_in(write)?;
            templates::admit_template(write, writer, hub_roles)
        }
        "globalroles" => {
            built_in(write)?;
            templates::admit_global(write, writer, hub_roles)
        }
        "globalrolebindings" | "clusterroletemplatebindings" | "projectroletemplatebindings" => {
            bindings::admit(write, writer, hub_roles)
        }
        "projects" => projects::admit(write, writer, hub_roles),
        _ => Ok(()),
    }
}

/// Rejects changes of owner references and finalizers. Kubernetes deletes an object after the
/// object's owner, without admission. A deleted object with a finalizer remains in effect.
fn reject_ownership_changes(write: &Write<'_>) -> Result<(), Refusal> {
    if write.operation == Operation::Delete {
        return Ok(());
    }
    let parts = ["ownerReferences", "finalizers"];
    let changed = parts
        .iter()
        .find(|field| write.changes(&format!("/metadata/{field}")));
    match changed {
        None => Ok(()),
        Some(field) => Err(Refusal::new(format!(
            "only Drover's server can write owner references and finalizers of {resource}: do \
             not change metadata.{field}",
            resource = write.resource
        ))),
    }
}

/// The spec of an object before a write.
enum PreviousSpec<T> {
    /// The write creates the object.
    Absent,
    /// The parsed spec before the write. For a role, also the permissions of the resolved role.
    Known(T),
    /// The spec before the write cannot be parsed or resolved. The object may have granted any
    /// permission.
    Unknown,
}

impl<S: DeserializeOwned> PreviousSpec<S> {
    fn read(old: Option<&Value>) -> Self {
        match spec(old) {
            Ok(None) => Self::Absent,
            Ok(Some(said)) => Self::Known(said),
            Err(_) => Self::Unknown,
        }
    }
}

impl<T> PreviousSpec<T> {
    fn and_then<U>(self, known: impl FnOnce(T) -> Option<U>) -> PreviousSpec<U> {
        match self {
            Self::Absent => PreviousSpec::Absent,
            Self::Unknown => PreviousSpec::Unknown,
            Self::Known(said) => known(said).map_or(PreviousSpec::Unknown, PreviousSpec::Known),
        }
    }

    fn known(&self) -> Option<&T> {
        match self {
            Self::Known(spec) => Some(spec),
            Self::Absent | Self::Unknown => None,
        }
    }

    /// Requires that the writer has all permissions if the spec before the write is unknown.
    fn check(&self, writer: &WriterRights, hub_roles: HubRoles<'_>) -> Result<(), Refusal> {
        match self {
            Self::Absent | Self::Known(_) => Ok(()),
            Self::Unknown => require_all_rights(writer, hub_roles),
        }
    }
}

/// Requires that the writer has all permissions on the hub and in every cluster.
fn require_all_rights(writer: &WriterRights, hub_roles: HubRoles<'_>) -> Result<(), Refusal> {
    require_all_rights_in(writer, hub_roles, &Scope::Hub)?;
    require_all_rights_in(writer, hub_roles, &Scope::EveryCluster)
}

/// Requires that the writer has all permissions in a scope.
fn require_all_rights_in(
    writer: &WriterRights,
    hub_roles: HubRoles<'_>,
    scope: &Scope,
) -> Result<(), Refusal> {
    let everything = Scoped {
        cluster: Rights::everything(),
        project: Rights::default(),
    };
    writer.check(|holder| hub_roles.grants.may_grant(holder, &everything, scope))
}

/// Rejects changes of built-in roles, because users and inheriting roles depend on built-in roles.
fn built_in(write: &Write<'_>) -> Result<(), Refusal> {
    let label = |object: Option<&Value>| {
        let labels = object.and_then(|object| object.pointer("/metadata/labels"));
        labels
            .and_then(|labels| labels.get(BUILT_IN_LABEL))
            .cloned()
    };
    let name = write.object_name();
    let changed = write.operation == Operation::Delete || write.changes("/spec");
    if label(write.old).is_some() && changed {
        return Err(Refusal::new(format!(
            "cannot change or delete the role {name:?}, because the role is built-in: create a \
             custom role, which can inherit from {name:?}"
        )));
    }
    if write.operation == Operation::Create && is_built_in(name) {
        return Err(Refusal::new(format!(
            "cannot create a role with the name {name:?}, because the name is reserved for a \
             built-in role: use a different name"
        )));
    }
    if write.operation != Operation::Delete && label(write.object) != label(write.old) {
        return Err(Refusal::new(format!(
            "only Drover's server can mark roles as built-in: do not change the label \
             \"{BUILT_IN_LABEL}\""
        )));
    }
    Ok(())
}

/// Parses the spec of a written object.
pub(super) fn spec<S: DeserializeOwned>(object: Option<&Value>) -> Result<Option<S>, Refusal> {
    let Some(spec) = object.map(|object| &object["spec"]) else {
        return Ok(None);
    };
    let read = serde_json::from_value(spec.clone());
    read.map(Some)
        .map_err(|error| Refusal::new(format!("cannot parse spec: {error}")))
}

#[cfg(test)]
mod tests;
