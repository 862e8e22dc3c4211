mod laws;
pub(crate) mod world;

use drover_rbac::RuleTarget;
use k8s_openapi::api::rbac::v1::PolicyRule;

use self::world::{World, cluster, group, project, rule, user};
use super::*;
use crate::roles::Rights;
use crate::target::Target;

fn pods() -> Rights {
    Rights::of(&[rule("", "pods", "get")])
}

fn has(grants: &Grants, holder: RightsHolder<'_>, scope: &Scope, expected: &Rights) -> bool {
    grants.rights_in(holder, scope).missing(expected).is_none()
}

#[test]
fn cluster_role_applies_only_in_its_cluster() {
    let world = World::new().cluster_role("reader", &[rule("", "pods", "get")]);
    let world = world.in_cluster("one", "reader", "a", &user("ann"));
    let grants = world.gather();
    let (ann, bob) = (user("ann"), user("bob"));
    let (ann, bob) = (ann.rights_holder(), bob.rights_holder());
    assert!(has(&grants, ann, &Scope::Cluster(cluster("a")), &pods()));
    assert!(has(&grants, ann, &project("a", "p"), &pods()));
    for scope in [
        Scope::Hub,
        Scope::EveryCluster,
        Scope::Cluster(cluster("b")),
    ] {
        assert!(!has(&grants, ann, &scope, &pods()), "{scope:?}");
    }
    assert!(!has(&grants, bob, &Scope::Cluster(cluster("a")), &pods()));
    for (caller, target, expected) in [
        (ann, Target::Cluster(cluster("a")), true),
        (ann, Target::Cluster(cluster("b")), false),
        (ann, Target::Hub, false),
        (bob, Target::Cluster(cluster("a")), false),
    ] {
        assert_eq!(
            grants.may_enter(caller, &target),
            expected,
            "{caller:?} {target:?}"
        );
    }
}

#[test]
fn group_role_applies_to_group_members_and_only_groups_with_roles_are_sent_to_cluster() {
    let world = World::new().cluster_role("reader", &[rule("", "pods", "get")]);
    let devs = group("drover:oidc:devs");
    let grants = world.in_cluster("one", "reader", "a", &devs).gather();
    let ann = user("ann").in_groups(&["drover:oidc:others", "drover:oidc:devs"]);
    let a = Target::Cluster(cluster("a"));
    assert!(grants.may_enter(ann.rights_holder(), &a));
    assert!(has(
        &grants,
        ann.rights_holder(),
        &Scope::Cluster(cluster("a")),
        &pods()
    ));
    let reported = grants.groups_at(ann.rights_holder().groups, &a);
    assert_eq!(
        reported.iter().map(GroupName::as_str).collect::<Vec<_>>(),
        ["drover:oidc:devs"]
    );
    let b = Target::Cluster(cluster("b"));
    assert_eq!(grants.groups_at(ann.rights_holder().groups, &b), []);
}

#[test]
fn global_role_applies_on_hub_and_in_every_cluster() {
    let world = World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .global_role("auditor", &[rule("", "nodes", "get")], &["reader"])
        .global("one", "auditor", &user("ann"));
    let grants = world.gather();
    let ann = user("ann");
    let nodes = Rights::of(&[rule("", "nodes", "get")]);
    for scope in [Scope::EveryCluster, Scope::Cluster(cluster("b"))] {
        assert!(
            has(&grants, ann.rights_holder(), &scope, &pods()),
            "{scope:?}"
        );
        assert!(
            !has(&grants, ann.rights_holder(), &scope, &nodes),
            "{scope:?}"
        );
    }
    assert!(has(&grants, ann.rights_holder(), &Scope::Hub, &nodes));
    assert!(!has(&grants, ann.rights_holder(), &Scope::Hub, &pods()));
}

#[test]
fn global_role_without_hub_rules_grants_no_permissions_on_hub() {
    let world = World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .global_role("roamer", &[], &["reader"])
        .global("one", "roamer", &user("ann"));
    let grants = world.gather();
    let ann = user("ann");
    assert!(!grants.may_enter(ann.rights_holder(), &Target::Hub));
    assert!(grants.may_enter(ann.rights_holder(), &Target::Cluster(cluster("b"))));
}

#[test]
fn permissions_in_a_hub_namespace_apply_only_in_that_namespace() {
    let world = World::new()
        .hub_namespace_role("keeper", "apps", &[rule("", "pods", "get")])
        .global("one", "keeper", &user("ann"));
    let grants = world.gather();
    let ann = user("ann");
    assert!(grants.may_enter(ann.rights_holder(), &Target::Hub));
    let owned = |namespace| grants.rights_in_hub_namespace(ann.rights_holder(), namespace);
    assert_eq!(owned("apps").missing(&pods()), None);
    assert!(owned("drover-system").missing(&pods()).is_some());
    assert!(!has(&grants, ann.rights_holder(), &Scope::Hub, &pods()));
}

