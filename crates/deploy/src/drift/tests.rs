use drover_api::fleet::{ComparePatch, Operation};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn compare(desired: Value, live: Value) -> Option<Value> {
    difference(&Object(desired), &Object(live), &Rules::default())
}

#[test]
fn only_desired_fields_count() {
    for (desired, live, expected) in [
        (
            json!({"data": {"a": "1"}}),
            json!({"data": {"a": "1", "b": "2"}}),
            None,
        ),
        (
            json!({"data": {"a": "1"}}),
            json!({"data": {"a": "2"}}),
            Some(json!({"data": {"a": "1"}})),
        ),
        (
            json!({"data": {"a": "1"}}),
            json!({}),
            Some(json!({"data": {"a": "1"}})),
        ),
        (
            json!({"spec": {"a": null, "b": {}, "c": []}}),
            json!({"spec": {}}),
            None,
        ),
        (
            json!({"spec": {"a": "1000m"}}),
            json!({"spec": {"a": "1"}}),
            None,
        ),
        (json!({"spec": {"a": 1}}), json!({"spec": {"a": 1.0}}), None),
        (
            json!({"status": {"a": 1}}),
            json!({"status": {"a": 2}}),
            None,
        ),
        (
            json!({"metadata": {"labels": {"a": "b"}, "creationTimestamp": null}}),
            json!({"metadata": {"labels": {"a": "b", "c": "d"}, "uid": "1"}}),
            None,
        ),
    ] {
        assert_eq!(
            compare(desired.clone(), live.clone()),
            expected,
            "{desired} {live}"
        );
    }
}

#[test]
fn list_elements_with_names_are_compared_by_name() {
    let list = |elements: Value| json!({"spec": {"containers": elements}});
    let desired = list(json!([{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]));
    let reordered =
        list(json!([{"name": "b", "image": "2", "tty": false}, {"name": "a", "image": "1"}]));
    assert_eq!(compare(desired.clone(), reordered), None);
    let changed = list(json!([{"name": "a", "image": "3"}, {"name": "b", "image": "2"}]));
    assert_eq!(compare(desired.clone(), changed), Some(desired.clone()));
    let additional =
        list(json!([{"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c"}]));
    assert_eq!(compare(desired.clone(), additional), Some(desired));
}

#[test]
fn secret_texts_equal_their_encoded_data() {
    let desired = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}});
    let live = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "Yg=="}});
    assert_eq!(compare(desired, live), None);
}

#[test]
fn ca_bundle_of_a_webhook_does_not_count() {
    let webhook = |bundle: &str| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "webhooks": [{"name": "a", "clientConfig": {"caBundle": bundle}}],
        })
    };
    assert_eq!(compare(webhook("Cg=="), webhook("Q0E=")), None);
}

fn deployment(replicas: u32) -> Object {
    Object(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "b"}, "spec": {"replicas": replicas},
    }))
}

#[test]
fn replicas_of_a_scaled_deployment_do_not_count() {
    let (desired, live) = (deployment(1), deployment(3));
    assert!(difference(&desired, &live, &Rules::default()).is_some());
    let scaler = Object(json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}},
    }));
    assert_eq!(
        difference(&desired, &live, &Rules::new(&[], &[scaler])),
        None
    );
}

fn patch(pointers: &[&str], operations: &[(&str, &str)]) -> ComparePatch {
    ComparePatch {
        api_version: "apps/v1".to_owned(),
        kind: "Deployment".to_owned(),
        namespace: "b".to_owned(),
        name: "a".to_owned(),
        json_pointers: pointers
            .iter()
            .map(|pointer| (*pointer).to_owned())
            .collect(),
        operations: operations
            .iter()
            .map(|(op, path)| Operation {
                op: (*op).to_owned(),
                path: (*path).to_owned(),
                ..Operation::default()
            })
            .collect(),
    }
}

#[test]
fn compare_patches_exclude_fields_and_objects() {
    let (desired, live) = (deployment(1), deployment(3));
    for patch in [
        patch(&["/spec/replicas"], &[]),
        patch(&[], &[("remove", "/spec/replicas")]),
    ] {
        let patches = [patch];
        assert_eq!(
            difference(&desired, &live, &Rules::new(&patches, &[])),
            None
        );
    }
    let patches = [ComparePatch {
        name: "^a$".to_owned(),
        ..patch(&[], &[("ignore", "")])
    }];
    let rules = Rules::new(&patches, &[]);
    assert!(rules.ignores(&live.key()));
    assert!(!rules.ignores(&ObjectKey {
        name: "ab".to_owned(),
        ..live.key()
    }));
}

use crate::object::ObjectKey;

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z0-9]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn object_does_not_differ_from_itself(spec in json_value()) {
        let object = json!({"apiVersion": "a/v1", "kind": "A", "spec": spec});
        prop_assert_eq!(compare(object.clone(), object), None);
    }
}
