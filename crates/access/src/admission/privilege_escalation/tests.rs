use serde_json::json;

use super::*;

fn rule(group: &str, resource: &str, verb: &str, names: &[&str]) -> Value {
    json!({ "rules": [{
        "apiGroups": [group], "resources": [resource], "verbs": [verb], "resourceNames": names,
    }] })
}

use RuleScope::{Everywhere, Namespace};

const SERVER: &str = "drover:server";
const HUB: RuleScope<'static> = Namespace("drover-system");
const KUBE: RuleScope<'static> = Namespace("kube-system");
const TEAM: RuleScope<'static> = Namespace("team");

/// Test cases: API group, resource, verb and resource names of a rule, the scope, and true if the
/// rule permits privilege escalation.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
    RuleScope<'static>,
    bool,
);

const TABLE: &[Row] = &[
    ("*", "*", "*", &[], Everywhere, true),
    ("*", "*", "*", &[], HUB, true),
    ("*", "*", "*", &[], TEAM, false),
    ("*", "*", "get", &[], Everywhere, true),
    (
        "management.drover.dev",
        "users",
        "patch",
        &[],
        Everywhere,
        true,
    ),
    ("management.drover.dev", "*", "get", &[], Everywhere, false),
    (
        "management.drover.dev",
        "clusters/status",
        "update",
        &[],
        Everywhere,
        true,
    ),
    ("", "secrets", "get", &[], Everywhere, true),
    ("", "secrets", "list", &[], HUB, true),
    ("", "secrets", "get", &["mine"], HUB, false),
    ("", "secrets", "get", &["mine", "server-ca"], HUB, true),
    ("", "secrets", "get", &["password-1"], HUB, true),
    ("", "secrets", "get", &["mine"], KUBE, true),
    // The response contains the deleted objects.
    ("", "secrets", "deletecollection", &[], HUB, true),
    ("", "secrets", "*", &[], TEAM, false),
    ("", "configmaps", "*", &[], Everywhere, false),
    ("", "serviceaccounts/token", "create", &[], HUB, true),
    ("", "*/token", "create", &[], HUB, true),
    ("", "serviceaccounts/token", "create", &[], TEAM, false),
    ("", "pods", "create", &[], HUB, true),
    ("", "pods", "list", &[], Everywhere, false),
    ("", "pods/exec", "get", &[], HUB, true),
    ("apps", "deployments", "patch", &[], HUB, true),
    ("apps", "deployments", "patch", &[], TEAM, false),
    ("", "nodes/proxy", "get", &[], Everywhere, true),
    ("", "users", "impersonate", &[], Everywhere, true),
    ("", "users", "impersonate", &[], TEAM, false),
    ("", "userextras", "impersonate", &[], Everywhere, true),
    (
        "authentication.k8s.io",
        "users",
        "impersonate:user-info",
        &[],
        Everywhere,
        true,
    ),
    ("", "serviceaccounts", "impersonate", &[], HUB, true),
    ("", "serviceaccounts", "impersonate", &[], TEAM, false),
    (RBAC, "clusterroles", "bind", &[], Everywhere, true),
    (RBAC, "clusterroles", "create", &[], Everywhere, false),
    (
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "patch",
        &[],
        Everywhere,
        true,
    ),
    (
        "certificates.k8s.io",
        "signers",
        "approve",
        &[],
        Everywhere,
        true,
    ),
    (
        "certificates.k8s.io",
        "certificatesigningrequests/nodeclient",
        "create",
        &[],
        Everywhere,
        true,
    ),
    (
        "certificates.k8s.io",
        "certificatesigningrequests/selfnodeclient",
        "create",
        &[],
        Everywhere,
        true,
    ),
    // A request alone grants nothing: another user must approve it.
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        "create",
        &[],
        Everywhere,
        false,
    ),
];

#[test]
fn permissions_that_allow_privilege_escalation_are_detected_only_in_their_scopes() {
    for (group, resource, verb, names, scope, found) in TABLE {
        let role = rule(group, resource, verb, names);
        let got = of_role(&role, *scope, SERVER);
        assert_eq!(
            got.is_some(),
            *found,
            "{group} {resource} {verb} {names:?} {scope:?}: {got:?}"
        );
    }
    assert_eq!(of_role(&json!({}), Everywhere, SERVER), None);
}

