//! The rules of `diff.comparePatches`.

use drover_api::fleet::ComparePatch;
use regex::Regex;
use serde_json::Value;

use crate::object::{Object, ObjectKey, group};

/// Maximum length of a pattern for names.
const MAX_PATTERN: usize = 256;

/// Rules for the comparison of objects.
#[derive(Debug, Default)]
pub struct Rules<'a> {
    patches: Vec<(&'a ComparePatch, Option<Regex>)>,
    scaled: Vec<ObjectKey>,
}

impl<'a> Rules<'a> {
    /// Creates rules. `live` are the objects of the deployment in the cluster.
    pub fn new(patches: &'a [ComparePatch], live: &[Object]) -> Self {
        let compile = |patch: &ComparePatch| {
            let is_valid = !patch.name.is_empty() && patch.name.len() <= MAX_PATTERN;
            is_valid.then(|| Regex::new(&patch.name).ok()).flatten()
        };
        Self {
            patches: patches
                .iter()
                .map(|patch| (patch, compile(patch)))
                .collect(),
            scaled: live.iter().filter_map(scaled_object).collect(),
        }
    }

    /// Returns true if the comparison ignores the object completely.
    pub fn ignores(&self, key: &ObjectKey) -> bool {
        self.patches.iter().any(|(patch, pattern)| {
            patch
                .operations
                .iter()
                .any(|operation| operation.op == "ignore")
                && patch.api_version == key.api_version
                && patch.kind == key.kind
                && patch.namespace == key.namespace
                && (patch.name.is_empty()
                    || patch.name == key.name
                    || pattern
                        .as_ref()
                        .is_some_and(|pattern| pattern.is_match(&key.name)))
        })
    }

    /// Returns true if a HorizontalPodAutoscaler of the deployment sets the number of replicas.
    pub(super) fn ignores_replicas(&self, object: &Object) -> bool {
        self.scaled
            .iter()
            .any(|scaled| scaled.kind == object.kind() && scaled.name == object.name())
    }

    /// Removes the fields that do not count.
    pub(super) fn normalize(&self, object: &mut Object) {
        let key = object.key();
        for (patch, _) in self
            .patches
            .iter()
            .filter(|(patch, _)| concerns(patch, &key))
        {
            for pointer in &patch.json_pointers {
                remove(&mut object.0, pointer);
            }
            for operation in patch
                .operations
                .iter()
                .filter(|operation| operation.op == "remove")
            {
                remove(&mut object.0, &operation.path);
            }
        }
    }
}

/// Returns true if the rule is for the object. Empty fields of the rule match each object.
fn concerns(patch: &ComparePatch, key: &ObjectKey) -> bool {
    let matches = |rule: &str, value: &str| rule.is_empty() || rule == value;
    let rule_group = group(&patch.api_version);
    // `normalize` has removed the version and the namespace of the object.
    (key.api_version.is_empty() || rule_group == group(&key.api_version))
        && matches(&patch.kind, &key.kind)
        && matches(&patch.name, &key.name)
        && (key.namespace.is_empty() || matches(&patch.namespace, &key.namespace))
}

/// Removes the field of a JSON pointer (RFC 6901). `-` removes the last element of a list.
fn remove(object: &mut Value, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return;
    };
    let name = last.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(&name);
        }
        Some(Value::Array(elements)) => match name.parse::<usize>() {
            Ok(index) if index < elements.len() => {
                elements.remove(index);
            }
            _ if name == "-" => {
                elements.pop();
            }
            _ => {}
        },
        _ => {}
    }
}

fn scaled_object(object: &Object) -> Option<ObjectKey> {
    if object.kind() != "HorizontalPodAutoscaler" || group(object.api_version()) != "autoscaling" {
        return None;
    }
    let target = object.0.pointer("/spec/scaleTargetRef")?;
    let text = |field: &str| {
        target
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    Some(ObjectKey {
        api_version: text("apiVersion"),
        kind: text("kind"),
        namespace: object.namespace().to_owned(),
        name: text("name"),
    })
}
