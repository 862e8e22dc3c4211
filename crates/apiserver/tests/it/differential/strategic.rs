//! Compares strategic merge patches with the Go libraries.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_apiserver::merge::strategic;
use drover_apiserver::schema::{GoStruct, ListType, Node, PatchStrategy, Shape};
use serde_json::{Map, Value, json};

use super::random::Random;
use super::reference::{Answer, ask};

fn node(shape: Shape) -> Arc<Node> {
    Arc::new(Node {
        shape,
        ..Node::default()
    })
}

fn text() -> Arc<Node> {
    node(Shape::String {
        format: String::new(),
    })
}

fn integer() -> Arc<Node> {
    node(Shape::Integer {
        format: "int64".to_owned(),
    })
}

fn list(items: Arc<Node>, strategy: PatchStrategy) -> Arc<Node> {
    node(Shape::Array {
        items,
        list: ListType::Atomic,
        strategy,
    })
}

fn merged(key: Option<&str>) -> PatchStrategy {
    PatchStrategy::Merge {
        key: key.map(str::to_owned),
        retain_keys: false,
    }
}

fn structure<const N: usize>(name: &str, fields: [(&str, Arc<Node>); N]) -> Arc<Node> {
    Arc::new(Node {
        shape: Shape::Object {
            properties: fields
                .into_iter()
                .map(|(name, node)| (name.to_owned(), node))
                .collect(),
            additional: None,
            required: Vec::new(),
            atomic: false,
        },
        go: Some(Arc::new(GoStruct {
            name: name.to_owned(),
            fields: BTreeMap::new(),
        })),
        ..Node::default()
    })
}

fn labels() -> Arc<Node> {
    node(Shape::Object {
        properties: BTreeMap::new(),
        additional: Some(text()),
        required: Vec::new(),
        atomic: false,
    })
}

/// Returns the schema of the type `Subject` in the Go program. The recursive type `Item` is nested
/// four levels deep, like the generated objects.
fn subject() -> Arc<Node> {
    let part = structure("Part", [("id", integer()), ("text", text())]);
    let mut item = node(Shape::Any);
    for _ in 0..4 {
        item = structure(
            "Item",
            [
                ("name", text()),
                ("size", integer()),
                ("text", text()),
                ("labels", labels()),
                ("words", list(text(), merged(None))),
                ("parts", list(Arc::clone(&part), merged(Some("id")))),
                ("deeper", item),
                ("replace", list(Arc::clone(&part), PatchStrategy::Replace)),
            ],
        );
    }
    let choice = structure(
        "Choice",
        [
            ("kind", text()),
            ("a", Arc::clone(&part)),
            ("b", Arc::clone(&part)),
        ],
    );
    structure(
        "Subject",
        [
            ("items", list(Arc::clone(&item), merged(Some("name")))),
            ("words", list(text(), merged(None))),
            ("plain", list(text(), PatchStrategy::Replace)),
            ("labels", labels()),
            ("choice", choice),
            ("inner", item),
            ("text", text()),
            ("size", integer()),
        ],
    )
}

/// The directives that a generated patch may contain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Directives,
    FieldsOnly,
}

fn some(map: &mut Value, key: &str, random: &mut Random, value: impl Fn(&mut Random) -> Value) {
    if random.once_in(2) {
        let null = random.once_in(12);
        map[key] = if null { Value::Null } else { value(random) };
    }
}

fn words(random: &mut Random) -> Value {
    let mut words: Vec<&str> = ["one", "two", "three", "four"]
        .into_iter()
        .filter(|_| random.once_in(2))
        .collect();
    if random.once_in(2) {
        words.reverse();
    }
    json!(words)
}

fn strings(random: &mut Random) -> Value {
    let mut map = Map::new();
    for key in ["x", "y", "z"] {
        if random.once_in(2) {
            map.insert(key.to_owned(), json!(random.below(2).to_string()));
        }
    }
    Value::Object(map)
}

fn part(random: &mut Random, with: With) -> Value {
    let mut part = json!({"id": random.below(3), "text": random.word(&["p", "q"])});
    directive(&mut part, random, with, 6);
    if with == With::Directives && random.once_in(20) {
        part.as_object_mut().unwrap().remove("id");
    }
    part
}

fn directive(map: &mut Value, random: &mut Random, with: With, seldom: usize) {
    if with == With::Directives && random.once_in(seldom) {
        let known = if random.once_in(4) { 4 } else { 2 };
        let words = ["delete", "replace", "merge", "sing"];
        map["$patch"] = json!(random.word(&words[..known]));
    }
}

fn unique_by(items: Vec<Value>, key: &str) -> Value {
    let mut out: Vec<Value> = Vec::new();
    for item in items {
        if !out.iter().any(|other| other[key] == item[key]) {
            out.push(item);
        }
    }
    Value::Array(out)
}

fn parts(random: &mut Random, with: With) -> Value {
    unique_by(
        (0..random.below(3)).map(|_| part(random, with)).collect(),
        "id",
    )
}

