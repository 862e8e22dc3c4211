//! Tests with roles that match the permissions in use, and with roles that grant too many
//! permissions.

use serde_json::json;

use super::*;

/// Returns the permissions of a rule in `namespace` that are wider than necessary. `events` are
/// the audit events of the requests that the account sent.
fn wrong(rule: &Value, namespace: Option<&str>, events: &[Value]) -> Vec<String> {
    let rights = granted(&json!({ "rules": [rule] }), namespace);
    let events = events.iter().map(|event| {
        let event: AuditEvent = serde_json::from_value(event.clone()).unwrap();
        event
    });
    let uses = events.flat_map(|event| used(&event)).collect();
    too_wide(&rights, &uses)
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn event(verb: &str, resource: &str, namespace: &str, name: &str) -> Value {
    json!({
        "auditID": "a", "stage": "ResponseComplete", "requestURI": "/x", "verb": verb,
        "user": { "username": "server" },
        "annotations": { "authorization.k8s.io/decision": "allow" },
        "objectRef": { "resource": resource, "namespace": namespace, "name": name },
        "responseStatus": { "code": 200 },
    })
}

fn rule(verbs: &[&str], names: &[&str]) -> Value {
    json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": verbs, "resourceNames": names })
}

#[test]
fn permission_used_within_its_scope_is_accepted() {
    let events = [
        event("get", "secrets", "own", "a"),
        event("get", "secrets", "own", "b"),
        event("create", "secrets", "own", "a"),
        event("list", "secrets", "own", ""),
    ];
    let verbs = ["get", "create", "list"];
    assert_eq!(wrong(&rule(&verbs, &[]), Some("own"), &events), [""; 0]);
    let named = rule(&["get"], &["a", "b"]);
    assert_eq!(wrong(&named, Some("own"), &events), [""; 0]);
    let elsewhere = event("get", "secrets", "other", "a");
    let events = [&events[..], &[elsewhere]].concat();
    assert_eq!(wrong(&rule(&["get"], &[]), None, &events), [""; 0]);
}

#[test]
fn global_permission_used_in_one_namespace_is_reported() {
    let events = [
        event("get", "secrets", "own", "a"),
        event("get", "secrets", "own", "b"),
    ];
    let found = wrong(&rule(&["get"], &[]), None, &events);
    assert_eq!(found, ["get secrets everywhere: used in own only"]);
}

#[test]
fn permission_without_resource_names_used_for_one_name_is_reported() {
    let events = [event("get", "secrets", "own", "a")];
    let found = wrong(&rule(&["get"], &[]), Some("own"), &events);
    assert_eq!(found, ["get secrets in own: used for a only"]);
}

#[test]
fn unused_verbs_names_groups_and_namespaces_are_reported() {
    let events = [event("get", "secrets", "own", "a")];
    let found = wrong(&rule(&["get", "patch"], &["a", "b"]), Some("own"), &events);
    let idle = ["get secrets b", "patch secrets a", "patch secrets b"];
    assert_eq!(
        found,
        idle.map(|right| format!("{right} in own: never used"))
    );
    let found = wrong(&rule(&["get"], &["a"]), Some("other"), &events);
    assert_eq!(found, ["get secrets a in other: never used"]);
    let mut of_group = rule(&["get"], &["a"]);
    of_group["apiGroups"] = json!(["apps"]);
    let found = wrong(&of_group, Some("own"), &events);
    assert_eq!(found, ["get apps/secrets a in own: never used"]);
    let found = wrong(&rule(&["*"], &[]), Some("own"), &events);
    assert_eq!(found, ["* secrets in own: never used"]);
}

#[test]
fn permission_of_a_rejected_request_is_reported_as_unused() {
    let mut refused = event("get", "secrets", "own", "a");
    refused["annotations"] = json!({ "authorization.k8s.io/decision": "forbid" });
    let found = wrong(&rule(&["get"], &["a"]), Some("own"), &[refused]);
    assert_eq!(found, ["get secrets a in own: never used"]);
}

#[test]
fn server_side_apply_of_a_new_object_requires_verbs_patch_and_create() {
    let verbs = rule(&["create", "patch"], &["a"]);
    let mut applied = event("patch", "secrets", "own", "a");
    let found = wrong(&verbs, Some("own"), &[applied.clone()]);
    assert_eq!(found, ["create secrets a in own: never used"]);
    applied["responseStatus"] = json!({ "code": 201 });
    assert_eq!(wrong(&verbs, Some("own"), &[applied]), [""; 0]);
}

#[test]
fn impersonation_requires_permissions_for_name_uid_and_extra_fields() {
    let mut acted = event("list", "pods", "shop", "");
    acted["impersonatedUser"] = json!({
        "username": "system:serviceaccount:shop:puller", "uid": "5a1d",
        "extra": { "example.com/note": ["x"] },
    });
    let act = |group: &str, resource: &str, name: &str| {
        json!({
            "apiGroups": [group], "resources": [resource], "verbs": ["impersonate"],
            "resourceNames": [name],
        })
    };
    let uid = act("authentication.k8s.io", "uids", "5a1d");
    let note = act("authentication.k8s.io", "userextras/example.com/note", "x");
    for rule in [uid, note] {
        assert_eq!(wrong(&rule, None, &[acted.clone()]), [""; 0]);
    }
    let account = act("", "serviceaccounts", "puller");
    assert_eq!(wrong(&account, Some("shop"), &[acted.clone()]), [""; 0]);
    let found = wrong(&account, None, &[acted.clone()]);
    let everywhere = "impersonate serviceaccounts puller everywhere: used in shop only";
    assert_eq!(found, [everywhere]);
    let other = act("authentication.k8s.io", "uids", "6b2e");
    assert_eq!(wrong(&other, None, &[acted]).len(), 1);
}
