use super::*;
use crate::webhook_name::is_about;

/// Returns the webhooks that a server with this account installs.
fn webhooks(server: &str) -> Vec<Value> {
    let address: Address = "https://drover.example".parse().unwrap();
    let asking = WebhookConfig {
        address: &address,
        trust: Some("PEM"),
        segment: "secret",
        server,
    };
    let rules = asking.rules();
    assert_eq!(rules["metadata"]["annotations"][SERVER_ANNOTATION], server);
    rules["webhooks"].as_array().unwrap().clone()
}

fn conditions(webhook: &Value) -> String {
    let conditions = webhook["matchConditions"].as_array().unwrap().iter();
    let texts = conditions.map(|one| one["expression"].as_str().unwrap());
    texts.collect::<Vec<_>>().join(" AND ")
}

#[test]
fn server_account_is_quoted_in_webhook_match_conditions() {
    assert_eq!(literal("a'b\\c"), "'a\\'b\\\\c'");
    for webhook in webhooks("o'neil") {
        assert!(is_about(&format!(
            "failed calling webhook {}",
            webhook["name"]
        )));
        let conditions = conditions(&webhook);
        let is_test = webhook["name"] == "check.rules.drover.dev";
        let exempt = conditions.contains("username != 'o\\'neil'");
        assert!(exempt || is_test, "{conditions}");
    }
}

#[test]
fn every_webhook_has_failure_policy_fail() {
    let all = webhooks("drover:server");
    assert!(!all.is_empty());
    for webhook in all {
        assert_eq!(webhook["failurePolicy"], "Fail", "{webhook}");
    }
}

#[test]
fn webhook_matches_requests_in_the_namespace_of_the_server_service_account() {
    let system = ["drover-system", "kube-system"];
    let with_ops = ["drover-system", "kube-system", "ops"];
    for (server, namespaces, named) in [
        ("system:serviceaccount:ops:drover", &with_ops[..], "'ops'"),
        (
            "system:serviceaccount:kube-system:x",
            &system,
            "'kube-system'",
        ),
        ("kubernetes-admin", &system, ""),
    ] {
        for name in ["secrets.rules.drover.dev", "accounts.rules.drover.dev"] {
            let all = webhooks(server);
            let webhook = all.iter().find(|webhook| webhook["name"] == name).unwrap();
            let selector = &webhook["namespaceSelector"]["matchExpressions"][0];
            assert_eq!(selector["values"], json!(namespaces), "{server} {name}");
            if name.starts_with("accounts") {
                assert!(conditions(webhook).contains(named), "{server}");
            }
        }
    }
}

/// Returns the webhook with this name from the configuration.
fn webhook_named(name: &str) -> Value {
    let all = webhooks("drover:server");
    let name = format!("{name}.rules.drover.dev");
    all.into_iter()
        .find(|webhook| webhook["name"] == name)
        .unwrap()
}

#[test]
fn webhook_matches_creation_and_approval_of_certificate_requests() {
    let webhook = webhook_named("certificates");
    let rules: Vec<_> = webhook["rules"].as_array().unwrap().iter().collect();
    let requested: Vec<_> = rules
        .iter()
        .map(|rule| (&rule["resources"][0], &rule["operations"][0]))
        .collect();
    assert_eq!(
        requested,
        [
            (&json!("certificatesigningrequests/*"), &json!("UPDATE")),
            (&json!("certificatesigningrequests"), &json!("CREATE")),
        ]
    );
    for rule in rules {
        assert_eq!(rule["apiGroups"], json!([CERTIFICATES]));
        assert_eq!(rule["apiVersions"], json!(["v1"]));
    }
    let conditions = conditions(&webhook);
    let auto_approved =
        "object.spec.signerName == 'kubernetes.io/kube-apiserver-client-kubelet' || (";
    assert!(conditions.contains(auto_approved), "{conditions}");
}

#[test]
fn webhook_matches_updates_and_deletions_of_server_objects() {
    let rights = webhook_named("rights");
    assert_eq!(rights["rules"][0]["operations"], json!(WRITES));
    let conditions = conditions(&rights);
    for part in [
        ".startsWith('drover-hub-')",
        "'management.drover.dev/hub-access' in object.metadata.labels",
        "'management.drover.dev/hub-access' in oldObject.metadata.labels",
        // A deletion has no object.
        "request.operation != 'DELETE' && (request.userInfo.username.startsWith('drover:') || (has(",
    ] {
        assert!(conditions.contains(part), "{part}: {conditions}");
    }
}

#[test]
fn webhook_matches_bootstrap_tokens_written_by_drover_users_only() {
    let conditions = conditions(&webhook_named("secrets"));
    let people = "(request.userInfo.username.startsWith('drover:') \
                  && request.namespace == 'kube-system' && object != null && has(object.type) \
                  && object.type == 'bootstrap.kubernetes.io/token')";
    assert!(conditions.contains(people), "{conditions}");
}

#[test]
fn webhook_matches_every_deletion_that_an_admission_rule_could_reject() {
    use drover_access::admission::{Operation, Write, depends_on_roles};
    let conditions = conditions(&webhook_named("kinds"));
    let definitions = drover_api::kinds::definitions();
    let mut requested = 0;
    for definition in &definitions {
        let resource = &definition.spec.names.plural;
        let old = json!({ "metadata": { "uid": "1" }, "spec": {} });
        let write = Write {
            writer: "drover:user:1",
            groups: &[],
            operation: Operation::Delete,
            group: GROUP,
            resource,
            subresource: "",
            namespace: "",
            // The setting `server-url` decides which image runs in the clusters.
            name: "server-url",
            object: None,
            old: Some(&old),
        };
        let expected = depends_on_roles(&write);
        requested += usize::from(expected);
        let is_asked = conditions.contains(&format!("'{resource}'"));
        assert_eq!(is_asked, expected, "{resource}: {conditions}");
    }
    assert_eq!(
        requested, 11,
        "users, providers, settings, roles, bindings, projects, preferences and views"
    );
}
