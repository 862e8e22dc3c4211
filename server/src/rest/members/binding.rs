//! The kinds that give a role in a cluster or in a project, and what they have in common.

use std::fmt::Debug;

use drover_access::grants::Place;
use drover_access::identity::Identity;
use drover_api::ids::{ClusterUid, ProjectUid};
use drover_api::kinds::{
    BindingStatus, BindingSubject, Cluster, ClusterReference, ClusterRoleTemplateBinding,
    ClusterRoleTemplateBindingSpec, Project, ProjectReference, ProjectRoleTemplateBinding,
    ProjectRoleTemplateBindingSpec, RoleReference,
};
use k8s_openapi::ClusterResourceScope;
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hub::{Mirror, Stores};
use crate::rest::sight::{Sight, place_of, place_of_cluster};
use crate::status::Status;

/// A kind of binding: a role, for a subject, at a place.
pub(in crate::rest) trait Binding:
    Resource<DynamicType = (), Scope = ClusterResourceScope>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
{
    /// What the role is given in.
    type At: Resource<DynamicType = ()>;
    /// Role of who makes such a place.
    const OWNER: &'static str;

    /// All of this kind.
    fn mirror(stores: &Stores) -> &Mirror<Self>;

    /// The place of this name, if the caller knows of it, and where its objects are.
    fn find(sight: &Sight, name: &str) -> Result<(std::sync::Arc<Self::At>, Place), Status>;

    /// A binding; without `uid`, what is there under the name is meant.
    fn bind(
        id: &str,
        at: (String, Option<String>),
        role: RoleReference,
        subject: BindingSubject,
    ) -> Self;

    /// What it says.
    fn said(&self) -> Said<'_>;

    /// The same for the caller themselves, with the role of an owner.
    fn owner(caller: &Identity) -> (RoleReference, BindingSubject) {
        let role = RoleReference {
            name: Self::OWNER.to_owned(),
            uid: None,
        };
        (role, BindingSubject::user(&caller.user_name))
    }
}

/// What a binding says, of whichever kind.
pub(in crate::rest) struct Said<'a> {
    at: &'a str,
    uid: Option<&'a str>,
    pub(super) role: &'a RoleReference,
    pub(super) subject: &'a BindingSubject,
    pub(super) status: Option<&'a BindingStatus>,
}

impl Said<'_> {
    /// By UID once the server has written it; a name alone may mean one that was there before.
    pub(super) fn is_at<K: Resource<DynamicType = ()>>(&self, place: &K) -> bool {
        let uid = place.meta().uid.as_deref();
        self.at == place.name_any() && self.uid.is_none_or(|pinned| Some(pinned) == uid)
    }
}

impl Binding for ClusterRoleTemplateBinding {
    type At = Cluster;
    const OWNER: &'static str = "cluster-owner";

    fn mirror(stores: &Stores) -> &Mirror<Self> {
        &stores.cluster_role_template_bindings
    }

    fn find(sight: &Sight, name: &str) -> Result<(std::sync::Arc<Cluster>, Place), Status> {
        let cluster = sight.cluster(name)?;
        let place = place_of_cluster(&cluster);
        Ok((cluster, place))
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

    fn said(&self) -> Said<'_> {
        let cluster = &self.spec.cluster;
        Said {
            at: &cluster.name,
            uid: cluster.uid.as_ref().map(ClusterUid::as_str),
            role: &self.spec.role,
            subject: &self.spec.subject,
            status: self.status.as_ref(),
        }
    }
}

impl Binding for ProjectRoleTemplateBinding {
    type At = Project;
    const OWNER: &'static str = "project-owner";

    fn mirror(stores: &Stores) -> &Mirror<Self> {
        &stores.project_role_template_bindings
    }

    fn find(sight: &Sight, name: &str) -> Result<(std::sync::Arc<Project>, Place), Status> {
        let project = sight.project(name)?;
        let place = place_of(&project).ok_or_else(|| {
            Status::unavailable("the server has not yet seen to this project; try again", 1)
        })?;
        Ok((project, place))
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

    fn said(&self) -> Said<'_> {
        let project = &self.spec.project;
        Said {
            at: &project.name,
            uid: project.uid.as_ref().map(ProjectUid::as_str),
            role: &self.spec.role,
            subject: &self.spec.subject,
            status: self.status.as_ref(),
        }
    }
}
