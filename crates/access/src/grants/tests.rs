mod escalation;
mod ineffective;
mod laws;
mod permits;
pub(crate) mod world;

use drover_rbac::RuleTarget;
use k8s_openapi::api::rbac::v1::PolicyRule;

use self::world::{World, cluster, group, project, rule, user};
use super::Target;
use super::*;
use crate::roles::Rights;

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
