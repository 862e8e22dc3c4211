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

pub(crate) fn read_pods() -> Rights {
    Rights::of(&[PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["pods".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    }])
}

fn bound(uid: &str, rights: Rights, scope: DownstreamScope, subjects: &[GrantSubject]) -> Bound {
    Bound {
        role: "reader".to_owned(),
        uid: uid.to_owned(),
        rights,
        scope,
        subjects: subjects.iter().cloned().collect(),
    }
}

/// Returns the desired objects of one administrator, also for the tests of other modules.
pub(crate) fn desired_for_one_administrator() -> DesiredAccess {
    let caller = user("a");
    in_cluster(&Downstream {
        bound: vec![bound(
            ADMINISTRATOR,
            Rights::everything(),
            DownstreamScope::Cluster,
            &[GrantSubject::User(caller.clone())],
        )],
        users: [caller].into(),
        groups: BTreeSet::new(),
    })
}

fn names<K: kube::ResourceExt>(objects: &[K]) -> Vec<String> {
    objects.iter().map(kube::ResourceExt::name_any).collect()
}

#[test]
fn cluster_without_grants_receives_no_rbac_objects() {
    assert_eq!(in_cluster(&Downstream::default()), DesiredAccess::default());
    assert_eq!(on_hub(&[]), DesiredAccess::default());
}

#[test]
fn administrator_is_bound_to_cluster_admin() {
    let desired = desired_for_one_administrator();
    assert_eq!(names(&desired.cluster_roles), ["drover-user-0"]);
    assert_eq!(
        names(&desired.cluster_bindings),
        ["drover-user-0", "drover-administrators-0"]
    );
    assert_eq!(desired.cluster_bindings[1].role_ref.name, "cluster-admin");
}

