//! What somebody has at a place, all their roles together.

use drover_api::group::GROUP;
use drover_api::ids::ClusterUid;
use drover_rbac::Asked;

use super::{Binding, BindingKind, Facts, Grant, Grants, Names, Place, Roles, Subject};
use crate::names::{GroupName, UserName};
use crate::roles::Rights;
use crate::target::Target;

/// Somebody, with all groups that they are in.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// The person.
    pub user: &'a UserName,
    /// Their groups.
    pub groups: &'a [GroupName],
}

impl Grants {
    /// What somebody has, by themselves and by their groups.
    pub fn of<'a>(&'a self, who: Who<'_>) -> impl Iterator<Item = &'a Grant> {
        let groups = who.groups.iter().map(GroupName::as_str);
        let names = std::iter::once(who.user.as_str()).chain(groups);
        let found: Vec<&[usize]> = names
            .filter_map(|name| self.by_subject.get(name).map(Vec::as_slice))
            .collect();
        found.into_iter().flatten().map(|&index| &self.all[index])
    }

    /// All that somebody may do at a place, with what they may do at larger ones.
    pub fn held(&self, who: Who<'_>, place: &Place) -> Rights {
        let mut rights = Rights::default();
        for part in self.of(who).flat_map(|grant| parts_at(grant, place)) {
            rights.extend(part);
        }
        rights
    }

    /// What somebody may do in a namespace of the hub, beside what they may do on the whole hub.
    pub fn held_in_hub_namespace(&self, who: Who<'_>, namespace: &str) -> Rights {
        let mut rights = self.held(who, &Place::Hub);
        let here = self.of(who).filter(|grant| grant.place == Place::Hub);
        for namespaced in here.filter_map(|grant| grant.role.namespaced.get(namespace)) {
            rights.extend(namespaced);
        }
        rights
    }

    /// Whether somebody may do this to an object of Drover's own that belongs to a place, such as
    /// `create` the `clusterroletemplatebindings` of a cluster; the name is empty for many.
    pub fn may(&self, who: Who<'_>, verb: &str, resource: &str, name: &str, place: &Place) -> bool {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let asked = Asked::Resource {
            group: GROUP,
            resource,
            subresource,
            name,
        };
        let mut parts = self.of(who).flat_map(|grant| parts_at(grant, place));
        parts.any(|rights| rights.rules.iter().any(|rule| rule.allows(verb, asked)))
    }

    /// Whether somebody has any role at a target, which is what it takes to get there at all.
    pub fn may_enter(&self, who: Who<'_>, target: &Target) -> bool {
        self.of(who).any(|grant| leads_to(grant, target))
    }

    /// Whether somebody may do everything on the hub and in every cluster.
    pub fn administers(&self, who: Who<'_>) -> bool {
        [Place::Hub, Place::EveryCluster].iter().all(|place| {
            let mut own = self.of(who).filter(|grant| grant.place == *place);
            own.any(|grant| grant.role.scoped.cluster.is_everything())
        })
    }

    /// Whether somebody has bindings by which they administer Drover, or would if they were enabled.
    pub fn administers_if_enabled(facts: &Facts<'_>, who: Who<'_>) -> bool {
        let mut roles = Roles::new(facts, Names::Pinned);
        let mut grants = Self::default();
        for (name, spec) in &facts.global_bindings {
            let user = spec.subject.user.as_ref();
            let own = user.and_then(|user| user.uid.as_ref()) == Some(&who.user.uid());
            let subject = if own {
                Ok(Some(Subject::User(who.user.clone())))
            } else {
                roles.subject(&spec.subject)
            };
            let is_theirs = match &subject {
                Ok(Some(Subject::Group(group))) => who.groups.contains(group),
                _ => own,
            };
            if is_theirs {
                let given = roles.given(Binding::Global(spec));
                grants.bind(BindingKind::Global, name, given, subject);
            }
        }
        grants.administers(who)
    }

    /// Whether somebody's roles at a target let them act as others (`kubectl --as`).
    pub fn may_act_as_others(&self, who: Who<'_>, target: &Target) -> bool {
        let place = match target {
            Target::Hub => Place::Hub,
            Target::Cluster(cluster) => Place::Cluster(cluster.clone()),
        };
        let asked = Asked::Resource {
            group: "",
            resource: "users",
            subresource: "",
            name: "",
        };
        let mut parts = self.of(who).flat_map(|grant| parts_at(grant, &place));
        parts.any(|rights| {
            rights
                .rules
                .iter()
                .any(|rule| rule.allows("impersonate", asked))
        })
    }

    /// Whether somebody has a role at exactly this place.
    pub fn has_role_at(&self, who: Who<'_>, place: &Place) -> bool {
        self.of(who).any(|grant| grant.place == *place)
    }

    /// Those of somebody's groups that have a role at a target: a cluster knows no others, and would
    /// refuse a request that carries one.
    pub fn groups_at(&self, groups: &[GroupName], target: &Target) -> Vec<GroupName> {
        let counts = |group: &&GroupName| {
            let grants = self.by_subject.get(group.as_str()).into_iter().flatten();
            grants
                .map(|&index| &self.all[index])
                .any(|grant| leads_to(grant, target))
        };
        groups.iter().filter(counts).cloned().collect()
    }
}

/// What of a grant holds at a place.
fn parts_at<'a>(grant: &'a Grant, place: &Place) -> impl Iterator<Item = &'a Rights> + use<'a> {
    let scoped = &grant.role.scoped;
    let whole = match (place, &grant.place) {
        (Place::Hub, there) => *there == Place::Hub,
        (_, Place::EveryCluster) => true,
        (Place::EveryCluster, _) | (_, Place::Hub) => false,
        // A role in a project counts with what it allows in the whole cluster.
        (
            Place::Cluster(here) | Place::Project(here, _),
            Place::Cluster(there) | Place::Project(there, _),
        ) => here == there,
    };
    let own = matches!(place, Place::Project(..)) && *place == grant.place;
    let whole = whole.then_some(&scoped.cluster);
    whole.into_iter().chain(own.then_some(&scoped.project))
}

/// A role that allows nothing on the hub does not lead there: one of a cluster is not for the hub.
pub(super) fn leads_to(grant: &Grant, target: &Target) -> bool {
    match target {
        Target::Hub => {
            let role = &grant.role;
            grant.place == Place::Hub
                && !(role.scoped.cluster.is_empty() && role.namespaced.is_empty())
        }
        Target::Cluster(cluster) => is_in(&grant.place, cluster),
    }
}

/// Whether a place is in this cluster, or is all of them.
pub(super) fn is_in(place: &Place, cluster: &ClusterUid) -> bool {
    match place {
        Place::Hub => false,
        Place::EveryCluster => true,
        Place::Cluster(uid) | Place::Project(uid, _) => uid == cluster,
    }
}
