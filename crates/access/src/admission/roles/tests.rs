use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::json;

use super::*;
use crate::grants::world::{World, user};

const EVERYBODY: &str = "system:authenticated";

/// `eve` may read pods in every cluster, `ann` may read and change them in `a`, `bob` works in the
/// project `p` of `a`.
fn world() -> World {
    let rule = crate::grants::world::rule;
    World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .cluster_role("writer", &[rule("", "pods", "get update")])
        .cluster_role_inheriting("heir", &["reader"])
        .cluster_role_inheriting("broken", &["nothing"])
        .cluster_role_external("insider", "made-here")
        .project_role("worker", &[rule("", "pods", "get")], &[])
        .project_role("boss", &[rule("", "pods", "*")], &[])
        .global_role("roamer", &[], &["reader"])
        .project("p", "a", &["shop"])
        .project("q", "a", &["bank"])
        .global("one", "roamer", &user("eve"))
        .in_cluster("two", "writer", "a", &user("ann"))
        .in_project("three", "worker", "p", &user("bob"))
}

struct Attempt {
    resource: &'static str,
    name: &'static str,
    before: Option<Value>,
    after: Option<Value>,
}

fn attempt(
    resource: &'static str,
    name: &'static str,
    before: Option<Value>,
    after: Option<Value>,
) -> Attempt {
    let whole = |spec: Value| json!({"metadata": {"name": name}, "spec": spec});
    Attempt {
        resource,
        name,
        before: before.map(whole),
        after: after.map(whole),
    }
}

impl Attempt {
    fn labelled(mut self) -> Self {
        for object in [&mut self.before, &mut self.after].into_iter().flatten() {
            object["metadata"]["labels"] = json!({BUILT_IN_LABEL: "true"});
        }
        self
    }

    fn by(&self, world: &World, writer: &str, everything: bool) -> Result<(), String> {
        let (facts, grants) = (world.facts(), world.gather());
        let groups = [EVERYBODY.to_owned()];
        let write = Write {
            writer,
            groups: &groups,
            operation: match (&self.before, &self.after) {
                (None, _) => Operation::Create,
                (_, None) => Operation::Delete,
                _ => Operation::Update,
            },
            group: drover_api::group::GROUP,
            resource: self.resource,
            subresource: "",
            namespace: "",
            name: self.name,
            object: self.after.as_ref(),
            old: self.before.as_ref(),
        };
        let giver = Giver::of(&write, everything);
        let known = Known {
            facts: &facts,
            grants: &grants,
        };
        admit(&write, &giver, known).map_err(|refusal| refusal.to_string())
    }

    fn by_person(&self, name: &str) -> Result<(), String> {
        self.by(&world(), &format!("drover:user:{name}"), false)
    }
}

