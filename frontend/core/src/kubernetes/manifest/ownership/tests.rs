use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const YAML: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    note: |
      a: b

      - c
    other.example.com/x: y
  finalizers:
  - example.com/a
  - example.com/b
  name: web
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web
  template:
    spec:
      containers:
      - args:
        - --a
        - --b
        image: web:1
        name: web
      - image: proxy:2
        name: proxy
        ports:
        - containerPort: 80
          protocol: TCP
status:
  replicas: 3
";

fn object() -> Value {
    let mut object: Value = serde_saphyr::from_str(YAML).unwrap();
    object["metadata"]["managedFields"] = json!([
        {"manager": "kubectl", "operation": "Apply", "time": "2026-11-22T00:00:00Z", "fieldsV1": {
            "f:metadata": {
                "f:annotations": {"f:note": {}},
                "f:finalizers": {".": {}, "v:\"example.com/b\"": {}},
            },
            "f:spec": {
                "f:selector": {},
                "f:template": {"f:spec": {"f:containers": {
                    "k:{\"name\":\"web\"}": {".": {}, "f:args": {}, "f:image": {}, "f:name": {}},
                    "k:{\"name\":\"proxy\"}": {"f:ports": {
                        "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}},
                    }},
                }}},
            },
        }},
        {"manager": "autoscaler", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
        {"manager": "controller", "operation": "Update", "subresource": "status",
            "fieldsV1": {"f:status": {"f:replicas": {}}}},
    ]);
    object
}

#[test]
fn each_line_has_the_managers_of_its_field() {
    let object = object();
    let ownership = Ownership::of(&object);
    let status = &ownership.managers[2];
    assert_eq!(status.subresource.as_deref(), Some("status"));
    assert_eq!(
        ownership.managers[0].changed,
        "2026-11-22T00:00:00Z".parse().ok()
    );
    let owners = ownership.of_lines(YAML, &object);
    let shown: Vec<String> = YAML
        .lines()
        .zip(&owners)
        .map(|(line, owners)| {
            let names = owners
                .iter()
                .map(|index| ownership.managers[*index].name.as_str());
            format!("{:10} {line}\n", names.collect::<Vec<_>>().join(","))
        })
        .collect();
    assert_eq!(
        shown.concat(),
        "           apiVersion: apps/v1
           kind: Deployment
           metadata:
             annotations:
kubectl        note: |
kubectl          a: b
kubectl    
kubectl          - c
               other.example.com/x: y
kubectl      finalizers:
             - example.com/a
kubectl      - example.com/b
             name: web
           spec:
autoscaler   replicas: 3
kubectl      selector:
kubectl        matchLabels:
kubectl          app: web
             template:
               spec:
                 containers:
kubectl          - args:
kubectl            - --a
kubectl            - --b
kubectl            image: web:1
kubectl            name: web
                 - image: proxy:2
                   name: proxy
                   ports:
kubectl            - containerPort: 80
                     protocol: TCP
           status:
controller   replicas: 3
"
    );
}

#[test]
fn malformed_managers_are_ignored() {
    let of = |entries: Value| Ownership::of(&json!({"metadata": {"managedFields": entries}}));
    for entry in [
        json!(null),
        json!("text"),
        json!({}),
        json!({"manager": "a"}),
        json!({"manager": 1, "fieldsV1": {}}),
        json!({"manager": "a", "fieldsV1": "text"}),
        json!({"manager": "a", "fieldsV1": []}),
    ] {
        assert_eq!(of(json!([entry])), Ownership::default(), "{entry}");
    }
    let hostile = json!({"manager": "a", "fieldsV1": {
        "": {}, "f": {}, "x:y": {}, "k:": {}, "k:[]": {}, "k:{": {}, "k:{}": {}, "v:": {}, "i:-1": {},
        "i:99999999999999999999": {}, "f:spec": null,
    }});
    let ownership = of(json!([hostile]));
    assert_eq!(ownership.managers.len(), 1);
    let owners = ownership.of_lines(YAML, &object());
    assert!(owners.iter().all(Vec::is_empty), "{owners:?}");
}

#[test]
fn trees_have_a_maximum_depth_and_objects_a_maximum_number_of_managers() {
    let mut deep = json!({});
    for _ in 0..1_000 {
        deep = json!({"f:a": deep});
    }
    let entries: Vec<_> = (0..1_000)
        .map(|_| json!({"manager": "a", "fieldsV1": {"f:a": {}}}))
        .chain([json!({"manager": "a", "fieldsV1": deep})])
        .rev()
        .collect();
    let ownership = Ownership::of(&json!({"metadata": {"managedFields": entries}}));
    assert_eq!(ownership.managers.len(), 50);
    assert_eq!(ownership.of_lines("a: 1\n", &json!({"a": 1}))[0].len(), 49);
}

proptest! {
    #[test]
    fn any_text_has_managers_for_each_of_its_lines(text in "([ \\-:a\"'|é{}]{0,12}\n){0,12}") {
        let object = object();
        let owners = Ownership::of(&object).of_lines(&text, &object);
        prop_assert_eq!(owners.len(), text.lines().count());
    }

    #[test]
    fn path_of_a_serialized_object_names_its_fields(
        keys in proptest::collection::vec("[a-z][-a-z./]{0,8}", 1..5),
    ) {
        // A chain of mappings with one key each.
        let mut object = json!(1);
        for key in keys.iter().rev() {
            object = json!({key.as_str(): object});
        }
        let yaml = serde_saphyr::to_string(&object).unwrap();
        let paths = lines::paths(&yaml);
        let expected: Vec<_> = keys.iter().cloned().map(lines::Segment::Key).collect();
        prop_assert_eq!(paths.last(), Some(&expected));
    }
}
