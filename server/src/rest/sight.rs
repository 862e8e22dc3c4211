//! What a caller may see and do, by their roles as they are now.

use std::sync::Arc;

use drover_access::grants::{Grants, Place, Who};
use drover_access::identity::Identity;
use drover_access::names::{GroupName, UserName};
use drover_access::permit::Target;
use drover_api::ids::ClusterUid;
use drover_api::kinds::{Cluster, Project};
use kube::ResourceExt as _;

use super::RestState;
use crate::status::Status;

/// A caller and everybody's roles.
pub(super) struct Sight {
    grants: Arc<Grants>,
    user: UserName,
    groups: Vec<GroupName>,
}

impl Sight {
    /// Of this caller; what was written a moment ago counts.
    pub(super) fn of(state: &RestState, caller: &Identity) -> Self {
        let stores = state.hub.stores();
        Self {
            grants: stores.grants.fresh(stores),
            user: UserName::of(&caller.user_uid),
            groups: caller.groups.clone(),
        }
    }

    /// Everybody's roles.
    pub(super) fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The caller, as grants know them.
    pub(super) fn who(&self) -> Who<'_> {
        Who {
            user: &self.user,
            groups: &self.groups,
        }
    }

    /// Whether they have any role in a cluster, which is what it takes to know of it.
    pub(super) fn knows(&self, cluster: &Cluster) -> bool {
        let uid = ClusterUid::new(cluster.uid().unwrap_or_default());
        self.grants.may_enter(self.who(), &Target::Cluster(uid))
    }

    /// Whether they may use the hub itself.
    pub(super) fn knows_hub(&self) -> bool {
        self.grants.may_enter(self.who(), &Target::Hub)
    }

    /// Whether they have any role in a project, or may see those of its cluster.
    pub(super) fn knows_project(&self, project: &Project) -> bool {
        place_of(project).is_some_and(|place| {
            let has_role = self.grants.has_role_at(self.who(), &place);
            has_role || self.may("get", "projects", &place)
        })
    }

    /// Whether their roles allow this to an object of Drover's own at a place.
    pub(super) fn may(&self, verb: &str, resource: &str, place: &Place) -> bool {
        self.grants.may(self.who(), verb, resource, "", place)
    }

    /// Refuses what their roles do not allow.
    pub(super) fn must(&self, verb: &str, resource: &str, place: &Place) -> Result<(), Status> {
        if self.may(verb, resource, place) {
            return Ok(());
        }
        let scope = match place {
            Place::Hub => "on the hub",
            Place::EveryCluster => "in every cluster",
            Place::Cluster(_) => "in this cluster",
            Place::Project(..) => "in this project",
        };
        Err(Status::forbidden(format!(
            "your roles {scope} do not let you {verb} {resource}: ask an owner or an administrator"
        )))
    }
}

/// Where a cluster's own objects are.
pub(super) fn place_of_cluster(cluster: &Cluster) -> Place {
    Place::Cluster(ClusterUid::new(cluster.uid().unwrap_or_default()))
}

/// Where a project's own objects are; `None` until the server has written which cluster is meant.
pub(super) fn place_of(project: &Project) -> Option<Place> {
    let uid = project.uid().map(drover_api::ids::ProjectUid::new)?;
    Some(Place::Project(project.spec.cluster.uid.clone()?, uid))
}
