//! Tests of exempt writers, and of writes that do not grant permissions. These cases are not part
//! of the tests in `server/tests/kubernetes/admission.rs`.

use serde_json::json;

use super::*;

const SERVER: &str = "system:serviceaccount:drover-system:drover";
const HUB: AdmissionContext<'static> = AdmissionContext::external(SERVER);

fn write<'a>(writer: &'a str, resource: &'a str, object: &'a Value, old: &'a Value) -> Write<'a> {
    Write {
        writer,
        groups: &[],
        operation: Operation::Update,
        group: RBAC,
        resource,
        subresource: "",
        namespace: "",
        name: "x",
        object: Some(object),
        old: Some(old),
    }
}

#[test]
fn admission_rules_apply_to_all_writers_except_server_and_kubernetes() {
    let controller = "system:serviceaccount:kube-system:generic-garbage-collector";
    // Writers, with true if the rules apply on an external hub, and on the embedded hub, whose
    // controllers have no accounts.
    for (writer, elsewhere, embedded) in [
        (SERVER, false, false),
        ("system:apiserver", false, false),
        ("system:kube-controller-manager", false, true),
        (controller, false, true),
        ("system:serviceaccount:kube-system-2:x", true, true),
        ("system:serviceaccount:drover-system:drover2", true, true),
        ("kubernetes-admin", true, true),
        ("drover:user:1", true, true),
        ("", true, true),
    ] {
        assert_eq!(HUB.concerns(writer), elsewhere, "{writer}");
        let concerned = AdmissionContext::embedded(SERVER).concerns(writer);
        assert_eq!(concerned, embedded, "{writer}");
    }
}

