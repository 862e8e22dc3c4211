use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::label;
use crate::object::Object;

fn key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey {
        cluster: "berlin".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

fn read(namespace: &str, name: &str, spec: &Value) -> ReadObject {
    let labels = json!({"app": "web"});
    let metadata = json!({"name": name, "namespace": namespace, "uid": format!("uid-{name}"), "labels": labels});
    ReadObject {
        key: key(namespace, name),
        object: Ok(Object::from(json!({"metadata": metadata, "spec": spec}))),
    }
}

fn deployments() -> Kind {
    Kind::of_plural("deployments").unwrap()
}

fn reason(planned: &PlannedObject) -> Option<String> {
    match &planned.step {
        Step::Omit(reason) => Some(reason.clone()),
        Step::Send(planned) => planned.missing.clone(),
    }
}

#[test]
fn identity_of_an_object_is_parsed_from_its_text() {
    let node = ObjectKey {
        namespace: None,
        ..key("", "n1")
    };
    for key in [key("shop", "web-0"), node.clone()] {
        assert_eq!(ObjectKey::parse(&key.to_string()), Some(key));
    }
    assert_eq!(node.words(), "berlin / n1");
    assert_eq!(node.screen(Kind::NODES), "/clusters/berlin/nodes/-/n1");
    assert_eq!(ObjectKey::parse("berlin/web-0"), None);
}

#[test]
fn permission_is_asked_once_for_each_cluster_and_namespace() {
    let keys = [key("shop", "a"), key("shop", "b"), key("bank", "c")];
    let mut rights = BulkRights::new(Kind::PODS, Action::Delete);
    let required = rights.required(&keys);
    let names: Vec<_> = required.iter().map(|(key, _)| key.name.as_str()).collect();
    assert_eq!(names, ["a", "c"]);
    let spec = required[0].1.review();
    assert_eq!(
        spec.pointer("/spec/resourceAttributes/name"),
        Some(&json!(""))
    );
    rights.note(&keys[0], Some(true));
    rights.note(&keys[2], None);
    assert_eq!(rights.missing(&keys[1]), Some(required[0].1.clone()));
    assert_eq!(
        rights.missing(&keys[2]),
        None,
        "the cluster checks the request"
    );
}

#[test]
fn plan_deletes_each_object_by_name_and_uid_and_names_the_missing_permission() {
    let objects = [read("shop", "a", &json!({})), read("bank", "b", &json!({}))];
    let mut rights = BulkRights::new(Kind::PODS, Action::Delete);
    rights.note(&objects[1].key, Some(true));
    let change = BulkChange::Same(Change::Delete(Cascade::Background));
    let plan = bulk_plan(Kind::PODS, Action::Delete, &change, &objects, &rights);
    let [first, second] = plan.as_slice() else {
        panic!("the plan has one item for each object");
    };
    let request = &first.sent().unwrap().request;
    assert_eq!(request.method, "DELETE");
    assert_eq!(
        request.path(),
        "/k8s/clusters/berlin/api/v1/namespaces/shop/pods/a"
    );
    assert_eq!(request.body["preconditions"]["uid"], "uid-a");
    assert!(second.sent().is_none());
    assert_eq!(second.command(Kind::PODS), None);
    assert!(
        reason(second).is_some_and(|it| it.contains("delete pods in namespace bank")),
        "{second:?}"
    );
}

#[test]
fn plan_omits_unreadable_unchanged_and_unsuitable_objects() {
    let paused = json!({"replicas": 1, "paused": true});
    let gone = ReadObject {
        key: key("shop", "gone"),
        object: Err("Not found.".to_owned()),
    };
    let objects = [
        read("shop", "a", &json!({"replicas": 1})),
        read("shop", "b", &json!({"replicas": 3})),
        read("shop", "paused", &paused),
        gone,
    ];
    let sent = |action, change| {
        let rights = BulkRights::new(deployments(), action);
        let change = BulkChange::Same(change);
        let plan = bulk_plan(deployments(), action, &change, &objects, &rights);
        let sent = plan.iter().filter(|it| it.sent().is_some());
        let names = sent.map(|it| it.key.name.clone()).collect::<Vec<_>>();
        (names, plan.last().and_then(reason))
    };
    let gone = Some("Not found.".to_owned());
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        sent(Action::Scale, Change::Scale(3)),
        (names(&["a", "paused"]), gone.clone())
    );
    // The restart of a paused rollout has no effect.
    let restart = Change::Restart(jiff::Timestamp::UNIX_EPOCH);
    assert_eq!(sent(Action::Restart, restart), (names(&["a", "b"]), gone));
}

#[test]
fn label_change_of_several_objects_keeps_their_other_labels() {
    let set = label::read("env=test").unwrap();
    let change = label::plan::Change::of(set, &["tier".to_owned()].into()).unwrap();
    let change = BulkChange::Labels(change);
    let objects = [read("shop", "a", &json!({}))];
    let rights = BulkRights::new(deployments(), Action::Labels);
    let plan = bulk_plan(deployments(), Action::Labels, &change, &objects, &rights);
    let request = &plan[0].sent().unwrap().request;
    assert_eq!(
        request.body,
        json!({"metadata": {"labels": {"env": "test"}, "uid": "uid-a"}})
    );
    assert_eq!(
        plan[0].command(deployments()).as_deref(),
        Some(
            "kubectl --context berlin --namespace shop label deployment a --overwrite app=web env=test"
        )
    );
}

#[test]
fn deletion_of_many_or_dangerous_objects_needs_the_typed_number() {
    let delete = BulkChange::Same(Change::Delete(Cascade::Background));
    assert_eq!(bulk_confirmation(Kind::PODS, &delete, 5), None);
    let typed = bulk_confirmation(Kind::PODS, &delete, 6);
    assert_eq!(typed.as_deref(), Some("6"));
    let typed = bulk_confirmation(Kind::NODES, &delete, 1);
    assert_eq!(typed.as_deref(), Some("1"));
    let restart = BulkChange::Same(Change::Evict);
    assert_eq!(bulk_confirmation(Kind::PODS, &restart, 100), None);
}

#[test]
fn every_kind_except_events_has_bulk_actions() {
    assert_eq!(
        bulk_actions(Kind::PODS),
        [Action::Evict, Action::Labels, Action::Delete]
    );
    assert_eq!(bulk_actions(Kind::EVENTS), []);
    for action in Kind::all().flat_map(bulk_actions) {
        let has_form = matches!(action, Action::Scale | Action::Labels);
        let change = change_without_parameters(action, jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(change.is_none(), has_form, "{action:?}");
    }
}

#[test]
fn undo_of_labels_keeps_labels_that_another_user_added() {
    let read = read("shop", "a", &json!({}));
    let before = read.object.unwrap();
    let labels = BTreeMap::from([
        ("app".to_owned(), "web".to_owned()),
        ("env".to_owned(), "test".to_owned()),
    ]);
    let change = Change::Labels(labels);
    let changed = change.with_labels(&before).unwrap();
    let undo = change.undo(&before).unwrap();
    let request = undo.request(&key("shop", "a").target(deployments()), &changed);
    assert_eq!(request.body["metadata"]["labels"], json!({"env": null}));
}
