use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use proptest::prelude::*;

use super::*;

fn rule(verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["pods".to_owned()]),
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        ..PolicyRule::default()
    }
}

fn role(name: &str, verbs: &[&str]) -> ClusterRole {
    ClusterRole {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([("owner".to_owned(), "yes".to_owned())])),
            ..ObjectMeta::default()
        },
        rules: Some(vec![rule(verbs)]),
        aggregation_rule: None,
    }
}

/// Returns the role with the UID and the resource version that an API server sets.
fn stored(mut role: ClusterRole) -> ClusterRole {
    role.metadata.resource_version = Some("7".to_owned());
    role.metadata.uid = Some("u".to_owned());
    role
}

fn binding(name: &str, role: &str, users: &[&str]) -> ClusterRoleBinding {
    let subject = |name: &&str| Subject {
        kind: "User".to_owned(),
        name: (*name).to_owned(),
        ..Subject::default()
    };
    ClusterRoleBinding {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        role_ref: RoleRef {
            kind: "ClusterRole".to_owned(),
            name: role.to_owned(),
            ..RoleRef::default()
        },
        subjects: Some(users.iter().map(subject).collect()),
    }
}

/// A change of a role by a client other than Drover.
type Change = fn(&mut ClusterRole);

fn names<K: ResourceExt>(objects: &[K]) -> Vec<String> {
    objects.iter().map(ResourceExt::name_any).collect()
}

#[test]
fn object_equal_to_its_desired_state_is_not_written() {
    let expected = [role("a", &["get"])];
    assert!(diff(&[stored(role("a", &["get"]))], &expected).is_empty());
    let mut reordered = binding("b", "a", &["ann", "bob"]);
    reordered.subjects.as_mut().unwrap().reverse();
    let found = diff(&[reordered], &[binding("b", "a", &["ann", "bob"])]);
    assert!(found.is_empty(), "the order of subjects has no meaning");
}

#[test]
fn diff_creates_missing_replaces_changed_and_prunes_undesired_objects() {
    let existing = [stored(role("b", &["get"])), stored(role("c", &["get"]))];
    let expected = [role("a", &["get"]), role("b", &["list"])];
    let found = diff(&existing, &expected);
    assert_eq!(names(&found.create), ["a"]);
    assert_eq!(names(&found.replace), ["b"]);
    let version = found.replace[0].metadata.resource_version.as_deref();
    assert_eq!(
        version, None,
        "another writer cannot prevent the replacement"
    );
    assert_eq!(names(&found.prune), ["c"]);
}

#[test]
fn rules_that_other_writers_add_to_a_role_are_removed() {
    let expected = || role("a", &["get"]);
    let changes: [(&str, Change); 5] = [
        ("a permission", |role| {
            role.rules.as_mut().unwrap().push(rule(&["delete"]));
        }),
        (
            "a label that aggregates its rules into another role",
            |role| {
                let labels = role.metadata.labels.as_mut().unwrap();
                labels.insert("aggregate-to-view".to_owned(), "true".to_owned());
            },
        ),
        ("a finalizer", |role| {
            role.metadata.finalizers = Some(vec!["example.org/mine".to_owned()]);
        }),
        ("an owner", |role| {
            role.metadata.owner_references = Some(vec![OwnerReference::default()]);
        }),
        ("an aggregation rule", |role| {
            role.aggregation_rule = Some(AggregationRule::default());
        }),
    ];
    for (addition, change) in changes {
        let mut existing = stored(expected());
        change(&mut existing);
        let found = diff(&[existing], &[expected()]);
        assert_eq!(names(&found.replace), ["a"], "{addition}");
    }
}

#[test]
fn binding_with_changed_role_is_deleted_and_recreated() {
    let found = diff(
        &[binding("b", "other", &["ann"])],
        &[binding("b", "a", &["ann"])],
    );
    assert_eq!(names(&found.recreate), ["b"]);
    assert_eq!(names(&found.create), ["b"]);
    assert!(found.replace.is_empty());
}

/// Applies a diff to a list of objects, as a cluster does.
fn applied<K: Comparable>(existing: &[K], diff: &Diff<K>) -> Vec<K> {
    let mut objects: BTreeMap<Key, K> = existing
        .iter()
        .map(|object| (key(object), object.clone()))
        .collect();
    for object in diff.prune.iter().chain(&diff.recreate) {
        objects.remove(&key(object));
    }
    for object in &diff.create {
        let before = objects.insert(key(object), object.clone());
        assert!(before.is_none(), "an existing object cannot be created");
    }
    for object in &diff.replace {
        let before = objects.insert(key(object), object.clone());
        assert!(before.unwrap().can_become(object));
    }
    objects.into_values().collect()
}

fn bindings() -> impl Strategy<Value = Vec<ClusterRoleBinding>> {
    let one = ("[a-d]", "[r-s]", proptest::collection::vec("[x-z]", 0..3));
    proptest::collection::vec(one, 0..6).prop_map(|list| {
        let list = list.into_iter().map(|(name, role, users)| {
            let users: Vec<&str> = users.iter().map(String::as_str).collect();
            (name.clone(), binding(&name, &role, &users))
        });
        list.collect::<BTreeMap<_, _>>().into_values().collect()
    })
}

proptest! {
    #[test]
    fn diff_is_empty_after_its_writes_are_applied(existing in bindings(), wanted in bindings()) {
        let found = diff(&existing, &wanted);
        let after = applied(&existing, &found);
        prop_assert_eq!(names(&after), names(&wanted));
        prop_assert!(diff(&after, &wanted).is_empty());
    }

    #[test]
    fn diff_omits_objects_of_excluded_namespaces(existing in bindings(), wanted in bindings()) {
        let mut found = diff(&existing, &wanted);
        found.exclude_namespaces(&BTreeSet::from([""]));
        prop_assert!(found.is_empty());
    }
}