#[test]
fn permissions_are_checked_only_for_added_subjects_of_a_binding() {
    let subject = |name: &str| json!({ "kind": "User", "name": name });
    let bind = |role: &str, names: &[&str]| {
        let subjects: Vec<_> = names.iter().copied().map(subject).collect();
        json!({ "roleRef": { "kind": "ClusterRole", "name": role }, "subjects": subjects })
    };
    let mighty = json!({ "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }] });
    let two = bind("admin", &["ann", "bob"]);
    for (new, allowed) in [
        (bind("admin", &["ann"]), true),
        (bind("admin", &["bob", "ann"]), true),
        (bind("admin", &["ann", "bob", "eve"]), false),
        (bind("other", &["ann"]), false),
        (bind("admin", &[]), true),
    ] {
        let write = write("drover:user:1", "clusterrolebindings", &new, &two);
        let needed = role_needed(&write, HUB);
        assert_eq!(needed.is_none(), allowed, "{new}");
        let decision = admit(&write, HUB, Some(&mighty));
        assert_eq!(decision.is_ok(), allowed, "{new}: {decision:?}");
        // A user of the hub without Drover name may perform the write.
        let jane = Write {
            writer: "jane",
            ..write
        };
        assert_eq!(role_needed(&jane, HUB), None);
        assert_eq!(admit(&jane, HUB, Some(&mighty)), Ok(()));
    }
}

#[test]
fn drover_user_cannot_bind_missing_role() {
    let bind = |name: &str| {
        json!({
            "roleRef": { "kind": "ClusterRole", "name": "later" },
            "subjects": [{ "kind": "User", "name": name }],
        })
    };
    let (ann, bob) = (bind("ann"), bind("bob"));
    for (writer, allowed) in [
        ("drover:user:1", false),
        // The hub itself rejects users without permission to bind.
        ("jane", true),
        ("system:serviceaccount:apps:robot", true),
    ] {
        let write = write(writer, "clusterrolebindings", &ann, &bob);
        let decision = admit(&write, HUB, None);
        assert_eq!(decision.is_ok(), allowed, "{writer}: {decision:?}");
        let refused = decision.map_or_else(|reason| reason.to_string(), |()| String::new());
        assert_eq!(
            refused.contains("the ClusterRole \"later\"") && refused.contains("role before"),
            !allowed,
            "{refused}"
        );
        // Existing subjects gain no permissions.
        let write = Write {
            old: Some(&ann),
            ..write
        };
        assert_eq!(admit(&write, HUB, None), Ok(()), "{writer}");
    }
}

#[test]
fn only_added_permissions_of_a_role_are_checked() {
    let reading =
        |resource: &str| json!({ "apiGroups": [""], "resources": [resource], "verbs": ["get"] });
    let role = |rules: &[&str], label: &str| {
        let rules: Vec<_> = rules.iter().copied().map(reading).collect();
        json!({ "metadata": { "labels": { "a": label } }, "rules": rules })
    };
    let old = role(&["secrets", "pods"], "x");
    for (new, allowed) in [
        (role(&["secrets"], "x"), true),
        (role(&["secrets", "pods"], "x"), true),
        (role(&["secrets", "nodes/proxy"], "x"), false),
        (role(&["pods", "configmaps"], "x"), true),
        (role(&["secrets", "pods"], "y"), false),
        (role(&["pods"], "y"), true),
    ] {
        let write = write("drover:user:1", "clusterroles", &new, &old);
        let decision = admit(&write, HUB, None);
        assert_eq!(decision.is_ok(), allowed, "{new}: {decision:?}");
    }
}

#[test]
fn only_server_writes_hub_objects_with_drovers_prefix_or_label() {
    let named = |name: &str, labelled: bool| {
        let labels = if labelled {
            json!({ HUB_LABEL: "role" })
        } else {
            json!({})
        };
        json!({ "metadata": { "name": name, "labels": labels } })
    };
    let generated = json!({ "metadata": { "generateName": HUB_PREFIX } });
    let (plain, marked) = (named("x", false), named("x", true));
    let (ours, ours_marked) = (
        named("drover-hub-role-g", false),
        named("drover-hub-role-g", true),
    );
    let kept = json!({ "metadata": {
        "name": "drover-hub-role-g", "labels": { HUB_LABEL: "role" }, "finalizers": ["a/b"],
    } });
    let of_users = named("drover-hubs", false);
    for (name, old, object, allowed) in [
        ("drover-hub-role-g", None, Some(&ours), false),
        ("", None, Some(&generated), false),
        ("x", None, Some(&marked), false),
        ("drover-hub-role-g", Some(&ours_marked), Some(&ours), false),
        ("drover-hub-role-g", Some(&ours_marked), Some(&kept), false),
        ("drover-hub-role-g", Some(&ours_marked), None, false),
        // A collection deletion has no name.
        ("", Some(&ours), None, false),
        ("x", Some(&marked), Some(&plain), false),
        ("x", Some(&plain), Some(&marked), false),
        ("x", Some(&plain), Some(&plain), true),
        ("x", Some(&plain), None, true),
        ("drover-hubs", None, Some(&of_users), true),
    ] {
        let operation = match (old, object) {
            (None, _) => Operation::Create,
            (_, None) => Operation::Delete,
            _ => Operation::Update,
        };
        for resource in [
            "roles",
            "rolebindings",
            "clusterroles",
            "clusterrolebindings",
        ] {
            for (writer, may) in [
                ("jane", allowed),
                ("drover:user:1", allowed),
                (SERVER, true),
                ("system:kube-controller-manager", true),
            ] {
                let write = Write {
                    operation,
                    name,
                    object,
                    old,
                    ..write(writer, resource, &plain, &plain)
                };
                let decision = admit(&write, HUB, None);
                assert_eq!(decision.is_ok(), may, "{write:?}: {decision:?}");
            }
        }
    }
}

#[test]
fn only_nodes_can_request_tokens_of_the_server_service_account() {
    let empty = json!({});
    let nodes = ["system:nodes".to_owned()];
    let ask = |writer, name, groups| {
        let write = Write {
            groups,
            operation: Operation::Create,
            group: "",
            subresource: "token",
            namespace: "drover-system",
            name,
            ..write(writer, "serviceaccounts", &empty, &empty)
        };
        admit(&write, HUB, None).is_ok()
    };
    assert!(!ask("jane", "drover", &[]));
    assert!(ask("jane", "other", &[]));
    assert!(ask("system:node:one", "drover", &nodes));
    assert!(ask(SERVER, "drover", &[]));
}
