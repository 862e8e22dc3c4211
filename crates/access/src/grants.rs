//! Who has which role where, from all bindings at once.
//!
//! [`Grants::of`] reads the hub's objects into an index; everything that asks who may do what asks
//! this: the permit, escalation, what has to be in a cluster, and why somebody may or may not.
//! A binding that is not pinned, or that names what is not there, gives nothing, and
//! [`Grants::problems`] says why.

mod basis;
mod digest;
mod downstream;
mod escalation;
mod explain;
mod facts;
mod gather;
mod given;
mod held;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use drover_api::ids::{ClusterUid, ProjectUid};
use thiserror::Error;

use crate::names::{GroupName, UserName};
use crate::roles::{Rights, Scoped, Unresolved};

pub use basis::Basis;
pub use downstream::{Bound, Downstream, OnHub, Scope};
pub use escalation::Escalation;
pub use explain::{Answer, Question, Through};
pub use facts::{Facts, ProjectFacts, ProviderFacts, RoleFacts, UserFacts};
pub use given::{Binding, Given, Names, Roles};
pub use held::Who;

/// Who is given a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// One person.
    User(UserName),
    /// Everybody of a group.
    Group(GroupName),
}

impl Subject {
    /// The name in clusters.
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

/// Where a role holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// On the hub.
    Hub,
    /// In every cluster, those to come included.
    EveryCluster,
    /// In one cluster.
    Cluster(ClusterUid),
    /// In the namespaces of one project.
    Project(ClusterUid, ProjectUid),
}

/// The three kinds of bindings, and what stands for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BindingKind {
    /// Of a GlobalRole.
    Global,
    /// Of a RoleTemplate in a cluster.
    Cluster,
    /// Of a RoleTemplate in a project.
    Project,
    /// None: the User says that they administer Drover.
    Administrator,
}

impl BindingKind {
    /// The kind's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "GlobalRoleBinding",
            Self::Cluster => "ClusterRoleTemplateBinding",
            Self::Project => "ProjectRoleTemplateBinding",
            Self::Administrator => "User",
        }
    }
}

/// A binding, as people find it on the hub.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BindingId {
    /// Which of them.
    pub kind: BindingKind,
    /// The object's name.
    pub name: String,
}

impl fmt::Display for BindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind.name(), self.name)
    }
}

/// A role as it counts: its name, which object that is, and what it allows where it is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Role {
    /// The object's name.
    pub name: String,
    /// UID of the object.
    pub uid: String,
    /// What it allows.
    pub scoped: Scoped,
    /// What it allows in single namespaces of the hub, by their names.
    pub namespaced: BTreeMap<String, Rights>,
}

/// UID of the role of those who administer Drover by their User object; no object has it.
pub const ADMINISTRATOR: &str = "administrator";

impl Role {
    /// Of those who administer Drover by their User object.
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

/// That somebody has a role somewhere, through a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who.
    pub subject: Subject,
    /// Which.
    pub role: Arc<Role>,
    /// Where.
    pub place: Place,
    /// Through which.
    pub binding: BindingId,
}

/// Why a binding gives nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// The server has not yet written which object a name means.
    #[error("the server has not yet written which {0} is meant")]
    Unpinned(&'static str),
    /// There is nothing of that name.
    #[error("there is no {what} {name:?}: make it first, or correct the name")]
    Missing {
        /// `user`, `cluster`, `project` or `role`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// What was meant is not there any more; another of that name may be.
    #[error(
        "the {what} {name:?} that it was made for is not there: delete the binding, and make it \
         anew if another {what} of that name is meant"
    )]
    Gone {
        /// `user`, `cluster`, `project` or `role`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Its group is none.
    #[error(
        "{0:?} is no group: spec.subject.group.name must be \"drover:<provider>:<id>\", the id at most \
         253 visible ASCII characters"
    )]
    NoGroup(String),
    /// It binds a role for projects in a cluster, or the other way around.
    #[error("the role {0:?} is for another context: choose one that the binding is for")]
    Context(String),
    /// It says neither or both.
    #[error("spec.subject must have either user or group")]
    NoSubject,
    /// What the role allows cannot be known.
    #[error("the role {role:?} cannot be used: {source}")]
    Role {
        /// Its name.
        role: String,
        /// Why.
        source: Unresolved,
    },
}

/// Who has which role where.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    all: Vec<Grant>,
    /// By the subject's name in clusters; no group is called as a user is.
    by_subject: HashMap<String, Vec<usize>>,
    by_cluster: HashMap<ClusterUid, Vec<usize>>,
    everywhere: Vec<usize>,
    namespaces: HashMap<ProjectUid, Vec<String>>,
    /// Who is in each group that has a role.
    members: HashMap<GroupName, Vec<UserName>>,
    /// Of what has to be in each cluster, beside what has to be in all of them.
    digests: HashMap<ClusterUid, u64>,
    everywhere_digest: u64,
    hub_digest: u64,
    problems: BTreeMap<BindingId, Problem>,
}

impl Grants {
    /// Every grant.
    pub fn all(&self) -> &[Grant] {
        &self.all
    }

    /// Bindings that give nothing, and why.
    pub fn problems(&self) -> &BTreeMap<BindingId, Problem> {
        &self.problems
    }

    /// What holds in a cluster, whoever has it.
    pub fn in_cluster<'a>(&'a self, cluster: &ClusterUid) -> impl Iterator<Item = &'a Grant> {
        let own = self.by_cluster.get(cluster).into_iter().flatten();
        own.chain(&self.everywhere).map(|&index| &self.all[index])
    }

    /// The namespaces that are a project's own.
    pub fn namespaces(&self, project: &ProjectUid) -> &[String] {
        self.namespaces.get(project).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
pub(crate) mod tests;
