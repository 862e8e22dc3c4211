//! Compares field owners with the Go libraries, after sequences of applies and updates by several
//! managers on one object.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_apiserver::merge::{ApplyOptions, MergeKind, Path, Set, UpdateOptions, apply, update};
use drover_apiserver::resource::Origin;
use drover_apiserver::schema::Node;
use drover_apiserver::status::ApiError;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::random::Random;
use super::reference::{Answer, ask};
use super::schemas::{Relation, Schema};

/// Number of generated sequences, each for one object.
const SEQUENCES: u64 = 2_000;

const MANAGERS: [&str; 4] = ["kubectl", "controller", "helm", ""];

/// A generated sequence of requests, and the results of this crate.
struct Sequence {
    case: Value,
    ours: Vec<Outcome>,
}

/// The object after a step, or the errors. The order of errors varies in Go.
#[derive(Debug, Clone, PartialEq)]
enum Outcome {
    Object(Value),
    Refused {
        message: String,
        causes: Vec<String>,
    },
}

pub(super) fn root(spec: &Schema, status: &Schema) -> Schema {
    let text = |name: &str| (name.to_owned(), Schema::Text);
    let metadata = vec![
        text("name"),
        text("namespace"),
        text("uid"),
        (
            "labels".to_owned(),
            Schema::Map(Box::new(Schema::Text), Relation::Granular),
        ),
        (
            "annotations".to_owned(),
            Schema::Map(Box::new(Schema::Text), Relation::Granular),
        ),
        ("finalizers".to_owned(), Schema::Set(Box::new(Schema::Text))),
        (
            "managedFields".to_owned(),
            Schema::List(Box::new(Schema::Open)),
        ),
    ];
    Schema::Object(
        vec![
            text("apiVersion"),
            text("kind"),
            (
                "metadata".to_owned(),
                Schema::Object(metadata, Relation::Granular),
            ),
            ("spec".to_owned(), spec.clone()),
            ("status".to_owned(), status.clone()),
        ],
        Relation::Granular,
    )
}

fn object(schema: &Schema, random: &mut Random, version: &str, faults: usize) -> Value {
    let Schema::Object(fields, _) = schema else {
        unreachable!("the root schema is an object")
    };
    let mut object = json!({
        "apiVersion": format!("example.io/{version}"),
        "kind": "Thing",
        "metadata": {"name": "thing", "namespace": "default"},
    });
    for (name, field) in fields {
        if (name == "spec" || name == "status") && !random.once_in(4) {
            object[name] = field.value(random, faults);
        }
        if name == "metadata"
            && let Schema::Object(metadata, _) = field
        {
            for (name, field) in metadata {
                if ["labels", "annotations", "finalizers"].contains(&name.as_str())
                    && random.once_in(3)
                {
                    object["metadata"][name] = field.value(random, 0);
                }
            }
        }
    }
    object
}

