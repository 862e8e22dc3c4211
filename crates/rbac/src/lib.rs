//! Kubernetes RBAC rules (`rbac.authorization.k8s.io`): matching of rules with requests, and checks
//! whether rules cover a different rule.
//!
//! The embedded API and Drover's roles share this crate. The crate has no types for subjects,
//! bindings or namespaces.

mod rule;

pub use rule::{
    MAX_ATOMS, MAX_MISSING, Rule, RuleTarget, describe_missing, everything, missing, quoted_list,
    strings,
};
