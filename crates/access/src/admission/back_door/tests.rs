use serde_json::json;

use super::*;

fn rule(group: &str, resource: &str, verb: &str, names: &[&str]) -> Value {
    json!({ "rules": [{
        "apiGroups": [group], "resources": [resource], "verbs": [verb], "resourceNames": names,
    }] })
}

use Scope::{Everywhere, Namespace};

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
    ("", "users", "impersonate", &["jane"], Everywhere, false),
    (
        "",
        "users",
        "impersonate",
        &["drover:user:1"],
        Everywhere,
        true,
    ),
    (
        "",
        "groups",
        "impersonate",
        &["system:masters"],
        Everywhere,
        true,
    ),
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
];

#[test]
fn rights_that_make_an_administrator_are_found_wherever_they_hold_and_nowhere_else() {
    for (group, resource, verb, names, scope, found) in TABLE {
        let role = rule(group, resource, verb, names);
        let got = of_role(&role, *scope);
        assert_eq!(
            got.is_some(),
            *found,
            "{group} {resource} {verb} {names:?} {scope:?}: {got:?}"
        );
    }
    assert_eq!(of_role(&json!({}), Everywhere), None);
}
