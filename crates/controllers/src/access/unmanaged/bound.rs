//! The subjects of all bindings on the hub that apply to a cluster.

use std::collections::BTreeSet;

use drover_access::grants::Subject as GrantSubject;
use drover_api::ids::{ClusterUid, ProjectUid, UserUid};
use drover_api::kinds::{BindingSubject, Cluster, ClusterReference, Project};
use kube::ResourceExt as _;

use drover_hub::Stores;

/// All subjects of bindings that apply to a cluster. Includes the subjects of bindings that
/// currently grant no access.
pub(in crate::access) struct BoundSubjects {
    stores: Stores,
    /// UIDs of the users that bindings name.
    users: BTreeSet<String>,
    /// Names of the groups that bindings name.
    groups: BTreeSet<String>,
}

impl BoundSubjects {
    /// Reads the subjects from the stores. Call this function only when the stores are complete.
    pub(in crate::access) fn of(stores: &Stores, uid: &ClusterUid) -> Self {
        let mut bound = Self {
            stores: stores.clone(),
            users: BTreeSet::new(),
            groups: BTreeSet::new(),
        };
        let cluster = stores.clusters.by_uid(uid.as_str());
        let here = |reference: &ClusterReference| is_named(reference, uid, cluster.as_deref());
        for binding in stores.global_role_bindings.all() {
            bound.add(&binding.spec.subject);
        }
        for binding in stores.cluster_role_template_bindings.all() {
            if here(&binding.spec.cluster) {
                bound.add(&binding.spec.subject);
            }
        }
        for binding in stores.project_role_template_bindings.all() {
            let reference = &binding.spec.project;
            let project = match &reference.uid {
                Some(uid) => stores.projects.by_uid(ProjectUid::as_str(uid)),
                None => stores.projects.by_name(&reference.name),
            };
            let is_here = |project: &Project| here(&project.spec.cluster);
            if project.is_some_and(|project| is_here(&project)) {
                bound.add(&binding.spec.subject);
            }
        }
        bound
    }

    fn add(&mut self, subject: &BindingSubject) {
        if let Some(user) = &subject.user {
            let pinned = user.uid.as_ref().map(|uid| uid.as_str().to_owned());
            let found = || self.stores.users.by_name(&user.name)?.uid();
            self.users.extend(pinned.or_else(found));
        }
        let group = subject.group.as_ref();
        self.groups.extend(group.map(|group| group.name.clone()));
    }

    /// Reports whether a binding names this subject. For a user, also checks the groups in the
    /// provider's latest response.
    pub(super) fn contains(&self, person: &GrantSubject) -> bool {
        let name = match person {
            GrantSubject::Group(name) => return self.groups.contains(name.as_str()),
            GrantSubject::User(name) => name,
        };
        let uid = UserUid::as_str(&name.uid()).to_owned();
        let Some(user) = self.stores.users.by_uid(&uid) else {
            return false;
        };
        let identities = user.status.iter().flat_map(|status| &status.identities);
        let mut groups = identities.flat_map(|identity| &identity.groups);
        user.spec.administrator
            || self.users.contains(&uid)
            || groups.any(|group| self.groups.contains(&group.name))
    }
}

fn is_named(reference: &ClusterReference, uid: &ClusterUid, cluster: Option<&Cluster>) -> bool {
    match &reference.uid {
        Some(pinned) => pinned == uid,
        None => cluster.is_some_and(|cluster| cluster.name_any() == reference.name),
    }
}
