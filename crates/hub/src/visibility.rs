//! Decides which objects a caller may see and change. The decision depends on the caller's current
//! roles.

use std::sync::Arc;

use drover_access::grants::{Grants, Question, RightsHolder, Scope};
use drover_access::identity::Identity;
use drover_access::names::{GroupName, UserName};
use drover_access::permit::Target;
use drover_api::ids::{ClusterUid, ProviderUid, UserUid};
use drover_api::kinds::{BindingSubject, Cluster, Project, User};
use drover_api::rest::{CallerRights, ClusterRights};
use drover_rbac::RuleTarget;
use jiff::Timestamp;
use kube::{Resource, ResourceExt as _};

use crate::Stores;
use crate::stores::groups::groups_of;
use drover_http_edge::status::Status;

/// A caller and the grants of all subjects.
pub struct Visibility {
    stores: Stores,
    grants: Arc<Grants>,
    user: UserName,
    groups: Vec<GroupName>,
}

impl Visibility {
    /// Computes which objects this caller can see. Uses grants that include the latest writes.
    pub fn of(stores: &Stores, caller: &Identity) -> Self {
        Self {
            stores: stores.clone(),
            grants: stores.grants.fresh(stores),
            user: UserName::of(&caller.user_uid),
            groups: caller.groups.clone(),
        }
    }

    /// Computes which objects a user can see. The server calls this function during the sign-in,
    /// when the request has no caller yet.
    pub fn of_user(stores: &Stores, user: &User) -> Self {
        let uid = UserUid::new(user.uid().unwrap_or_default());
        Self {
            stores: stores.clone(),
            grants: stores.grants.fresh(stores),
            user: UserName::of(&uid),
            groups: groups_of(user, stores, Timestamp::now()),
        }
    }

