use super::*;

#[test]
fn role_write_requires_permissions_of_old_and_new_rules() {
    let (get, all) = (
        || Some(template(&["get"], &[])),
        || Some(template(&["*"], &[])),
    );
    let created = |spec| attempt("roletemplates", "new", None, Some(spec));
    let changed = |before, after| attempt("roletemplates", "reader", before, after);
    for (case, attempt, user, may) in [
        (
            "permissions that the writer has",
            created(template(&["get"], &[])),
            "eve",
            true,
        ),
        (
            "beyond them",
            created(template(&["get", "list"], &[])),
            "eve",
            false,
        ),
        (
            "permissions in one cluster only",
            created(template(&["get"], &[])),
            "ann",
            false,
        ),
        ("no permissions", created(template(&[], &[])), "ann", true),
        (
            "inheritance of permissions that the writer has",
            created(template(&[], &["reader"])),
            "eve",
            true,
        ),
        (
            "inheriting more",
            created(template(&[], &["writer"])),
            "eve",
            false,
        ),
        (
            "indirect inheritance of more permissions",
            created(template(&[], &["heir"])),
            "ann",
            false,
        ),
        ("stripping", changed(all(), get()), "eve", false),
        ("growing", changed(get(), all()), "eve", false),
        (
            "removal of permissions that the writer has",
            changed(get(), Some(template(&[], &[]))),
            "eve",
            true,
        ),
        (
            "deletion of permissions that the writer lacks",
            attempt(
                "roletemplates",
                "writer",
                Some(template(&["update"], &[])),
                None,
            ),
            "eve",
            false,
        ),
        (
            "a new annotation of permissions that the writer lacks",
            changed(all(), all()),
            "ann",
            true,
        ),
    ] {
        let got = attempt.as_user(user);
        assert_eq!(got.is_ok(), may, "{case}: {got:?}");
    }
    assert_eq!(
        created(template(&["list"], &[]))
            .as_user("eve")
            .unwrap_err(),
        "your roles in every cluster lack permissions that this write requires: \
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}"
    );
}

#[test]
fn role_with_invalid_inheritance_or_context_is_rejected() {
    for (spec, expected) in [
        (
            template(&[], &["nothing"]),
            "cannot store the role \"new\": the role \"new\" inherits the role \"nothing\", \
             which does not exist",
        ),
        (
            template(&[], &["new"]),
            "cannot store the role \"new\": the role inherits itself: new → new",
        ),
        (
            template(&[], &["worker"]),
            "cannot store the role \"new\": the role \"new\" inherits the role \"worker\", which \
             is a role for projects",
        ),
        (
            json!({"context": "Moon"}),
            "cannot parse spec: unknown variant `Moon`",
        ),
    ] {
        let attempt = attempt("roletemplates", "new", None, Some(spec));
        // An administrator is rejected too.
        let refused = attempt.by(&world(), "root", true).unwrap_err();
        assert!(refused.starts_with(expected), "{refused}");
    }
}

#[test]
fn creation_of_external_role_requires_all_permissions_in_every_cluster() {
    let spec = json!({"context": "Cluster", "external": ["made-here"]});
    let attempt = attempt("roletemplates", "new", None, Some(spec));
    assert!(attempt.as_user("eve").is_err());
    assert_eq!(attempt.by(&world(), "root", true), Ok(()));
}

#[test]
fn inherited_role_cannot_be_deleted() {
    let delete = |name| attempt("roletemplates", name, Some(template(&["get"], &[])), None);
    assert_eq!(
        delete("reader").by(&world(), "root", true).unwrap_err(),
        "cannot delete the role \"reader\": the role \"heir\" inherits from \"reader\"; first \
         remove \"reader\" from spec.inherits of \"heir\""
    );
    let world = World::new()
        .cluster_role("reader", &[])
        .global_role("roamer", &[], &["reader"]);
    assert_eq!(
        delete("reader").by(&world, "root", true).unwrap_err(),
        "cannot delete the role \"reader\": the global role \"roamer\" grants \"reader\" in \
         every cluster; first remove \"reader\" from spec.inEveryCluster of \"roamer\""
    );
    assert_eq!(delete("other").by(&world, "root", true), Ok(()));
}

