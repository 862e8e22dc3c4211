//! Unmanaged bindings in a cluster: RoleBindings and ClusterRoleBindings that contain users or
//! groups of Drover, but that Drover did not create.

use std::fmt::Debug;
use std::ops::ControlFlow;

use drover_access::admission::{HUB_LABEL, RBAC};
use drover_access::grants::Subject as DroverSubject;
use drover_access::names::{GroupName, UserName};
use drover_api::group::ACCESS_LABEL;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding, RoleRef, Subject};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::compare::Comparable;
use crate::error::ApplyError;
use crate::objects::Objects;
use crate::owner::Owner;

/// Maximum number of bindings per kind.
const MAX_BINDINGS: usize = 2000;

/// A RoleBinding or a ClusterRoleBinding.
pub trait RoleBindingLike: Comparable {
    /// Returns the subjects of the binding.
    fn subjects(&self) -> &[Subject];

    /// Returns the role of the binding.
    fn role(&self) -> &RoleRef;

    /// Returns a copy of the binding with these subjects.
    #[must_use]
    fn with(self, subjects: Vec<Subject>) -> Self;
}

impl RoleBindingLike for ClusterRoleBinding {
    fn subjects(&self) -> &[Subject] {
        self.subjects.as_deref().unwrap_or_default()
    }

    fn role(&self) -> &RoleRef {
        &self.role_ref
    }

    fn with(mut self, subjects: Vec<Subject>) -> Self {
        self.subjects = Some(subjects);
        self
    }
}

impl RoleBindingLike for RoleBinding {
    fn subjects(&self) -> &[Subject] {
        self.subjects.as_deref().unwrap_or_default()
    }

    fn role(&self) -> &RoleRef {
        &self.role_ref
    }

    fn with(mut self, subjects: Vec<Subject>) -> Self {
        self.subjects = Some(subjects);
        self
    }
}

/// Unmanaged bindings that contain users or groups of Drover.
pub struct UnmanagedBindings {
    /// The unmanaged ClusterRoleBindings.
    pub everywhere: Vec<ClusterRoleBinding>,
    /// The unmanaged RoleBindings.
    pub within: Vec<RoleBinding>,
    /// True if the cluster has more unmanaged bindings than the maximum.
    pub more: bool,
}

impl UnmanagedBindings {
    /// Reads the bindings that contain a subject for which `matches` is true, page by page.
    pub async fn read(
        client: &Client,
        matches: impl Fn(&DroverSubject) -> bool,
    ) -> Result<Self, ApplyError> {
        let others = || Owner::without(&[ACCESS_LABEL, HUB_LABEL]);
        let (all, within) = (
            Objects::cluster_scoped(client, others()),
            Objects::namespaced(client, others()),
        );
        let (everywhere, more) = naming(&all, &matches).await?;
        let (within, also_more) = naming(&within, &matches).await?;
        Ok(Self {
            everywhere,
            within,
            more: more || also_more,
        })
    }
}

/// Returns the matching bindings. The second value is true if the cluster has more matching
/// bindings than the maximum.
async fn naming<K>(
    objects: &Objects<K>,
    matches: impl Fn(&DroverSubject) -> bool,
) -> Result<(Vec<K>, bool), ApplyError>
where
    K: RoleBindingLike + Resource<DynamicType = ()> + Serialize + DeserializeOwned + Debug,
{
    let mut found = Vec::new();
    let names = |binding: &K| {
        let mut people = binding.subjects().iter().filter_map(person);
        people.any(|person| matches(&person))
    };
    let take = |page: Vec<K>, _| {
        found.extend(page.into_iter().filter(names));
        if found.len() > MAX_BINDINGS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    objects.for_each_page(take).await?;
    let more = found.len() > MAX_BINDINGS;
    found.truncate(MAX_BINDINGS);
    Ok((found, more))
}

/// Returns the user or group of Drover that a subject refers to.
pub fn person(subject: &Subject) -> Option<DroverSubject> {
    // The API group of users and groups may also be empty.
    if !matches!(subject.api_group.as_deref(), None | Some("" | RBAC)) {
        return None;
    }
    match subject.kind.as_str() {
        "User" => UserName::parse(&subject.name).map(DroverSubject::User),
        "Group" => GroupName::parse(&subject.name).map(DroverSubject::Group),
        _ => None,
    }
}
