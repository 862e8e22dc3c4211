//! Whom somebody who asks may learn the name of.

use std::collections::{HashMap, HashSet};

use drover_access::grants::{BindingKind, Place};
use drover_access::names::UserName;
use drover_api::ids::ClusterUid;
use kube::ResourceExt as _;

use drover_hub::Stores;
use drover_hub::visibility::Visibility;

/// The people whom an asker finds among the members of a cluster and its projects, or among all people.
/// Bindings that somebody made in the cluster may name others, of whom the asker learns no name.
pub(super) struct Known<'a> {
    stores: &'a Stores,
    /// `None` for everybody.
    people: Option<HashSet<&'a str>>,
}

impl<'a> Known<'a> {
    /// To this asker in a cluster, who has said the names of those `asked_about` themselves.
    pub(super) fn to(
        visibility: &'a Visibility,
        stores: &'a Stores,
        cluster: &ClusterUid,
        asked_about: &'a [String],
    ) -> Self {
        let everybody = visibility.may("list", "users", &Place::Hub);
        let people = || {
            let own = visibility.who().user.as_str();
            let asked_about = asked_about.iter().map(String::as_str);
            members(visibility, cluster)
                .chain([own])
                .chain(asked_about)
                .collect()
        };
        Self {
            stores,
            people: (!everybody).then(people),
        }
    }

    /// Whether the asker may see somebody with these names: their own and those of their groups.
    pub(super) fn sees(&self, names: &[String]) -> bool {
        let people = self.people.as_ref();
        people.is_none_or(|people| names.iter().any(|name| people.contains(name.as_str())))
    }

    /// The name of a person who is still there.
    pub(super) fn name_of(&self, subject: &str) -> Option<String> {
        let people = self.people.as_ref();
        if people.is_some_and(|people| !people.contains(subject)) {
            return None;
        }
        let name = UserName::parse(subject)?;
        let user = self.stores.users.by_uid(name.uid().as_str())?;
        Some(user.name_any())
    }
}

/// Everybody of whom the asker may see that they have a role in a cluster.
fn members<'a>(visibility: &'a Visibility, cluster: &ClusterUid) -> impl Iterator<Item = &'a str> {
    let everywhere = sees_everywhere(visibility);
    let mut places = HashMap::new();
    let mut may_list = move |bindings, place: &'a Place| {
        let may = || visibility.may("list", bindings, place);
        *places.entry((bindings, place)).or_insert_with(may)
    };
    let there = visibility.grants().in_cluster(cluster);
    let seen = there.filter(move |grant| match grant.binding.kind {
        BindingKind::Global | BindingKind::Administrator => everywhere,
        BindingKind::Cluster => may_list("clusterroletemplatebindings", &grant.place),
        BindingKind::Project => may_list("projectroletemplatebindings", &grant.place),
    });
    seen.map(|grant| grant.subject.as_str())
}

/// Whether somebody may know who has what in every cluster.
pub(super) fn sees_everywhere(visibility: &Visibility) -> bool {
    visibility.may("list", "globalrolebindings", &Place::Hub)
}

#[cfg(test)]
mod tests;
