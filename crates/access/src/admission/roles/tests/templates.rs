use super::*;

#[test]
fn a_role_is_written_by_those_who_have_all_that_it_says_and_said() {
    let (get, all) = (
        || Some(template(&["get"], &[])),
        || Some(template(&["*"], &[])),
    );
    let made = |spec| attempt("roletemplates", "new", None, Some(spec));
    let changed = |before, after| attempt("roletemplates", "reader", before, after);
    for (what, attempt, who, may) in [
        (
            "within one's rights",
            made(template(&["get"], &[])),
            "eve",
            true,
        ),
        (
            "beyond them",
            made(template(&["get", "list"], &[])),
            "eve",
            false,
        ),
        (
            "rights in one cluster only",
            made(template(&["get"], &[])),
            "ann",
            false,
        ),
        ("nothing at all", made(template(&[], &[])), "ann", true),
        (
            "inheriting what one has",
            made(template(&[], &["reader"])),
            "eve",
            true,
        ),
        (
            "inheriting more",
            made(template(&[], &["writer"])),
            "eve",
            false,
        ),
        (
            "inheriting more by way of another",
            made(template(&[], &["heir"])),
            "ann",
            false,
        ),
        ("stripping", changed(all(), get()), "eve", false),
        ("growing", changed(get(), all()), "eve", false),
        (
            "narrowing what one has",
            changed(get(), Some(template(&[], &[]))),
            "eve",
            true,
        ),
        (
            "deleting what one lacks",
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
            "a new note on what one lacks",
            changed(all(), all()),
            "ann",
            true,
        ),
    ] {
        let got = attempt.by_person(who);
        assert_eq!(got.is_ok(), may, "{what}: {got:?}");
    }
    assert_eq!(
        made(template(&["list"], &[])).by_person("eve").unwrap_err(),
        "your own roles in every cluster lack what this is about: {APIGroups:[\"\"], \
         Resources:[\"pods\"], Verbs:[\"list\"]}"
    );
}

#[test]
fn a_role_of_which_nobody_knows_what_it_will_allow_is_not_stored() {
    for (spec, wanted) in [
        (
            template(&[], &["nothing"]),
            "the role \"new\" cannot be stored: it inherits from \"nothing\" by way of \"new\"",
        ),
        (
            template(&[], &["new"]),
            "the role \"new\" cannot be stored: it inherits itself: new → new",
        ),
        (
            template(&[], &["worker"]),
            "the role \"new\" cannot be stored: \"new\" inherits from \"worker\", which is for projects",
        ),
        (
            json!({"context": "Moon"}),
            "spec cannot be read: unknown variant `Moon`",
        ),
    ] {
        let attempt = attempt("roletemplates", "new", None, Some(spec));
        // Not even by somebody who may do everything.
        let refused = attempt.by(&world(), "root", true).unwrap_err();
        assert!(refused.starts_with(wanted), "{refused}");
    }
}

#[test]
fn a_clusters_own_role_is_taken_in_by_those_who_may_do_everything_there() {
    let spec = json!({"context": "Cluster", "external": ["made-here"]});
    let attempt = attempt("roletemplates", "new", None, Some(spec));
    assert!(attempt.by_person("eve").is_err());
    assert_eq!(attempt.by(&world(), "root", true), Ok(()));
}

#[test]
fn a_role_that_others_rest_on_is_not_deleted() {
    let delete = |name| attempt("roletemplates", name, Some(template(&["get"], &[])), None);
    assert_eq!(
        delete("reader").by(&world(), "root", true).unwrap_err(),
        "the role \"heir\" inherits from \"reader\": take it out of its spec.inherits first"
    );
    let world = World::new()
        .cluster_role("reader", &[])
        .global_role("roamer", &[], &["reader"]);
    assert_eq!(
        delete("reader").by(&world, "root", true).unwrap_err(),
        "the global role \"roamer\" gives \"reader\" in every cluster: take it out of its \
         spec.inEveryCluster first"
    );
    assert_eq!(delete("other").by(&world, "root", true), Ok(()));
}

#[test]
fn the_roles_of_the_start_stay_as_they_are() {
    let spec = || Some(template(&["get"], &[]));
    let other = || Some(template(&[], &[]));
    let root = |attempt: Attempt| attempt.by(&world(), "root", true);
    let of_start = attempt("roletemplates", "new", spec(), other()).labelled();
    let refused = root(of_start).unwrap_err();
    assert!(
        refused.starts_with("\"new\" is a role of the start"),
        "{refused}"
    );
    assert!(root(attempt("roletemplates", "new", spec(), None).labelled()).is_err());
    assert!(root(attempt("globalroles", "new", Some(json!({})), None).labelled()).is_err());
    assert_eq!(
        root(attempt("roletemplates", "new", spec(), spec()).labelled()),
        Ok(())
    );
    // Nobody else makes one, or makes one of his own.
    assert!(root(attempt("roletemplates", "new", None, spec()).labelled()).is_err());
}

