//! Compares two limits with the Go libraries: the maximum number of managers, and the rejection of
//! list items that have no key.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_apiserver::merge::{ApplyOptions, MergeKind, Set, UpdateOptions, apply, update};
use drover_apiserver::resource::Origin;
use drover_apiserver::schema::{ListType, Node, PatchStrategy, Shape};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::owners::{comparable, root};
use super::reference::{Answer, ask};
use super::schemas::{Relation, Schema};

#[test]
fn oldest_update_managers_are_merged_when_an_eleventh_manager_updates() {
    let schema = root(
        &Schema::Map(Box::new(Schema::Text), Relation::Granular),
        &Schema::Text,
    );
    let node = Arc::new(schema.node());
    let kind = MergeKind {
        api_version: "example.io/v1".to_owned(),
        kind: "Thing".to_owned(),
        origin: Origin::Custom,
        schema: Arc::clone(&node),
        reset: Set::default(),
        versions: BTreeMap::from([("example.io/v1".to_owned(), node)]),
        subresource: String::new(),
    };
    let mut live: Option<Value> = None;
    let mut steps = Vec::new();
    for index in 0..14 {
        let mut new = live.clone().unwrap_or_else(|| {
            json!({"apiVersion": "example.io/v1", "kind": "Thing",
                   "metadata": {"name": "thing", "uid": "1"}, "spec": {}})
        });
        new["spec"][format!("key{index}")] = "value".into();
        // Each manager is a day newer than the previous one.
        let manager = format!("manager{index:02}");
        let mut sent = new.clone();
        sent["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
        steps.push(json!({"how": "update", "version": "v1", "manager": manager, "object": sent}));
        let options = UpdateOptions {
            manager: &manager,
            now: Timestamp::UNIX_EPOCH,
        };
        update(live.as_ref(), &mut new, &kind, options);
        live = Some(new);
    }
    let case = json!({
        "ask": "owners", "group": "example.io", "kind": "Thing",
        "schemas": {"v1": schema.openapi()}, "steps": steps,
    });
    let Some(Answer::Result(answers)) = ask(&[case]).pop() else {
        panic!("the Go program did not answer");
    };
    let ours = comparable(live.unwrap());
    let entries = ours["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 10);
    assert!(
        entries
            .iter()
            .any(|entry| entry["manager"] == "ancient-changes")
    );
    assert_eq!(ours, comparable(answers[13]["object"].clone()));
}

#[test]
fn list_item_without_key_cannot_be_applied() {
    let items = Node {
        shape: Shape::Object {
            properties: BTreeMap::from([("name".to_owned(), Arc::new(Schema::Text.node()))]),
            additional: None,
            required: Vec::new(),
            atomic: false,
        },
        ..Node::default()
    };
    let list = Node {
        shape: Shape::Array {
            items: Arc::new(items),
            list: ListType::Map(vec!["name".to_owned()]),
            strategy: PatchStrategy::Replace,
        },
        ..Node::default()
    };
    let mut kind = MergeKind {
        api_version: "example.io/v1".to_owned(),
        kind: "Thing".to_owned(),
        origin: Origin::Custom,
        schema: Arc::new(root(&Schema::Text, &Schema::Text).node()),
        reset: Set::default(),
        versions: BTreeMap::new(),
        subresource: String::new(),
    };
    let mut node = (*kind.schema).clone();
    if let Shape::Object { properties, .. } = &mut node.shape {
        properties.insert("spec".to_owned(), Arc::new(list));
    }
    kind.schema = Arc::new(node);
    let sent = json!({
        "apiVersion": "example.io/v1", "kind": "Thing",
        "metadata": {"name": "thing", "namespace": "default"}, "spec": [{}],
    });
    let options = ApplyOptions {
        manager: "me",
        force: false,
        now: Timestamp::UNIX_EPOCH,
    };
    let error = apply(None, &sent, &kind, options).unwrap_err().to_string();
    assert_eq!(
        error,
        "failed to create typed patch object (default/thing; example.io/v1, Kind=Thing): .spec: \
         element 0: associative list with keys has an element that omits all key fields [\"name\"] \
         (and doesn't have default values for any key fields)"
    );
}
