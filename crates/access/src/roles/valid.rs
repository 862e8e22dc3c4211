//! Validation of rules as in Kubernetes.
//!
//! If one rule is invalid, Kubernetes rejects the whole ClusterRole, and the previous rules remain
//! in the cluster. The hub therefore rejects roles with invalid rules. A stored role with invalid
//! rules grants nothing.

use drover_rbac::Rule;
use k8s_openapi::api::rbac::v1::PolicyRule;
use thiserror::Error;

/// The scope for which a role's rules are validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationScope {
    /// The whole cluster, including paths such as `/metrics`.
    Cluster,
    /// Namespaces only. Rules for non-resource paths are invalid.
    Namespaces,
}

/// A rule that Kubernetes rejects (`ValidatePolicyRule` in its `pkg/apis/rbac/validation`).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}[{index}]: {problem}")]
pub struct InvalidRule {
    /// The field with the list of rules.
    pub field: String,
    /// Index of the rule in the list.
    pub index: usize,
    /// The problem, and the change that fixes the rule.
    pub problem: &'static str,
}

/// Checks a list of rules. Returns the first invalid rule as an error.
pub(crate) fn check_all(
    field: &str,
    rules: &[PolicyRule],
    reach: ValidationScope,
) -> Result<(), InvalidRule> {
    rules.iter().enumerate().try_for_each(|(index, rule)| {
        check(&super::rule(rule), reach).map_err(|problem| InvalidRule {
            field: field.to_owned(),
            index,
            problem,
        })
    })
}

fn check(rule: &Rule, reach: ValidationScope) -> Result<(), &'static str> {
    if rule.verbs.is_empty() {
        return Err("verbs is empty, so the rule grants nothing: add verbs, such as get");
    }
    if rule.urls.is_empty() {
        if rule.groups.is_empty() {
            return Err(
                "apiGroups is missing: add the group of the resources, \"\" for the core \
                group",
            );
        }
        if rule.resources.is_empty() {
            return Err("resources is missing: add resources, such as pods");
        }
        return Ok(());
    }
    if reach == ValidationScope::Namespaces {
        return Err("nonResourceURLs do not apply to namespaces: move them to cluster-wide rules");
    }
    if !rule.groups.is_empty() || !rule.resources.is_empty() || !rule.names.is_empty() {
        return Err("nonResourceURLs must be in a separate rule: split the rule in two");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_validation_matches_kubernetes() {
        let list = |text: &str| -> Vec<String> {
            text.split_whitespace()
                .map(|word| word.replace('-', ""))
                .collect()
        };
        for (verbs, groups, resources, urls, in_cluster, in_namespaces) in [
            ("get", "-", "pods", "", true, true),
            ("get", "apps", "pods", "", true, true),
            ("", "-", "pods", "", false, false),
            ("get", "", "pods", "", false, false),
            ("get", "-", "", "", false, false),
            ("get", "", "", "/metrics", true, false),
            ("get", "-", "pods", "/metrics", false, false),
            ("get", "", "", "", false, false),
        ] {
            let rule = Rule {
                verbs: list(verbs),
                groups: list(groups),
                resources: list(resources),
                names: Vec::new(),
                urls: list(urls),
            };
            assert_eq!(
                check(&rule, ValidationScope::Cluster).is_ok(),
                in_cluster,
                "{rule:?}"
            );
            assert_eq!(
                check(&rule, ValidationScope::Namespaces).is_ok(),
                in_namespaces,
                "{rule:?}"
            );
        }
    }
}