#[test]
fn built_in_roles_cannot_be_changed() {
    let spec = || Some(template(&["get"], &[]));
    let other = || Some(template(&[], &[]));
    let root = |attempt: Attempt| attempt.by(&world(), "root", true);
    let of_start = attempt("roletemplates", "new", spec(), other()).labelled();
    let refused = root(of_start).unwrap_err();
    assert!(
        refused.starts_with("cannot change or delete the role \"new\", because"),
        "{refused}"
    );
    assert!(root(attempt("roletemplates", "new", spec(), None).labelled()).is_err());
    assert!(root(attempt("globalroles", "new", Some(json!({})), None).labelled()).is_err());
    assert_eq!(
        root(attempt("roletemplates", "new", spec(), spec()).labelled()),
        Ok(())
    );
    // Other writers cannot create a built-in role, nor mark their own role as built-in.
    assert!(root(attempt("roletemplates", "new", None, spec()).labelled()).is_err());
}

#[test]
fn global_role_write_requires_permissions_of_the_role_in_all_clusters() {
    let created = |spec| attempt("globalroles", "new", None, Some(spec));
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    for (case, spec, may) in [
        (
            "permissions that the writer has in every cluster",
            json!({"inEveryCluster": ["reader"]}),
            true,
        ),
        (
            "permissions that the writer lacks in every cluster",
            json!({"inEveryCluster": ["writer"]}),
            false,
        ),
        (
            "permissions that the writer lacks on the hub",
            json!({"rules": rules}),
            false,
        ),
        (
            "permissions that the writer lacks in a namespace of the hub",
            json!({"namespacedRules": {"apps": rules}}),
            false,
        ),
        ("nothing", json!({}), true),
    ] {
        let got = created(spec).as_user("eve");
        assert_eq!(got.is_ok(), may, "{case}: {got:?}");
    }
    for (spec, expected) in [
        (
            json!({"inEveryCluster": ["nothing"]}),
            "cannot store the global role \"new\": role \"nothing\" not found",
        ),
        (
            json!({"inEveryCluster": ["worker"]}),
            "cannot store the global role \"new\": the context of the role \"worker\" differs \
             from the context of the binding or global role",
        ),
    ] {
        let refused = created(spec).by(&world(), "root", true).unwrap_err();
        assert!(refused.starts_with(expected), "{refused}");
    }
    let change = |before, after| attempt("globalroles", "new", Some(before), after);
    let stripped = change(json!({"inEveryCluster": ["writer"]}), Some(json!({})));
    assert!(stripped.as_user("eve").is_err());
    let reader = || json!({"inEveryCluster": ["reader"]});
    let both = json!({"inEveryCluster": ["reader", "writer"]});
    assert!(change(reader(), Some(both)).as_user("eve").is_err());
    assert_eq!(change(reader(), Some(json!({}))).as_user("eve"), Ok(()));
    assert!(
        change(json!({"inEveryCluster": ["writer"]}), None)
            .as_user("eve")
            .is_err()
    );
    assert_eq!(
        change(json!({"inEveryCluster": ["reader"]}), None).as_user("eve"),
        Ok(())
    );
}

#[test]
fn role_change_that_invalidates_an_inheriting_role_is_rejected() {
    // `heir` inherits `reader`, and eve has all permissions of `reader` in every cluster.
    let circle = template(&["get"], &["heir"]);
    let before = || Some(template(&["get"], &[]));
    let refused = attempt("roletemplates", "reader", before(), Some(circle)).as_user("eve");
    let refused = refused.unwrap_err();
    assert!(
        refused.starts_with(
            "cannot store the role \"reader\": the role \"heir\", which inherits \
                             from \"reader\", would become invalid"
        ),
        "{refused}"
    );
}

