//! Requests for certificates.

use serde_json::Value;

use super::{Operation, Refusal, Write};

/// Signers whose certificates the hub's API server takes for a log-in.
pub const CLIENT_SIGNERS: &[&str] = &[
    "kubernetes.io/kube-apiserver-client",
    "kubernetes.io/kube-apiserver-client-kubelet",
];

/// The signer whose certificates Kubernetes approves by itself, for whoever may ask for a node's.
pub const SELF_APPROVED_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";

pub(super) fn admit(write: &Write<'_>) -> Result<(), Refusal> {
    let signer = write.of("/spec/signerName").and_then(Value::as_str);
    let asks = write.operation == Operation::Create && write.subresource.is_empty();
    if write.by_person() && asks && signer == Some(SELF_APPROVED_SIGNER) {
        return Err(Refusal::new(
            "Kubernetes approves a node's certificate by itself, which would outlive your own \
             rights, and cannot be taken back: ask for it with a kubeconfig of the hub's own",
        ));
    }
    let logs_in = signer.is_some_and(|signer| CLIENT_SIGNERS.contains(&signer));
    let approves = approved(write.object) && !approved(write.old);
    if !write.by_person() || !logs_in || !approves {
        return Ok(());
    }
    Err(Refusal::new(
        "a certificate with which somebody logs in to the hub would outlive your own rights, and \
         cannot be taken back: approve it with a kubeconfig of the hub's own",
    ))
}

fn approved(request: Option<&Value>) -> bool {
    let conditions = request.and_then(|request| request.pointer("/status/conditions"));
    let conditions = conditions.and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Approved")
}

#[cfg(test)]
mod tests;
