use std::collections::BTreeSet;
use std::sync::Arc;

use drover_access::grants::{Bound, Role as GrantedRole};
use drover_access::roles::Scoped;
use drover_api::ids::{ProjectUid, UserUid};
use kube::ResourceExt as _;

use super::*;

fn user(uid: &str) -> UserName {
    UserName::of(&UserUid::new(uid))
}

fn devs() -> GroupName {
    GroupName::parse("drover:oidc:devs").unwrap()
}

pub(crate) fn reads_pods() -> Rights {
    Rights::of(&[PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["pods".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    }])
}

fn bound(uid: &str, rights: Rights, scope: Scope, subjects: &[Person]) -> Bound {
    Bound {
        role: "reader".to_owned(),
        uid: uid.to_owned(),
        rights,
        scope,
        subjects: subjects.iter().cloned().collect(),
    }
}

/// What one administrator comes to, for others' tests.
pub(crate) fn of_one_administrator() -> Wanted {
    let who = user("a");
    in_cluster(&Downstream {
        bound: vec![bound(
            ADMINISTRATOR,
            Rights::everything(),
            Scope::Cluster,
            &[Person::User(who.clone())],
        )],
        users: [who].into(),
        groups: BTreeSet::new(),
    })
}

fn names<K: kube::ResourceExt>(objects: &[K]) -> Vec<String> {
    objects.iter().map(kube::ResourceExt::name_any).collect()
}

#[test]
fn nobody_means_no_objects() {
    assert_eq!(in_cluster(&Downstream::default()), Wanted::default());
    assert_eq!(on_hub(&[]), Wanted::default());
}

#[test]
fn an_administrator_is_bound_to_the_clusters_own_role_for_everything() {
    let wanted = of_one_administrator();
    assert_eq!(names(&wanted.cluster_roles), ["drover-user-0"]);
    assert_eq!(
        names(&wanted.cluster_bindings),
        ["drover-user-0", "drover-administrators-0"]
    );
    assert_eq!(wanted.cluster_bindings[1].role_ref.name, "cluster-admin");
}

#[test]
fn the_user_lane_may_take_exactly_the_names_that_have_a_role() {
    let wanted = in_cluster(&Downstream {
        bound: Vec::new(),
        users: [user("1"), user("2")].into(),
        groups: [devs()].into(),
    });
    let rules = wanted.cluster_roles[0].rules.as_deref().unwrap();
    let names = |rule: &PolicyRule| rule.resource_names.clone().unwrap_or_default();
    assert_eq!(names(&rules[0]), ["drover:user:1", "drover:user:2"]);
    assert_eq!(names(&rules[1]), ["drover:oidc:devs"]);
    for rule in rules {
        assert_eq!(rule.verbs, ["impersonate"]);
        let open = rule.resource_names.is_none();
        let extras = rule.resources.iter().flatten();
        let extras = extras.into_iter().all(|r| r.starts_with("userextras/"));
        assert_eq!(open, extras, "{rule:?}");
    }
}

#[test]
fn a_role_is_named_by_its_uid_and_bound_in_the_whole_cluster_or_in_the_projects_namespaces() {
    let mut rights = reads_pods();
    rights.external.insert("view".to_owned());
    let shop = Scope::Project(
        ProjectUid::new("p"),
        vec!["shop".to_owned(), "shop-dev".to_owned()],
    );
    let people = [Person::User(user("1")), Person::Group(devs())];
    let wanted = in_cluster(&Downstream {
        bound: vec![
            bound("r1", reads_pods(), Scope::Cluster, &people),
            bound("r1", rights, shop, &people),
        ],
        ..Downstream::default()
    });
    assert_eq!(
        names(&wanted.cluster_roles),
        ["drover-role-r1-cluster", "drover-role-r1-project"]
    );
    assert_eq!(
        names(&wanted.cluster_bindings),
        ["drover-role-r1-cluster-0"]
    );
    let bindings = wanted.bindings.iter().map(|binding| {
        let namespace = binding.namespace().unwrap();
        (namespace, binding.role_ref.name.clone())
    });
    let bindings: Vec<_> = bindings.collect();
    let expected = [
        ("shop", "drover-role-r1-project"),
        ("shop-dev", "drover-role-r1-project"),
        ("shop", "view"),
        ("shop-dev", "view"),
    ];
    let expected = expected.map(|(namespace, role)| (namespace.to_owned(), role.to_owned()));
    assert_eq!(bindings, expected);
    let kinds: Vec<_> = wanted.bindings[0]
        .subjects
        .iter()
        .flatten()
        .map(|subject| (subject.kind.as_str(), subject.name.as_str()))
        .collect();
    assert_eq!(
        kinds,
        [("User", "drover:user:1"), ("Group", "drover:oidc:devs")]
    );
    let unique: BTreeSet<_> = wanted
        .bindings
        .iter()
        .map(|binding| (binding.namespace(), binding.name_any()))
        .collect();
    assert_eq!(unique.len(), wanted.bindings.len(), "no two have one name");
}

