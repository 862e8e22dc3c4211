use serde_json::json;

use super::*;

fn rule(group: &str, resource: &str, verb: &str, names: &[&str]) -> Value {
    json!({ "rules": [{
        "apiGroups": [group], "resources": [resource], "verbs": [verb], "resourceNames": names,
    }] })
}

use Scope::{Everywhere, Namespace};

const SERVER: &str = "drover:server";
const HUB: Scope<'static> = Namespace("drover-system");
const KUBE: Scope<'static> = Namespace("kube-system");
const TEAM: Scope<'static> = Namespace("team");

/// Group, resource, verb, names; where it holds; whether it is a back door.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
    Scope<'static>,
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
    // It answers with what it deletes.
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
    // Asking alone is worth nothing: somebody has to approve.
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
fn rights_that_make_an_administrator_are_found_wherever_they_hold_and_nowhere_else() {
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
fn names_limit_what_is_asked_about_one_secret_of_a_name_and_nothing_else() {
    for (verbs, names, found) in [
        (&["get"][..], &["mine"][..], false),
        (
            &["get", "update", "patch", "delete"],
            &["mine", "yours"],
            false,
        ),
        // What is no Secret's name is the name of all of them.
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
fn a_limit_to_names_makes_acting_as_others_no_less_a_back_door() {
    for (resource, name, scope, found) in [
        // A kubeconfig's user may be the server itself, and a group may have every right.
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
fn the_namespace_of_the_servers_account_is_as_private_as_that_of_its_secrets() {
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
fn a_secret_of_any_name_may_hold_a_token_where_the_servers_account_is() {
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
