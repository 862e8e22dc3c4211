//! Compares roles and bindings.

use std::collections::BTreeSet;

use drover_access::roles::Rights;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};

use super::Comparable;

/// Kind, namespace and name of a subject.
pub type SubjectKey = (String, String, String);

impl Comparable for ClusterRole {
    fn same_content(&self, other: &Self) -> bool {
        self.aggregation_rule == other.aggregation_rule
            && same_rights(self.rules.as_deref(), other.rules.as_deref())
    }

    fn can_become(&self, _: &Self) -> bool {
        true
    }
}

impl Comparable for Role {
    fn same_content(&self, other: &Self) -> bool {
        same_rights(self.rules.as_deref(), other.rules.as_deref())
    }

    fn can_become(&self, _: &Self) -> bool {
        true
    }
}

impl Comparable for ClusterRoleBinding {
    fn same_content(&self, other: &Self) -> bool {
        self.can_become(other)
            && subject_keys(self.subjects.as_deref()) == subject_keys(other.subjects.as_deref())
    }

    fn can_become(&self, other: &Self) -> bool {
        same_role(&self.role_ref, &other.role_ref)
    }
}

impl Comparable for RoleBinding {
    fn same_content(&self, other: &Self) -> bool {
        self.can_become(other)
            && subject_keys(self.subjects.as_deref()) == subject_keys(other.subjects.as_deref())
    }

    fn can_become(&self, other: &Self) -> bool {
        same_role(&self.role_ref, &other.role_ref)
    }
}

/// Compares the roles of two bindings, because Kubernetes does not allow changes of a binding's
/// role.
fn same_role(one: &RoleRef, other: &RoleRef) -> bool {
    (&one.kind, &one.name) == (&other.kind, &other.name)
}

fn same_rights(one: Option<&[PolicyRule]>, other: Option<&[PolicyRule]>) -> bool {
    let rights = |rules: Option<&[PolicyRule]>| Rights::of(rules.unwrap_or_default());
    rights(one) == rights(other)
}

/// Returns the subjects of a binding as a set, because their order has no meaning.
pub fn subject_keys(subjects: Option<&[Subject]>) -> BTreeSet<SubjectKey> {
    let key = |subject: &Subject| {
        let namespace = subject.namespace.clone().unwrap_or_default();
        (subject.kind.clone(), namespace, subject.name.clone())
    };
    subjects.unwrap_or_default().iter().map(key).collect()
}
