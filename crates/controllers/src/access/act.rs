//! Access in one place: what is there is read, what differs is done.

use std::collections::BTreeSet;

use drover_apply::error::{ApplyError, Failure, combine};
use drover_apply::objects::Objects;
use drover_apply::owner::Owner;
use drover_apply::set::{self, Changes};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::Client;

use super::steps::{self, Steps};
use super::wanted::Wanted;

/// The four kinds that rights are made of, each everywhere.
struct Kinds {
    cluster_roles: Objects<ClusterRole>,
    cluster_bindings: Objects<ClusterRoleBinding>,
    roles: Objects<Role>,
    bindings: Objects<RoleBinding>,
}

/// The changes of each kind.
#[derive(Default)]
struct AccessChanges {
    cluster_roles: Steps<ClusterRole>,
    cluster_bindings: Steps<ClusterRoleBinding>,
    roles: Steps<Role>,
    bindings: Steps<RoleBinding>,
}

/// Makes access in a place what is wanted there; `label` marks what is Drover's.
///
/// What takes rights away comes first, and what fails keeps nothing else from being done; only that
/// people leave the part of a role that they were in waits for the next time where something failed, in
/// a namespace or in the cluster, as they may not be in their new one there. Whoever keeps a right is
/// never without it.
pub(crate) async fn apply(client: &Client, label: &str, wanted: &Wanted) -> Result<(), ApplyError> {
    let owner = || Owner::label(label);
    let kinds = Kinds {
        cluster_roles: Objects::cluster_scoped(client, owner()).with_reserved_names(),
        cluster_bindings: Objects::cluster_scoped(client, owner()).with_reserved_names(),
        roles: Objects::namespaced(client, owner()).with_reserved_names(),
        bindings: Objects::namespaced(client, owner()).with_reserved_names(),
    };
    // Roles in namespaces are the hub's only; a cluster's account may not even list them.
    let with_roles = label == super::HUB_LABEL;
    let (mut failures, mut too_many) = (Vec::new(), Vec::new());
    let mut changes = kinds
        .compare(wanted, with_roles, &mut failures, &mut too_many)
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
    /// Excludes the last step in namespaces with a failure.
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
    /// A kind that cannot be listed gets no changes.
    async fn compare(
        &self,
        wanted: &Wanted,
        with_roles: bool,
        failures: &mut Vec<Failure>,
        too_many: &mut Vec<Failure>,
    ) -> AccessChanges {
        let mut changes = AccessChanges::default();
        if with_roles && let Some(present) = self.roles.inventory_or(failures).await {
            changes.roles = steps::of_roles(&present, &wanted.roles);
            too_many.extend(present.too_many());
        }
        if let Some(present) = self.cluster_roles.inventory_or(failures).await {
            changes.cluster_roles = steps::of_cluster_roles(&present, &wanted.cluster_roles);
            too_many.extend(present.too_many());
        }
        if let Some(present) = self.cluster_bindings.inventory_or(failures).await {
            let wanted = &wanted.cluster_bindings;
            changes.cluster_bindings = steps::of_cluster_bindings(&present, wanted);
            too_many.extend(present.too_many());
        }
        if let Some(present) = self.bindings.inventory_or(failures).await {
            changes.bindings = steps::of_bindings(&present, &wanted.bindings);
            too_many.extend(present.too_many());
        }
        changes
    }

    /// Applies one step of each kind, in the order of [`drover_apply::order`].
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