#[test]
fn user_lane_can_impersonate_only_users_and_groups_with_grants() {
    let desired = in_cluster(&Downstream {
        bound: Vec::new(),
        users: [user("1"), user("2")].into(),
        groups: [devs()].into(),
    });
    let rules = desired.cluster_roles[0].rules.as_deref().unwrap();
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
fn cluster_role_name_contains_role_uid_and_bindings_are_in_cluster_or_project_namespaces() {
    let mut rights = read_pods();
    rights.external.insert("view".to_owned());
    let shop = DownstreamScope::Project(
        ProjectUid::new("p"),
        vec!["shop".to_owned(), "shop-dev".to_owned()],
    );
    let to_subjects = [GrantSubject::User(user("1")), GrantSubject::Group(devs())];
    let desired = in_cluster(&Downstream {
        bound: vec![
            bound("r1", read_pods(), DownstreamScope::Cluster, &to_subjects),
            bound("r1", rights, shop, &to_subjects),
        ],
        ..Downstream::default()
    });
    assert_eq!(
        names(&desired.cluster_roles),
        ["drover-role-r1-cluster", "drover-role-r1-project"]
    );
    assert_eq!(
        names(&desired.cluster_bindings),
        ["drover-role-r1-cluster-0"]
    );
    let bindings = desired.bindings.iter().map(|binding| {
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
    let kinds: Vec<_> = desired.bindings[0]
        .subjects
        .iter()
        .flatten()
        .map(|subject| (subject.kind.as_str(), subject.name.as_str()))
        .collect();
    assert_eq!(
        kinds,
        [("User", "drover:user:1"), ("Group", "drover:oidc:devs")]
    );
    let unique: BTreeSet<_> = desired
        .bindings
        .iter()
        .map(|binding| (binding.namespace(), binding.name_any()))
        .collect();
    assert_eq!(
        unique.len(),
        desired.bindings.len(),
        "binding names are unique"
    );
}

#[test]
fn role_in_two_projects_produces_one_cluster_role() {
    let project = |uid: &str, namespace: &str| {
        DownstreamScope::Project(ProjectUid::new(uid), vec![namespace.to_owned()])
    };
    let ann = [GrantSubject::User(user("1"))];
    let desired = in_cluster(&Downstream {
        bound: vec![
            bound("r", read_pods(), project("p", "shop"), &ann),
            bound("r", read_pods(), project("q", "bank"), &ann),
        ],
        ..Downstream::default()
    });
    assert_eq!(names(&desired.cluster_roles), ["drover-role-r-project"]);
    assert_eq!(desired.bindings.len(), 2);
}

#[test]
fn subjects_are_split_into_binding_chunks_and_new_subject_changes_one_chunk() {
    let everybody = |count: usize| {
        let to_subjects: Vec<_> = (0..count)
            .map(|n| GrantSubject::User(user(&format!("{n:05}"))))
            .collect();
        in_cluster(&Downstream {
            bound: vec![bound(
                "r",
                read_pods(),
                DownstreamScope::Cluster,
                &to_subjects,
            )],
            users: (0..count).map(|n| user(&format!("{n:05}"))).collect(),
            groups: BTreeSet::new(),
        })
    };
    for (count, chunks) in [(1, 1), (CHUNK, 1), (CHUNK + 1, 2), (2 * CHUNK + 1, 4)] {
        let desired = everybody(count);
        // One ClusterRole of the granted role, and one for each chunk of the user lane's names.
        assert_eq!(desired.cluster_roles.len(), 1 + chunks, "{count}");
        assert_eq!(desired.cluster_bindings.len(), 2 * chunks, "{count}");
        let bound = desired.cluster_bindings.iter();
        let bound = bound.filter(|binding| binding.role_ref.name.starts_with("drover-role-"));
        let bound: usize = bound
            .map(|binding| binding.subjects.as_ref().unwrap().len())
            .sum();
        assert_eq!(bound, count);
    }
    let (before, after) = (everybody(5 * CHUNK), everybody(5 * CHUNK + 1));
    let same = |kind: fn(&DesiredAccess) -> Vec<String>| {
        let (before, after) = (kind(&before), kind(&after));
        let before = before.iter().collect::<BTreeSet<_>>();
        after.iter().filter(|one| !before.contains(one)).count()
    };
    let text = |desired: &DesiredAccess| {
        let bindings = desired.cluster_bindings.iter();
        bindings.map(|binding| format!("{binding:?}")).collect()
    };
    assert_eq!(same(text), 1);
    let text = |desired: &DesiredAccess| {
        let roles = desired.cluster_roles.iter();
        roles.map(|role| format!("{role:?}")).collect()
    };
    assert_eq!(same(text), 1);
}

#[test]
fn global_role_creates_cluster_wide_and_namespaced_rbac_objects_on_hub() {
    let role = GrantedRole {
        name: "keeper".to_owned(),
        uid: "g".to_owned(),
        scoped: Scoped {
            cluster: read_pods(),
            project: Rights::default(),
        },
        namespaced: [("apps".to_owned(), read_pods())].into(),
    };
    let desired = on_hub(&[OnHub {
        role: Arc::new(role),
        subjects: [GrantSubject::User(user("1"))].into(),
    }]);
    assert_eq!(names(&desired.cluster_roles), ["drover-hub-role-g"]);
    assert_eq!(names(&desired.cluster_bindings), ["drover-hub-role-g-0"]);
    assert_eq!(names(&desired.roles), ["drover-hub-role-g"]);
    assert_eq!(names(&desired.bindings), ["drover-hub-role-g-0"]);
    assert_eq!(desired.bindings[0].namespace().as_deref(), Some("apps"));
    for labels in [
        &desired.cluster_roles[0].metadata.labels,
        &desired.bindings[0].metadata.labels,
    ] {
        let labels = labels.as_ref().unwrap();
        assert!(labels.contains_key(HUB_LABEL));
        assert!(
            !labels.contains_key(ACCESS_LABEL),
            "the hub's cluster may be a managed cluster too"
        );
    }
}
