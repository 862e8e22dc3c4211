//! Tests of administrators, impersonation and the revocation of permits.

use super::*;

#[test]
fn administrator_has_all_permissions_until_disabled() {
    let world = World::new().administrator("adm");
    let grants = world.gather();
    let (adm, ann) = (user("adm"), user("ann"));
    for scope in [
        Scope::Hub,
        Scope::EveryCluster,
        Scope::Cluster(cluster("a")),
        Scope::Cluster(cluster("yet to come")),
    ] {
        assert!(
            has(&grants, adm.rights_holder(), &scope, &Rights::everything()),
            "{scope:?}"
        );
    }
    assert!(grants.administers(adm.rights_holder()));
    assert!(!grants.administers(ann.rights_holder()));
    let bound = &grants.downstream(&cluster("a")).bound;
    assert_eq!(bound.len(), 1);
    assert_eq!(bound[0].uid, ADMINISTRATOR);
    let disabled = world.disabled("adm").gather();
    assert!(!disabled.administers(adm.rights_holder()));
    assert_eq!(
        disabled.downstream(&cluster("a")),
        Downstream::default(),
        "a disabled administrator has no permissions"
    );
}

#[test]
fn subject_of_role_with_all_permissions_is_an_administrator() {
    let every = [
        rule("*", "*", "*"),
        PolicyRule {
            non_resource_urls: Some(vec!["*".to_owned()]),
            verbs: vec!["*".to_owned()],
            ..PolicyRule::default()
        },
    ];
    let ops = group("drover:oidc:ops");
    let world = World::new()
        .cluster_role("all", &every)
        .global_role("boss", &every, &["all"])
        .global_role("hub-only", &every, &[])
        .global("one", "boss", &ops)
        .global("two", "hub-only", &user("bob"));
    let grants = world.gather();
    let ann = user("ann").in_groups(&["drover:oidc:ops"]);
    assert!(grants.administers(ann.rights_holder()));
    assert!(!grants.administers(user("ann").rights_holder()));
    assert!(!grants.administers(user("bob").rights_holder()));
}

#[test]
fn impersonation_requires_verb_impersonate_in_the_target_cluster() {
    let world = World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .cluster_role("actor", &[rule("", "users", "impersonate")])
        .in_cluster("one", "reader", "a", &user("bob"))
        .in_cluster("two", "actor", "a", &user("ann"));
    let grants = world.gather();
    let may = |somebody: &str, name| {
        let target = Target::Cluster(cluster(name));
        grants.may_act_as_others(user(somebody).rights_holder(), &target)
    };
    assert!(may("ann", "a"));
    assert!(!may("ann", "b"));
    assert!(!may("bob", "a"));
    assert!(!grants.may_act_as_others(user("ann").rights_holder(), &Target::Hub));
}

#[test]
fn permit_is_revoked_when_any_of_its_permissions_is_removed() {
    let reader = [rule("", "pods", "get")];
    let world = || {
        World::new()
            .cluster_role("reader", &reader)
            .cluster_role("logs", &[rule("", "pods/log", "get")])
            .project_role("worker", &[rule("", "secrets", "get")], &[])
            .in_cluster("one", "reader", "a", &user("ann"))
    };
    let ann = user("ann");
    let a = Target::Cluster(cluster("a"));
    let both = || world().in_cluster("two", "logs", "a", &user("ann"));
    let in_project = |namespaces: &[&str]| {
        world()
            .project("p", "a", namespaces)
            .in_project("three", "worker", "p", &user("ann"))
    };
    let narrowed = World::new()
        .cluster_role("reader", &[rule("", "pods", "list")])
        .in_cluster("one", "reader", "a", &user("ann"));
    let widened = World::new()
        .cluster_role("reader", &[rule("", "pods", "get list")])
        .in_cluster("one", "reader", "a", &user("ann"));
    let by_another = World::new().cluster_role("reader", &reader).in_cluster(
        "other",
        "reader",
        "a",
        &user("ann"),
    );
    for (then, now, holds, reason) in [
        (world(), world(), true, "nothing changed"),
        (world(), both(), true, "there is more"),
        (both(), world(), false, "one of two roles was lost"),
        (world(), narrowed, false, "the role has fewer rules"),
        (world(), widened, true, "the role has more rules"),
        (
            world(),
            by_another,
            true,
            "another binding grants the same role",
        ),
        (world(), World::new(), false, "all is gone"),
        (
            World::new()
                .cluster_role("empty", &[])
                .in_cluster("one", "empty", "a", &user("ann")),
            World::new().cluster_role("empty", &[]),
            false,
            "a role without rules was lost",
        ),
        (
            in_project(&["shop"]),
            in_project(&["shop", "new"]),
            true,
            "the project has more namespaces",
        ),
        (
            in_project(&["shop", "old"]),
            in_project(&["shop"]),
            false,
            "a namespace left the project",
        ),
    ] {
        let provenance = then.gather().provenance(ann.rights_holder(), &a).unwrap();
        assert_eq!(
            now.gather().still_has(ann.rights_holder(), &provenance),
            holds,
            "{reason}"
        );
    }
    assert_eq!(
        world().gather().provenance(user("bob").rights_holder(), &a),
        None
    );
}

#[test]
fn permit_is_revoked_when_the_user_leaves_the_group() {
    let world = World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .in_cluster("one", "reader", "a", &group("drover:oidc:devs"));
    let grants = world.gather();
    let in_it = user("ann").in_groups(&["drover:oidc:devs"]);
    let provenance = grants.provenance(in_it.rights_holder(), &Target::Cluster(cluster("a")));
    let provenance = provenance.unwrap();
    assert!(grants.still_has(in_it.rights_holder(), &provenance));
    assert!(!grants.still_has(user("ann").rights_holder(), &provenance));
}

#[test]
fn users_and_groups_with_roles_may_be_impersonated() {
    let world = World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .in_cluster("one", "reader", "a", &user("ann"))
        .in_cluster("two", "reader", "a", &group("drover:oidc:devs"))
        .in_cluster("three", "reader", "b", &group("drover:oidc:ops"))
        .member("bob", "drover:oidc:devs")
        .member("bob", "drover:oidc:others")
        .member("eve", "drover:oidc:devs")
        .member("joe", "drover:oidc:ops")
        .disabled("eve");
    let downstream = world.gather().downstream(&cluster("a"));
    let users: Vec<_> = downstream.users.iter().map(UserName::as_str).collect();
    assert_eq!(users, ["drover:user:ann", "drover:user:bob"]);
    let groups: Vec<_> = downstream.groups.iter().map(GroupName::as_str).collect();
    assert_eq!(groups, ["drover:oidc:devs"]);
}