#[test]
fn a_global_role_gives_no_more_than_its_writer_has_everywhere() {
    let made = |spec| attempt("globalroles", "new", None, Some(spec));
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    for (what, spec, may) in [
        (
            "what one has in every cluster",
            json!({"inEveryCluster": ["reader"]}),
            true,
        ),
        (
            "what one lacks there",
            json!({"inEveryCluster": ["writer"]}),
            false,
        ),
        ("the like on the hub", json!({"rules": rules}), false),
        (
            "the like in a namespace of the hub",
            json!({"namespacedRules": {"apps": rules}}),
            false,
        ),
        ("nothing", json!({}), true),
    ] {
        let got = made(spec).by_person("eve");
        assert_eq!(got.is_ok(), may, "{what}: {got:?}");
    }
    for (spec, wanted) in [
        (
            json!({"inEveryCluster": ["nothing"]}),
            "the global role \"new\" cannot be stored: there is no role \"nothing\"",
        ),
        (
            json!({"inEveryCluster": ["worker"]}),
            "the global role \"new\" cannot be stored: the role \"worker\" is for another context",
        ),
    ] {
        let refused = made(spec).by(&world(), "root", true).unwrap_err();
        assert!(refused.starts_with(wanted), "{refused}");
    }
    let change = |before, after| attempt("globalroles", "new", Some(before), after);
    let stripped = change(json!({"inEveryCluster": ["writer"]}), Some(json!({})));
    assert!(stripped.by_person("eve").is_err());
    let reader = || json!({"inEveryCluster": ["reader"]});
    let both = json!({"inEveryCluster": ["reader", "writer"]});
    assert!(change(reader(), Some(both)).by_person("eve").is_err());
    assert_eq!(change(reader(), Some(json!({}))).by_person("eve"), Ok(()));
    assert!(
        change(json!({"inEveryCluster": ["writer"]}), None)
            .by_person("eve")
            .is_err()
    );
    assert_eq!(
        change(json!({"inEveryCluster": ["reader"]}), None).by_person("eve"),
        Ok(())
    );
}

#[test]
fn a_role_cannot_be_made_unusable_by_way_of_what_it_inherits() {
    // `heir` inherits `reader`, of which eve has everything in every cluster.
    let circle = template(&["get"], &["heir"]);
    let before = || Some(template(&["get"], &[]));
    let refused = attempt("roletemplates", "reader", before(), Some(circle)).by_person("eve");
    let refused = refused.unwrap_err();
    assert!(
        refused.starts_with(
            "the role \"heir\" inherits from \"reader\", and would allow nothing any more"
        ),
        "{refused}"
    );
}

#[test]
fn what_a_role_said_that_nobody_can_resolve_is_for_those_who_have_everything() {
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
        assert!(attempt.by_person("eve").is_err(), "{resource}");
        assert_eq!(attempt.by(&world(), "root", true), Ok(()), "{resource}");
    }
}

#[test]
fn nothing_is_left_to_kubernetes_to_delete() {
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
fn the_name_and_the_mark_of_a_role_of_the_start_are_the_servers() {
    for (resource, name) in [
        ("roletemplates", "cluster-owner"),
        ("globalroles", "administrator"),
    ] {
        let spec = if resource == "globalroles" {
            json!({})
        } else {
            template(&[], &[])
        };
        let made = attempt(resource, name, None, Some(spec.clone()));
        assert!(
            made.by(&world(), "root", true)
                .unwrap_err()
                .contains("choose another")
        );
        // Taking the mark off is the first step to changing it.
        let mut unmarked = attempt(resource, name, Some(spec.clone()), Some(spec)).labelled();
        unmarked.after.as_mut().unwrap()["metadata"]["labels"] = json!({});
        assert!(unmarked.by(&world(), "root", true).is_err());
    }
}

#[test]
fn a_locked_role_is_not_given_by_way_of_another() {
    let world = world().locked("reader");
    let root = |attempt: Attempt| attempt.by(&world, "root", true);
    let made = |resource, spec| root(attempt(resource, "new", None, Some(spec)));
    assert!(
        made("roletemplates", template(&[], &["reader"]))
            .unwrap_err()
            .contains("is locked")
    );
    assert!(
        made("globalroles", json!({"inEveryCluster": ["reader"]}))
            .unwrap_err()
            .contains("is locked")
    );
    assert!(
        made("globalrolebindings", global("roamer"))
            .unwrap_err()
            .contains("is locked")
    );
    // Who had it before keeps it.
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
fn who_may_not_bind_gives_nothing_to_everybody_who_comes() {
    let spec = json!({"inEveryCluster": ["reader"], "newUserDefault": true});
    let made = attempt("globalroles", "new", None, Some(spec));
    assert!(
        made.by_person("eve")
            .unwrap_err()
            .contains("newUserDefault")
    );
    let rule = crate::grants::tests::world::rule;
    let bind = rule("management.drover.dev", "globalrolebindings", "create");
    let world =
        world()
            .global_role("binder", &[bind], &["reader"])
            .global("four", "binder", &user("eve"));
    assert_eq!(made.by(&world, "drover:user:eve", false), Ok(()));
}
