//! Access in one place: what is there is read, what differs is done.

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::Client;

use super::wanted::Wanted;
use crate::controllers::objects::differ::Difference;
use crate::controllers::objects::{ApplyError, Objects, all};

/// The four kinds that rights are made of, each everywhere.
struct Kinds {
    cluster_roles: Objects<ClusterRole>,
    cluster_bindings: Objects<ClusterRoleBinding>,
    roles: Objects<Role>,
    bindings: Objects<RoleBinding>,
}

/// Makes access in a place what is wanted there; `label` marks what is Drover's.
///
/// What takes rights away comes first, and what fails keeps nothing else from being done: first
/// bindings go, then roles and bindings are made, then those that are there are put right, then roles go.
pub async fn apply(client: &Client, label: &str, wanted: &Wanted) -> Result<(), ApplyError> {
    let kinds = Kinds {
        cluster_roles: Objects::all(client, label).with_own_names(),
        cluster_bindings: Objects::all(client, label).with_own_names(),
        roles: Objects::within(client, label).with_own_names(),
        bindings: Objects::within(client, label).with_own_names(),
    };
    let mut failures = Vec::new();
    // Roles in namespaces are the hub's only; a cluster's account may not even list them.
    let with_roles = label == super::HUB_LABEL;
    let roles = if with_roles {
        kinds.roles.compare(&wanted.roles, &mut failures).await
    } else {
        Difference::default()
    };
    let cluster_roles = kinds
        .cluster_roles
        .compare(&wanted.cluster_roles, &mut failures)
        .await;
    let cluster_bindings = kinds
        .cluster_bindings
        .compare(&wanted.cluster_bindings, &mut failures)
        .await;
    let bindings = kinds
        .bindings
        .compare(&wanted.bindings, &mut failures)
        .await;
    kinds
        .cluster_bindings
        .take(&cluster_bindings, &mut failures)
        .await;
    kinds.bindings.take(&bindings, &mut failures).await;
    // What is made may hold people who are moved out of what is put right: nobody is without their
    // rights in between.
    kinds
        .cluster_roles
        .make(&cluster_roles, &mut failures)
        .await;
    kinds.roles.make(&roles, &mut failures).await;
    kinds
        .cluster_bindings
        .make(&cluster_bindings, &mut failures)
        .await;
    kinds.bindings.make(&bindings, &mut failures).await;
    kinds
        .cluster_roles
        .put_right(&cluster_roles, &mut failures)
        .await;
    kinds.roles.put_right(&roles, &mut failures).await;
    kinds
        .cluster_bindings
        .put_right(&cluster_bindings, &mut failures)
        .await;
    kinds.bindings.put_right(&bindings, &mut failures).await;
    kinds
        .cluster_roles
        .take(&cluster_roles, &mut failures)
        .await;
    kinds.roles.take(&roles, &mut failures).await;
    all(failures.into_iter().map(|failure| failure.error))
}
