//! The index of all role bindings.
//!
//! [`Grants::of`] builds the index from the hub's objects. Permits, escalation checks, the objects
//! in clusters, and explanations all use this index. A binding must contain the UIDs of its role,
//! cluster, project and subject. The binding grants nothing if a UID is missing or if one of the
//! objects does not exist. [`Grants::problems`] lists the reasons.

mod digest;
mod downstream;
mod escalation;
mod explain;
mod facts;
mod gather;
mod provenance;
mod resolver;
mod rights;
mod target;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use drover_api::ids::{ClusterUid, ProjectUid};
use thiserror::Error;

use crate::names::{GroupName, UserName};
use crate::roles::{Rights, Scoped, Unresolved};

pub use downstream::{Bound, Downstream, DownstreamScope, OnHub};
pub use escalation::Escalation;
pub use explain::{AllowingGrant, PermissionOrigin, Question};
pub use facts::{Facts, ProjectFacts, ProviderFacts, RoleFacts, UserFacts};
pub use provenance::Provenance;
pub use resolver::{Binding, Names, ResolvedRoles, Roles};
pub use rights::RightsHolder;
pub use target::Target;

/// A user or group to which a grant applies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// One user, by the user's name in clusters.
    User(UserName),
    /// All members of a group, by the group's name in clusters.
    Group(GroupName),
}

impl Subject {
    /// Returns the subject's name in clusters.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User(name) => name.as_str(),
            Self::Group(name) => name.as_str(),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The hub, the clusters or the project in which a grant applies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The hub, and no managed cluster.
    Hub,
    /// All clusters, including clusters that are created later.
    EveryCluster,
    /// One cluster, by the UID of its Cluster object.
    Cluster(ClusterUid),
    /// The namespaces of one project.
    Project(ClusterUid, ProjectUid),
}

/// Source of a grant: a binding of one of three kinds, or the User object of an administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BindingKind {
    /// A binding of a GlobalRole.
    Global,
    /// A binding of a RoleTemplate in a cluster.
    Cluster,
    /// A binding of a RoleTemplate in a project.
    Project,
    /// The User object, which makes the user an administrator without a binding.
    Administrator,
}

impl BindingKind {
    /// Returns the name of the Kubernetes kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "GlobalRoleBinding",
            Self::Cluster => "ClusterRoleTemplateBinding",
            Self::Project => "ProjectRoleTemplateBinding",
            Self::Administrator => "User",
        }
    }
}

/// The kind and the name of a binding on the hub.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BindingId {
    /// Kubernetes kind of the binding.
    pub kind: BindingKind,
    /// Name of the binding object on the hub.
    pub name: String,
}

impl fmt::Display for BindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind.name(), self.name)
    }
}

/// A resolved role with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Role {
    /// Name of the GlobalRole or RoleTemplate.
    pub name: String,
    /// UID of the GlobalRole or RoleTemplate, or [`ADMINISTRATOR`].
    pub uid: String,
    /// Rules in clusters and projects.
    pub scoped: Scoped,
    /// Rules in individual namespaces of the hub, by namespace.
    pub namespaced: BTreeMap<String, Rights>,
}

/// UID of the implicit role of administrators. No object on the hub has this UID.
pub const ADMINISTRATOR: &str = "administrator";

impl Role {
    /// Returns the implicit role of administrators.
    fn administrator() -> Self {
        Self {
            name: ADMINISTRATOR.to_owned(),
            uid: ADMINISTRATOR.to_owned(),
            scoped: Scoped {
                cluster: Rights::everything(),
                project: Rights::default(),
            },
            namespaced: BTreeMap::new(),
        }
    }
}

/// A role of a subject in a scope, and the binding that grants the role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The user or group that receives the role.
    pub subject: Subject,
    /// The role that the subject receives.
    pub role: Arc<Role>,
    /// The scope in which the subject receives the role.
    pub scope: Scope,
    /// The binding that grants the role.
    pub binding: BindingId,
}

/// Reasons why a binding grants nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// The server has not stored the UID of a named object in the binding yet.
    #[error(
        "the server has not stored the UID of the {kind} in the binding yet; try again",
        kind = .0
    )]
    Unpinned(&'static str),
    /// The named object does not exist.
    #[error("{kind} {name:?} not found: create the {kind}, or correct the name")]
    Missing {
        /// Kind of the missing object: `user`, `cluster`, `project` or `role`.
        kind: &'static str,
        /// Name of the missing object.
        name: String,
    },
    /// The object with the stored UID was deleted. A newer object may have the same name.
    #[error(
        "the {kind} {name:?} of this binding was deleted: delete the binding; to use a new \
         {kind} with the name {name:?}, create a new binding"
    )]
    Gone {
        /// Kind of the deleted object: `user`, `cluster`, `project` or `role`.
        kind: &'static str,
        /// Name of the deleted object.
        name: String,
    },
    /// The group name is invalid.
    #[error(
        "{group:?} is not a valid group name: spec.subject.group.name must be \
         \"drover:<provider>:<id>\" with an id of at most 253 visible ASCII characters", group = .0
    )]
    NoGroup(String),
    /// The context (cluster or project) of the role differs from the context of the binding.
    #[error(
        "the context of the role {role:?} differs from the context of the binding or global \
         role: use a role with the same context", role = .0
    )]
    Context(String),
    /// The binding's subject has neither a user nor a group, or has both.
    #[error("spec.subject must have either user or group")]
    NoSubject,
    /// The role cannot be resolved.
    #[error("cannot use the role {role:?}: {source}")]
    Role {
        /// Name of the role that cannot be resolved.
        role: String,
        /// Reason why the role cannot be resolved.
        source: Unresolved,
    },
}

/// Index of all grants.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    all: Vec<Grant>,
    /// Indices of grants by the subject's name in clusters. A user and a group never have the same
    /// name.
    by_subject: HashMap<String, Vec<usize>>,
    by_cluster: HashMap<ClusterUid, Vec<usize>>,
    everywhere: Vec<usize>,
    namespaces: HashMap<ProjectUid, Vec<String>>,
    /// Members of each group to which a binding grants a role.
    members: HashMap<GroupName, Vec<UserName>>,
    /// Digest of the RBAC objects of each cluster. Excludes the objects that are the same in all
    /// clusters.
    digests: HashMap<ClusterUid, u64>,
    everywhere_digest: u64,
    hub_digest: u64,
    problems: BTreeMap<BindingId, Problem>,
}

impl Grants {
    /// Returns the grants of all subjects.
    pub fn all(&self) -> &[Grant] {
        &self.all
    }

    /// Returns the bindings that grant nothing, with the reasons.
    pub fn problems(&self) -> &BTreeMap<BindingId, Problem> {
        &self.problems
    }

    /// Returns the grants that apply to a cluster.
    pub fn in_cluster<'a>(&'a self, cluster: &ClusterUid) -> impl Iterator<Item = &'a Grant> {
        let own = self.by_cluster.get(cluster).into_iter().flatten();
        own.chain(&self.everywhere).map(|&index| &self.all[index])
    }

    /// Returns the names of the namespaces in a project's status.
    pub fn namespaces(&self, project: &ProjectUid) -> &[String] {
        self.namespaces.get(project).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
pub(crate) mod tests;