fn item(random: &mut Random, levels: usize, with: With) -> Value {
    let mut item = json!({"name": random.word(&["a", "b", "c"])});
    some(&mut item, "size", random, |random| json!(random.below(3)));
    some(&mut item, "labels", random, strings);
    some(&mut item, "words", random, words);
    some(&mut item, "parts", random, |random| parts(random, with));
    some(&mut item, "replace", random, |random| parts(random, with));
    if levels > 0 {
        some(&mut item, "deeper", random, |random| {
            self::item(random, levels - 1, with)
        });
    }
    orders(&mut item, random, with, &[("words", ""), ("parts", "id")]);
    directive(&mut item, random, with, 8);
    item
}

fn orders(map: &mut Value, random: &mut Random, with: With, lists: &[(&str, &str)]) {
    if with == With::FieldsOnly {
        return;
    }
    for (list, key) in lists {
        if random.once_in(4) {
            let order: Value = if key.is_empty() {
                let mut order = words(random);
                if let Some(Value::Array(listed)) = map.get(list) {
                    order = listed.clone().into();
                }
                order
            } else {
                let listed = map.get(list).and_then(Value::as_array).cloned();
                let mut order: Vec<Value> = listed
                    .unwrap_or_default()
                    .iter()
                    .map(|item| json!({*key: item[*key]}))
                    .collect();
                if random.once_in(3) {
                    order.reverse();
                }
                order.into()
            };
            map[format!("$setElementOrder/{list}")] = order;
        }
        if key.is_empty() && random.once_in(4) {
            // Go executes both directives in random order.
            map.as_object_mut().unwrap().remove(*list);
            map.as_object_mut()
                .unwrap()
                .remove(&format!("$setElementOrder/{list}"));
            map[format!("$deleteFromPrimitiveList/{list}")] = words(random);
        }
    }
}

fn whole(random: &mut Random, with: With) -> Value {
    let mut subject = json!({});
    some(&mut subject, "items", random, |random| {
        let items = (0..random.below(4))
            .map(|_| item(random, 1, with))
            .collect();
        unique_by(items, "name")
    });
    some(&mut subject, "words", random, words);
    some(&mut subject, "plain", random, words);
    some(&mut subject, "labels", random, strings);
    some(&mut subject, "choice", random, |random| {
        let mut choice = json!({"kind": random.word(&["A", "B"])});
        some(&mut choice, "a", random, |random| {
            part(random, With::FieldsOnly)
        });
        some(&mut choice, "b", random, |random| {
            part(random, With::FieldsOnly)
        });
        if with == With::Directives && random.once_in(2) {
            let kept: Vec<&str> = ["kind", "a", "b"]
                .into_iter()
                .filter(|_| random.below(4) > 0)
                .collect();
            choice["$retainKeys"] = json!(kept);
        }
        choice
    });
    some(&mut subject, "inner", random, |random| {
        item(random, 2, with)
    });
    some(&mut subject, "text", random, |_| json!("text"));
    some(&mut subject, "size", random, |random| {
        json!(random.below(3))
    });
    if with == With::Directives && random.once_in(25) {
        subject["unknown"] = json!({"a": 1});
    }
    orders(
        &mut subject,
        random,
        with,
        &[("words", ""), ("items", "name")],
    );
    subject
}

/// Removes nulls from an object, because stored objects contain none.
fn stored(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|_, item| !item.is_null());
    }
    match value {
        Value::Object(map) => map
            .into_iter()
            .map(|(key, item)| (key, stored(item)))
            .collect(),
        Value::Array(items) => items.into_iter().map(stored).collect(),
        other => other,
    }
}

#[test]
fn strategic_merge_patch_results_match_the_go_implementation() {
    let schema = subject();
    let mut random = Random::new(29);
    let cases: Vec<Value> = (0..6_000)
        .map(|_| {
            let live = stored(whole(&mut random, With::FieldsOnly));
            let patch = whole(&mut random, With::Directives);
            json!({"ask": "strategic", "live": live, "patch": patch})
        })
        .collect();
    let (mut applied, mut others) = (0, Vec::new());
    for (case, answer) in cases.iter().zip(ask(&cases)) {
        match (strategic(&case["live"], &case["patch"], &schema), answer) {
            (Ok(ours), Answer::Result(theirs)) => {
                applied += 1;
                assert_eq!(ours, theirs, "{case}");
            }
            (Err(ours), Answer::Error(theirs)) => others.push((case, ours.to_string(), theirs)),
            (ours, theirs) => panic!("{case}\nours {ours:?}\ntheirs {theirs:?}"),
        }
    }
    assert!(
        applied > 2_000 && others.len() > 500,
        "{applied} {}",
        others.len()
    );
    check_reference_errors(&others);
}

/// Number of repeated runs of the Go program per case.
const TIMES: usize = 40;

/// Checks that each error of the crate is among the errors of repeated Go runs. If there are
/// several errors, Go reports a random one of them.
fn check_reference_errors(refused: &[(&Value, String, String)]) {
    let doubtful: Vec<_> = refused
        .iter()
        .filter(|(_, ours, theirs)| ours != theirs)
        .collect();
    let again: Vec<Value> = doubtful
        .iter()
        .flat_map(|(case, ..)| std::iter::repeat_n((*case).clone(), TIMES))
        .collect();
    for ((case, ours, theirs), answers) in doubtful.iter().zip(ask(&again).chunks(TIMES)) {
        let ours = Answer::Error(ours.clone());
        assert!(
            answers.contains(&ours),
            "{case}\nours {ours:?}\ntheirs {theirs}"
        );
    }
}
