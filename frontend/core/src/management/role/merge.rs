//! Merges rules that grant the same permissions.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// Merges rules that differ in one field. The granted permissions stay the same.
pub fn merged(rules: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut merged: Vec<PolicyRule> = Vec::new();
    for rule in rules {
        let mut rule = rule.clone();
        // A merged rule can match another rule, so the loop repeats.
        while let Some(at) = merged
            .iter()
            .position(|other| together(other, &rule).is_some())
        {
            let other = merged.remove(at);
            if let Some(both) = together(&other, &rule) {
                rule = both;
            }
        }
        merged.push(rule);
    }
    merged
}

/// Merges two rules if they differ in exactly one field.
fn together(one: &PolicyRule, other: &PolicyRule) -> Option<PolicyRule> {
    let parts = |rule: &PolicyRule| -> [Vec<String>; 5] {
        let list = |part: &Option<Vec<String>>| part.clone().unwrap_or_default();
        [
            rule.verbs.clone(),
            list(&rule.api_groups),
            list(&rule.resources),
            list(&rule.resource_names),
            list(&rule.non_resource_urls),
        ]
    };
    let (one, other) = (parts(one), parts(other));
    let differing: Vec<usize> = (0..one.len())
        .filter(|&at| !same(&one[at], &other[at]))
        .collect();
    let mut both = one.clone();
    match differing[..] {
        [] => {}
        // An empty field means all names, or an invalid rule.
        [at] if !one[at].is_empty() && !other[at].is_empty() => {
            let new = other[at].iter().filter(|name| !one[at].contains(name));
            both[at].extend(new.cloned());
        }
        _ => return None,
    }
    let [verbs, groups, resources, names, urls] = both;
    let some = |list: Vec<String>| Some(list).filter(|list| !list.is_empty());
    Some(PolicyRule {
        verbs,
        api_groups: some(groups),
        resources: some(resources),
        resource_names: some(names),
        non_resource_urls: some(urls),
    })
}

/// Reports whether two lists are equal in any order.
fn same(one: &[String], other: &[String]) -> bool {
    let within = |some: &[String], all: &[String]| some.iter().all(|name| all.contains(name));
    within(one, other) && within(other, one)
}