#[test]
fn resource_names_in_a_rule_restrict_only_verbs_on_existing_objects() {
    for (verbs, names, found) in [
        (&["get"][..], &["mine"][..], false),
        (
            &["get", "update", "patch", "delete"],
            &["mine", "yours"],
            false,
        ),
        // An empty name matches all Secrets.
        (&["get"], &[""], true),
        (&["get"], &["mine", ""], true),
        (&["list", "watch"], &[""], true),
        (&["list", "watch"], &["mine", ""], true),
        (&["list"], &["mine"], true),
        (&["get", "watch"], &["mine"], true),
        (&["create"], &["mine"], true),
        (&["deletecollection"], &["mine"], true),
        (&["*"], &["mine"], true),
    ] {
        let role = json!({ "rules": [{
            "apiGroups": [""], "resources": ["secrets"], "verbs": verbs, "resourceNames": names,
        }] });
        let got = of_role(&role, HUB, SERVER);
        assert_eq!(got.is_some(), found, "{verbs:?} {names:?}: {got:?}");
    }
}

#[test]
fn impersonation_rule_with_resource_names_allows_privilege_escalation() {
    for (resource, name, scope, found) in [
        // The user of a kubeconfig may be the server itself, and a group may have all permissions.
        ("users", "jane", Everywhere, true),
        ("users", "drover:user:1", Everywhere, true),
        ("groups", "platform-admins", Everywhere, true),
        ("groups", "system:masters", Everywhere, true),
        ("serviceaccounts", "drover", Everywhere, true),
        ("serviceaccounts", "drover", HUB, true),
        ("serviceaccounts", "drover", TEAM, false),
        ("uids", "5b3c4fd4", Everywhere, true),
        ("userextras/scopes", "all", Everywhere, true),
        ("configmaps", "jane", Everywhere, false),
    ] {
        let role = rule("", resource, "impersonate", &[name]);
        let got = of_role(&role, scope, SERVER);
        assert_eq!(got.is_some(), found, "{resource} {name} {scope:?}: {got:?}");
    }
}

#[test]
fn permissions_in_namespace_of_server_service_account_allow_privilege_escalation() {
    let ops = Namespace("ops");
    for (resource, verb) in [
        ("pods", "create"),
        ("pods/exec", "create"),
        ("serviceaccounts/token", "create"),
        ("serviceaccounts", "impersonate"),
    ] {
        let role = rule("", resource, verb, &[]);
        for (server, found) in [
            ("system:serviceaccount:ops:drover", true),
            ("system:serviceaccount:ops2:drover", false),
            ("ops", false),
            (SERVER, false),
        ] {
            let got = of_role(&role, ops, server);
            assert_eq!(got.is_some(), found, "{resource} {verb} {server}: {got:?}");
        }
    }
}

#[test]
fn access_to_any_secret_in_namespace_of_server_service_account_allows_escalation() {
    let ops = Namespace("ops");
    let (in_ops, in_hub) = (
        "system:serviceaccount:ops:drover",
        "system:serviceaccount:drover-system:drover",
    );
    for (server, scope, name, found) in [
        (in_ops, ops, "drover-token", true),
        (in_ops, HUB, "drover-token", false),
        (in_ops, HUB, "server-ca", true),
        (in_ops, TEAM, "drover-token", false),
        (in_hub, HUB, "drover-token", true),
        (in_hub, ops, "drover-token", false),
        (SERVER, HUB, "drover-token", false),
        (SERVER, HUB, "server-ca", true),
        (SERVER, KUBE, "drover-token", true),
        (SERVER, Everywhere, "drover-token", true),
    ] {
        let role = rule("", "secrets", "get", &[name]);
        let got = of_role(&role, scope, server);
        assert_eq!(got.is_some(), found, "{server} {scope:?} {name}: {got:?}");
    }
}
