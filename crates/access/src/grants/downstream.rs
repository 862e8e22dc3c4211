//! The access that all roles together grant in a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drover_api::ids::{ClusterUid, ProjectUid};

use super::{Grants, Role, Scope, Subject};
use crate::names::{GroupName, UserName};
use crate::roles::Rights;

/// The permissions of a role in one scope, and the subjects of the role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Name of the role on the hub.
    pub role: String,
    /// UID of the role.
    pub uid: String,
    /// The permissions of the role in the scope. Never empty.
    pub rights: Rights,
    /// Scope in which the permissions apply.
    pub scope: DownstreamScope,
    /// Subjects of the role.
    pub subjects: BTreeSet<Subject>,
}

/// Scope of permissions in a cluster: the whole cluster, or the namespaces of a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DownstreamScope {
    /// All namespaces of the cluster, and cluster-scoped objects.
    Cluster,
    /// The namespaces of a project, possibly none.
    Project(ProjectUid, Vec<String>),
}

/// The access in one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Downstream {
    /// The permissions of all granted roles, sorted by role and scope.
    pub bound: Vec<Bound>,
    /// All users with a role in the cluster, either by a binding of the user or by a group. The
    /// user lane may impersonate these users.
    pub users: BTreeSet<UserName>,
    /// All groups with a role in the cluster. The user lane may impersonate these groups.
    pub groups: BTreeSet<GroupName>,
}

/// The access of a global role on the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnHub {
    /// The global role.
    pub role: Arc<Role>,
    /// Subjects of the role.
    pub subjects: BTreeSet<Subject>,
}

/// A scope as a map key. Does not contain the namespaces of a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ScopeKey {
    Cluster,
    Project(ProjectUid),
}

/// Roles and subjects, by the role's UID and scope.
type RolesByScope<'a> = BTreeMap<(&'a str, ScopeKey), (&'a Arc<Role>, BTreeSet<Subject>)>;

impl Grants {
    /// Computes the access in a cluster.
    pub fn downstream(&self, cluster: &ClusterUid) -> Downstream {
        let mut roles: RolesByScope<'_> = BTreeMap::new();
        let (mut users, mut groups) = (BTreeSet::new(), BTreeSet::new());
        for grant in self.in_cluster(cluster) {
            match &grant.subject {
                Subject::User(name) => drop(users.insert(name.clone())),
                Subject::Group(name) => {
                    if groups.insert(name.clone()) {
                        users.extend(self.members.get(name).into_iter().flatten().cloned());
                    }
                }
            }
            for part in scope_keys(&grant.scope) {
                let part = roles.entry((grant.role.uid.as_str(), part));
                let (_, subject_names) = part.or_insert_with(|| (&grant.role, BTreeSet::new()));
                subject_names.insert(grant.subject.clone());
            }
        }
        let bound = roles
            .into_iter()
            .filter_map(|((uid, part), (role, subjects))| {
                let (rights, scope) = match part {
                    ScopeKey::Cluster => (&role.scoped.cluster, DownstreamScope::Cluster),
                    ScopeKey::Project(project) => {
                        let namespaces = self.namespaces(&project).to_vec();
                        (
                            &role.scoped.project,
                            DownstreamScope::Project(project, namespaces),
                        )
                    }
                };
                let rights = rights.downstream();
                (!rights.is_empty()).then(|| Bound {
                    role: role.name.clone(),
                    uid: uid.to_owned(),
                    rights,
                    scope,
                    subjects,
                })
            });
        Downstream {
            bound: bound.collect(),
            users,
            groups,
        }
    }

    /// Computes the access on the hub, sorted by role.
    pub fn on_hub(&self) -> Vec<OnHub> {
        let mut roles: BTreeMap<&str, OnHub> = BTreeMap::new();
        for grant in self.all.iter().filter(|grant| grant.scope == Scope::Hub) {
            let role = roles
                .entry(grant.role.uid.as_str())
                .or_insert_with(|| OnHub {
                    role: Arc::clone(&grant.role),
                    subjects: BTreeSet::new(),
                });
            role.subjects.insert(grant.subject.clone());
        }
        roles.into_values().collect()
    }
}

fn scope_keys(scope: &Scope) -> Vec<ScopeKey> {
    match scope {
        Scope::Hub => Vec::new(),
        Scope::EveryCluster | Scope::Cluster(_) => vec![ScopeKey::Cluster],
        Scope::Project(_, project) => vec![ScopeKey::Cluster, ScopeKey::Project(project.clone())],
    }
}