fn template(rules: &[&str], inherits: &[&str]) -> Value {
    let rules: Vec<_> = rules
        .iter()
        .map(|verb| json!({"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}))
        .collect();
    json!({"context": "Cluster", "rules": rules, "inherits": inherits})
}

fn in_cluster(role: &str, cluster: &str) -> Value {
    json!({"cluster": {"name": cluster}, "role": {"name": role}, "subject": {"user": {"name": "joe"}}})
}

fn in_project(role: &str, project: &str) -> Value {
    json!({"project": {"name": project}, "role": {"name": role}, "subject": {"user": {"name": "joe"}}})
}

fn global(role: &str) -> Value {
    json!({"role": {"name": role}, "subject": {"group": {"name": "drover:oidc:devs"}}})
}

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
fn nobody_gives_or_takes_a_role_that_they_do_not_have_there_themselves() {
    let cluster = |role, at| ("clusterroletemplatebindings", in_cluster(role, at));
    let project = |role, at| ("projectroletemplatebindings", in_project(role, at));
    let everywhere = |role| ("globalrolebindings", global(role));
    for (who, (resource, spec), may) in [
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
        let made = attempt(resource, "new", None, Some(spec.clone())).by_person(who);
        assert_eq!(made.is_ok(), may, "{who} {spec}: {made:?}");
        let taken = attempt(resource, "new", Some(spec.clone()), None).by_person(who);
        assert_eq!(taken.is_ok(), may, "{who} takes {spec}: {taken:?}");
    }
}

#[test]
fn a_binding_that_would_give_nothing_is_refused_with_the_reason_and_can_be_deleted() {
    for (spec, wanted) in [
        (
            in_cluster("broken", "a"),
            "the role \"broken\" cannot be used: it inherits from",
        ),
        (in_cluster("nothing", "a"), "there is no role \"nothing\""),
        (
            in_cluster("worker", "a"),
            "the role \"worker\" is for another context",
        ),
        (in_cluster("reader", "c"), "there is no cluster \"c\""),
        (
            json!({"cluster": {"name": "a"}, "role": {"name": "reader"}, "subject": {"user": {"name": "who"}}}),
            "there is no user \"who\"",
        ),
        (
            json!({"cluster": {"name": "a"}, "role": {"name": "reader"}, "subject": {"group": {"name": "system:masters"}}}),
            "\"system:masters\" is no group",
        ),
        (
            json!({"cluster": {"name": "a"}, "role": {"name": "reader"}, "subject": {}}),
            "spec.subject must have either user or group",
        ),
    ] {
        let resource = "clusterroletemplatebindings";
        let refused = attempt(resource, "new", None, Some(spec.clone())).by(&world(), "root", true);
        let refused = refused.unwrap_err();
        assert!(refused.starts_with(wanted), "{refused}");
        let taken = attempt(resource, "new", Some(spec.clone()), None);
        assert_eq!(taken.by(&world(), "root", true), Ok(()));
        // What a role that cannot be used gave, it may give again.
        let will = spec["role"]["name"] == "broken"
            || spec["cluster"]["name"] == "a" && spec["role"]["name"] == "reader";
        assert_eq!(taken.by_person("joe").is_err(), will, "{spec}");
    }
}

#[test]
fn a_locked_role_is_given_to_nobody_else_and_can_be_taken() {
    let world = world().locked("reader");
    let resource = "clusterroletemplatebindings";
    let made = attempt(resource, "new", None, Some(in_cluster("reader", "a")));
    let refused = made.by(&world, "root", true).unwrap_err();
    assert!(
        refused.starts_with("the role \"reader\" is locked"),
        "{refused}"
    );
    let taken = attempt(resource, "new", Some(in_cluster("reader", "a")), None);
    assert_eq!(taken.by(&world, "drover:user:ann", false), Ok(()));
}

#[test]
fn what_a_binding_says_stays_and_only_the_server_says_what_a_name_means() {
    let resource = "clusterroletemplatebindings";
    let plain = || in_cluster("reader", "a");
    let pinned = |part: &str| {
        let mut spec = plain();
        *spec.pointer_mut(part).unwrap() = json!({"name": "reader", "uid": "reader"});
        spec
    };
    for part in ["/role", "/cluster", "/subject/user"] {
        let made = attempt(resource, "new", None, Some(pinned(part)));
        let refused = made.by(&world(), "root", true).unwrap_err();
        assert!(
            refused.contains("only Drover's server writes the uid"),
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
    assert!(changed.by_person("ann").is_err());
    assert_eq!(
        attempt(resource, "new", Some(plain()), Some(plain())).by_person("joe"),
        Ok(())
    );
}

#[test]
fn who_is_no_person_of_drover_writes_roles_only_if_they_may_do_everything_on_the_hub() {
    let made = attempt(
        "clusterroletemplatebindings",
        "new",
        None,
        Some(in_cluster("reader", "a")),
    );
    for (writer, everything, may) in [
        ("system:serviceaccount:apps:deployer", false, false),
        ("root", true, true),
        ("drover:user:joe", true, false),
        // A group is nobody who writes.
        ("drover:oidc:devs", false, false),
    ] {
        let got = made.by(&world(), writer, everything);
        assert_eq!(got.is_ok(), may, "{writer}: {got:?}");
    }
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
    let rule = crate::grants::world::rule;
    let bind = rule("management.drover.dev", "globalrolebindings", "create");
    let world =
        world()
            .global_role("binder", &[bind], &["reader"])
            .global("four", "binder", &user("eve"));
    assert_eq!(made.by(&world, "drover:user:eve", false), Ok(()));
}

/// `ann` owns the cluster `a`, `bob` the project `p` in it.
fn owned() -> World {
    let rule = crate::grants::world::rule;
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
fn a_project_gains_namespaces_and_leave_from_those_who_may_give_them() {
    let spec = |namespaces: Value, more: Value| {
        let mut spec = json!({"cluster": {"name": "a"}, "namespaces": namespaces});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        spec
    };
    let own = || spec(json!([{"name": "shop"}]), json!({}));
    let with = |name: &str, adopt: bool| {
        spec(
            json!([{"name": "shop"}, {"name": name, "adopt": adopt}]),
            json!({}),
        )
    };
    for (what, after, bob, ann) in [
        (
            "another word",
            spec(json!([{"name": "shop"}]), json!({"description": "x"})),
            true,
            true,
        ),
        ("a new namespace", with("shop-dev", false), true, true),
        ("one less", spec(json!([]), json!({})), true, true),
        ("one that is nobody's", with("default", true), false, true),
        (
            "another project's, unasked",
            with("bank", false),
            false,
            false,
        ),
        ("another project's", with("bank", true), false, true),
        ("Kubernetes' own", with("kube-system", true), false, false),
        (
            "Drover's own, before it is there",
            with("drover-agent", false),
            false,
            false,
        ),
        (
            "quota",
            spec(
                json!([{"name": "shop"}]),
                json!({"quota": {"project": {"pods": "9"}}}),
            ),
            false,
            true,
        ),
        (
            "what pods may do",
            spec(
                json!([{"name": "shop"}]),
                json!({"podSecurity": "Privileged"}),
            ),
            false,
            true,
        ),
        (
            "defaults",
            spec(
                json!([{"name": "shop"}]),
                json!({"containerDefaults": {"limits": {"cpu": "1"}}}),
            ),
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
        for (who, may) in [("bob", bob), ("ann", ann), ("joe", false)] {
            let got = change.by(&owned(), &format!("drover:user:{who}"), false);
            assert_eq!(got.is_ok(), may, "{what} by {who}: {got:?}");
        }
    }
    let deleted = attempt("projects", "p", Some(own()), None);
    assert!(deleted.by(&owned(), "drover:user:bob", false).is_err());
    assert_eq!(deleted.by(&owned(), "drover:user:ann", false), Ok(()));
}

#[test]
fn a_project_is_made_by_those_who_may_and_without_more_than_they_may_give() {
    let rule = crate::grants::world::rule;
    let make = rule("management.drover.dev", "projects", "create");
    let world =
        owned()
            .cluster_role("member", &[make])
            .in_cluster("three", "member", "a", &user("eve"));
    let spec = |more: Value| {
        let mut spec = json!({"cluster": {"name": "a"}, "namespaces": [{"name": "new"}]});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        spec
    };
    for (what, more, eve, ann) in [
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
            "where there is nothing",
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
        let made = attempt("projects", "new", None, Some(spec(more)));
        for (who, may) in [("eve", eve), ("ann", ann), ("bob", false)] {
            let got = made.by(&world, &format!("drover:user:{who}"), false);
            assert_eq!(got.is_ok(), may, "{what} by {who}: {got:?}");
        }
    }
}
