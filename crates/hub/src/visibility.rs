//! What a caller may see and do, by their roles as they are now.

use std::sync::Arc;

use drover_access::grants::{Grants, Place, Question, Who};
use drover_access::identity::Identity;
use drover_access::names::{GroupName, UserName};
use drover_access::permit::Target;
use drover_api::ids::{ClusterUid, ProviderUid, UserUid};
use drover_api::kinds::{BindingSubject, Cluster, Project, User};
use drover_api::rest::{CallerRights, ClusterRights};
use drover_rbac::Asked;
use jiff::Timestamp;
use kube::{Resource, ResourceExt as _};

use crate::Stores;
use crate::stores::groups::groups_of;
use drover_http_edge::status::Status;

/// A caller and everybody's roles.
pub struct Visibility {
    stores: Stores,
    grants: Arc<Grants>,
    user: UserName,
    groups: Vec<GroupName>,
}

impl Visibility {
    /// Of this caller; what was written a moment ago counts.
    pub fn of(stores: &Stores, caller: &Identity) -> Self {
        Self {
            stores: stores.clone(),
            grants: stores.grants.fresh(stores),
            user: UserName::of(&caller.user_uid),
            groups: caller.groups.clone(),
        }
    }

    /// Of somebody who is signed in just now.
    pub fn of_user(stores: &Stores, user: &User) -> Self {
        let uid = UserUid::new(user.uid().unwrap_or_default());
        Self {
            stores: stores.clone(),
            grants: stores.grants.fresh(stores),
            user: UserName::of(&uid),
            groups: groups_of(user, stores, Timestamp::now()),
        }
    }

    /// Everybody's roles.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The caller, as grants know them.
    pub fn who(&self) -> Who<'_> {
        Who {
            user: &self.user,
            groups: &self.groups,
        }
    }

    /// Whether they have a role anywhere.
    pub fn has_any_role(&self) -> bool {
        self.grants.of(self.who()).next().is_some()
    }

    /// Whether they have any role in a cluster, which is what it takes to know of it. One that is being
    /// deleted gives no rights any more, but whoever had some there sees it go.
    pub fn can_see(&self, cluster: &Cluster) -> bool {
        let uid = ClusterUid::new(cluster.uid().unwrap_or_default());
        let leaving = cluster.metadata.deletion_timestamp.is_some() && self.is_bound_in(&uid);
        leaving || self.grants.may_enter(self.who(), &Target::Cluster(uid))
    }

    /// Whether a binding that is pinned to a cluster is for them.
    fn is_bound_in(&self, cluster: &ClusterUid) -> bool {
        let bindings = self.stores.cluster_role_template_bindings.all();
        let mut here = bindings
            .iter()
            .filter(|binding| binding.spec.cluster.uid.as_ref() == Some(cluster));
        here.any(|binding| self.is_meant(&binding.spec.subject))
    }

    fn is_meant(&self, subject: &BindingSubject) -> bool {
        let user = subject.user.as_ref().and_then(|user| user.uid.as_ref());
        if user.is_some() {
            return user == Some(&self.user.uid());
        }
        let Some(group) = &subject.group else {
            return false;
        };
        let own = self.groups.iter().find(|own| own.as_str() == group.name);
        let provider = own.and_then(|own| self.stores.auth_providers.by_name(own.provider()));
        let uid = provider.and_then(|provider| provider.uid());
        uid.is_some() && uid.as_deref() == group.provider_uid.as_ref().map(ProviderUid::as_str)
    }

    /// The cluster of this name, if they know of it.
    pub fn cluster(&self, name: &str) -> Result<Arc<Cluster>, Status> {
        let cluster = self.stores.clusters.by_name(name);
        cluster
            .filter(|cluster| self.can_see(cluster))
            .ok_or_else(|| Status::not_found("Cluster", name))
    }

    /// The project of this name, if they know of it.
    pub fn project(&self, name: &str) -> Result<Arc<Project>, Status> {
        let project = self.stores.projects.by_name(name);
        project
            .filter(|project| self.can_see_project(project))
            .ok_or_else(|| Status::not_found("Project", name))
    }

    /// Whether they may use the hub itself.
    pub fn can_use_hub(&self) -> bool {
        self.grants.may_enter(self.who(), &Target::Hub)
    }

    /// Whether they have any role in a project, or may see those of its cluster.
    pub fn can_see_project(&self, project: &Project) -> bool {
        project_scope(project).is_some_and(|place| {
            let has_role = self.grants.has_role_at(self.who(), &place);
            has_role || self.may("get", "projects", &place)
        })
    }

    /// What they may do with a cluster, and where in it.
    pub fn cluster_rights(&self, cluster: &Cluster) -> ClusterRights {
        let uid = ClusterUid::new(cluster.uid().unwrap_or_default());
        let asked = Asked::Resource {
            group: "",
            resource: "pods",
            subresource: "",
            name: "",
        };
        let list_pods = Question {
            cluster: &uid,
            verb: "list",
            asked,
            namespace: None,
        };
        let namespaces = self.grants.project_namespaces(self.who(), &uid);
        ClusterRights {
            all_namespaces: self.grants.may_be_allowed(self.who(), list_pods),
            namespaces: namespaces.into_iter().map(str::to_owned).collect(),
            may_import: self.may("update", "clusters", &Place::Cluster(uid.clone())),
            may_change: self.may("patch", "clusters", &Place::Hub),
            may_delete: self.may("delete", "clusters", &Place::Cluster(uid.clone())),
        }
    }

    /// What they may do on the hub.
    pub fn caller_rights(&self) -> CallerRights {
        let may = |verb, resource| self.may(verb, resource, &Place::Hub);
        CallerRights {
            may_import_clusters: may("create", "clusters"),
            may_change_clusters: may("patch", "clusters"),
            may_list_users: may("list", "users"),
            may_create_users: may("create", "users"),
            may_list_providers: may("list", "authproviders"),
            may_list_settings: may("list", "settings"),
            may_change_settings: may("update", "settings"),
            may_list_global_members: may("list", "globalrolebindings"),
            may_list_tokens: may("list", "tokens"),
        }
    }

    /// Whether their roles allow this to an object of Drover's own at a place.
    pub fn may(&self, verb: &str, resource: &str, place: &Place) -> bool {
        self.grants.may(self.who(), verb, resource, "", place)
    }

    /// Refuses what their roles do not allow.
    pub fn require(&self, verb: &str, resource: &str, place: &Place) -> Result<(), Status> {
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
pub fn cluster_scope(cluster: &Cluster) -> Place {
    Place::Cluster(ClusterUid::new(cluster.uid().unwrap_or_default()))
}

/// Where a project's own objects are; `None` until the server has written which cluster is meant.
pub fn project_scope(project: &Project) -> Option<Place> {
    let uid = project.uid().map(drover_api::ids::ProjectUid::new)?;
    Some(Place::Project(project.spec.cluster.uid.clone()?, uid))
}

/// The same, or that it is to be asked for again.
pub fn require_project_scope(project: &Project) -> Result<Place, Status> {
    project_scope(project).ok_or_else(|| {
        Status::unavailable("the server has not yet seen to this project; try again", 1)
    })
}

/// When an object was made, by its hub.
pub fn created_at(object: &impl Resource) -> Timestamp {
    let created = object.meta().creation_timestamp.as_ref();
    created.map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}