#[test]
fn change_of_invalid_role_or_binding_requires_all_permissions() {
    let broken = || Some(template(&[], &["nothing"]));
    let unreadable = || Some(json!({"context": "Moon"}));
    for (resource, before, after) in [
        ("roletemplates", broken(), Some(template(&[], &[]))),
        ("roletemplates", broken(), None),
        ("roletemplates", unreadable(), Some(template(&[], &[]))),
        (
            "globalroles",
            Some(json!({"inEveryCluster": ["nothing"]})),
            Some(json!({})),
        ),
        ("globalroles", Some(json!({"inEveryCluster": 1})), None),
        ("clusterroletemplatebindings", unreadable(), None),
    ] {
        let attempt = attempt(resource, "new", before, after);
        assert!(attempt.as_user("eve").is_err(), "{resource}");
        assert_eq!(attempt.by(&world(), "root", true), Ok(()), "{resource}");
    }
}

#[test]
fn users_cannot_set_owner_references_or_finalizers_on_roles_bindings_and_projects() {
    for resource in [
        "roletemplates",
        "globalroles",
        "clusterroletemplatebindings",
        "projects",
    ] {
        for part in ["ownerReferences", "finalizers"] {
            let mut attempt = attempt(resource, "new", Some(json!({})), Some(json!({})));
            assert_eq!(attempt.by(&world(), "root", true), Ok(()), "{resource}");
            attempt.after.as_mut().unwrap()["metadata"][part] = json!(["x"]);
            let refused = attempt.by(&world(), "root", true).unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
    }
}

#[test]
fn users_cannot_create_role_with_built_in_name_or_remove_built_in_label() {
    for (resource, name) in [
        ("roletemplates", "cluster-owner"),
        ("globalroles", "administrator"),
    ] {
        let spec = if resource == "globalroles" {
            json!({})
        } else {
            template(&[], &[])
        };
        let created = attempt(resource, name, None, Some(spec.clone()));
        assert!(
            created
                .by(&world(), "root", true)
                .unwrap_err()
                .contains("use a different name")
        );
        // The removal of the label would permit later changes.
        let mut unmarked = attempt(resource, name, Some(spec.clone()), Some(spec)).labelled();
        unmarked.after.as_mut().unwrap()["metadata"]["labels"] = json!({});
        assert!(unmarked.by(&world(), "root", true).is_err());
    }
}

#[test]
fn role_that_inherits_a_locked_role_is_rejected() {
    let world = world().locked("reader");
    let root = |attempt: Attempt| attempt.by(&world, "root", true);
    let created = |resource, spec| root(attempt(resource, "new", None, Some(spec)));
    assert!(
        created("roletemplates", template(&[], &["reader"]))
            .unwrap_err()
            .contains("locked role")
    );
    assert!(
        created("globalroles", json!({"inEveryCluster": ["reader"]}))
            .unwrap_err()
            .contains("locked role")
    );
    assert!(
        created("globalrolebindings", global("roamer"))
            .unwrap_err()
            .contains("is locked")
    );
    // A role that inherited the locked role before may keep it.
    let had = || Some(template(&["get"], &["reader"]));
    assert_eq!(
        root(attempt(
            "roletemplates",
            "new",
            had(),
            Some(template(&[], &["reader"]))
        )),
        Ok(())
    );
}

#[test]
fn creation_of_new_user_default_role_requires_permission_to_create_global_bindings() {
    let spec = json!({"inEveryCluster": ["reader"], "newUserDefault": true});
    let created = attempt("globalroles", "new", None, Some(spec));
    assert!(
        created
            .as_user("eve")
            .unwrap_err()
            .contains("newUserDefault")
    );
    let rule = crate::grants::tests::world::rule;
    let bind = rule("management.drover.dev", "globalrolebindings", "create");
    let world =
        world()
            .global_role("binder", &[bind], &["reader"])
            .global("four", "binder", &user("eve"));
    assert_eq!(created.by(&world, "drover:user:eve", false), Ok(()));
}
