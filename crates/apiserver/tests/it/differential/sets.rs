//! Compares `FieldsV1` and operations on field sets with the Go libraries.

use drover_apiserver::merge::Set;
use serde_json::{Map, Value, json};

use super::random::Random;
use super::reference::{Answer, ask};

const ELEMENTS: [&str; 16] = [
    "f:spec",
    "f:a",
    "f:a:b",
    "f:",
    "f:<x>&",
    "k:{\"name\":\"a\"}",
    "k:{\"port\":80,\"name\":\"<b>\"}",
    "k:{\"port\":1000000}",
    "v:1",
    "v:2.5",
    "v:\"x\"",
    "v:true",
    "v:null",
    "i:0",
    "i:12",
    "z:unknown",
];

const BROKEN: [&str; 6] = ["x", "fx", "k:{", "v:", "i:one", "k:[1]"];

fn fields(random: &mut Random, levels: usize, broken: bool) -> Value {
    let mut map = Map::new();
    for _ in 0..random.below(4) {
        let key = if broken && random.once_in(8) {
            random.word(&BROKEN)
        } else {
            random.word(&ELEMENTS)
        };
        let inside = if levels == 0 {
            json!({})
        } else {
            fields(random, levels - 1, broken)
        };
        map.insert(key.to_owned(), inside);
    }
    if random.once_in(3) {
        map.insert(".".to_owned(), json!({}));
    }
    Value::Object(map)
}

#[test]
fn field_set_operations_match_the_go_implementation() {
    let mut random = Random::new(7);
    let cases: Vec<Value> = (0..2_000)
        .map(|index| {
            let broken = index % 10 == 0;
            let remaining = fields(&mut random, 3, broken);
            let right = if random.once_in(2) {
                fields(&mut random, 3, false)
            } else {
                remaining.clone()
            };
            json!({"ask": "fields", "left": remaining.to_string(), "right": right.to_string()})
        })
        .collect();
    let mut errors = 0;
    for (case, answer) in cases.iter().zip(ask(&cases)) {
        let read = |field: &str| {
            Set::from_fields(&serde_json::from_str(case[field].as_str().unwrap()).unwrap())
        };
        let (Ok(remaining), Ok(right)) = (read("left"), read("right")) else {
            assert!(matches!(answer, Answer::Error(_)), "{case}");
            errors += 1;
            continue;
        };
        let Answer::Result(theirs) = answer else {
            panic!("{case}: {answer:?}");
        };
        let paths: Vec<String> = remaining.paths().iter().map(ToString::to_string).collect();
        let ours = json!({
            "left": remaining.to_json(),
            "union": remaining.union(&right).to_json(),
            "intersection": remaining.intersection(&right).to_json(),
            "difference": remaining.difference(&right).to_json(),
            "recursiveDifference": remaining.recursive_difference(&right).to_json(),
            "paths": paths.join("\n"),
        });
        assert_eq!(ours, theirs, "{case}");
        assert_eq!(
            Set::from_fields(&remaining.to_fields()).unwrap(),
            remaining,
            "{case}"
        );
    }
    assert!(errors > 20, "{errors}");
}
