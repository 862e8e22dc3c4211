//! What Drover's roles allow, and whether somebody has all of it.
//!
//! A [`RoleTemplate`](drover_api::kinds::RoleTemplateSpec) says what it allows by rules, by
//! ClusterRoles that the cluster has by itself, and by what it inherits. [`resolve`] makes
//! [`Scoped`] rights of that, or says why it cannot be known; [`Rights::missing`] is the arithmetic
//! of escalation: nobody gives, changes or takes away what they do not have themselves.

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
pub use known::{rules as known_rules, speaks_of as known_group};
pub use resolve::{Unresolved, resolve};
pub(crate) use valid::check_all;
pub use valid::{InvalidRule, Reach};

/// So many missing rights are told; who reads the message has enough of them by then.
const TOLD: usize = 20;

/// What is allowed at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights {
    /// What is said.
    pub rules: Vec<Rule>,
    /// ClusterRoles that the cluster has by itself, and what they allow is for it to say.
    pub external: BTreeSet<String>,
}

/// What a role allows, where somebody is given it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scoped {
    /// In the whole cluster.
    pub cluster: Rights,
    /// In the namespaces of the project; nothing for a role in clusters.
    pub project: Rights,
}

/// What somebody lacks of what they were to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// One right each.
    pub rules: Vec<Rule>,
    /// ClusterRoles of the cluster's own.
    pub external: Vec<String>,
}

impl Rights {
    /// All there are.
    pub fn everything() -> Self {
        Self {
            rules: everything().to_vec(),
            external: BTreeSet::new(),
        }
    }

    /// What these rules allow.
    pub fn of(rules: &[PolicyRule]) -> Self {
        Self {
            rules: rules.iter().map(rule).collect(),
            external: BTreeSet::new(),
        }
    }

    /// What is said, as Kubernetes writes it.
    pub fn policy_rules(&self) -> Vec<PolicyRule> {
        self.rules.iter().map(policy_rule).collect()
    }

    /// Whether nothing is allowed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.external.is_empty()
    }

    /// Whether one rule each allows everything that objects and paths can be asked for.
    pub fn is_everything(&self) -> bool {
        everything()
            .iter()
            .all(|part| self.rules.iter().any(|rule| rule == part))
    }

    /// Adds what others allow; what is said twice is kept once.
    pub fn extend(&mut self, others: &Self) {
        let mut said: HashSet<&Rule> = self.rules.iter().collect();
        let new = others.rules.iter().filter(|rule| said.insert(rule));
        let new: Vec<Rule> = new.cloned().collect();
        self.rules.extend(new);
        self.external.extend(others.external.iter().cloned());
    }

    /// What `wanted` allows and these do not; `None` if they cover it.
    ///
    /// Of a ClusterRole of the cluster's own, only those of Kubernetes are known, and those may
    /// gather more than is known: so such a role is covered by itself, or by everything.
    pub fn missing(&self, wanted: &Self) -> Option<Lacking> {
        let mut owned = self.rules.clone();
        owned.extend(
            self.external
                .iter()
                .flat_map(|name| known::rules(name))
                .cloned(),
        );
        let everything = missing(&owned, &everything()).is_empty();
        let external = wanted.external.iter().filter(|name| {
            let named = self.external.contains(*name);
            !everything && !named
        });
        let lacking = Lacking {
            rules: missing(&owned, &wanted.rules),
            external: external.cloned().collect(),
        };
        let covered = lacking.rules.is_empty() && lacking.external.is_empty();
        (!covered).then_some(lacking)
    }

    /// What holds in the cluster itself: rules about the group of Drover's kinds are about objects
    /// on the hub, and would mean others in a cluster that is a hub as well.
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

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let told = &self.rules[..self.rules.len().min(TOLD)];
        if !told.is_empty() {
            parts.push(describe_missing(told).replace('\n', "; "));
        }
        if self.rules.len() > TOLD {
            parts.push(format!("and {} more", self.rules.len() - TOLD));
        }
        for name in &self.external {
            parts.push(format!("the ClusterRole {name:?} of the cluster itself"));
        }
        f.write_str(&parts.join("; "))
    }
}

/// The rule as the arithmetic has it.
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
