use serde_json::json;

use super::*;
use crate::admission::{self, AdmissionContext};

const SERVER: &str = "system:serviceaccount:ops:drover";
const ACCOUNT_OF_APPS: &str = "system:serviceaccount:apps:robot";
const OF_KUBERNETES: &str = "system:serviceaccount:kube-system:replicaset-controller";

/// Reports whether a user may create a token of a service account. Returns one value for a
/// TokenRequest and one value for a Secret.
fn may_have(writer: &str, namespace: &str, account: &str) -> (bool, bool) {
    let object = json!({
        "type": ACCOUNT_TOKEN,
        "metadata": { "annotations": { "kubernetes.io/service-account.name": account } },
    });
    let requested = Write {
        writer,
        groups: &[],
        operation: Operation::Create,
        group: "",
        resource: "serviceaccounts",
        subresource: "token",
        namespace,
        name: account,
        object: None,
        old: None,
    };
    let stored = Write {
        resource: "secrets",
        subresource: "",
        name: "lasting",
        object: Some(&object),
        ..requested
    };
    let allowed = |write: &Write<'_>| {
        admission::admit(write, AdmissionContext::external(SERVER), None).is_ok()
    };
    (allowed(&requested), allowed(&stored))
}

#[test]
fn only_server_can_request_tokens_of_its_service_account() {
    for (writer, namespace, account, allowed) in [
        ("jane", "ops", "drover", false),
        ("jane", "ops", "other", true),
        ("jane", "ops2", "drover", true),
        ("drover:user:1", "ops", "drover", false),
        ("drover:user:1", "ops", "other", false),
        ("drover:user:1", "drover-system", "other", false),
        ("drover:user:1", "team", "drover", true),
        (ACCOUNT_OF_APPS, "ops", "drover", false),
        (ACCOUNT_OF_APPS, "ops", "other", false),
        (ACCOUNT_OF_APPS, "kube-system", "other", false),
        (ACCOUNT_OF_APPS, "apps", "other", true),
        (OF_KUBERNETES, "kube-system", "other", true),
        (SERVER, "ops", "drover", true),
    ] {
        let got = may_have(writer, namespace, account);
        assert_eq!(got, (allowed, allowed), "{writer} {namespace}/{account}");
    }
}

#[test]
fn secrets_of_the_server_cannot_be_deleted_by_name_or_in_a_collection() {
    let named = json!({ "metadata": { "name": "server-ca" } });
    let made_up = json!({ "metadata": { "generateName": "password-" } });
    let mine = json!({ "metadata": { "name": "mine", "generateName": "password-" } });
    for (name, object, old, allowed) in [
        ("server-ca", None, None, false),
        ("", Some(&named), None, false),
        ("", Some(&made_up), None, false),
        // In a collection deletion, only the object has the name.
        ("", None, Some(&named), false),
        ("", Some(&mine), None, true),
        ("mine", None, None, true),
    ] {
        let write = Write {
            writer: "jane",
            groups: &[],
            operation: Operation::Delete,
            group: "",
            resource: "secrets",
            subresource: "",
            namespace: HUB_NAMESPACE,
            name,
            object,
            old,
        };
        let decision = admission::admit(&write, AdmissionContext::external(SERVER), None);
        assert_eq!(decision.is_ok(), allowed, "{write:?}: {decision:?}");
    }
}

#[test]
fn drover_user_cannot_create_bootstrap_token() {
    let person = "drover:user:1";
    for (writer, operation, namespace, kind, allowed) in [
        (
            person,
            Operation::Create,
            "kube-system",
            BOOTSTRAP_TOKEN,
            false,
        ),
        // The groups of the token, or its expiry.
        (
            person,
            Operation::Update,
            "kube-system",
            BOOTSTRAP_TOKEN,
            false,
        ),
        (
            person,
            Operation::Delete,
            "kube-system",
            BOOTSTRAP_TOKEN,
            true,
        ),
        // Other namespaces have no bootstrap tokens.
        (person, Operation::Create, "team", BOOTSTRAP_TOKEN, true),
        (person, Operation::Create, "kube-system", "Opaque", true),
        (
            "jane",
            Operation::Create,
            "kube-system",
            BOOTSTRAP_TOKEN,
            true,
        ),
    ] {
        let secret = json!({ "type": kind });
        let write = Write {
            writer,
            groups: &[],
            operation,
            group: "",
            resource: "secrets",
            subresource: "",
            namespace,
            name: "bootstrap-token-abcdef",
            object: (operation != Operation::Delete).then_some(&secret),
            old: (operation != Operation::Create).then_some(&secret),
        };
        let decision = admission::admit(&write, AdmissionContext::external(SERVER), None);
        assert_eq!(decision.is_ok(), allowed, "{write:?}: {decision:?}");
    }
}
