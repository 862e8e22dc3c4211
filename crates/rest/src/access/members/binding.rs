//! The kinds that give a role, and what they have in common.

use std::fmt::Debug;
use std::sync::Arc;

use drover_access::grants::Place;
use drover_access::identity::Identity;
use drover_api::ids::{ClusterUid, ProjectUid};
use drover_api::kinds::{
    BindingStatus, BindingSubject, Cluster, ClusterReference, ClusterRoleTemplateBinding,
    ClusterRoleTemplateBindingSpec, GlobalRoleBinding, Project, ProjectReference,
    ProjectRoleTemplateBinding, ProjectRoleTemplateBindingSpec, RoleReference,
};
use k8s_openapi::ClusterResourceScope;
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;

use drover_http_edge::status::Status;
use drover_hub::visibility::{Visibility, cluster_scope, require_project_scope};
use drover_hub::{Store, Stores};

/// A kind of binding: a role for a subject.
pub(crate) trait Binding:
    Resource<DynamicType = (), Scope = ClusterResourceScope>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
{
    /// All of this kind.
    fn store(stores: &Stores) -> &Store<Self>;

    /// UID of the role that a name means in it; `None` if there is none.
    fn role_uid(stores: &Stores, name: &str) -> Option<String>;

    /// What it says.
    fn said(&self) -> Said<'_>;
}

/// One that gives its role at a place.
pub(crate) trait Placed: Binding {
    /// What the role is given in.
    type At: Resource<DynamicType = ()>;
    /// Role of who makes such a place.
    const OWNER: &'static str;

    /// The place of this name, if the caller knows of it, and where its objects are.
    fn find(visibility: &Visibility, name: &str) -> Result<(Arc<Self::At>, Place), Status>;

    /// The cluster that a place is, or is in.
    fn cluster(at: &Self::At) -> ClusterReference;

    /// A binding; without `uid`, what is there under the name is meant.
    fn bind(
        id: &str,
        at: (String, Option<String>),
        role: RoleReference,
        subject: BindingSubject,
    ) -> Self;

    /// Where it gives it: a name, and a UID once the server has written it.
    fn at(&self) -> (&str, Option<&str>);

    /// Whether it is for this place: by UID, as a name alone may mean one that was there before.
    fn is_at(&self, place: &Self::At) -> bool {
        let (name, pinned) = self.at();
        let uid = place.meta().uid.as_deref();
        name == place.name_any() && pinned.is_none_or(|pinned| Some(pinned) == uid)
    }

    /// What makes the caller the owner.
    fn owner(caller: &Identity) -> (RoleReference, BindingSubject) {
        let role = RoleReference {
            name: Self::OWNER.to_owned(),
            uid: None,
        };
        (role, BindingSubject::user(&caller.user_name))
    }
}

/// What a binding says, of whichever kind.
pub(crate) struct Said<'a> {
    pub(super) role: &'a RoleReference,
    pub(super) subject: &'a BindingSubject,
    pub(super) status: Option<&'a BindingStatus>,
}

impl Binding for ClusterRoleTemplateBinding {
    fn store(stores: &Stores) -> &Store<Self> {
        &stores.cluster_role_template_bindings
    }

    fn role_uid(stores: &Stores, name: &str) -> Option<String> {
        stores.role_templates.by_name(name)?.uid()
    }

    fn said(&self) -> Said<'_> {
        Said {
            role: &self.spec.role,
            subject: &self.spec.subject,
            status: self.status.as_ref(),
        }
    }
}

impl Placed for ClusterRoleTemplateBinding {
    type At = Cluster;
    const OWNER: &'static str = "cluster-owner";

    fn find(visibility: &Visibility, name: &str) -> Result<(Arc<Cluster>, Place), Status> {
        let cluster = visibility.cluster(name)?;
        let place = cluster_scope(&cluster);
        Ok((cluster, place))
    }

    fn cluster(at: &Cluster) -> ClusterReference {
        ClusterReference {
            name: at.name_any(),
            uid: at.uid().map(ClusterUid::new),
        }
    }

    fn bind(
        id: &str,
        at: (String, Option<String>),
        role: RoleReference,
        subject: BindingSubject,
    ) -> Self {
        let (name, uid) = (at.0, at.1.map(ClusterUid::new));
        let spec = ClusterRoleTemplateBindingSpec {
            cluster: ClusterReference { name, uid },
            role,
            subject,
        };
        Self::new(id, spec)
    }

    fn at(&self) -> (&str, Option<&str>) {
        let cluster = &self.spec.cluster;
        (&cluster.name, cluster.uid.as_ref().map(ClusterUid::as_str))
    }
}

impl Binding for ProjectRoleTemplateBinding {
    fn store(stores: &Stores) -> &Store<Self> {
        &stores.project_role_template_bindings
    }

    fn role_uid(stores: &Stores, name: &str) -> Option<String> {
        stores.role_templates.by_name(name)?.uid()
    }

    fn said(&self) -> Said<'_> {
        Said {
            role: &self.spec.role,
            subject: &self.spec.subject,
            status: self.status.as_ref(),
        }
    }
}

impl Placed for ProjectRoleTemplateBinding {
    type At = Project;
    const OWNER: &'static str = "project-owner";

    fn find(visibility: &Visibility, name: &str) -> Result<(Arc<Project>, Place), Status> {
        let project = visibility.project(name)?;
        let place = require_project_scope(&project)?;
        Ok((project, place))
    }

    fn cluster(at: &Project) -> ClusterReference {
        at.spec.cluster.clone()
    }

    fn bind(
        id: &str,
        at: (String, Option<String>),
        role: RoleReference,
        subject: BindingSubject,
    ) -> Self {
        let (name, uid) = (at.0, at.1.map(ProjectUid::new));
        let spec = ProjectRoleTemplateBindingSpec {
            project: ProjectReference { name, uid },
            role,
            subject,
        };
        Self::new(id, spec)
    }

    fn at(&self) -> (&str, Option<&str>) {
        let project = &self.spec.project;
        (&project.name, project.uid.as_ref().map(ProjectUid::as_str))
    }
}

impl Binding for GlobalRoleBinding {
    fn store(stores: &Stores) -> &Store<Self> {
        &stores.global_role_bindings
    }

    fn role_uid(stores: &Stores, name: &str) -> Option<String> {
        stores.global_roles.by_name(name)?.uid()
    }

    fn said(&self) -> Said<'_> {
        Said {
            role: &self.spec.role,
            subject: &self.spec.subject,
            status: self.status.as_ref(),
        }
    }
}
