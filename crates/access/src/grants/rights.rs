//! The combined permissions of a user in a scope.

use drover_api::group::GROUP;
use drover_api::ids::ClusterUid;
use drover_rbac::{Rule, RuleTarget};

use super::Target;
use super::{Binding, BindingKind, Facts, Grant, Grants, Names, Roles, Scope, Subject};
use crate::names::{GroupName, UserName};
use crate::roles::Rights;

/// A user and all groups of this user.
#[derive(Clone, Copy, Debug)]
pub struct RightsHolder<'a> {
    /// Name of the user in clusters: `drover:user:<uid>`.
    pub user: &'a UserName,
    /// Names of the user's groups in clusters: `drover:<provider>:<id>`.
    pub groups: &'a [GroupName],
}

impl Grants {
    /// Returns all grants of a user, including the grants of the user's groups.
    pub fn of<'a>(&'a self, holder: RightsHolder<'_>) -> impl Iterator<Item = &'a Grant> {
        let groups = holder.groups.iter().map(GroupName::as_str);
        let names = std::iter::once(holder.user.as_str()).chain(groups);
        let found: Vec<&[usize]> = names
            .filter_map(|name| self.by_subject.get(name).map(Vec::as_slice))
            .collect();
        found.into_iter().flatten().map(|&index| &self.all[index])
    }

    /// Returns all permissions of a user in a scope. Includes permissions from wider scopes, such
    /// as all clusters.
    pub fn rights_in(&self, holder: RightsHolder<'_>, scope: &Scope) -> Rights {
        let mut rights = Rights::default();
        for part in self.of(holder).flat_map(|grant| rights_at(grant, scope)) {
            rights.extend(part);
        }
        rights
    }

    /// Returns all permissions of a user in a namespace of the hub. Includes permissions on the
    /// whole hub.
    pub fn rights_in_hub_namespace(&self, holder: RightsHolder<'_>, namespace: &str) -> Rights {
        let mut rights = self.rights_in(holder, &Scope::Hub);
        let here = self.of(holder).filter(|grant| grant.scope == Scope::Hub);
        for namespaced in here.filter_map(|grant| grant.role.namespaced.get(namespace)) {
            rights.extend(namespaced);
        }
        rights
    }

    /// Reports whether a user may perform a verb on a Drover object of a scope, such as `create` on
    /// the `clusterroletemplatebindings` of a cluster. An empty name means a collection.
    pub fn may(
        &self,
        holder: RightsHolder<'_>,
        verb: &str,
        resource: &str,
        name: &str,
        scope: &Scope,
    ) -> bool {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let rule_target = RuleTarget::Resource {
            group: GROUP,
            resource,
            subresource,
            name,
        };
        let mut parts = self.of(holder).flat_map(|grant| rights_at(grant, scope));
        parts.any(|rights| {
            rights
                .rules
                .iter()
                .any(|rule| rule.allows(verb, rule_target))
        })
    }

    /// Reports whether a user has at least one role at a target. Without a role, the user has no
    /// access to the target.
    pub fn may_enter(&self, holder: RightsHolder<'_>, target: &Target) -> bool {
        self.of(holder).any(|grant| gives_access_to(grant, target))
    }

    /// Reports whether a user is an administrator of the hub and all clusters.
    pub fn administers(&self, holder: RightsHolder<'_>) -> bool {
        [Scope::Hub, Scope::EveryCluster].iter().all(|scope| {
            let mut own = self.of(holder).filter(|grant| grant.scope == *scope);
            own.any(|grant| grant.role.scoped.cluster.is_everything())
        })
    }

    /// Reports whether a user's bindings make the user an administrator. Ignores whether the user
    /// is disabled.
    pub fn administers_if_enabled(facts: &Facts<'_>, holder: RightsHolder<'_>) -> bool {
        let mut roles = Roles::new(facts, Names::Pinned);
        let mut grants = Self::default();
        for (name, spec) in &facts.global_bindings {
            let user = spec.subject.user.as_ref();
            let own = user.and_then(|user| user.uid.as_ref()) == Some(&holder.user.uid());
            let subject = if own {
                Ok(Some(Subject::User(holder.user.clone())))
            } else {
                roles.subject(&spec.subject)
            };
            let is_theirs = match &subject {
                Ok(Some(Subject::Group(group))) => holder.groups.contains(group),
                _ => own,
            };
            if is_theirs {
                let granted = roles.resolve(Binding::Global(spec));
                grants.bind(BindingKind::Global, name, granted, subject);
            }
        }
        grants.administers(holder)
    }

