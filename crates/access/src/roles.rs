//! The rules of Drover's roles, and functions that compare permissions.
//!
//! A [`RoleTemplate`](drover_api::kinds::RoleTemplateSpec) has rules, names of the cluster's own
//! ClusterRoles, and inherited roles. [`resolve`] computes the [`Scoped`] permissions of a role, or
//! returns the reason why the role cannot be resolved. [`Rights::missing`] detects privilege
//! escalation: users can grant, change and remove only permissions that they have.

mod built_in;
mod known;
mod resolve;
mod valid;

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use drover_api::group::GROUP;
use drover_rbac::{Rule, describe_missing, everything, missing};
use k8s_openapi::api::rbac::v1::PolicyRule;

pub use built_in::{
    BUILT_IN_LABEL, BuiltIn, built_in_global_roles, built_in_role_templates, is_built_in,
};
pub use known::{known_group, rules as known_rules};
pub use resolve::{Unresolved, resolve};
pub(crate) use valid::check_all;
pub use valid::{InvalidRule, ValidationScope};

/// Maximum number of missing permissions in an error message.
const MAX_LISTED_RULES: usize = 20;

/// The permissions of a role or user in one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights {
    /// RBAC rules.
    pub rules: Vec<Rule>,
    /// Names of ClusterRoles in the cluster. The cluster defines the rules of these ClusterRoles.
    pub external: BTreeSet<String>,
}

/// The permissions of a role by scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scoped {
    /// Permissions in the whole cluster.
    pub cluster: Rights,
    /// Permissions in the project's namespaces; empty for a cluster role.
    pub project: Rights,
}

/// The permissions that an operation requires but a user does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPermissions {
    /// The missing rules. Each rule contains a single permission.
    pub rules: Vec<Rule>,
    /// The missing ClusterRoles of the cluster.
    pub external: Vec<String>,
}

impl Rights {
    /// Returns all permissions on all resources and paths.
    pub fn everything() -> Self {
        Self {
            rules: everything().to_vec(),
            external: BTreeSet::new(),
        }
    }

    /// Creates permissions from RBAC rules.
    pub fn of(rules: &[PolicyRule]) -> Self {
        Self {
            rules: rules.iter().map(rule).collect(),
            external: BTreeSet::new(),
        }
    }

    /// Returns the RBAC rules as `PolicyRule` objects of Kubernetes.
    pub fn policy_rules(&self) -> Vec<PolicyRule> {
        self.rules.iter().map(policy_rule).collect()
    }

    /// Reports whether the set contains no rules and no ClusterRoles.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.external.is_empty()
    }

    /// Reports whether one rule grants all permissions for objects and one rule grants all
    /// permissions for paths.
    pub fn is_everything(&self) -> bool {
        everything()
            .iter()
            .all(|part| self.rules.iter().any(|rule| rule == part))
    }

    /// Adds the permissions of `others`. Skips rules that are already present.
    pub fn extend(&mut self, others: &Self) {
        let mut existing_rules: HashSet<&Rule> = self.rules.iter().collect();
        let new = others
            .rules
            .iter()
            .filter(|rule| existing_rules.insert(rule));
        let new: Vec<Rule> = new.cloned().collect();
        self.rules.extend(new);
        self.external.extend(others.external.iter().cloned());
    }

    /// Returns the permissions in `desired` that `self` does not contain, or `None` if `self`
    /// contains all permissions in `desired`.
    ///
    /// The server knows only the ClusterRoles that Kubernetes defines. A cluster can add rules to
    /// these ClusterRoles by aggregation. `self` therefore contains a ClusterRole only if `self`
    /// has the same ClusterRole or all permissions.
    pub fn missing(&self, desired: &Self) -> Option<MissingPermissions> {
        let mut owned = self.rules.clone();
        owned.extend(
            self.external
                .iter()
                .flat_map(|name| known::rules(name))
                .cloned(),
        );
        let everything = missing(&owned, &everything()).is_empty();
        let external = desired.external.iter().filter(|name| {
            let named = self.external.contains(*name);
            !everything && !named
        });
        let lacking = MissingPermissions {
            rules: missing(&owned, &desired.rules),
            external: external.cloned().collect(),
        };
        let covered = lacking.rules.is_empty() && lacking.external.is_empty();
        (!covered).then_some(lacking)
    }

    /// Returns the permissions for the cluster's RBAC objects. Excludes rules about Drover's API
    /// group, because these rules apply to objects on the hub. In a cluster that is also a hub,
    /// these rules would grant access to unrelated objects.
    #[must_use]
    pub fn downstream(&self) -> Self {
        let rules = self.rules.iter().filter_map(|rule| {
            let of_drover = |group: &String| group == GROUP;
            if rule.groups.is_empty() || !rule.groups.iter().any(of_drover) {
                return Some(rule.clone());
            }
            let mut rest = rule.clone();
            rest.groups.retain(|group| !of_drover(group));
            (!rest.groups.is_empty()).then_some(rest)
        });
        Self {
            rules: rules.collect(),
            external: self.external.clone(),
        }
    }
}

impl fmt::Display for MissingPermissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let listed = &self.rules[..self.rules.len().min(MAX_LISTED_RULES)];
        if !listed.is_empty() {
            parts.push(describe_missing(listed).replace('\n', "; "));
        }
        if self.rules.len() > MAX_LISTED_RULES {
            parts.push(format!("and {} more", self.rules.len() - MAX_LISTED_RULES));
        }
        for name in &self.external {
            parts.push(format!("the ClusterRole {name:?} of the cluster itself"));
        }
        f.write_str(&parts.join("; "))
    }
}

/// Converts a Kubernetes rule to a [`Rule`] for comparisons.
fn rule(rule: &PolicyRule) -> Rule {
    let list = |part: &Option<Vec<String>>| part.clone().unwrap_or_default();
    Rule {
        verbs: rule.verbs.clone(),
        groups: list(&rule.api_groups),
        resources: list(&rule.resources),
        names: list(&rule.resource_names),
        urls: list(&rule.non_resource_urls),
    }
}

fn policy_rule(rule: &Rule) -> PolicyRule {
    let list = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    PolicyRule {
        verbs: rule.verbs.clone(),
        api_groups: list(&rule.groups),
        resources: list(&rule.resources),
        resource_names: list(&rule.names),
        non_resource_urls: list(&rule.urls),
    }
}

#[cfg(test)]
mod tests;
