//! Comparison of roles and bindings. Pure.

use std::collections::BTreeSet;

use drover_access::roles::Rights;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};

use crate::differ::Comparable;

impl Comparable for ClusterRole {
    fn means(&self, other: &Self) -> bool {
        self.aggregation_rule == other.aggregation_rule
            && allow_the_same(self.rules.as_deref(), other.rules.as_deref())
    }

    fn can_become(&self, _: &Self) -> bool {
        true
    }
}

impl Comparable for Role {
    fn means(&self, other: &Self) -> bool {
        allow_the_same(self.rules.as_deref(), other.rules.as_deref())
    }

    fn can_become(&self, _: &Self) -> bool {
        true
    }
}

impl Comparable for ClusterRoleBinding {
    fn means(&self, other: &Self) -> bool {
        self.can_become(other) && name_the_same(self.subjects.as_deref(), other.subjects.as_deref())
    }

    fn can_become(&self, other: &Self) -> bool {
        same_role(&self.role_ref, &other.role_ref)
    }
}

impl Comparable for RoleBinding {
    fn means(&self, other: &Self) -> bool {
        self.can_become(other) && name_the_same(self.subjects.as_deref(), other.subjects.as_deref())
    }

    fn can_become(&self, other: &Self) -> bool {
        same_role(&self.role_ref, &other.role_ref)
    }
}

fn same_role(one: &RoleRef, other: &RoleRef) -> bool {
    (&one.kind, &one.name) == (&other.kind, &other.name)
}

fn allow_the_same(one: Option<&[PolicyRule]>, other: Option<&[PolicyRule]>) -> bool {
    let rights = |rules: Option<&[PolicyRule]>| Rights::of(rules.unwrap_or_default());
    rights(one) == rights(other)
}

fn name_the_same(one: Option<&[Subject]>, other: Option<&[Subject]>) -> bool {
    named(one) == named(other)
}

/// The subjects that a binding names: kind, namespace and name.
pub fn named(subjects: Option<&[Subject]>) -> BTreeSet<(String, String, String)> {
    let name = |subject: &Subject| {
        let namespace = subject.namespace.clone().unwrap_or_default();
        (subject.kind.clone(), namespace, subject.name.clone())
    };
    subjects.unwrap_or_default().iter().map(name).collect()
}

#[cfg(test)]
mod tests;
