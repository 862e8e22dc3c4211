//! Compares the parsing and matching of label and field selectors with the Go libraries.

use std::borrow::Cow;

use drover_apiserver::select::{FieldSelector, LabelSelector};
use serde_json::{Map, Value, json};

use super::random::Random;
use super::reference::{Answer, ask};

const LABELS: [&str; 9] = [
    "a",
    "b",
    "in",
    "notin",
    "app.io/name",
    "Bad/",
    "x/y/z",
    "-q",
    "a_b",
];
const VALUES: [&str; 9] = ["1", "2", "x", "", "in", "10", "-5", "_", "long-value.ok"];
const SIGNS: [&str; 14] = [
    "=", "==", "!=", "!", "in", "notin", "(", ")", ",", " ", ">", "<", "=!", "\t",
];

fn label_text(random: &mut Random) -> String {
    let mut text = String::new();
    if random.once_in(3) {
        // The selector consists of random tokens.
        for _ in 0..random.below(9) {
            text.push_str(match random.below(3) {
                0 => random.word(&LABELS),
                1 => random.word(&VALUES),
                _ => random.word(&SIGNS),
            });
        }
        return text;
    }
    for index in 0..=random.below(3) {
        if index > 0 {
            text.push_str(random.word(&[",", ", ", " ,"]));
        }
        let known = if random.once_in(5) { 9 } else { 5 };
        let key = random.word(&LABELS[..known]);
        let value = random.word(&VALUES);
        let other = random.word(&VALUES);
        let term = match random.below(8) {
            0 => key.to_owned(),
            1 => format!("!{key}"),
            2 => format!("{key}={value}"),
            3 => format!("{key} == {value}"),
            4 => format!("{key}!={value}"),
            5 => format!("{key} in ({value},{other})"),
            6 => format!("{key} notin ( {value} , {other})"),
            _ => format!("{key}{}{value}", random.word(&[">", "<"])),
        };
        text.push_str(&term);
    }
    text
}

fn label_sets(random: &mut Random) -> Value {
    (0..4)
        .map(|_| {
            (0..random.below(4))
                .map(|_| {
                    let key = random.word(&LABELS[..5]).to_owned();
                    (key, json!(random.word(&VALUES)))
                })
                .collect::<Map<String, Value>>()
        })
        .map(Value::Object)
        .collect()
}

fn label_object(random: &mut Random) -> Value {
    let mut selector = json!({});
    if random.once_in(20) {
        return Value::Null;
    }
    let key = |random: &mut Random| {
        let known = if random.once_in(8) { 9 } else { 5 };
        random.word(&LABELS[..known])
    };
    // The object has one label only, because Go reports errors of several labels in random order.
    if random.once_in(2) {
        selector["matchLabels"] = json!({key(random): random.word(&VALUES)});
    }
    let expressions: Vec<Value> = (0..random.below(3))
        .map(|_| {
            let operator = random.word(&["In", "NotIn", "Exists", "DoesNotExist", "Near"]);
            let count = random.below(3);
            let values: Vec<&str> = (0..count).map(|_| random.word(&VALUES)).collect();
            json!({"key": key(random), "operator": operator, "values": values})
        })
        .collect();
    if !expressions.is_empty() {
        selector["matchExpressions"] = expressions.into();
    }
    selector
}

fn ours_of_labels(selector: &LabelSelector, case: &Value) -> Value {
    let sets = case["sets"].as_array().unwrap().iter();
    let matches: Vec<bool> = sets
        .map(|set| selector.matches(set.as_object().unwrap()))
        .collect();
    json!({"text": selector.to_string(), "matches": matches})
}

#[test]
fn label_selector_results_match_the_go_implementation() {
    let mut random = Random::new(11);
    let cases: Vec<Value> = (0..4_000)
        .map(|_| {
            let selector = label_text(&mut random);
            json!({"ask": "labels", "selector": selector, "sets": label_sets(&mut random)})
        })
        .collect();
    let (mut read, mut refused) = (0, 0);
    for (case, answer) in cases.iter().zip(ask(&cases)) {
        match case["selector"].as_str().unwrap().parse::<LabelSelector>() {
            Ok(selector) => {
                read += 1;
                assert_eq!(
                    Answer::Result(ours_of_labels(&selector, case)),
                    answer,
                    "{case}"
                );
                let again: LabelSelector = selector.to_string().parse().unwrap();
                assert_eq!(again, selector, "{case}");
            }
            Err(error) => {
                refused += 1;
                assert_eq!(Answer::Error(error.to_string()), answer, "{case}");
            }
        }
    }
    assert!(read > 1_000 && refused > 1_000, "{read} {refused}");
}

#[test]
fn structured_label_selector_results_match_the_go_implementation() {
    let mut random = Random::new(13);
    let cases: Vec<Value> = (0..3_000)
        .map(|_| {
            let selector = label_object(&mut random);
            json!({"ask": "labels-object", "object": selector, "sets": label_sets(&mut random)})
        })
        .collect();
    let (mut read, mut refused) = (0, 0);
    for (case, answer) in cases.iter().zip(ask(&cases)) {
        match LabelSelector::from_object(&case["object"]) {
            Ok(selector) => {
                read += 1;
                assert_eq!(
                    Answer::Result(ours_of_labels(&selector, case)),
                    answer,
                    "{case}"
                );
            }
            Err(error) => {
                refused += 1;
                assert_eq!(Answer::Error(error.to_string()), answer, "{case}");
            }
        }
    }
    assert!(read > 1_000 && refused > 500, "{read} {refused}");
}

#[test]
fn field_selector_results_match_the_go_implementation() {
    let mut random = Random::new(17);
    let fields = ["metadata.name", "spec.nodeName", "", "a"];
    let values = [
        "x", "", "a\\,b", "c\\=d", "e\\\\f", "bad\\x", "\\", "1=2", "ü",
    ];
    let cases: Vec<Value> = (0..2_000)
        .map(|_| {
            let mut selector = String::new();
            for index in 0..random.below(4) {
                if index > 0 {
                    selector.push(',');
                }
                selector.push_str(random.word(&fields));
                selector.push_str(random.word(&["=", "==", "!=", "=!", ""]));
                selector.push_str(random.word(&values));
            }
            let sets: Vec<Value> = (0..4)
                .map(|_| json!({random.word(&fields): random.word(&["x", "", "a,b", "c=d", "e\\f"])}))
                .collect();
            json!({"ask": "field-selector", "selector": selector, "sets": sets})
        })
        .collect();
    let (mut read, mut refused) = (0, 0);
    for (case, answer) in cases.iter().zip(ask(&cases)) {
        match case["selector"].as_str().unwrap().parse::<FieldSelector>() {
            Ok(selector) => {
                read += 1;
                let sets = case["sets"].as_array().unwrap().iter();
                let matches: Vec<bool> = sets
                    .map(|set| selector.matches(|field| set.get(field)?.as_str().map(Cow::from)))
                    .collect();
                let ours = json!({"text": selector.to_string(), "matches": matches});
                assert_eq!(Answer::Result(ours), answer, "{case}");
            }
            Err(error) => {
                refused += 1;
                assert_eq!(Answer::Error(error.to_string()), answer, "{case}");
            }
        }
    }
    assert!(read > 500 && refused > 500, "{read} {refused}");
}
