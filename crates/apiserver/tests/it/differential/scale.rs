//! Compares the conversion of field owners between an object and its scale with the Go libraries.

use std::collections::BTreeMap;

use drover_apiserver::merge::{Managers, Path, ScaleManagers};
use serde_json::{Value, json};

use super::random::Random;
use super::reference::{Answer, ask};

fn entries(random: &mut Random, versions: &[&str]) -> Value {
    let mut seen = Vec::new();
    (0..random.below(4))
        .filter_map(|_| {
            let manager = random.word(&["kubectl", "hpa", "helm"]);
            let operation = random.word(&["Apply", "Update"]);
            let version = random.word(versions);
            let subresource = random.word(&["", "", "scale"]);
            // Go handles duplicate managers in random order.
            let id = (manager, operation, subresource);
            if seen.contains(&id) {
                return None;
            }
            seen.push(id);
            let fields = match random.below(4) {
                0 => json!({"f:spec": {"f:replicas": {}}}),
                1 => json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}),
                2 => json!({"f:spec": {"f:size": {}}}),
                _ => json!({"f:spec": {"f:paused": {}}}),
            };
            let mut entry = json!({
                "manager": manager, "operation": operation, "apiVersion": version,
                "fieldsType": "FieldsV1", "fieldsV1": fields, "time": "2026-01-02T03:04:05Z",
            });
            if !subresource.is_empty() {
                entry["subresource"] = subresource.into();
            }
            Some(entry)
        })
        .collect()
}

fn managers(entries: &Value) -> Managers {
    Managers::of(&json!({"metadata": {"managedFields": entries}})).unwrap()
}

/// Sorts the entries of the field owners, because Go returns the entries of one manager in random
/// order.
fn sorted(mut entries: Value) -> Value {
    if let Value::Array(entries) = &mut entries {
        entries.sort_by_key(Value::to_string);
    }
    if entries.is_null() {
        json!([])
    } else {
        entries
    }
}

#[test]
fn field_owners_converted_for_scale_subresource_match_the_go_implementation() {
    let mut random = Random::new(37);
    let paths = json!({
        "apps/v1": ["spec", "replicas"], "apps/v2": ["spec", "size"], "apps/v3": [],
    });
    let cases: Vec<Value> = (0..2_000)
        .map(|_| {
            let object = entries(
                &mut random,
                &["apps/v1", "apps/v1", "apps/v2", "apps/v3", "apps/v4"],
            );
            let mut scale = entries(&mut random, &["autoscaling/v1"]);
            if random.once_in(3) {
                scale = entries(&mut random, &["apps/v1"]);
            }
            let version = random.word(&["apps/v1", "apps/v2"]);
            json!({
                "ask": "scale", "object": object, "scale": scale, "version": version,
                "paths": paths,
            })
        })
        .collect();
    let replicas: BTreeMap<String, Option<Path>> = [
        ("apps/v1", Some(Path::fields(&["spec", "replicas"]))),
        ("apps/v2", Some(Path::fields(&["spec", "size"]))),
        ("apps/v3", None),
    ]
    .into_iter()
    .map(|(version, path)| (version.to_owned(), path))
    .collect();
    for (case, answer) in cases.iter().zip(ask(&cases)) {
        let Answer::Result(mut theirs) = answer else {
            panic!("{case}: {answer:?}");
        };
        let object = managers(&case["object"]);
        let carrier = ScaleManagers {
            object: &object,
            api_version: case["version"].as_str().unwrap(),
            replicas: &replicas,
        };
        assert_eq!(
            sorted(carrier.to_scale().to_value()),
            sorted(theirs["scale"].take()),
            "{case}"
        );
        assert_eq!(
            sorted(carrier.to_object(&managers(&case["scale"])).to_value()),
            sorted(theirs["object"].take()),
            "{case}"
        );
    }
}