#[test]
fn project_role_applies_in_its_namespaces_and_cluster_wide_rules_apply_in_cluster() {
    let world = World::new()
        .project_role(
            "worker",
            &[rule("", "pods", "get")],
            &[rule("", "nodes", "list")],
        )
        .project("p", "a", &["shop", "shop-dev"])
        .project("q", "a", &["bank"])
        .in_project("one", "worker", "p", &user("ann"));
    let grants = world.gather();
    let ann = user("ann");
    let nodes = Rights::of(&[rule("", "nodes", "list")]);
    assert!(has(
        &grants,
        ann.rights_holder(),
        &project("a", "p"),
        &pods()
    ));
    assert!(!has(
        &grants,
        ann.rights_holder(),
        &project("a", "q"),
        &pods()
    ));
    assert!(!has(
        &grants,
        ann.rights_holder(),
        &Scope::Cluster(cluster("a")),
        &pods()
    ));
    assert!(has(
        &grants,
        ann.rights_holder(),
        &Scope::Cluster(cluster("a")),
        &nodes
    ));
    let bound = grants.downstream(&cluster("a")).bound;
    let scopes: Vec<_> = bound.iter().map(|bound| bound.scope.clone()).collect();
    let own = vec!["shop".to_owned(), "shop-dev".to_owned()];
    let Scope::Project(_, p) = project("a", "p") else {
        unreachable!()
    };
    assert_eq!(
        scopes,
        [DownstreamScope::Cluster, DownstreamScope::Project(p, own)]
    );
    assert_eq!(grants.downstream(&cluster("b")), Downstream::default());
}

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

#[test]
fn role_with_several_bindings_is_bound_once_per_cluster_to_all_subjects() {
    let world = World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .global_role("auditor", &[], &["reader"])
        .in_cluster("one", "reader", "a", &user("ann"))
        .in_cluster("two", "reader", "a", &user("ann"))
        .in_cluster("three", "reader", "a", &group("drover:oidc:devs"))
        .global("four", "auditor", &user("bob"));
    let downstream = world.gather().downstream(&cluster("a"));
    let (ann, bob, devs) = (user("ann"), user("bob"), group("drover:oidc:devs"));
    let everybody = [ann.subject(), bob.subject(), devs.subject()];
    let [bound] = &downstream.bound[..] else {
        panic!("{downstream:?}")
    };
    assert_eq!((bound.role.as_str(), &bound.rights), ("reader", &pods()));
    assert_eq!(bound.subjects, everybody.into());
}

#[test]
fn role_with_only_drover_rules_permits_cluster_access_and_creates_no_binding_in_cluster() {
    let rights = [rule(
        "management.drover.dev",
        "clusterroletemplatebindings",
        "create",
    )];
    let world = World::new().cluster_role("giver", &rights);
    let world = world.in_cluster("one", "giver", "a", &user("ann"));
    let grants = world.gather();
    let downstream = grants.downstream(&cluster("a"));
    assert_eq!(downstream.bound, []);
    assert_eq!(
        downstream.users,
        [user("ann").rights_holder().user.clone()].into()
    );
    let ann = user("ann");
    let may = |verb, scope: &Scope| {
        grants.may(
            ann.rights_holder(),
            verb,
            "clusterroletemplatebindings",
            "",
            scope,
        )
    };
    assert!(may("create", &Scope::Cluster(cluster("a"))));
    assert!(!may("delete", &Scope::Cluster(cluster("a"))));
    assert!(!may("create", &Scope::Cluster(cluster("b"))));
    assert!(!may("create", &Scope::Hub));
}

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

