//! Common interface of all kinds of role bindings.

use std::sync::Arc;

use drover_access::grants::Scope;
use drover_access::identity::Identity;
use drover_api::ids::{ClusterUid, ProjectUid};
use drover_api::kinds::{
    BindingStatus, BindingSubject, Cluster, ClusterReference, ClusterRoleTemplateBinding,
    ClusterRoleTemplateBindingSpec, GlobalRoleBinding, Project, ProjectReference,
    ProjectRoleTemplateBinding, ProjectRoleTemplateBindingSpec, RoleReference,
};
use kube::{Resource, ResourceExt as _};

use drover_http_edge::status::Status;
use drover_hub::visibility::{Visibility, cluster_scope, require_project_scope};
use drover_hub::{StoredKind, Stores};

/// A kind of role binding.
pub(crate) trait Binding: StoredKind {
    /// Returns the UID of the role with this name. Returns `None` if the role does not exist.
    fn role_uid(stores: &Stores, name: &str) -> Option<String>;

    /// Returns the role, the subject and the status of the binding.
    fn fields(&self) -> BindingFields<'_>;
}

/// A kind of role binding in a cluster or project.
pub(crate) trait ScopedBinding: Binding {
    /// The kind of the scope: Cluster or Project.
    type Target: Resource<DynamicType = ()>;
    /// Name of the role that the creator of a cluster or project receives.
    const OWNER: &'static str;

    /// Returns the cluster or project with this name, and its scope. Returns an error unless the
    /// object is visible to the caller.
    fn find(visibility: &Visibility, name: &str) -> Result<(Arc<Self::Target>, Scope), Status>;

    /// Returns the cluster of a scope. For a cluster, returns the cluster itself. For a project,
    /// returns the project's cluster.
    fn cluster(at: &Self::Target) -> ClusterReference;

    /// Creates a binding for the cluster or project `at` (name and UID). Without a UID, the binding
    /// refers to the cluster or project by name only.
    fn bind(
        id: &str,
        at: (String, Option<String>),
        role: RoleReference,
        subject: BindingSubject,
    ) -> Self;

    /// Returns the name of the binding's cluster or project, and its UID if the binding contains
    /// the UID.
    fn at(&self) -> (&str, Option<&str>);

    /// Reports whether the binding refers to this cluster or project. Compares the recorded UID,
    /// because a deleted object can have had the same name.
    fn is_at(&self, target: &Self::Target) -> bool {
        let (name, pinned) = self.at();
        let uid = target.meta().uid.as_deref();
        name == target.name_any() && pinned.is_none_or(|pinned| Some(pinned) == uid)
    }

    /// Returns the role and the subject of the binding for the creator of a cluster or project.
    fn owner(caller: &Identity) -> (RoleReference, BindingSubject) {
        let role = RoleReference {
            name: Self::OWNER.to_owned(),
            uid: None,
        };
        (role, BindingSubject::user(&caller.user_name))
    }
}

/// Fields that all kinds of role bindings have in common.
pub(crate) struct BindingFields<'a> {
    pub(super) role: &'a RoleReference,
    pub(super) subject: &'a BindingSubject,
    pub(super) status: Option<&'a BindingStatus>,
}

impl Binding for ClusterRoleTemplateBinding {
    fn role_uid(stores: &Stores, name: &str) -> Option<String> {
        stores.role_templates.by_name(name)?.uid()
    }

    fn fields(&self) -> BindingFields<'_> {
        BindingFields {
            role: &self.spec.role,
            subject: &self.spec.subject,
            status: self.status.as_ref(),
        }
    }
}

impl ScopedBinding for ClusterRoleTemplateBinding {
    type Target = Cluster;
    const OWNER: &'static str = "cluster-owner";

    fn find(visibility: &Visibility, name: &str) -> Result<(Arc<Cluster>, Scope), Status> {
        let cluster = visibility.cluster(name)?;
        let scope = cluster_scope(&cluster);
        Ok((cluster, scope))
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
    fn role_uid(stores: &Stores, name: &str) -> Option<String> {
        stores.role_templates.by_name(name)?.uid()
    }

    fn fields(&self) -> BindingFields<'_> {
        BindingFields {
            role: &self.spec.role,
            subject: &self.spec.subject,
            status: self.status.as_ref(),
        }
    }
}

impl ScopedBinding for ProjectRoleTemplateBinding {
    type Target = Project;
    const OWNER: &'static str = "project-owner";

    fn find(visibility: &Visibility, name: &str) -> Result<(Arc<Project>, Scope), Status> {
        let project = visibility.project(name)?;
        let scope = require_project_scope(&project)?;
        Ok((project, scope))
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
    fn role_uid(stores: &Stores, name: &str) -> Option<String> {
        stores.global_roles.by_name(name)?.uid()
    }

    fn fields(&self) -> BindingFields<'_> {
        BindingFields {
            role: &self.spec.role,
            subject: &self.spec.subject,
            status: self.status.as_ref(),
        }
    }
}
