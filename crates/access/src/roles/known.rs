//! The rules of Kubernetes' own ClusterRoles, which every cluster contains.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use drover_rbac::Rule;
use serde_json::Value;

/// The rules of the ClusterRoles `admin`, `edit` and `view` in Kubernetes v1.36.3. A cluster may
/// aggregate further rules into these roles. Kubernetes restores the rules in this file.
const KNOWN: &str = include_str!("known.json");

static EVERYTHING: LazyLock<[Rule; 2]> = LazyLock::new(drover_rbac::everything);
static RULES: LazyLock<BTreeMap<String, Vec<Rule>>> = LazyLock::new(|| {
    let roles: BTreeMap<String, Vec<Value>> =
        serde_json::from_str(KNOWN).expect("a test parses known.json");
    let roles = roles.into_iter();
    roles
        .map(|(name, rules)| (name, rules.iter().map(Rule::parse).collect()))
        .collect()
});

/// Returns the rules that the ClusterRole with this name has in every cluster. Returns an empty
/// list for an unknown role.
pub fn rules(name: &str) -> &'static [Rule] {
    if name == "cluster-admin" {
        return &*EVERYTHING;
    }
    RULES.get(name).map_or(&[], Vec::as_slice)
}

/// Reports whether `admin`, `edit` or `view` has a rule about this API group.
pub fn known_group(group: &str) -> bool {
    let mut rules = RULES.values().flatten();
    rules.any(|rule| rule.groups.iter().any(|known| known == group))
}
