//! The roles that Kubernetes makes by itself, and restores when it starts.
//!
//! A binding is judged by what its role says when it is written. These say it again after the next
//! start whatever somebody made of them, and nobody judges their bindings then: so nobody makes
//! them less than they are, or takes their places while they are not there.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Operation, Refusal, SYSTEM_NAMESPACE, Write, is_listed};

/// Their names, as of Kubernetes 1.36; those that end with `*` are prefixes. What other versions
/// have beside them is told by a label of theirs.
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
/// Label of what Kubernetes makes when it starts.
const MARK: &str = "/metadata/labels/kubernetes.io~1bootstrapping";
/// Namespaces in which some of them are.
const NAMESPACES: &[&str] = &[SYSTEM_NAMESPACE, "kube-public"];
/// What makes such a role what it is, and with what it would go.
const SUBSTANCE: &[&str] = &[
    "/rules",
    "/aggregationRule",
    "/metadata/ownerReferences",
    // Whether it is restored at all.
    "/metadata/annotations/rbac.authorization.kubernetes.io~1autoupdate",
];
/// How the labels begin that Kubernetes gives them; the second kind says into which roles their
/// rules are taken over.
const LABELS: &[&str] = &["kubernetes.io/", "rbac.authorization.k8s.io/"];

/// People of Drover and service accounts, which they can leave behind, change none of them. Whoever
/// only the hub knows may.
pub(super) fn admit(write: &Write<'_>) -> Result<(), Refusal> {
    let asked = write.by_person() || write.by_account();
    if !asked || !is_default(write) || !matters(write) {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "{:?} is a default role, which Kubernetes makes and restores when it starts, for whoever is \
         bound to it by then: leave it as it is, and make a role of your own",
        write.called()
    )))
}

fn is_default(write: &Write<'_>) -> bool {
    let name = write.called();
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

/// The labels of Kubernetes' own.
fn labels(role: Option<&Value>) -> BTreeMap<&String, &Value> {
    let all = role.and_then(|role| role.pointer("/metadata/labels")?.as_object());
    let all = all.into_iter().flatten();
    all.filter(|(key, _)| LABELS.iter().any(|prefix| key.starts_with(prefix)))
        .collect()
}

#[cfg(test)]
mod tests;
