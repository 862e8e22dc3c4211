//! What is known of ClusterRoles that clusters have by themselves.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use drover_rbac::Rule;
use serde_json::Value;

/// What Kubernetes v1.36.3 makes `admin`, `edit` and `view` of; they gather more where somebody adds
/// to them, never less than Kubernetes restores.
const KNOWN: &str = include_str!("known.json");

static EVERYTHING: LazyLock<[Rule; 2]> = LazyLock::new(drover_rbac::everything);
static RULES: LazyLock<BTreeMap<String, Vec<Rule>>> = LazyLock::new(|| {
    let roles: BTreeMap<String, Vec<Value>> =
        serde_json::from_str(KNOWN).expect("known.json holds lists of rules: a test reads it");
    let roles = roles.into_iter();
    roles
        .map(|(name, rules)| (name, rules.iter().map(Rule::parse).collect()))
        .collect()
});

/// The rules that a ClusterRole of this name has at least; none if it is not known.
pub fn rules(name: &str) -> &'static [Rule] {
    if name == "cluster-admin" {
        return &*EVERYTHING;
    }
    RULES.get(name).map_or(&[], Vec::as_slice)
}

/// Whether anything is known of objects of this group in any of these roles.
pub fn speaks_of(group: &str) -> bool {
    let mut rules = RULES.values().flatten();
    rules.any(|rule| rule.groups.iter().any(|known| known == group))
}