    /// Returns the grants of all subjects.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Returns the user name and the groups of the caller, to look up the grants of the caller.
    pub fn rights_holder(&self) -> RightsHolder<'_> {
        RightsHolder {
            user: &self.user,
            groups: &self.groups,
        }
    }

    /// Reports whether the caller has any role.
    pub fn has_any_role(&self) -> bool {
        self.grants.of(self.rights_holder()).next().is_some()
    }

    /// Reports whether the caller has a role in the cluster. A role in a cluster that is being
    /// deleted grants no permissions, but the subjects of its bindings may still see the cluster.
    pub fn can_see(&self, cluster: &Cluster) -> bool {
        let uid = ClusterUid::new(cluster.uid().unwrap_or_default());
        let is_deleting = cluster.metadata.deletion_timestamp.is_some() && self.is_bound_in(&uid);
        is_deleting
            || self
                .grants
                .may_enter(self.rights_holder(), &Target::Cluster(uid))
    }

    /// Reports whether the caller is a subject of a binding in the cluster.
    fn is_bound_in(&self, cluster: &ClusterUid) -> bool {
        let bindings = self.stores.cluster_role_template_bindings.all();
        let mut in_cluster = bindings
            .iter()
            .filter(|binding| binding.spec.cluster.uid.as_ref() == Some(cluster));
        in_cluster.any(|binding| self.is_subject(&binding.spec.subject))
    }

    fn is_subject(&self, subject: &BindingSubject) -> bool {
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

    /// Returns the cluster with this name. Returns status 404 if the caller may not see the
    /// cluster.
    pub fn cluster(&self, name: &str) -> Result<Arc<Cluster>, Status> {
        let cluster = self.stores.clusters.by_name(name);
        cluster
            .filter(|cluster| self.can_see(cluster))
            .ok_or_else(|| Status::not_found("Cluster", name))
    }

    /// Returns the project with this name. Returns status 404 if the caller may not see the
    /// project.
    pub fn project(&self, name: &str) -> Result<Arc<Project>, Status> {
        let project = self.stores.projects.by_name(name);
        project
            .filter(|project| self.can_see_project(project))
            .ok_or_else(|| Status::not_found("Project", name))
    }

    /// Reports whether the caller may use the hub's API.
    pub fn can_use_hub(&self) -> bool {
        self.grants.may_enter(self.rights_holder(), &Target::Hub)
    }

    /// Reports whether the caller has a role in the project, or permission to get the project.
    pub fn can_see_project(&self, project: &Project) -> bool {
        project_scope(project).is_some_and(|scope| {
            let has_role = self.grants.has_role_at(self.rights_holder(), &scope);
            has_role || self.may("get", "projects", &scope)
        })
    }

    /// Reports whether the caller has a role in the project. Ignores roles in wider scopes.
    pub fn is_member(&self, project: &Project) -> bool {
        let scope = project_scope(project);
        scope.is_some_and(|scope| self.grants.has_role_at(self.rights_holder(), &scope))
    }

    /// Returns the caller's permissions for a cluster and its namespaces.
    pub fn cluster_rights(&self, cluster: &Cluster) -> ClusterRights {
        let uid = ClusterUid::new(cluster.uid().unwrap_or_default());
        let rule_target = RuleTarget::Resource {
            group: "",
            resource: "pods",
            subresource: "",
            name: "",
        };
        let list_pods = Question {
            cluster: &uid,
            verb: "list",
            rule_target,
            namespace: None,
        };
        let namespaces = self.grants.project_namespaces(self.rights_holder(), &uid);
        ClusterRights {
            all_namespaces: self.grants.may_be_allowed(self.rights_holder(), list_pods),
            namespaces: namespaces.into_iter().map(str::to_owned).collect(),
            may_import: self.may("update", "clusters", &Scope::Cluster(uid.clone())),
            may_change: self.may("patch", "clusters", &Scope::Hub),
            may_delete: self.may("delete", "clusters", &Scope::Cluster(uid.clone())),
        }
    }

    /// Returns the caller's permissions on the hub.
    pub fn caller_rights(&self) -> CallerRights {
        let may = |verb, resource| self.may(verb, resource, &Scope::Hub);
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

    /// Reports whether the caller's roles allow the verb on a Drover resource in a scope.
    pub fn may(&self, verb: &str, resource: &str, scope: &Scope) -> bool {
        self.grants
            .may(self.rights_holder(), verb, resource, "", scope)
    }

    /// Returns an error with status 403 if the caller's roles do not allow the verb.
    pub fn require(&self, verb: &str, resource: &str, scope: &Scope) -> Result<(), Status> {
        if self.may(verb, resource, scope) {
            return Ok(());
        }
        let scope = match scope {
            Scope::Hub => "on the hub",
            Scope::EveryCluster => "in every cluster",
            Scope::Cluster(_) => "in this cluster",
            Scope::Project(..) => "in this project",
        };
        Err(Status::forbidden(format!(
            "your roles {scope} do not allow you to {verb} {resource}: ask an owner or an \
             administrator for a role"
        )))
    }
}

/// Returns the scope of a cluster's objects.
pub fn cluster_scope(cluster: &Cluster) -> Scope {
    Scope::Cluster(ClusterUid::new(cluster.uid().unwrap_or_default()))
}

/// Returns the scope of a project's objects. Returns `None` until the server has stored the
/// cluster's UID in the project.
pub fn project_scope(project: &Project) -> Option<Scope> {
    let uid = project.uid().map(drover_api::ids::ProjectUid::new)?;
    Some(Scope::Project(project.spec.cluster.uid.clone()?, uid))
}

/// Returns the scope of a project's objects. Returns status 503 until the server has stored the
/// cluster's UID in the project.
pub fn require_project_scope(project: &Project) -> Result<Scope, Status> {
    project_scope(project).ok_or_else(|| {
        Status::unavailable(
            "the server has not reconciled this project yet; try again",
            1,
        )
    })
}

/// Returns the creation time of an object by the hub's clock.
pub fn created_at(object: &impl Resource) -> Timestamp {
    let created = object.meta().creation_timestamp.as_ref();
    created.map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}
