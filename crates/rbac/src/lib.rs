//! Kubernetes RBAC rules (`rbac.authorization.k8s.io`): decides whether a rule allows a request,
//! and whether a list of rules allows everything that another rule allows.
//!
//! The embedded API and Drover's roles share this crate. The crate has no types for subjects,
//! bindings or namespaces.

mod rule;

pub use rule::{
    MAX_ATOMS, MAX_MISSING, Rule, RuleTarget, describe_missing, everything, missing, quoted_list,
    strings,
};
