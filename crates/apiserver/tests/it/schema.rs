//! Compares built-in kinds with recorded responses of kube-apiserver 1.36.3
//! (`schema/answers.json`). The responses contain no UIDs, random names and addresses. The
//! responses also contain no taints and finalizers that controllers of other programs add.

use drover_apiserver::builtin::{Kinds, catalog};
use drover_apiserver::resource::Scope;
use drover_apiserver::status::ApiError;
use serde_json::Value;

const ANSWERS: &str = include_str!("schema/answers.json");

/// Returns the object as this crate stores it, or the error.
fn ours(case: &Value) -> Result<Value, String> {
    let catalog = catalog(Kinds::Cluster);
    let text = |name: &str| case[name].as_str().unwrap();
    let resource = catalog.find(text("group"), "v1", text("plural")).unwrap();
    let mut object = case["sent"].clone();
    resource.read(&mut object).map_err(|error| {
        let kind = &resource.kind;
        format!("{kind} in version \"v1\" cannot be handled as a {kind}: {error}")
    })?;
    resource.fill(&mut object);
    if resource.scope == Scope::Namespaced {
        object["metadata"]["namespace"] = "default".into();
    }
    object["metadata"]["uid"] = "UID".into();
    resource.prepare_create(&mut object);
    let wrong = resource.validate_create(&object);
    if wrong.is_empty() {
        object["metadata"].as_object_mut().unwrap().remove("uid");
        return Ok(normal(&object));
    }
    let name = object["metadata"]["name"].as_str().unwrap();
    let group = &resource.group_version.group;
    Err(ApiError::invalid(group, &resource.kind, name, &wrong).message)
}

/// Returns the object without generated values.
fn normal(object: &Value) -> Value {
    let text = object.to_string();
    let text = match text.find("kube-api-access-") {
        None => text,
        Some(at) => {
            let name = text[at..at + 21].to_owned();
            text.replace(&name, "kube-api-access-?")
        }
    };
    let mut object: Value = serde_json::from_str(&text).unwrap();
    if object["kind"] == "Service" {
        let spec = object["spec"].as_object_mut().unwrap();
        if spec
            .get("clusterIP")
            .is_some_and(|address| address != "None")
        {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        if let Some(Value::Array(ports)) = spec.get_mut("ports") {
            for port in ports {
                port.as_object_mut().unwrap().remove("nodePort");
            }
        }
    }
    object
}

/// Splits a message into its errors, whose order is random in Go.
fn parts(message: &str) -> Vec<String> {
    let inner = message
        .split_once("is invalid: ")
        .map_or(message, |(_, rest)| rest);
    let inner = inner.trim_start_matches('[').trim_end_matches(']');
    let mut parts: Vec<String> = Vec::new();
    for part in inner.split(", ") {
        // A comma inside of an error does not separate errors.
        let begins = part.split_once(": ").is_some_and(|(path, _)| {
            !path.contains(' ')
                && path
                    .chars()
                    .next()
                    .is_some_and(|c| c.is_alphabetic() || c == '<')
        });
        match parts.last_mut() {
            Some(last) if !begins => {
                last.push_str(", ");
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts.sort();
    parts
}

#[test]
fn built_in_defaults_and_errors_match_kube_apiserver() {
    let cases: Vec<Value> = serde_json::from_str(ANSWERS).unwrap();
    let mut differences = Vec::new();
    for case in &cases {
        let expected_message = case["message"].as_str();
        match (ours(case), expected_message) {
            (Ok(object), None) if object == case["answer"] => {}
            (Err(message), Some(expected_message))
                if parts(&message) == parts(expected_message) => {}
            (ours, _) => differences.push(match ours {
                Ok(object) => format!(
                    "{}\n  ours {object}\n  real {}",
                    case["sent"],
                    expected_message.map_or_else(|| case["answer"].to_string(), str::to_owned)
                ),
                Err(message) => format!(
                    "{}\n  ours {:#?}\n  real {:#?} {}",
                    case["sent"],
                    parts(&message),
                    expected_message.map(parts),
                    case["answer"]
                ),
            }),
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        cases.len(),
        differences.join("\n\n")
    );
}

#[test]
fn crd_errors_match_kube_apiserver() {
    let text = include_str!("schema/definitions.json");
    let cases: Vec<Value> = serde_json::from_str(text).unwrap();
    let catalog = catalog(Kinds::Cluster);
    let resource = catalog
        .find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        .unwrap();
    let mut differences = Vec::new();
    for case in &cases {
        let mut object = case["sent"].clone();
        resource.read(&mut object).unwrap();
        resource.fill(&mut object);
        resource.prepare_create(&mut object);
        let wrong = resource.validate_create(&object);
        let ours: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        let same = match (case["message"].as_str(), case["begins"].as_str()) {
            (Some(message), _) => parts(&ours.join(", ")) == parts(message),
            // Go prints its own structs, which cannot be compared. Only the path is compared.
            (None, Some(path)) => ours
                .first()
                .is_some_and(|expected_message| expected_message.starts_with(path)),
            (None, None) => ours.is_empty(),
        };
        if !same {
            differences.push(format!(
                "{}\n  ours {ours:#?}\n  real {case:#}",
                case["name"]
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        cases.len(),
        differences.join("\n\n")
    );
}