impl Sequence {
    fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let spec = Schema::random(&mut random, 3);
        let status = Schema::random(&mut random, 2);
        let first = root(&spec, &status);
        let second = match random.below(3) {
            0 => root(&spec.flipped(&mut random), &status.flipped(&mut random)),
            _ => first.clone(),
        };
        let resets: &[&str] = if random.once_in(2) { &[] } else { &["status"] };
        let mut kinds: BTreeMap<&str, MergeKind> = BTreeMap::new();
        let versions: BTreeMap<String, Arc<Node>> = [("v1", &first), ("v2", &second)]
            .into_iter()
            .map(|(version, schema)| (format!("example.io/{version}"), Arc::new(schema.node())))
            .collect();
        for version in ["v1", "v2"] {
            let api_version = format!("example.io/{version}");
            let kind = MergeKind {
                schema: Arc::clone(&versions[&api_version]),
                api_version,
                kind: "Thing".to_owned(),
                origin: Origin::Custom,
                reset: Set::of(resets.iter().map(|field| Path::fields(&[field]))),
                versions: versions.clone(),
                subresource: String::new(),
            };
            kinds.insert(version, kind);
        }
        let mut life = Self {
            case: json!({
                "ask": "owners", "group": "example.io", "kind": "Thing", "reset": resets,
                "schemas": {"v1": first.openapi(), "v2": second.openapi()}, "steps": [],
            }),
            ours: Vec::new(),
        };
        life.run(&mut random, &kinds, &[("v1", &first), ("v2", &second)]);
        life
    }

    fn run(
        &mut self,
        random: &mut Random,
        kinds: &BTreeMap<&str, MergeKind>,
        schemas: &[(&str, &Schema)],
    ) {
        let mut live: Option<Value> = None;
        let faults = *random.pick(&[0, 0, 30]);
        for _ in 0..3 + random.below(5) {
            let (version, schema) = *random.pick(&[schemas[0], schemas[0], schemas[1]]);
            let mut kind = kinds[version].clone();
            if random.once_in(6) {
                kind.subresource = "status".to_owned();
            }
            let manager = *random.pick(&MANAGERS);
            let force = random.once_in(3);
            let sent = match random.below(5) {
                0 | 1 => {
                    let sent = changed(live.as_ref(), schema, random, version, faults);
                    self.step("update", version, manager, &kind, force, &sent);
                    let mut new = sent;
                    let before = live.as_ref().map(|live| at_version(live, &kind));
                    let options = UpdateOptions {
                        manager,
                        now: Timestamp::UNIX_EPOCH,
                    };
                    update(before.as_ref(), &mut new, &kind, options);
                    Ok(new)
                }
                _ => {
                    let sent = applied(random, live.as_ref(), schema, version, faults);
                    self.step("apply", version, manager, &kind, force, &sent);
                    let before = live.as_ref().map(|live| at_version(live, &kind));
                    let options = ApplyOptions {
                        manager,
                        force,
                        now: Timestamp::UNIX_EPOCH,
                    };
                    apply(before.as_ref(), &sent, &kind, options)
                }
            };
            self.ours.push(match sent {
                Ok(mut object) => {
                    if object["metadata"]["uid"].as_str().is_none_or(str::is_empty) {
                        object["metadata"]["uid"] = "1".into();
                    }
                    live = Some(object.clone());
                    Outcome::Object(comparable(object))
                }
                Err(error) => Outcome::of_error(&ApiError::from(error)),
            });
        }
    }

    fn step(
        &mut self,
        how: &str,
        version: &str,
        manager: &str,
        kind: &MergeKind,
        force: bool,
        object: &Value,
    ) {
        let steps = self.case["steps"].as_array_mut().unwrap();
        steps.push(json!({
            "how": how, "version": version, "manager": manager, "force": force,
            "subresource": kind.subresource, "object": object,
        }));
    }
}

fn at_version(live: &Value, kind: &MergeKind) -> Value {
    let mut live = live.clone();
    live["apiVersion"] = kind.api_version.as_str().into();
    live
}

/// Generates an applied configuration, sometimes with the annotation of client-side apply.
fn applied(
    random: &mut Random,
    live: Option<&Value>,
    schema: &Schema,
    version: &str,
    faults: usize,
) -> Value {
    let mut sent = object(schema, random, version, faults);
    // Equal values do not conflict.
    if let Some(live) = live
        && random.once_in(3)
    {
        for field in ["spec", "status"] {
            if random.once_in(2) && live.get(field).is_some() {
                sent[field] = live[field].clone();
            }
        }
    }
    sent
}

