use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::AggregationRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::ObjectMeta;

use super::*;
use crate::differ::differ;

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
            labels: Some(BTreeMap::from([("ours".to_owned(), "yes".to_owned())])),
            ..ObjectMeta::default()
        },
        rules: Some(vec![rule(verbs)]),
        aggregation_rule: None,
    }
}

/// As the API server gives it back.
fn stored(mut role: ClusterRole) -> ClusterRole {
    role.metadata.resource_version = Some("7".to_owned());
    role.metadata.uid = Some("u".to_owned());
    role
}

fn binding(name: &str, role: &str, people: &[&str]) -> ClusterRoleBinding {
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
        subjects: Some(people.iter().map(subject).collect()),
    }
}

/// What somebody does to a role.
type Change = fn(&mut ClusterRole);

fn names<K: ResourceExt>(objects: &[K]) -> Vec<String> {
    objects.iter().map(ResourceExt::name_any).collect()
}

#[test]
fn what_is_there_as_it_is_wanted_is_left_alone() {
    let wanted = [role("a", &["get"])];
    let found = differ(&[stored(role("a", &["get"]))], &wanted);
    assert!(found.create.is_empty() && found.replace.is_empty() && found.delete.is_empty());
    let mut shuffled = binding("b", "a", &["ann", "bob"]);
    shuffled.subjects.as_mut().unwrap().reverse();
    let found = differ(&[shuffled], &[binding("b", "a", &["ann", "bob"])]);
    assert!(
        found.replace.is_empty(),
        "the order of people means nothing"
    );
}

#[test]
fn what_is_missing_is_made_what_differs_is_put_right_and_what_is_too_many_goes() {
    let present = [stored(role("b", &["get"])), stored(role("c", &["get"]))];
    let wanted = [role("a", &["get"]), role("b", &["list"])];
    let found = differ(&present, &wanted);
    assert_eq!(names(&found.create), ["a"]);
    assert_eq!(names(&found.replace), ["b"]);
    let version = found.replace[0].metadata.resource_version.as_deref();
    assert_eq!(
        version, None,
        "whoever writes it all the time does not keep it"
    );
    assert_eq!(names(&found.delete), ["c"]);
}

#[test]
fn whatever_somebody_else_added_to_a_role_is_put_right() {
    let wanted = || role("a", &["get"]);
    let changes: [(&str, Change); 5] = [
        ("a right", |role| {
            role.rules.as_mut().unwrap().push(rule(&["delete"]));
        }),
        ("a label that gathers its rules into another role", |role| {
            let labels = role.metadata.labels.as_mut().unwrap();
            labels.insert("aggregate-to-view".to_owned(), "true".to_owned());
        }),
        ("a finalizer", |role| {
            role.metadata.finalizers = Some(vec!["example.org/mine".to_owned()]);
        }),
        ("an owner", |role| {
            role.metadata.owner_references = Some(vec![OwnerReference::default()]);
        }),
        ("an aggregation", |role| {
            role.aggregation_rule = Some(AggregationRule::default());
        }),
    ];
    for (what, change) in changes {
        let mut present = stored(wanted());
        change(&mut present);
        assert_eq!(
            names(&differ(&[present], &[wanted()]).replace),
            ["a"],
            "{what}"
        );
    }
}

#[test]
fn a_binding_of_another_role_goes_before_it_is_made_as_it_is_wanted() {
    let found = differ(
        &[binding("b", "other", &["ann"])],
        &[binding("b", "a", &["ann"])],
    );
    assert_eq!(names(&found.make_anew), ["b"]);
    assert_eq!(names(&found.create), ["b"]);
    assert!(found.replace.is_empty());
}
