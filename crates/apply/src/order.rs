//! The order in which the kinds of a set are written and pruned.
//!
//! - First, objects that grant permissions (role bindings) are pruned, so that a revoked permission
//!   ends before all other changes.
//! - Then objects are written. An object is written after its namespace and after the objects that
//!   it refers to: namespaces, definitions, configuration, roles, bindings, services, workloads,
//!   webhooks.
//! - Last, objects that grant no permissions are pruned in the reverse order, so that no object
//!   refers to a missing object.

/// A step of the order. The number is the index of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Delete the unwanted objects of the kind.
    Prune(usize),
    /// Create and replace objects of the kind.
    Write(usize),
}

/// The position of a kind in the order of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Container,
    Configuration,
    Role,
    Grant,
    Network,
    Workload,
    Interception,
}

fn rank(kind: &str) -> Rank {
    match kind {
        "Namespace" | "CustomResourceDefinition" | "PriorityClass" | "StorageClass" => {
            Rank::Container
        }
        "ServiceAccount"
        | "Secret"
        | "ConfigMap"
        | "ResourceQuota"
        | "LimitRange"
        | "NetworkPolicy"
        | "PodDisruptionBudget"
        | "PersistentVolume"
        | "PersistentVolumeClaim" => Rank::Configuration,
        "ClusterRole" | "Role" => Rank::Role,
        "ClusterRoleBinding" | "RoleBinding" => Rank::Grant,
        "Service" | "Ingress" | "IngressClass" => Rank::Network,
        "APIService" | "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            Rank::Interception
        }
        _ => Rank::Workload,
    }
}

/// Returns the steps for these kinds. Kinds of the same position keep their order.
pub fn steps(kinds: &[&str]) -> Vec<Step> {
    let mut ascending: Vec<_> = kinds.iter().map(|kind| rank(kind)).enumerate().collect();
    ascending.sort_by_key(|(_, rank)| *rank);
    let mut descending = ascending.clone();
    descending.sort_by_key(|(_, rank)| std::cmp::Reverse(*rank));
    let prune = |grants: bool| {
        let kinds = descending.iter();
        let kinds = kinds.filter(move |(_, rank)| (*rank == Rank::Grant) == grants);
        kinds.map(|(index, _)| Step::Prune(*index))
    };
    let writes = ascending.iter().map(|(index, _)| Step::Write(*index));
    prune(true).chain(writes).chain(prune(false)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bindings_are_pruned_before_roles() {
        let kinds = ["ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"];
        let expected = [
            Step::Prune(2),
            Step::Prune(3),
            Step::Write(0),
            Step::Write(1),
            Step::Write(2),
            Step::Write(3),
            Step::Prune(0),
            Step::Prune(1),
        ];
        assert_eq!(steps(&kinds), expected);
    }

    #[test]
    fn namespace_is_written_before_its_objects_and_pruned_after_them() {
        let kinds = ["Deployment", "Namespace", "ConfigMap"];
        let expected = [
            Step::Write(1),
            Step::Write(2),
            Step::Write(0),
            Step::Prune(0),
            Step::Prune(2),
            Step::Prune(1),
        ];
        assert_eq!(steps(&kinds), expected);
    }

    proptest! {
        #[test]
        fn apply_order_contains_one_write_and_one_prune_for_each_kind(
            kinds in proptest::collection::vec(
                prop_oneof![
                    Just("Namespace"), Just("ConfigMap"), Just("Role"), Just("RoleBinding"),
                    Just("Service"), Just("Deployment"), Just("APIService"), Just("Widget"),
                ],
                0..12,
            ),
        ) {
            let steps = steps(&kinds);
            let position = |step| steps.iter().position(|other| *other == step);
            prop_assert_eq!(steps.len(), 2 * kinds.len());
            for (index, kind) in kinds.iter().enumerate() {
                let (write, prune) = (position(Step::Write(index)), position(Step::Prune(index)));
                prop_assert!(write.is_some() && prune.is_some());
                prop_assert_eq!(prune < write, *kind == "RoleBinding");
                for (other, other_kind) in kinds.iter().enumerate() {
                    if rank(kind) < rank(other_kind) {
                        prop_assert!(write < position(Step::Write(other)));
                    }
                }
            }
        }
    }
}
