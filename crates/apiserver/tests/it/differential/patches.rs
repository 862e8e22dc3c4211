//! Compares JSON patches and merge patches with the Go libraries.

use drover_apiserver::merge::{PatchError, json_patch, merge_patch, unknown_operation_fields};
use serde_json::{Map, Value, json};

use super::random::Random;
use super::reference::{Answer, ask};
use super::schemas::loose;

fn document(random: &mut Random, levels: usize) -> Value {
    let mut map = Map::new();
    for key in ["a", "b", "c", "d/e", "f~g"] {
        if random.once_in(2) {
            let value = match random.below(5) {
                0 => Value::Null,
                1 if levels > 0 => document(random, levels - 1),
                2 => (0..random.below(4)).map(|_| loose(random, 1)).collect(),
                _ => loose(random, 1),
            };
            map.insert(key.to_owned(), value);
        }
    }
    Value::Object(map)
}

fn pointer(random: &mut Random) -> String {
    let likely = ["a", "b", "c", "d~1e", "f~0g", "0"];
    let unlikely = ["1", "-1", "-", "5", "x", "", "+1", "01"];
    let mut pointer = String::new();
    for _ in 0..*random.pick(&[0, 1, 1, 1, 1, 2, 2, 3]) {
        let segments = if random.once_in(3) {
            &unlikely[..]
        } else {
            &likely[..]
        };
        pointer.push('/');
        pointer.push_str(random.word(segments));
    }
    pointer
}

fn operations(random: &mut Random) -> Value {
    (0..=random.below(2))
        .map(|_| {
            let names = ["add", "remove", "replace", "move", "copy", "test", "sing"];
            let mut operation = json!({"op": random.word(&names), "path": pointer(random)});
            if !random.once_in(8) {
                operation["value"] = document(random, 1)["a"].take();
            }
            if !random.once_in(8) {
                operation["from"] = pointer(random).into();
            }
            operation
        })
        .collect()
}

#[test]
fn json_patch_results_match_the_go_implementation() {
    let mut random = Random::new(19);
    let cases: Vec<Value> = (0..6_000)
        .map(|_| {
            let live = document(&mut random, 2);
            json!({"ask": "json-patch", "live": live, "patch": operations(&mut random)})
        })
        .collect();
    let (mut applied, mut refused) = (0, 0);
    for (case, answer) in cases.iter().zip(ask(&cases)) {
        match (json_patch(&case["live"], &case["patch"]), answer) {
            (Ok(ours), Answer::Result(theirs)) => {
                applied += 1;
                assert_eq!(ours, theirs, "{case}");
            }
            // Clients do not receive the invalid index.
            (Err(PatchError::Unprocessable(_)), Answer::Error(_)) => refused += 1,
            // Go detects later that a list is not an object.
            (Err(PatchError::Unprocessable(why)), Answer::Result(theirs)) => {
                assert!(!theirs.is_object(), "{case}: {why}");
            }
            // Go panics when it tests a list that contains null.
            (Ok(_), Answer::Error(why)) if why.starts_with("panic: ") => {}
            (ours, theirs) => panic!("{case}\nours {ours:?}\ntheirs {theirs:?}"),
        }
    }
    assert!(applied > 500 && refused > 1_000, "{applied} {refused}");
}

#[test]
fn merge_patch_results_match_the_go_implementation() {
    let mut random = Random::new(23);
    let cases: Vec<Value> = (0..3_000)
        .map(|_| {
            let (live, patch) = (document(&mut random, 2), document(&mut random, 2));
            json!({"ask": "merge-patch", "live": live, "patch": patch})
        })
        .collect();
    for (case, answer) in cases.iter().zip(ask(&cases)) {
        let ours = merge_patch(&case["live"], &case["patch"]).unwrap();
        assert_eq!(Answer::Result(ours), answer, "{case}");
    }
}

#[test]
fn unknown_json_patch_fields_are_reported_as_in_the_go_implementation() {
    let mut random = Random::new(31);
    let cases: Vec<Value> = (0..500)
        .map(|_| {
            let mut patch = operations(&mut random);
            for operation in patch.as_array_mut().unwrap() {
                if random.once_in(2) {
                    operation[random.word(&["Op", "val", "a.b", "\"x\""])] = json!(1);
                }
            }
            json!({"ask": "operations", "live": {}, "patch": patch})
        })
        .collect();
    for (case, answer) in cases.iter().zip(ask(&cases)) {
        let ours = json!(unknown_operation_fields(&case["patch"]));
        assert_eq!(Answer::Result(ours), answer, "{case}");
    }
}