#[test]
fn one_role_in_two_projects_is_one_cluster_role() {
    let project = |uid: &str, namespace: &str| {
        Scope::Project(ProjectUid::new(uid), vec![namespace.to_owned()])
    };
    let ann = [Person::User(user("1"))];
    let wanted = in_cluster(&Downstream {
        bound: vec![
            bound("r", reads_pods(), project("p", "shop"), &ann),
            bound("r", reads_pods(), project("q", "bank"), &ann),
        ],
        ..Downstream::default()
    });
    assert_eq!(names(&wanted.cluster_roles), ["drover-role-r-project"]);
    assert_eq!(wanted.bindings.len(), 2);
}

#[test]
fn many_people_are_in_several_objects_and_one_who_comes_changes_one() {
    let everybody = |count: usize| {
        let people: Vec<_> = (0..count)
            .map(|n| Person::User(user(&format!("{n:05}"))))
            .collect();
        in_cluster(&Downstream {
            bound: vec![bound("r", reads_pods(), Scope::Cluster, &people)],
            users: (0..count).map(|n| user(&format!("{n:05}"))).collect(),
            groups: BTreeSet::new(),
        })
    };
    for (count, chunks) in [(1, 1), (CHUNK, 1), (CHUNK + 1, 2), (2 * CHUNK + 1, 4)] {
        let wanted = everybody(count);
        // The role itself, and the names that the user lane may take.
        assert_eq!(wanted.cluster_roles.len(), 1 + chunks, "{count}");
        assert_eq!(wanted.cluster_bindings.len(), 2 * chunks, "{count}");
        let bound = wanted.cluster_bindings.iter();
        let bound = bound.filter(|binding| binding.role_ref.name.starts_with("drover-role-"));
        let bound: usize = bound
            .map(|binding| binding.subjects.as_ref().unwrap().len())
            .sum();
        assert_eq!(bound, count);
    }
    let (before, after) = (everybody(5 * CHUNK), everybody(5 * CHUNK + 1));
    let same = |kind: fn(&Wanted) -> Vec<String>| {
        let (before, after) = (kind(&before), kind(&after));
        let before = before.iter().collect::<BTreeSet<_>>();
        after.iter().filter(|one| !before.contains(one)).count()
    };
    let text = |wanted: &Wanted| {
        let bindings = wanted.cluster_bindings.iter();
        bindings.map(|binding| format!("{binding:?}")).collect()
    };
    assert_eq!(same(text), 1);
    let text = |wanted: &Wanted| {
        let roles = wanted.cluster_roles.iter();
        roles.map(|role| format!("{role:?}")).collect()
    };
    assert_eq!(same(text), 1);
}

#[test]
fn a_global_role_is_on_the_hub_as_a_whole_and_in_single_namespaces() {
    let role = GrantedRole {
        name: "keeper".to_owned(),
        uid: "g".to_owned(),
        scoped: Scoped {
            cluster: reads_pods(),
            project: Rights::default(),
        },
        namespaced: [("apps".to_owned(), reads_pods())].into(),
    };
    let wanted = on_hub(&[OnHub {
        role: Arc::new(role),
        subjects: [Person::User(user("1"))].into(),
    }]);
    assert_eq!(names(&wanted.cluster_roles), ["drover-hub-role-g"]);
    assert_eq!(names(&wanted.cluster_bindings), ["drover-hub-role-g-0"]);
    assert_eq!(names(&wanted.roles), ["drover-hub-role-g"]);
    assert_eq!(names(&wanted.bindings), ["drover-hub-role-g-0"]);
    assert_eq!(wanted.bindings[0].namespace().as_deref(), Some("apps"));
    for labels in [
        &wanted.cluster_roles[0].metadata.labels,
        &wanted.bindings[0].metadata.labels,
    ] {
        let labels = labels.as_ref().unwrap();
        assert!(labels.contains_key(HUB_LABEL));
        assert!(
            !labels.contains_key(ACCESS_LABEL),
            "a hub may be managed as well"
        );
    }
}
