//! Applies access in a cluster or on the hub: reads the existing objects and writes the
//! differences.

use std::collections::BTreeSet;

use drover_apply::error::{ApplyError, Failure, combine};
use drover_apply::objects::Objects;
use drover_apply::owner::Owner;
use drover_apply::set::{self, Changes};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::Client;

use super::desired::DesiredAccess;
use super::plan::{self, Plan};

/// API handles of the four RBAC kinds, for all namespaces.
struct Kinds {
    cluster_roles: Objects<ClusterRole>,
    cluster_bindings: Objects<ClusterRoleBinding>,
    roles: Objects<Role>,
    bindings: Objects<RoleBinding>,
}

/// The planned changes of each RBAC kind.
#[derive(Default)]
struct AccessChanges {
    cluster_roles: Plan<ClusterRole>,
    cluster_bindings: Plan<ClusterRoleBinding>,
    roles: Plan<Role>,
    bindings: Plan<RoleBinding>,
}

/// Applies the desired access to a cluster or to the hub. `label` marks Drover's objects.
///
/// Changes that revoke access come first. A failure in a scope (a namespace or the cluster scope)
/// prevents only the last step in this scope. The last step removes moved subjects from their
/// previous chunks. A subject that keeps a role therefore keeps access if a write of the new chunk
/// fails.
pub(crate) async fn apply(
    client: &Client,
    label: &str,
    desired: &DesiredAccess,
) -> Result<(), ApplyError> {
    let owner = || Owner::label(label);
    let kinds = Kinds {
        cluster_roles: Objects::cluster_scoped(client, owner()).with_reserved_names(),
        cluster_bindings: Objects::cluster_scoped(client, owner()).with_reserved_names(),
        roles: Objects::namespaced(client, owner()).with_reserved_names(),
        bindings: Objects::namespaced(client, owner()).with_reserved_names(),
    };
    // Only the hub has roles in namespaces; the account in a cluster may not list roles.
    let with_roles = label == super::HUB_LABEL;
    let (mut failures, mut too_many) = (Vec::new(), Vec::new());
    let mut changes = kinds
        .compare(desired, with_roles, &mut failures, &mut too_many)
        .await;
    for step in 0..2 {
        failures.extend(Box::pin(kinds.apply_step(step, &changes)).await);
    }
    changes.exclude_failed(&failures);
    failures.extend(Box::pin(kinds.apply_step(2, &changes)).await);
    failures.extend(too_many);
    combine(failures.into_iter().map(|failure| failure.error))
}

impl AccessChanges {
    /// Removes the changes of the last step in namespaces where a previous step failed.
    fn exclude_failed(&mut self, failures: &[Failure]) {
        let failed = failures.iter().map(|failure| failure.namespace.as_str());
        let failed: BTreeSet<&str> = failed.collect();
        self.cluster_roles[2].exclude_namespaces(&failed);
        self.cluster_bindings[2].exclude_namespaces(&failed);
        self.roles[2].exclude_namespaces(&failed);
        self.bindings[2].exclude_namespaces(&failed);
    }
}

impl Kinds {
    /// Compares the existing objects of all kinds with the desired objects. Plans no changes for a
    /// kind whose objects the server cannot list.
    async fn compare(
        &self,
        desired: &DesiredAccess,
        with_roles: bool,
        failures: &mut Vec<Failure>,
        too_many: &mut Vec<Failure>,
    ) -> AccessChanges {
        let mut changes = AccessChanges::default();
        if with_roles && let Some(present) = self.roles.inventory_or(failures).await {
            changes.roles = plan::for_roles(&present, &desired.roles);
            too_many.extend(present.too_many());
        }
        if let Some(present) = self.cluster_roles.inventory_or(failures).await {
            changes.cluster_roles = plan::for_cluster_roles(&present, &desired.cluster_roles);
            too_many.extend(present.too_many());
        }
        if let Some(present) = self.cluster_bindings.inventory_or(failures).await {
            let desired = &desired.cluster_bindings;
            changes.cluster_bindings = plan::for_cluster_bindings(&present, desired);
            too_many.extend(present.too_many());
        }
        if let Some(present) = self.bindings.inventory_or(failures).await {
            changes.bindings = plan::for_bindings(&present, &desired.bindings);
            too_many.extend(present.too_many());
        }
        changes
    }

    /// Applies one step of the plan for all kinds, in the order of [`drover_apply::order`].
    async fn apply_step(&self, step: usize, changes: &AccessChanges) -> Vec<Failure> {
        set::apply(&[
            &Changes {
                objects: &self.cluster_roles,
                diff: &changes.cluster_roles[step],
            },
            &Changes {
                objects: &self.roles,
                diff: &changes.roles[step],
            },
            &Changes {
                objects: &self.cluster_bindings,
                diff: &changes.cluster_bindings[step],
            },
            &Changes {
                objects: &self.bindings,
                diff: &changes.bindings[step],
            },
        ])
        .await
    }
}

#[cfg(test)]
mod tests;
