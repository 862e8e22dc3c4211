//! Rules that Kubernetes takes.
//!
//! A ClusterRole with one rule that it does not take is refused whole, and would keep the rights that
//! it had: so what Kubernetes refuses is not stored here, and gives nothing if it is.

use drover_rbac::Rule;
use k8s_openapi::api::rbac::v1::PolicyRule;
use thiserror::Error;

/// Where rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// In a whole cluster, paths such as `/metrics` included.
    Cluster,
    /// In namespaces, where there are no paths.
    Namespaces,
}

/// A rule that Kubernetes does not take (`ValidatePolicyRule` in its `pkg/apis/rbac/validation`).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}[{index}]: {problem}")]
pub struct InvalidRule {
    /// Which list of rules.
    pub field: String,
    /// Its place in the list.
    pub index: usize,
    /// What is wrong and what to do.
    pub problem: &'static str,
}

/// Checks a list of rules.
pub(crate) fn check_all(
    field: &str,
    rules: &[PolicyRule],
    reach: Reach,
) -> Result<(), InvalidRule> {
    rules.iter().enumerate().try_for_each(|(index, rule)| {
        check(&super::rule(rule), reach).map_err(|problem| InvalidRule {
            field: field.to_owned(),
            index,
            problem,
        })
    })
}

fn check(rule: &Rule, reach: Reach) -> Result<(), &'static str> {
    if rule.verbs.is_empty() {
        return Err("verbs is empty, so it allows nothing: name some, such as get");
    }
    if rule.urls.is_empty() {
        if rule.groups.is_empty() {
            return Err("apiGroups is missing: name the group of the resources, \"\" for the core");
        }
        if rule.resources.is_empty() {
            return Err("resources is missing: name some, such as pods");
        }
        return Ok(());
    }
    if reach == Reach::Namespaces {
        return Err(
            "nonResourceURLs are in no namespace: put them into rules of the whole cluster",
        );
    }
    if !rule.groups.is_empty() || !rule.resources.is_empty() || !rule.names.is_empty() {
        return Err("nonResourceURLs stand in a rule of their own: cut it into two");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_taken_where_kubernetes_takes_it() {
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
            assert_eq!(check(&rule, Reach::Cluster).is_ok(), in_cluster, "{rule:?}");
            assert_eq!(
                check(&rule, Reach::Namespaces).is_ok(),
                in_namespaces,
                "{rule:?}"
            );
        }
    }
}
