use serde_json::json;

use super::*;

fn rule(group: &str, resource: &str, verb: &str, names: &[&str]) -> Value {
    json!({ "rules": [{
        "apiGroups": [group], "resources": [resource], "verbs": [verb], "resourceNames": names,
    }] })
}

#[test]
fn rights_that_make_an_administrator_are_found_wherever_they_hold_and_nowhere_else() {
    use Scope::{Everywhere, Namespace};
    let (hub, kube, team) = (
        Namespace("drover-system"),
        Namespace("kube-system"),
        Namespace("team"),
    );
    for (group, resource, verb, names, scope, found) in [
        ("*", "*", "*", &[][..], Everywhere, true),
        ("*", "*", "*", &[], hub, true),
        ("*", "*", "*", &[], team, false),
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
        ("", "secrets", "list", &[], hub, true),
        ("", "secrets", "get", &["mine"], hub, false),
        ("", "secrets", "get", &["mine", "server-ca"], hub, true),
        ("", "secrets", "get", &["password-1"], hub, true),
        ("", "secrets", "get", &["mine"], kube, true),
        ("", "secrets", "*", &[], team, false),
        ("", "configmaps", "*", &[], Everywhere, false),
        ("", "serviceaccounts/token", "create", &[], hub, true),
        ("", "*/token", "create", &[], hub, true),
        ("", "serviceaccounts/token", "create", &[], team, false),
        ("", "pods", "create", &[], hub, true),
        ("", "pods", "list", &[], Everywhere, false),
        ("", "pods/exec", "get", &[], hub, true),
        ("apps", "deployments", "patch", &[], hub, true),
        ("apps", "deployments", "patch", &[], team, false),
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
        ("", "serviceaccounts", "impersonate", &[], hub, true),
        ("", "serviceaccounts", "impersonate", &[], team, false),
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
    ] {
        let role = rule(group, resource, verb, names);
        let got = of_role(&role, scope);
        assert_eq!(
            got.is_some(),
            found,
            "{group} {resource} {verb} {names:?} {scope:?}: {got:?}"
        );
    }
    assert_eq!(of_role(&json!({}), Everywhere), None);
}
