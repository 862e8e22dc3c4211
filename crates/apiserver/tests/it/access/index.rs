use drover_apiserver::access::{
    Attributes, AuthorizationDecision, Authorizer, Caller, Rbac, RbacKind, Target,
};
use serde_json::{Value, json};

fn role(namespace: &str, name: &str, verbs: &[&str]) -> Value {
    json!({
        "metadata": {"namespace": namespace, "name": name},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}],
    })
}

fn binding(namespace: &str, name: &str, kind: &str, role: &str, subjects: &Value) -> Value {
    json!({
        "metadata": {"namespace": namespace, "name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": subjects,
    })
}

fn ask(rbac: &Rbac, caller: &Caller, verb: &str, namespace: &str) -> AuthorizationDecision {
    rbac.authorize(&Attributes {
        caller,
        verb,
        target: Target::Resource {
            group: "",
            version: "v1",
            resource: "pods",
            subresource: "",
            namespace,
            name: "",
        },
    })
}

fn bound(subjects: &Value) -> Rbac {
    let rbac = Rbac::new();
    rbac.apply(RbacKind::ClusterRole, &role("", "reader", &["get"]));
    rbac.apply(
        RbacKind::RoleBinding,
        &binding("d", "b", "ClusterRole", "reader", subjects),
    );
    rbac
}

#[test]
fn bindings_grant_permissions_to_users_groups_and_service_accounts_with_reason() {
    let user = Caller::user("u", ["team"]);
    let account = Caller::user("system:serviceaccount:d:sa", []);
    let cases = [
        (&user, json!({"kind": "User", "name": "u"}), r#"User "u""#),
        (
            &user,
            json!({"kind": "Group", "name": "team"}),
            r#"Group "team""#,
        ),
        (
            &account,
            json!({"kind": "ServiceAccount", "name": "sa"}),
            r#"ServiceAccount "sa/d""#,
        ),
        (
            &account,
            json!({"kind": "ServiceAccount", "name": "sa", "namespace": "d"}),
            r#"ServiceAccount "sa/d""#,
        ),
        (
            &account,
            json!({"kind": "User", "name": "system:serviceaccount:d:sa"}),
            r#"User "system:serviceaccount:d:sa""#,
        ),
    ];
    for (caller, subject, named) in cases {
        let rbac = bound(&json!([subject]));
        let decision = ask(&rbac, caller, "get", "d");
        let source = format!(r#"RoleBinding "b/d" of ClusterRole "reader" to {named}"#);
        assert_eq!(
            decision,
            AuthorizationDecision::allow(format!("RBAC: allowed by {source}"))
        );
    }
}

#[test]
fn role_binding_applies_to_its_namespace_only() {
    let rbac = bound(&json!([{"kind": "User", "name": "u"}]));
    let user = Caller::user("u", []);
    assert!(ask(&rbac, &user, "get", "d").allowed);
    assert!(!ask(&rbac, &user, "get", "other").allowed);
    assert!(!ask(&rbac, &user, "get", "").allowed);
    assert!(!ask(&rbac, &user, "list", "d").allowed);
}

#[test]
fn role_binding_does_not_grant_role_of_a_different_namespace() {
    let rbac = Rbac::new();
    rbac.apply(RbacKind::Role, &role("other", "reader", &["get"]));
    let subjects = json!([{"kind": "User", "name": "u"}]);
    rbac.apply(
        RbacKind::RoleBinding,
        &binding("d", "b", "Role", "reader", &subjects),
    );
    let decision = ask(&rbac, &Caller::user("u", []), "get", "d");
    assert_eq!(
        decision,
        AuthorizationDecision::deny(r#"RBAC: role.rbac.authorization.k8s.io "reader" not found"#)
    );
}

#[test]
fn missing_role_is_reported_once_and_existing_roles_apply() {
    let rbac = Rbac::new();
    let subjects = json!([{"kind": "User", "name": "u"}]);
    for (name, role) in [("a", "gone"), ("b", "gone"), ("c", "lost")] {
        rbac.apply(
            RbacKind::ClusterRoleBinding,
            &binding("", name, "ClusterRole", role, &subjects),
        );
    }
    let user = Caller::user("u", []);
    assert_eq!(
        ask(&rbac, &user, "get", "d").reason,
        "RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not found, \
         clusterrole.rbac.authorization.k8s.io \"lost\" not found]"
    );
    rbac.apply(RbacKind::ClusterRole, &role("", "lost", &["get"]));
    assert!(ask(&rbac, &user, "get", "d").allowed);
}

#[test]
fn changed_or_removed_binding_revokes_permissions_of_its_previous_subjects() {
    let rbac = bound(&json!([{"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}]));
    let (u, g, v) = (
        Caller::user("u", []),
        Caller::user("x", ["g"]),
        Caller::user("v", []),
    );
    let subjects = json!([{"kind": "User", "name": "v"}]);
    rbac.apply(
        RbacKind::RoleBinding,
        &binding("d", "b", "ClusterRole", "reader", &subjects),
    );
    assert!(!ask(&rbac, &u, "get", "d").allowed && !ask(&rbac, &g, "get", "d").allowed);
    assert!(ask(&rbac, &v, "get", "d").allowed);
    rbac.remove(RbacKind::RoleBinding, "d", "b");
    assert!(!ask(&rbac, &v, "get", "d").allowed);
}

#[test]
fn permissions_are_revoked_by_role_deletion_and_by_index_reset() {
    let rbac = bound(&json!([{"kind": "User", "name": "u"}]));
    let user = Caller::user("u", []);
    rbac.remove(RbacKind::ClusterRole, "", "reader");
    assert!(!ask(&rbac, &user, "get", "d").allowed);
    rbac.apply(RbacKind::ClusterRole, &role("", "reader", &["get"]));
    assert!(ask(&rbac, &user, "get", "d").allowed);
    rbac.reset([]);
    assert_eq!(
        ask(&rbac, &user, "get", "d"),
        AuthorizationDecision::deny("")
    );
}

#[test]
fn system_masters_are_authorized_without_bindings() {
    let rbac = Rbac::new();
    assert!(ask(&rbac, &Caller::privileged("root"), "delete", "").allowed);
}

#[test]
fn rules_of_caller_include_cluster_and_namespace_bindings() {
    let rbac = bound(&json!([{"kind": "User", "name": "u"}]));
    rbac.apply(RbacKind::ClusterRole, &role("", "lister", &["list"]));
    let subjects = json!([{"kind": "Group", "name": "g"}]);
    rbac.apply(
        RbacKind::ClusterRoleBinding,
        &binding("", "c", "ClusterRole", "lister", &subjects),
    );
    let caller = Caller::user("u", ["g"]);
    let verbs = |namespace: &str| -> Vec<String> {
        let (rules, error) = rbac.rules_for(&caller, namespace);
        assert_eq!(error, "");
        rules.into_iter().flat_map(|rule| rule.verbs).collect()
    };
    assert_eq!(verbs("d"), ["list", "get"]);
    assert_eq!(verbs("other"), ["list"]);
}

#[test]
fn decision_time_does_not_depend_on_bindings_of_other_subjects() {
    let rbac = Rbac::new();
    rbac.apply(RbacKind::ClusterRole, &role("", "reader", &["get"]));
    let bind = |number: usize| {
        let subjects = json!([{"kind": "User", "name": format!("u{}", number % 10_000)}]);
        let namespace = format!("n{}", number % 100);
        let object = binding(
            &namespace,
            &format!("b{number}"),
            "ClusterRole",
            "reader",
            &subjects,
        );
        rbac.apply(RbacKind::RoleBinding, &object);
    };
    let decide = || {
        let user = Caller::user("u4200", ["system:authenticated"]);
        let start = std::time::Instant::now();
        for _ in 0..1000 {
            assert!(ask(&rbac, &user, "get", "n0").allowed);
        }
        start.elapsed()
    };
    bind(4200);
    let few = decide().min(decide());
    (0..50_000).for_each(bind);
    let many = decide().min(decide());
    println!("1000 decisions: {few:?} with 1 binding, {many:?} with 50000");
    assert!(
        many < few * 20,
        "decisions took {many:?} with 50000 bindings and {few:?} with 1 binding"
    );
}
