use super::*;
use crate::webhook_name::is_about;

/// What a hub is told to ask a server of this name.
fn webhooks(server: &str) -> Vec<Value> {
    let address: Address = "https://drover.example".parse().unwrap();
    let asking = Asking {
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
fn whatever_the_server_is_called_is_one_text_in_a_condition() {
    assert_eq!(literal("a'b\\c"), "'a\\'b\\\\c'");
    for webhook in webhooks("o'neil") {
        assert!(is_about(&format!(
            "failed calling webhook {}",
            webhook["name"]
        )));
        let conditions = conditions(&webhook);
        let tried = webhook["name"] == "check.rules.drover.dev";
        let exempt = conditions.contains("username != 'o\\'neil'");
        assert!(exempt || tried, "{conditions}");
    }
}

#[test]
fn every_webhook_fails_closed() {
    let all = webhooks("drover:server");
    assert!(!all.is_empty());
    for webhook in all {
        assert_eq!(webhook["failurePolicy"], "Fail", "{webhook}");
    }
}

#[test]
fn a_server_that_is_an_account_has_its_own_namespace_guarded_too() {
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

/// The webhook of this name.
fn one(name: &str) -> Value {
    let all = webhooks("drover:server");
    let name = format!("{name}.rules.drover.dev");
    all.into_iter()
        .find(|webhook| webhook["name"] == name)
        .unwrap()
}

#[test]
fn certificates_are_asked_about_when_they_are_approved_and_when_they_approve_themselves() {
    let webhook = one("certificates");
    let rules: Vec<_> = webhook["rules"].as_array().unwrap().iter().collect();
    let asked: Vec<_> = rules
        .iter()
        .map(|rule| (&rule["resources"][0], &rule["operations"][0]))
        .collect();
    assert_eq!(
        asked,
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
    let at_once = "object.spec.signerName == 'kubernetes.io/kube-apiserver-client-kubelet' || (";
    assert!(conditions.contains(at_once), "{conditions}");
}

#[test]
fn what_the_server_keeps_on_the_hub_is_asked_about_when_it_is_stripped_and_when_it_goes() {
    let rights = one("rights");
    assert_eq!(rights["rules"][0]["operations"], json!(WRITES));
    let said = conditions(&rights);
    for part in [
        ".startsWith('drover-hub-')",
        "'management.drover.dev/hub-access' in object.metadata.labels",
        "'management.drover.dev/hub-access' in oldObject.metadata.labels",
        // There is no object when one goes.
        "request.operation != 'DELETE' && (request.userInfo.username.startsWith('drover:') || (has(",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn bootstrap_tokens_of_people_are_asked_about_and_no_others() {
    let conditions = conditions(&one("secrets"));
    let people = "(request.userInfo.username.startsWith('drover:') \
                  && request.namespace == 'kube-system' && object != null && has(object.type) \
                  && object.type == 'bootstrap.kubernetes.io/token')";
    assert!(conditions.contains(people), "{conditions}");
}

#[test]
fn whatever_a_rule_could_refuse_to_delete_is_asked_about() {
    use drover_access::admission::{Operation, Write, depends_on_roles};
    let conditions = conditions(&one("kinds"));
    let definitions = drover_api::kinds::definitions();
    let mut asked = 0;
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
            // Of settings, those that decide what runs in the clusters.
            name: "server-url",
            object: None,
            old: Some(&old),
        };
        let wanted = depends_on_roles(&write);
        asked += usize::from(wanted);
        let is_asked = conditions.contains(&format!("'{resource}'"));
        assert_eq!(is_asked, wanted, "{resource}: {conditions}");
    }
    assert_eq!(
        asked, 9,
        "people, providers, settings, roles, bindings and projects"
    );
}
