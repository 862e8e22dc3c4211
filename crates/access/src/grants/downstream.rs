//! What has to be in a cluster, so that everybody can do there what their roles allow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drover_api::ids::{ClusterUid, ProjectUid};

use super::{Grants, Place, Role, Subject};
use crate::names::{GroupName, UserName};
use crate::roles::Rights;

/// A part of a role, and who has it where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The role's name on the hub.
    pub role: String,
    /// UID of the role.
    pub uid: String,
    /// What it allows there; never nothing.
    pub rights: Rights,
    /// Where.
    pub scope: Scope,
    /// Who has it.
    pub subjects: BTreeSet<Subject>,
}

/// Where a part of a role holds in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// In all of it.
    Cluster,
    /// In the namespaces of a project; there may be none.
    Project(ProjectUid, Vec<String>),
}

/// What has to be in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Downstream {
    /// Every part of every role that somebody has there, ordered by role and scope.
    pub bound: Vec<Bound>,
    /// Everybody who has any role there, by themselves or by a group: as whom requests may come.
    pub users: BTreeSet<UserName>,
    /// Every group that has any role there: what requests may say that they are in.
    pub groups: BTreeSet<GroupName>,
}

/// What has to be on the hub: parts of global roles, each with everybody who has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnHub {
    /// The role.
    pub role: Arc<Role>,
    /// Who has it.
    pub subjects: BTreeSet<Subject>,
}

/// Where a part of a role holds, without what is in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Cluster,
    Project(ProjectUid),
}

/// By role's UID.
type Parts<'a> = BTreeMap<(&'a str, Part), (&'a Arc<Role>, BTreeSet<Subject>)>;

impl Grants {
    /// What has to be in a cluster.
    pub fn downstream(&self, cluster: &ClusterUid) -> Downstream {
        let mut parts: Parts<'_> = BTreeMap::new();
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
            for part in parts_of(&grant.place) {
                let part = parts.entry((grant.role.uid.as_str(), part));
                let (_, who) = part.or_insert_with(|| (&grant.role, BTreeSet::new()));
                who.insert(grant.subject.clone());
            }
        }
        let bound = parts
            .into_iter()
            .filter_map(|((uid, part), (role, subjects))| {
                let (said, scope) = match part {
                    Part::Cluster => (&role.scoped.cluster, Scope::Cluster),
                    Part::Project(project) => {
                        let namespaces = self.namespaces(&project).to_vec();
                        (&role.scoped.project, Scope::Project(project, namespaces))
                    }
                };
                let rights = said.downstream();
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

    /// What has to be on the hub, ordered by role.
    pub fn on_hub(&self) -> Vec<OnHub> {
        let mut roles: BTreeMap<&str, OnHub> = BTreeMap::new();
        for grant in self.all.iter().filter(|grant| grant.place == Place::Hub) {
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

fn parts_of(place: &Place) -> Vec<Part> {
    match place {
        Place::Hub => Vec::new(),
        Place::EveryCluster | Place::Cluster(_) => vec![Part::Cluster],
        Place::Project(_, project) => vec![Part::Cluster, Part::Project(project.clone())],
    }
}
