//! Rules of Kubernetes' RBAC (`rbac.authorization.k8s.io`): what one allows, and whether some cover
//! others.
//!
//! *Owns* that arithmetic, for the embedded API and for Drover's roles alike. *Never* knows whose
//! the rules are, or where they hold.

mod rule;

pub use rule::{
    Asked, MOST_ATOMS, MOST_MISSING, Rule, describe_missing, everything, missing, quoted_list,
    strings,
};
