//! Determines the users whose names a caller can see in an explanation of a permission.

use std::collections::{HashMap, HashSet};

use drover_access::grants::{BindingKind, Scope};
use drover_access::names::UserName;
use drover_api::ids::ClusterUid;
use kube::ResourceExt as _;

use drover_hub::Stores;
use drover_hub::visibility::Visibility;

/// The users whose names the caller can see: the members of a cluster and its projects, or all
/// users.
///
/// Bindings in the cluster can have subjects that are not visible to the caller. The response hides
/// the names of these subjects.
pub(super) struct VisibleUsers<'a> {
    stores: &'a Stores,
    /// RBAC subject names of the visible users and groups. `None` if all users and groups are
    /// visible.
    subjects: Option<HashSet<&'a str>>,
}

impl<'a> VisibleUsers<'a> {
    /// Returns the users who are visible to a caller in a cluster. The names in `requested` are
    /// always visible, because they are in the caller's request.
    pub(super) fn new(
        visibility: &'a Visibility,
        stores: &'a Stores,
        cluster: &ClusterUid,
        requested: &'a [String],
    ) -> Self {
        let everybody = visibility.may("list", "users", &Scope::Hub);
        let subjects = || {
            let own = visibility.rights_holder().user.as_str();
            let requested = requested.iter().map(String::as_str);
            members(visibility, cluster)
                .chain([own])
                .chain(requested)
                .collect()
        };
        Self {
            stores,
            subjects: (!everybody).then(subjects),
        }
    }

    /// Reports whether at least one of these RBAC subject names is visible.
    pub(super) fn contains_any(&self, names: &[String]) -> bool {
        let subjects = self.subjects.as_ref();
        subjects.is_none_or(|subjects| names.iter().any(|name| subjects.contains(name.as_str())))
    }

    /// Returns the name of the user with this RBAC subject name, if the user exists and is visible.
    pub(super) fn name_of(&self, subject: &str) -> Option<String> {
        let subjects = self.subjects.as_ref();
        if subjects.is_some_and(|subjects| !subjects.contains(subject)) {
            return None;
        }
        let name = UserName::parse(subject)?;
        let user = self.stores.users.by_uid(name.uid().as_str())?;
        Some(user.name_any())
    }
}

/// Returns the RBAC subject names in all bindings of a cluster that the caller can list.
fn members<'a>(visibility: &'a Visibility, cluster: &ClusterUid) -> impl Iterator<Item = &'a str> {
    let everywhere = sees_everywhere(visibility);
    let mut scopes = HashMap::new();
    let mut may_list = move |bindings, scope: &'a Scope| {
        let may = || visibility.may("list", bindings, scope);
        *scopes.entry((bindings, scope)).or_insert_with(may)
    };
    let there = visibility.grants().in_cluster(cluster);
    let visible = there.filter(move |grant| match grant.binding.kind {
        BindingKind::Global | BindingKind::Administrator => everywhere,
        BindingKind::Cluster => may_list("clusterroletemplatebindings", &grant.scope),
        BindingKind::Project => may_list("projectroletemplatebindings", &grant.scope),
    });
    visible.map(|grant| grant.subject.as_str())
}

/// Reports whether the caller can list roles that apply in every cluster.
pub(super) fn sees_everywhere(visibility: &Visibility) -> bool {
    visibility.may("list", "globalrolebindings", &Scope::Hub)
}

#[cfg(test)]
mod tests;