    /// Reports whether a user's roles at a target permit impersonation (`kubectl --as`).
    pub fn may_act_as_others(&self, holder: RightsHolder<'_>, target: &Target) -> bool {
        let scope = match target {
            Target::Hub => Scope::Hub,
            Target::Cluster(cluster) => Scope::Cluster(cluster.clone()),
        };
        let rule_target = RuleTarget::Resource {
            group: "",
            resource: "users",
            subresource: "",
            name: "",
        };
        let mut parts = self.of(holder).flat_map(|grant| rights_at(grant, &scope));
        parts.any(|rights| {
            rights
                .rules
                .iter()
                .any(|rule| rule.allows("impersonate", rule_target))
        })
    }

    /// Reports whether a user could impersonate names outside of Drover with direct requests to a
    /// cluster. The proxy permits the impersonation of Drover's names only (`kubectl --as`). An API
    /// server permits all names, which makes no difference for a user with all permissions.
    pub fn may_impersonate_system_users(
        &self,
        holder: RightsHolder<'_>,
        cluster: &ClusterUid,
    ) -> bool {
        let rights = self.rights_in(holder, &Scope::Cluster(cluster.clone()));
        !rights.is_everything() && rights.rules.iter().any(permits_impersonation)
    }

    /// Reports whether a user has a role in exactly this scope. Ignores roles in wider scopes.
    pub fn has_role_at(&self, holder: RightsHolder<'_>, scope: &Scope) -> bool {
        self.of(holder).any(|grant| grant.scope == *scope)
    }

    /// Returns the groups of a user that have a role at a target. The cluster's API server rejects
    /// the impersonation of all other groups.
    pub fn groups_at(&self, groups: &[GroupName], target: &Target) -> Vec<GroupName> {
        let counts = |group: &&GroupName| {
            let grants = self.by_subject.get(group.as_str()).into_iter().flatten();
            grants
                .map(|&index| &self.all[index])
                .any(|grant| gives_access_to(grant, target))
        };
        groups.iter().filter(counts).cloned().collect()
    }
}

/// Returns the permissions of a grant that apply to a scope.
fn rights_at<'a>(grant: &'a Grant, scope: &Scope) -> impl Iterator<Item = &'a Rights> + use<'a> {
    let scoped = &grant.role.scoped;
    let whole = match (scope, &grant.scope) {
        (Scope::Hub, there) => *there == Scope::Hub,
        (_, Scope::EveryCluster) => true,
        (Scope::EveryCluster, _) | (_, Scope::Hub) => false,
        // A project role may have cluster-wide rules, which apply here.
        (
            Scope::Cluster(here) | Scope::Project(here, _),
            Scope::Cluster(there) | Scope::Project(there, _),
        ) => here == there,
    };
    let own = matches!(scope, Scope::Project(..)) && *scope == grant.scope;
    let whole = whole.then_some(&scoped.cluster);
    whole.into_iter().chain(own.then_some(&scoped.project))
}

/// Reports whether a grant allows access to a target. A role without rules on the hub does not
/// allow access to the hub.
pub(super) fn gives_access_to(grant: &Grant, target: &Target) -> bool {
    match target {
        Target::Hub => {
            let role = &grant.role;
            grant.scope == Scope::Hub
                && !(role.scoped.cluster.is_empty() && role.namespaced.is_empty())
        }
        Target::Cluster(cluster) => is_in(&grant.scope, cluster),
    }
}

/// Reports whether a scope is all clusters, this cluster, or a project in this cluster.
pub(super) fn is_in(scope: &Scope, cluster: &ClusterUid) -> bool {
    match scope {
        Scope::Hub => false,
        Scope::EveryCluster => true,
        Scope::Cluster(uid) | Scope::Project(uid, _) => uid == cluster,
    }
}

/// Reports whether a rule permits the impersonation of users or groups. A rule for some names counts too,
/// because a user could impersonate the own name with an additional group.
fn permits_impersonation(rule: &Rule) -> bool {
    let has =
        |list: &[String], names: &[&str]| list.iter().any(|one| names.contains(&one.as_str()));
    has(&rule.verbs, &["impersonate", "*"])
        && has(&rule.groups, &["", "*"])
        && has(&rule.resources, &["users", "groups", "*"])
}
