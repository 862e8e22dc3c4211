//! Access in one place: what is there is read, what differs is done.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::Client;

use super::steps::{self, Steps};
use super::wanted::Wanted;
use drover_apply::{ApplyError, Failure, Objects, all};

/// The four kinds that rights are made of, each everywhere.
struct Kinds {
    cluster_roles: Objects<ClusterRole>,
    cluster_bindings: Objects<ClusterRoleBinding>,
    roles: Objects<Role>,
    bindings: Objects<RoleBinding>,
}

/// What is to be done about each kind.
#[derive(Default)]
struct Changes {
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
pub async fn apply(client: &Client, label: &str, wanted: &Wanted) -> Result<(), ApplyError> {
    let kinds = Kinds {
        cluster_roles: Objects::all(client, label).with_own_names(),
        cluster_bindings: Objects::all(client, label).with_own_names(),
        roles: Objects::within(client, label).with_own_names(),
        bindings: Objects::within(client, label).with_own_names(),
    };
    // Roles in namespaces are the hub's only; a cluster's account may not even list them.
    let with_roles = label == super::HUB_LABEL;
    let (mut failures, mut too_many) = (Vec::new(), Vec::new());
    let mut changes = kinds
        .compare(wanted, with_roles, &mut failures, &mut too_many)
        .await;
    for step in 0..2 {
        Box::pin(kinds.take_step(step, &changes, &mut failures)).await;
    }
    changes.leave_out(&failures);
    Box::pin(kinds.take_step(2, &changes, &mut failures)).await;
    failures.extend(too_many);
    all(failures.into_iter().map(|failure| failure.error))
}

impl Changes {
    /// Leaves the last step out wherever something failed.
    fn leave_out(&mut self, failures: &[Failure]) {
        let failed = failures.iter().map(|failure| failure.namespace.as_str());
        let failed: BTreeSet<&str> = failed.collect();
        self.cluster_roles[2].leave_out(&failed);
        self.cluster_bindings[2].leave_out(&failed);
        self.roles[2].leave_out(&failed);
        self.bindings[2].leave_out(&failed);
    }
}

impl Kinds {
    /// Nothing is done about what could not be listed.
    async fn compare(
        &self,
        wanted: &Wanted,
        with_roles: bool,
        failures: &mut Vec<Failure>,
        too_many: &mut Vec<Failure>,
    ) -> Changes {
        let mut changes = Changes::default();
        if with_roles && let Some(present) = self.roles.present(failures).await {
            changes.roles = steps::of_roles(&present, &wanted.roles);
            too_many.extend(present.too_many());
        }
        if let Some(present) = self.cluster_roles.present(failures).await {
            changes.cluster_roles = steps::of_cluster_roles(&present, &wanted.cluster_roles);
            too_many.extend(present.too_many());
        }
        if let Some(present) = self.cluster_bindings.present(failures).await {
            let wanted = &wanted.cluster_bindings;
            changes.cluster_bindings = steps::of_cluster_bindings(&present, wanted);
            too_many.extend(present.too_many());
        }
        if let Some(present) = self.bindings.present(failures).await {
            changes.bindings = steps::of_bindings(&present, &wanted.bindings);
            too_many.extend(present.too_many());
        }
        changes
    }

    /// First bindings go, then roles are written, then bindings, then roles go.
    async fn take_step(&self, step: usize, changes: &Changes, failures: &mut Vec<Failure>) {
        let cluster_bindings = &changes.cluster_bindings[step];
        let bindings = &changes.bindings[step];
        let cluster_roles = &changes.cluster_roles[step];
        let roles = &changes.roles[step];
        self.cluster_bindings.take(cluster_bindings, failures).await;
        self.bindings.take(bindings, failures).await;
        self.cluster_roles.write(cluster_roles, failures).await;
        self.roles.write(roles, failures).await;
        self.cluster_bindings
            .write(cluster_bindings, failures)
            .await;
        self.bindings.write(bindings, failures).await;
        self.cluster_roles.take(cluster_roles, failures).await;
        self.roles.take(roles, failures).await;
    }
}

#[cfg(test)]
mod tests;
