//! Tests of bindings and roles that grant no permissions.

use super::*;

fn many_roles() -> World {
    World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .cluster_role_inheriting("broken", &["nothing"])
        .project_role("worker", &[rule("", "pods", "get")], &[])
        .global_role("auditor", &[], &["broken"])
        .project("p", "a", &[])
}

fn assert_grants_nothing(name: &str, world: &World, expected: &str) {
    let grants = world.gather();
    assert_eq!(grants.all(), [], "{name}");
    let problems = grants.problems().values();
    let problems: Vec<_> = problems.map(ToString::to_string).collect();
    assert_eq!(problems, [expected], "{name}");
}

#[test]
fn binding_to_missing_or_recreated_object_grants_no_permissions_and_reports_the_problem() {
    let world = many_roles;
    let ann = user("ann");
    for (case, world, expected) in [
        (
            "a recreated user",
            world()
                .in_cluster("x", "reader", "a", &ann)
                .remade_user("ann"),
            "the user \"ann\" of this binding was deleted: delete the binding; to use a new user \
             with the name \"ann\", create a new binding",
        ),
        (
            "a recreated cluster",
            world()
                .in_cluster("x", "reader", "a", &ann)
                .remade_cluster("a"),
            "the cluster \"a\" of this binding was deleted: delete the binding; to use a new \
             cluster with the name \"a\", create a new binding",
        ),
        (
            "a project of a deleted cluster",
            world()
                .in_project("x", "worker", "p", &ann)
                .remade_cluster("a"),
            "the project \"p\" of this binding was deleted: delete the binding; to use a new \
             project with the name \"p\", create a new binding",
        ),
        (
            "a recreated role",
            world()
                .in_cluster("x", "reader", "a", &ann)
                .remade_role("reader"),
            "the role \"reader\" of this binding was deleted: delete the binding; to use a new \
             role with the name \"reader\", create a new binding",
        ),
        (
            "a group of a recreated provider",
            world()
                .in_cluster("x", "reader", "a", &group("drover:oidc:x"))
                .remade_provider("oidc"),
            "the provider \"oidc\" of this binding was deleted: delete the binding; to use a new \
             provider with the name \"oidc\", create a new binding",
        ),
        (
            "a group of a missing provider",
            world()
                .in_cluster("x", "reader", "a", &group("drover:oidc:x"))
                .regrouped("x", "drover:oicd:x"),
            "the provider \"oicd\" of this binding was deleted: delete the binding; to use a new \
             provider with the name \"oicd\", create a new binding",
        ),
        (
            "an unpinned name",
            world().in_cluster("x", "reader", "a", &ann).unpinned("x"),
            "the server has not stored the UID of the role in the binding yet; try again",
        ),
        (
            "an invalid group",
            world()
                .in_cluster("x", "reader", "a", &group("drover:oidc:x"))
                .regrouped("x", "system:masters"),
            "\"system:masters\" is not a valid group name: spec.subject.group.name must be \
             \"drover:<provider>:<id>\" with an id of at most 253 visible ASCII characters",
        ),
    ] {
        assert_grants_nothing(case, &world, expected);
    }
}

#[test]
fn invalid_role_grants_no_permissions_and_reports_the_problem() {
    let world = many_roles;
    let ann = user("ann");
    for (case, world, expected) in [
        (
            "a project role in a cluster",
            world().in_cluster("x", "worker", "a", &ann),
            "the context of the role \"worker\" differs from the context of the binding or \
             global role: use a role with the same context",
        ),
        (
            "a cluster role in a project",
            world().in_project("x", "reader", "p", &ann),
            "the context of the role \"reader\" differs from the context of the binding or \
             global role: use a role with the same context",
        ),
        (
            "a role that cannot be resolved",
            world().in_cluster("x", "broken", "a", &ann),
            "cannot use the role \"broken\": the role \"broken\" inherits the role \"nothing\", \
             which does not exist: create \"nothing\", or remove \"nothing\" from spec.inherits \
             of \"broken\"",
        ),
        (
            "a global role with an unresolvable role",
            world().global("x", "auditor", &ann),
            "cannot use the role \"broken\": the role \"broken\" inherits the role \"nothing\", \
             which does not exist: create \"nothing\", or remove \"nothing\" from spec.inherits \
             of \"broken\"",
        ),
    ] {
        assert_grants_nothing(case, &world, expected);
    }
}

#[test]
fn disabled_user_and_group_of_disabled_provider_receive_no_permissions() {
    let world = World::new().cluster_role("reader", &[rule("", "pods", "get")]);
    let world = world.in_cluster("one", "reader", "a", &user("ann"));
    let world = world.in_cluster("two", "reader", "a", &group("drover:oidc:devs"));
    assert_eq!(world.gather().all().len(), 2);
    let grants = world.disabled("ann").without_provider("oidc").gather();
    assert_eq!(grants.all(), []);
    assert!(grants.problems().is_empty());
    assert_eq!(grants.downstream(&cluster("a")), Downstream::default());
}
