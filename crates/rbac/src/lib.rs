//! Kubernetes RBAC rules (`rbac.authorization.k8s.io`): matching of requests, and coverage of rules
//! by other rules.
//!
//! The embedded API and Drover's roles share this crate. It does not know subjects, bindings or
//! namespaces.

mod rule;

pub use rule::{
    Asked, MAX_ATOMS, MAX_MISSING, Rule, describe_missing, everything, missing, quoted_list,
    strings,
};