#[test]
fn project_namespaces_of_a_user_exclude_namespaces_of_other_clusters() {
    let drovers = rule("management.drover.dev", "projects", "get");
    let world = World::new()
        .cluster_role("reader", &[rule("", "pods", "list")])
        .project_role("worker", &[rule("", "pods", "list")], &[])
        .project_role("onlooker", &[drovers], &[])
        .project("p", "a", &["shop", "till"])
        .project("q", "a", &["shop-test"])
        .project("r", "b", &["bank"])
        .project("s", "a", &["stock"])
        .in_project("one", "worker", "p", &user("ann"))
        .in_project("two", "worker", "q", &group("drover:oidc:devs"))
        .in_project("three", "worker", "r", &user("ann"))
        .in_project("four", "onlooker", "s", &user("ann"))
        .in_cluster("five", "reader", "a", &user("bob"));
    let grants = world.gather();
    let ann = user("ann").in_groups(&["drover:oidc:devs"]);
    let of = |holder: &world::TestUser| {
        let found = grants.project_namespaces(holder.rights_holder(), &cluster("a"));
        found.into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of(&ann), "shop shop-test till");
    assert_eq!(of(&user("bob")), "");
    let a = cluster("a");
    let lists = |holder: &world::TestUser, namespace| {
        let rule_target = RuleTarget::Resource {
            group: "",
            resource: "pods",
            subresource: "",
            name: "",
        };
        let question = Question {
            cluster: &a,
            verb: "list",
            rule_target,
            namespace,
        };
        grants.may_be_allowed(holder.rights_holder(), question)
    };
    assert!(lists(&ann, Some("till")) && !lists(&ann, None));
    assert!(lists(&user("bob"), None));
    assert!(!lists(&user("joe"), None), "a stranger");
}

#[test]
fn access_explanation_names_the_granting_binding() {
    let world = World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .cluster_role_external("insider", "view")
        .cluster_role_external("odd", "made-here")
        .project_role("worker", &[rule("", "pods", "get")], &[])
        .project("p", "a", &["shop"])
        .in_cluster("one", "reader", "a", &user("ann"))
        .in_cluster("two", "insider", "a", &user("bob"))
        .in_cluster("three", "odd", "a", &user("eve"))
        .in_project("four", "worker", "p", &group("drover:oidc:devs"))
        .in_cluster("five", "reader", "b", &user("joe"));
    let grants = world.gather();
    let a = cluster("a");
    let ask = |verb, resource, namespace| {
        let rule_target = RuleTarget::Resource {
            group: "",
            resource,
            subresource: "",
            name: "",
        };
        let question = Question {
            cluster: &a,
            verb,
            rule_target,
            namespace,
        };
        let answers = grants.who_can(question).into_iter();
        let reported = answers.map(|answer| {
            format!(
                "{} by {} {:?}",
                answer.grant.subject, answer.grant.binding.name, answer.through
            )
        });
        reported
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        ask("get", "pods", Some("shop")),
        [
            "drover:oidc:devs by four Rule",
            "drover:user:ann by one Rule",
            "drover:user:bob by two Known(\"view\")",
            "drover:user:eve by three Perhaps(\"made-here\")",
        ]
    );
    assert_eq!(
        ask("get", "pods", Some("bank")),
        [
            "drover:user:ann by one Rule",
            "drover:user:bob by two Known(\"view\")",
            "drover:user:eve by three Perhaps(\"made-here\")",
        ]
    );
    assert_eq!(
        ask("delete", "pods", None),
        ["drover:user:eve by three Perhaps(\"made-here\")"]
    );
}

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

#[test]
fn access_digest_of_a_cluster_changes_only_with_permissions_in_that_cluster() {
    let world = || {
        World::new()
            .cluster_role("reader", &[rule("", "pods", "get")])
            .project_role("worker", &[rule("", "pods", "get")], &[])
            .in_cluster("one", "reader", "a", &user("ann"))
            .in_cluster("two", "reader", "a", &group("drover:oidc:devs"))
    };
    let digest = |world: World, name| world.gather().digest_of(&cluster(name));
    let (a, b) = (digest(world(), "a"), digest(world(), "b"));
    assert_eq!(digest(world(), "a"), a);
    let elsewhere = || world().in_cluster("more", "reader", "b", &user("ann"));
    assert_eq!(digest(elsewhere(), "a"), a);
    assert_ne!(digest(elsewhere(), "b"), b);
    let member = world().member("bob", "drover:oidc:devs");
    assert_ne!(
        digest(member, "a"),
        a,
        "a new member joined a group with a role"
    );
    let stranger = world().member("bob", "drover:oidc:others");
    assert_eq!(digest(stranger, "a"), a);
    let narrowed = world().cluster_role("reader", &[rule("", "pods", "list")]);
    assert_ne!(digest(narrowed, "a"), a);
    let everywhere = || {
        world()
            .global_role("all", &[], &["reader"])
            .global("g", "all", &user("bob"))
    };
    assert_ne!(digest(everywhere(), "a"), a);
    assert_ne!(digest(everywhere(), "b"), b);
    let in_project = |namespaces: &[&str]| {
        let world = world().project("p", "a", namespaces);
        digest(world.in_project("three", "worker", "p", &user("ann")), "a")
    };
    assert_ne!(in_project(&["shop"]), in_project(&["shop", "new"]));
}
