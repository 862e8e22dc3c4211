//! Admission of certificate signing requests.

use serde_json::Value;

use super::{Operation, Refusal, Write};

/// Signers whose certificates authenticate clients at the hub's API server.
pub const CLIENT_SIGNERS: &[&str] = &[
    "kubernetes.io/kube-apiserver-client",
    "kubernetes.io/kube-apiserver-client-kubelet",
];

/// The signer whose certificates Kubernetes approves automatically, for users who may request node
/// certificates.
pub const SELF_APPROVED_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";

pub(super) fn admit(write: &Write<'_>) -> Result<(), Refusal> {
    let signer = write.of("/spec/signerName").and_then(Value::as_str);
    let asks = write.operation == Operation::Create && write.subresource.is_empty();
    if write.is_by_drover_user() && asks && signer == Some(SELF_APPROVED_SIGNER) {
        return Err(Refusal::new(
            "cannot request a node certificate through Drover, because the certificate would \
             stay valid after you lose your permissions: use a kubeconfig of the hub's own API \
             server",
        ));
    }
    let logs_in = signer.is_some_and(|signer| CLIENT_SIGNERS.contains(&signer));
    let approves = approved(write.object) && !approved(write.old);
    if !write.is_by_drover_user() || !logs_in || !approves {
        return Ok(());
    }
    Err(Refusal::new(
        "cannot approve a client certificate for the hub through Drover, because the certificate \
         would stay valid after you lose your permissions: use a kubeconfig of the hub's own API \
         server",
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
