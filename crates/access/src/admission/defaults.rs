//! Admission of the default roles, which Kubernetes creates. When Kubernetes starts, it restores
//! the original rules of changed default roles.
//!
//! When a user writes a binding, admission checks the current rules of the role. Admission does not
//! check the binding again after Kubernetes has restored the rules. Users therefore cannot change
//! default roles, and cannot create roles with the names of default roles.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Operation, Refusal, SYSTEM_NAMESPACE, Write, is_listed};

/// Names of default roles in Kubernetes 1.36. A name that ends with `*` is a prefix. In other
/// versions, a label identifies the default roles.
pub const DEFAULT_ROLES: &[&str] = &[
    "admin",
    "cluster-admin",
    "edit",
    "extension-apiserver-authentication-reader",
    "system::leader-locking-*",
    "system:aggregate-to-*",
    "system:auth-delegator",
    "system:basic-user",
    "system:certificates.k8s.io:*",
    "system:controller:*",
    "system:discovery",
    "system:heapster",
    "system:kube-aggregator",
    "system:kube-controller-manager",
    "system:kube-dns",
    "system:kube-scheduler",
    "system:kubelet-api-admin",
    "system:monitoring",
    "system:node",
    "system:node-bootstrapper",
    "system:node-problem-detector",
    "system:node-proxier",
    "system:persistent-volume-provisioner",
    "system:public-info-viewer",
    "system:service-account-issuer-discovery",
    "system:volume-scheduler",
    "view",
];
/// Label of objects that Kubernetes creates at its start.
const MARK: &str = "/metadata/labels/kubernetes.io~1bootstrapping";
/// Namespaces with default roles.
const NAMESPACES: &[&str] = &[SYSTEM_NAMESPACE, "kube-public"];
/// Fields that define a default role, and fields that can cause its deletion.
const SUBSTANCE: &[&str] = &[
    "/rules",
    "/aggregationRule",
    "/metadata/ownerReferences",
    // The annotation that disables the restoration.
    "/metadata/annotations/rbac.authorization.kubernetes.io~1autoupdate",
];
/// Prefixes of the labels that belong to Kubernetes. Labels with the second prefix select roles for
/// aggregation.
const LABELS: &[&str] = &["kubernetes.io/", "rbac.authorization.k8s.io/"];

/// Rejects writes of default roles by Drover users and by service accounts. A user can create a
/// service account, and the account can outlive the user's access. Other writers may change default
/// roles.
pub(super) fn admit(write: &Write<'_>) -> Result<(), Refusal> {
    let is_user_write = write.is_by_drover_user() || write.is_by_service_account();
    if !is_user_write || !is_default(write) || !matters(write) {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "cannot change the default role {role:?}, because Kubernetes restores default roles at \
         each start: create a separate role",
        role = write.object_name()
    )))
}

fn is_default(write: &Write<'_>) -> bool {
    let name = write.object_name();
    let in_place = match write.resource {
        "clusterroles" => true,
        _ => NAMESPACES.contains(&write.namespace),
    };
    let marked = write.of_old(MARK).or_else(|| write.of(MARK)).is_some();
    in_place && (is_listed(DEFAULT_ROLES, name) || (marked && name.starts_with("system:")))
}

fn matters(write: &Write<'_>) -> bool {
    write.operation != Operation::Update
        || SUBSTANCE.iter().any(|part| write.changes(part))
        || labels(write.object) != labels(write.old)
}

/// Returns the labels whose keys have a prefix from [`LABELS`].
fn labels(role: Option<&Value>) -> BTreeMap<&String, &Value> {
    let all = role.and_then(|role| role.pointer("/metadata/labels")?.as_object());
    let all = all.into_iter().flatten();
    all.filter(|(key, _)| LABELS.iter().any(|prefix| key.starts_with(prefix)))
        .collect()
}

#[cfg(test)]
mod tests;
