//! Tests of privilege escalation checks.

use super::*;

#[test]
fn user_cannot_grant_permissions_that_the_user_lacks() {
    let world = World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .cluster_role("writer", &[rule("", "pods", "get update")])
        .project_role("worker", &[rule("", "pods", "get")], &[])
        .project_role(
            "seer",
            &[rule("", "pods", "get")],
            &[rule("", "nodes", "list")],
        )
        .global_role("everywhere", &[], &["writer"])
        .project("p", "a", &[])
        .project("q", "a", &[])
        .in_cluster("one", "writer", "a", &user("ann"))
        .in_project("two", "worker", "p", &user("bob"))
        .global("three", "everywhere", &user("eve"));
    let grants = world.gather();
    let scoped = |name: &str| world.scoped(name);
    let a = || Scope::Cluster(cluster("a"));
    for (caller, role, scope, may) in [
        ("ann", "reader", a(), true),
        ("ann", "writer", a(), true),
        ("ann", "reader", Scope::Cluster(cluster("b")), false),
        ("ann", "reader", Scope::EveryCluster, false),
        ("ann", "reader", Scope::Hub, false),
        ("ann", "worker", project("a", "q"), true),
        ("ann", "seer", project("a", "q"), false),
        ("bob", "worker", project("a", "p"), true),
        ("bob", "worker", project("a", "q"), false),
        ("bob", "seer", project("a", "p"), false),
        ("bob", "reader", a(), false),
        ("eve", "writer", Scope::EveryCluster, true),
        ("eve", "writer", Scope::Cluster(cluster("b")), true),
        ("eve", "writer", Scope::Hub, false),
        ("nobody", "reader", a(), false),
    ] {
        let value = grants.may_grant(user(caller).rights_holder(), &scoped(role), &scope);
        assert_eq!(value.is_ok(), may, "{caller} {role} {scope:?}: {value:?}");
    }
    let refused = grants.may_grant(user("bob").rights_holder(), &scoped("reader"), &a());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "your roles in the cluster lack permissions that this write requires: {APIGroups:[\"\"], \
         Resources:[\"pods\"], Verbs:[\"get\"]}"
    );
}

#[test]
fn user_without_permissions_of_role_cannot_change_or_delete_the_role() {
    let world = World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .cluster_role("writer", &[rule("", "pods", "get update")])
        .cluster_role("none", &[])
        .global_role("everywhere", &[], &["reader"])
        .global("one", "everywhere", &user("eve"))
        .in_cluster("two", "writer", "a", &user("ann"));
    let grants = world.gather();
    let [reader, writer, none] = ["reader", "writer", "none"].map(|name| world.scoped(name));
    for (caller, before, after, may) in [
        ("eve", Some(&reader), Some(&none), true),
        ("eve", Some(&none), Some(&reader), true),
        ("eve", None, Some(&reader), true),
        ("eve", Some(&reader), None, true),
        ("eve", Some(&writer), Some(&none), false),
        ("eve", Some(&writer), None, false),
        ("eve", None, Some(&writer), false),
        // Permissions in one cluster do not suffice, because the role may be granted in any
        // cluster.
        ("ann", None, Some(&reader), false),
        ("ann", None, Some(&none), true),
    ] {
        let written = grants.may_write_template(user(caller).rights_holder(), before, after);
        assert_eq!(written.is_ok(), may, "{caller} {before:?} {after:?}");
    }
}

#[test]
fn impersonation_requires_all_permissions_of_impersonated_user() {
    let pods = || rule("", "pods", "get");
    let world = World::new()
        .cluster_role("reader", &[pods()])
        .cluster_role("writer", &[pods(), rule("", "pods", "delete")])
        .in_cluster("one", "reader", "a", &user("ann"))
        .in_cluster("two", "writer", "a", &user("bob"))
        .in_cluster("three", "reader", "b", &group("drover:oidc:devs"));
    let grants = world.gather();
    let may = |caller: &world::TestUser, other: &world::TestUser| {
        grants
            .may_act_for(caller.rights_holder(), other.rights_holder())
            .is_ok()
    };
    let (ann, bob, joe) = (user("ann"), user("bob"), user("joe"));
    assert!(may(&bob, &ann) && !may(&ann, &bob));
    assert!(may(&ann, &joe), "the other user has no permissions");
    let in_group = user("joe").in_groups(&["drover:oidc:devs"]);
    assert!(!may(&bob, &in_group), "by a group in another cluster");
}
