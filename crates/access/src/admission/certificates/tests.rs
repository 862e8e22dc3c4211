use serde_json::json;

use crate::admission::{
    AdmissionContext, CERTIFICATES, Operation, SELF_APPROVED_SIGNER, Write, admit,
};

#[test]
fn drover_user_cannot_approve_client_certificate() {
    let client = "kubernetes.io/kube-apiserver-client";
    for (writer, signer, had, gets, allowed) in [
        ("drover:user:1", client, None, Some("Approved"), false),
        (
            "drover:user:1",
            "kubernetes.io/kube-apiserver-client-kubelet",
            None,
            Some("Approved"),
            false,
        ),
        ("drover:user:1", client, None, Some("Denied"), true),
        (
            "drover:user:1",
            client,
            Some("Approved"),
            Some("Approved"),
            true,
        ),
        (
            "drover:user:1",
            "kubernetes.io/kubelet-serving",
            None,
            Some("Approved"),
            true,
        ),
        ("jane", client, None, Some("Approved"), true),
    ] {
        let request = |condition: Option<&str>| {
            let conditions: Vec<_> = condition
                .iter()
                .map(|kind| json!({ "type": kind }))
                .collect();
            json!({ "spec": { "signerName": signer }, "status": { "conditions": conditions } })
        };
        let (old, new) = (request(had), request(gets));
        let write = Write {
            writer,
            groups: &[],
            operation: Operation::Update,
            group: CERTIFICATES,
            resource: "certificatesigningrequests",
            subresource: "approval",
            namespace: "",
            name: "x",
            object: Some(&new),
            old: Some(&old),
        };
        let decision = admit(&write, AdmissionContext::external("drover:server"), None);
        assert_eq!(decision.is_ok(), allowed, "{write:?}: {decision:?}");
    }
}

#[test]
fn drover_user_cannot_request_automatically_approved_certificate() {
    let (node, client) = (SELF_APPROVED_SIGNER, "kubernetes.io/kube-apiserver-client");
    let person = "drover:user:1";
    for (writer, operation, signer, allowed) in [
        (person, Operation::Create, node, false),
        // The request needs an approval, which Drover users cannot give.
        (person, Operation::Create, client, true),
        (person, Operation::Create, "example.com/mine", true),
        // A new label of an existing request creates no certificate.
        (person, Operation::Update, node, true),
        (person, Operation::Delete, node, true),
        ("jane", Operation::Create, node, true),
        ("system:node:one", Operation::Create, node, true),
    ] {
        let request = json!({ "spec": { "signerName": signer } });
        let write = Write {
            writer,
            groups: &[],
            operation,
            group: CERTIFICATES,
            resource: "certificatesigningrequests",
            subresource: "",
            namespace: "",
            name: "x",
            object: (operation != Operation::Delete).then_some(&request),
            old: (operation != Operation::Create).then_some(&request),
        };
        let decision = admit(&write, AdmissionContext::external("drover:server"), None);
        assert_eq!(decision.is_ok(), allowed, "{write:?}: {decision:?}");
    }
}
