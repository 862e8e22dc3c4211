use super::*;

#[test]
fn binding_can_be_created_and_deleted_only_with_all_permissions_of_its_role() {
    let cluster = |role, at| ("clusterroletemplatebindings", in_cluster(role, at));
    let project = |role, at| ("projectroletemplatebindings", in_project(role, at));
    let everywhere = |role| ("globalrolebindings", global(role));
    for (user, (resource, spec), may) in [
        ("ann", cluster("reader", "a"), true),
        ("ann", cluster("writer", "a"), true),
        ("ann", cluster("heir", "a"), true),
        ("ann", cluster("reader", "b"), false),
        ("ann", cluster("insider", "a"), false),
        ("ann", project("worker", "q"), true),
        ("ann", project("boss", "q"), false),
        ("ann", everywhere("roamer"), false),
        ("bob", project("worker", "p"), true),
        ("bob", project("worker", "q"), false),
        ("bob", project("boss", "p"), false),
        ("bob", cluster("reader", "a"), false),
        ("eve", cluster("reader", "b"), true),
        ("eve", cluster("writer", "b"), false),
        ("eve", everywhere("roamer"), true),
        ("joe", cluster("reader", "a"), false),
    ] {
        let created = attempt(resource, "new", None, Some(spec.clone())).as_user(user);
        assert_eq!(created.is_ok(), may, "{user} {spec}: {created:?}");
        let taken = attempt(resource, "new", Some(spec.clone()), None).as_user(user);
        assert_eq!(taken.is_ok(), may, "{user} takes {spec}: {taken:?}");
    }
}

#[test]
fn ineffective_binding_cannot_be_created_but_can_be_deleted() {
    for (spec, expected) in [
        (
            in_cluster("broken", "a"),
            "cannot use the role \"broken\": the role \"broken\" inherits",
        ),
        (in_cluster("nothing", "a"), "role \"nothing\" not found"),
        (
            in_cluster("worker", "a"),
            "the context of the role \"worker\" differs from the context of the binding or \
             global role",
        ),
        (in_cluster("reader", "c"), "cluster \"c\" not found"),
        (
            json!({"cluster": {"name": "a"}, "role": {"name": "reader"}, "subject": {"user": {"name": "who"}}}),
            "user \"who\" not found",
        ),
        (
            json!({"cluster": {"name": "a"}, "role": {"name": "reader"}, "subject": {"group": {"name": "system:masters"}}}),
            "\"system:masters\" is not a valid group name",
        ),
        (
            json!({"cluster": {"name": "a"}, "role": {"name": "reader"}, "subject": {}}),
            "spec.subject must have either user or group",
        ),
    ] {
        let resource = "clusterroletemplatebindings";
        let refused = attempt(resource, "new", None, Some(spec.clone())).by(&world(), "root", true);
        let refused = refused.unwrap_err();
        assert!(refused.starts_with(expected), "{refused}");
        let taken = attempt(resource, "new", Some(spec.clone()), None);
        assert_eq!(taken.by(&world(), "root", true), Ok(()));
        // A role that cannot be resolved at present may grant its former permissions again.
        let will = spec["role"]["name"] == "broken"
            || spec["cluster"]["name"] == "a" && spec["role"]["name"] == "reader";
        assert_eq!(taken.as_user("joe").is_err(), will, "{spec}");
    }
}

#[test]
fn binding_of_locked_role_can_be_deleted_but_not_created() {
    let world = world().locked("reader");
    let resource = "clusterroletemplatebindings";
    let created = attempt(resource, "new", None, Some(in_cluster("reader", "a")));
    let refused = created.by(&world, "root", true).unwrap_err();
    assert!(
        refused.starts_with(
            "cannot create a binding of the role \"reader\", because the role is locked"
        ),
        "{refused}"
    );
    let taken = attempt(resource, "new", Some(in_cluster("reader", "a")), None);
    assert_eq!(taken.by(&world, "drover:user:ann", false), Ok(()));
}

#[test]
fn binding_is_immutable_and_only_server_stores_uids_of_its_references() {
    let resource = "clusterroletemplatebindings";
    let plain = || in_cluster("reader", "a");
    let pinned = |part: &str| {
        let mut spec = plain();
        *spec.pointer_mut(part).unwrap() = json!({"name": "reader", "uid": "reader"});
        spec
    };
    for part in ["/role", "/cluster", "/subject/user"] {
        let created = attempt(resource, "new", None, Some(pinned(part)));
        let refused = created.by(&world(), "root", true).unwrap_err();
        assert!(
            refused.contains("only Drover's server can write the uid"),
            "{part}: {refused}"
        );
        let changed = attempt(resource, "new", Some(plain()), Some(pinned(part)));
        assert!(changed.by(&world(), "root", true).is_err(), "{part}");
    }
    let changed = attempt(
        resource,
        "new",
        Some(plain()),
        Some(in_cluster("writer", "a")),
    );
    assert!(changed.as_user("ann").is_err());
    assert_eq!(
        attempt(resource, "new", Some(plain()), Some(plain())).as_user("joe"),
        Ok(())
    );
}

#[test]
fn kubernetes_user_needs_all_permissions_on_hub_to_write_role_bindings() {
    let created = attempt(
        "clusterroletemplatebindings",
        "new",
        None,
        Some(in_cluster("reader", "a")),
    );
    for (writer, everything, may) in [
        ("system:serviceaccount:apps:deployer", false, false),
        ("root", true, true),
        ("drover:user:joe", true, false),
        // The name of a group is not a writer.
        ("drover:oidc:devs", false, false),
    ] {
        let got = created.by(&world(), writer, everything);
        assert_eq!(got.is_ok(), may, "{writer}: {got:?}");
    }
}

#[test]
fn new_binding_references_its_objects_by_name_and_uid() {
    use ReferenceKind::{Cluster, GlobalRole, Project, RoleTemplate};
    let names = |attempt: Attempt| {
        let operation = match (&attempt.before, &attempt.after) {
            (None, _) => Operation::Create,
            _ => Operation::Delete,
        };
        let write = Write {
            writer: "jane",
            groups: &[],
            operation,
            group: GROUP,
            resource: attempt.resource,
            subresource: "",
            namespace: "",
            name: attempt.name,
            object: attempt.after.as_ref(),
            old: attempt.before.as_ref(),
        };
        let named = references_in(&write).into_iter();
        named
            .map(|named| (named.kind, named.name.to_owned()))
            .collect::<Vec<_>>()
    };
    let own = |list: &[(ReferenceKind, &str)]| {
        list.iter()
            .map(|(kind, name)| (*kind, (*name).to_owned()))
            .collect::<Vec<_>>()
    };
    let created = |resource, spec| names(attempt(resource, "new", None, Some(spec)));
    assert_eq!(
        created("globalrolebindings", global("roamer")),
        own(&[(GlobalRole, "roamer")])
    );
    assert_eq!(
        created("clusterroletemplatebindings", in_cluster("reader", "a")),
        own(&[(RoleTemplate, "reader"), (Cluster, "a")])
    );
    assert_eq!(
        created("projectroletemplatebindings", in_project("worker", "p")),
        own(&[(RoleTemplate, "worker"), (Project, "p")])
    );
    assert_eq!(
        created("projects", json!({ "cluster": { "name": "a" } })),
        own(&[(Cluster, "a")])
    );
    assert_eq!(created("roletemplates", template(&["get"], &[])), []);
    let deleted = attempt("globalrolebindings", "one", Some(global("roamer")), None);
    assert_eq!(names(deleted), []);
}
