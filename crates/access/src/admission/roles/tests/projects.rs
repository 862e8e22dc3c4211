use k8s_openapi::api::rbac::v1::PolicyRule;

use super::*;

/// Creates two owners: `ann` owns cluster `a`, and `bob` owns project `p` in this cluster.
fn owned() -> World {
    let rule = crate::grants::tests::world::rule;
    let own = rule(
        "management.drover.dev",
        "projects projects/namespaces",
        "update",
    );
    let everything = PolicyRule {
        non_resource_urls: Some(vec!["*".to_owned()]),
        verbs: vec!["*".to_owned()],
        ..Default::default()
    };
    World::new()
        .cluster_role("all", &[rule("*", "*", "*"), everything])
        .project_role("own", &[own], &[])
        .project("p", "a", &["shop"])
        .project("q", "a", &["bank"])
        .in_cluster("one", "all", "a", &user("ann"))
        .in_project("two", "own", "p", &user("bob"))
}

#[test]
fn change_of_project_namespaces_requires_permissions_in_project_or_cluster() {
    let spec = |namespaces: Value, more: Value| {
        let mut spec = json!({"cluster": {"name": "a"}, "namespaces": namespaces});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        spec
    };
    let with_shop = |more: Value| spec(json!([{"name": "shop"}]), more);
    let own = || with_shop(json!({}));
    let with = |name: &str, adopt: bool| {
        spec(
            json!([{"name": "shop"}, {"name": name, "adopt": adopt}]),
            json!({}),
        )
    };
    for (case, after, bob, ann) in [
        (
            "another word",
            with_shop(json!({"description": "x"})),
            true,
            true,
        ),
        ("a new namespace", with("shop-dev", false), true, true),
        ("one less", spec(json!([]), json!({})), true, true),
        (
            "a namespace without project",
            with("default", true),
            false,
            true,
        ),
        (
            "a namespace of another project without its owner",
            with("bank", false),
            false,
            false,
        ),
        ("another project's", with("bank", true), false, true),
        ("Kubernetes' own", with("kube-system", true), false, false),
        (
            "a reserved namespace that does not exist yet",
            with("drover-agent", false),
            false,
            false,
        ),
        (
            "quota",
            with_shop(json!({"quota": {"project": {"pods": "9"}, "namespace": {"pods": "9"}}})),
            false,
            true,
        ),
        (
            "a quota without shares of namespaces",
            with_shop(json!({"quota": {"project": {"pods": "9"}}})),
            false,
            false,
        ),
        (
            "the pod security level",
            with_shop(json!({"podSecurity": "Privileged"})),
            false,
            true,
        ),
        (
            "defaults",
            with_shop(json!({"containerDefaults": {"limits": {"cpu": "1"}}})),
            false,
            true,
        ),
        (
            "another cluster",
            json!({"cluster": {"name": "b"}, "namespaces": [{"name": "shop"}]}),
            false,
            false,
        ),
        (
            "a uid",
            json!({"cluster": {"name": "a", "uid": "b"}, "namespaces": [{"name": "shop"}]}),
            false,
            false,
        ),
    ] {
        let change = attempt("projects", "p", Some(own()), Some(after));
        for (user, may) in [("bob", bob), ("ann", ann), ("joe", false)] {
            let got = change.by(&owned(), &format!("drover:user:{user}"), false);
            assert_eq!(got.is_ok(), may, "{case} by {user}: {got:?}");
        }
    }
    let deleted = attempt("projects", "p", Some(own()), None);
    assert!(deleted.by(&owned(), "drover:user:bob", false).is_err());
    assert_eq!(deleted.by(&owned(), "drover:user:ann", false), Ok(()));
    // A project of a deleted cluster.
    let remaining = json!({"cluster": {"name": "gone"}, "namespaces": [{"name": "shop"}]});
    let deleted = attempt("projects", "p", Some(remaining), None);
    assert!(deleted.by(&owned(), "drover:user:ann", false).is_err());
    assert_eq!(deleted.by(&owned(), "kubernetes-admin", true), Ok(()));
}

#[test]
fn project_creation_requires_permissions_for_all_fields_of_its_spec() {
    let rule = crate::grants::tests::world::rule;
    let right = rule("management.drover.dev", "projects", "create");
    let world =
        owned()
            .cluster_role("member", &[right])
            .in_cluster("three", "member", "a", &user("eve"));
    let spec = |more: Value| {
        let mut spec = json!({"cluster": {"name": "a"}, "namespaces": [{"name": "new"}]});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        spec
    };
    for (case, more, eve, ann) in [
        ("a project", json!({}), true, true),
        (
            "privileged pods",
            json!({"podSecurity": "Privileged"}),
            false,
            true,
        ),
        (
            "somebody's namespace",
            json!({"namespaces": [{"name": "default", "adopt": true}]}),
            false,
            true,
        ),
        ("elsewhere", json!({"cluster": {"name": "b"}}), false, false),
        (
            "in a cluster without namespaces",
            json!({"cluster": {"name": "c"}}),
            false,
            false,
        ),
        (
            "by a uid",
            json!({"cluster": {"name": "a", "uid": "b"}}),
            false,
            false,
        ),
    ] {
        let created = attempt("projects", "new", None, Some(spec(more)));
        for (caller, may) in [("eve", eve), ("ann", ann), ("bob", false)] {
            let got = created.by(&world, &format!("drover:user:{caller}"), false);
            assert_eq!(got.is_ok(), may, "{case} by {caller}: {got:?}");
        }
    }
}