/// Generates the object of an update: a changed copy of the live object, or an unrelated object.
fn changed(
    live: Option<&Value>,
    schema: &Schema,
    random: &mut Random,
    version: &str,
    faults: usize,
) -> Value {
    let mut new = object(schema, random, version, faults);
    if let Some(live) = live {
        new["metadata"]["uid"] = live["metadata"]["uid"].clone();
        match random.below(6) {
            0 => {}
            1 => new["metadata"]["managedFields"] = json!([]),
            2 => new["metadata"]["managedFields"] = json!([{}]),
            3 => new["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Sing"}]),
            _ => {
                if let Some(fields) = live["metadata"].get("managedFields") {
                    new["metadata"]["managedFields"] = fields.clone();
                }
            }
        }
        for field in ["spec", "status"] {
            if random.once_in(2) && live.get(field).is_some() {
                new[field] = live[field].clone();
            }
        }
        if random.once_in(4) {
            let mut last = object(schema, random, version, 0);
            if let Some(spec) = live.get("spec") {
                last["spec"] = spec.clone();
            }
            let name = "kubectl.kubernetes.io/last-applied-configuration";
            new["metadata"]["annotations"] = json!({name: last.to_string()});
        }
    }
    new
}

impl Outcome {
    fn of_error(error: &ApiError) -> Self {
        let causes = error.details.iter().flat_map(|details| &details.causes);
        let mut causes: Vec<String> = causes
            .map(|cause| format!("{} {} {}", cause.reason, cause.field, cause.message))
            .collect();
        causes.sort();
        Self::Refused {
            message: settled(&error.message),
            causes,
        }
    }

    fn of_answer(answer: &Value) -> Self {
        let Some(message) = answer["error"].as_str() else {
            return Self::Object(comparable(answer["object"].clone()));
        };
        let mut causes: Vec<String> = answer["causes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|cause| cause.as_str().unwrap().to_owned())
            .collect();
        causes.sort();
        Self::Refused {
            message: settled(message),
            causes,
        }
    }
}

/// Removes variable parts of an error message. Go reports the errors of an object in random order,
/// and sometimes only some of the errors.
fn settled(message: &str) -> String {
    for start in [
        "failed to create typed patch object",
        "failed to create typed live object",
        "failed to create manager for existing fields",
        "failed to prune fields",
        "failed to convert new object",
    ] {
        if message.starts_with(start) {
            return start.to_owned();
        }
    }
    // For errors in another version, only the error itself is comparable.
    if message.starts_with('.') || message.starts_with("errors:") {
        return "a fault".to_owned();
    }
    message.to_owned()
}

/// Removes the times of the field owners from the object, and sorts the field owners.
pub(super) fn comparable(mut object: Value) -> Value {
    if let Some(Value::Array(entries)) = object["metadata"].get_mut("managedFields") {
        for entry in entries.iter_mut() {
            entry.as_object_mut().unwrap().remove("time");
        }
        entries.sort_by_key(Value::to_string);
    }
    object
}

#[test]
fn computed_field_owners_match_the_go_implementation() {
    let mut lives: Vec<Sequence> = (0..SEQUENCES).map(Sequence::random).collect();
    let cases: Vec<Value> = lives.iter_mut().map(|life| life.case.take()).collect();
    let theirs = ask(&cases);
    let (mut objects, mut conflicts, mut refused) = (0, 0, 0);
    for ((seed, life), (case, answer)) in lives.iter().enumerate().zip(cases.iter().zip(theirs)) {
        let Answer::Result(Value::Array(theirs)) = answer else {
            panic!("the Go program failed in case {seed}: {answer:?}\n{case}");
        };
        for (index, (ours, theirs)) in life.ours.iter().zip(&theirs).enumerate() {
            let theirs = Outcome::of_answer(theirs);
            match &theirs {
                Outcome::Object(_) => objects += 1,
                Outcome::Refused { causes, .. } if causes.is_empty() => refused += 1,
                Outcome::Refused { .. } => conflicts += 1,
            }
            assert_eq!(
                *ours, theirs,
                "case {seed}, step {index} (ours left, theirs permission):\n{case}"
            );
        }
    }
    // The cases are useful only if all of these outcomes occur.
    assert!(objects > 5_000, "{objects}");
    assert!(conflicts > 500, "{conflicts}");
    assert!(refused > 50, "{refused}");
}
