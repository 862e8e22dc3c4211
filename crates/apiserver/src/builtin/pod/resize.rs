//! Validation of in-place pod resize (`ValidatePodResize`).

use serde_json::Value;

use super::{quality, validation};
use crate::json::put;
use crate::json::{field, list, object, text};
use crate::schema::Path;
use crate::schema::findings::Findings;

const LISTS: [&str; 2] = ["containers", "initContainers"];
const ONLY: &str = "only cpu and memory resources are mutable";

/// Validates the resize of a pod.
pub(crate) fn validate(new: &Value, old: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let (spec, before) = (field(new, "spec"), field(old, "spec"));
    validation::spec(spec, &[], &at, found);
    if quality(new) != text(field(old, "status"), "qosClass") {
        let class = field(field(new, "status"), "qosClass").clone();
        let message = "Pod QOS Class may not change as a result of resizing";
        found.invalid(&at, class, message);
    }
    if !is_supported(old) {
        let message = "Pod running on node without support for resize";
        found.forbidden(&at, message);
    }
    let count = found.0.len();
    same_containers(spec, before, &at, found);
    if found.0.len() > count {
        return;
    }
    for name in LISTS {
        let under = at.child(name);
        let pairs = list(spec, name).iter().zip(list(before, name));
        for (index, (container, former)) in pairs.enumerate() {
            let at = under.index(index);
            removed(container, former, &at.child("resources"), found);
        }
    }
    if found.0.is_empty() && without_sizes(spec) != without_sizes(before) {
        found.forbidden(&at, ONLY);
    }
}

/// Reports whether the node supports resize: the status of all running containers has resources.
fn is_supported(pod: &Value) -> bool {
    list(field(pod, "status"), "containerStatuses")
        .iter()
        .find(|status| !field(field(status, "state"), "running").is_null())
        .is_none_or(|status| !field(status, "resources").is_null())
}

fn same_containers(spec: &Value, before: &Value, at: &Path<'_>, found: &mut Findings) {
    for name in LISTS {
        let under = at.child(name);
        let (now, former) = (list(spec, name), list(before, name));
        if now.len() != former.len() {
            let message = format!("{name} may not be added or removed on resize");
            found.forbidden(&under, message);
            continue;
        }
        for (index, (container, former)) in now.iter().zip(former).enumerate() {
            if text(container, "name") != text(former, "name") {
                let message = format!("{name} may not be renamed or reordered on resize");
                found.forbidden(&under.index(index).child("name"), message);
            }
        }
    }
}

fn removed(container: &Value, former: &Value, at: &Path<'_>, found: &mut Findings) {
    for (name, case) in [("requests", "requests"), ("limits", "limits")] {
        let now = object(field(container, "resources"), name);
        let before = object(field(former, "resources"), name);
        let gone = before
            .into_iter()
            .flatten()
            .any(|(key, _)| now.is_none_or(|now| !now.contains_key(key)));
        if gone {
            let message = format!("resource {case} cannot be removed");
            found.forbidden(&at.child(name), message);
        }
    }
}

/// Returns the spec without the fields that a resize can change.
fn without_sizes(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for name in LISTS {
        for container in crate::json::items(&mut spec, name) {
            put(container, "resizePolicy", None);
            let Some(resources) = container.get_mut("resources") else {
                continue;
            };
            for name in ["requests", "limits"] {
                let Some(Value::Object(amounts)) = resources.get_mut(name) else {
                    continue;
                };
                amounts.retain(|key, _| key != "cpu" && key != "memory");
                if amounts.is_empty() {
                    put(resources, name, None);
                }
            }
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{fill, only_resources, prepare_create};
    use super::*;

    fn pod(resources: &Value) -> Value {
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [
            {"name": "c", "image": "i", "resources": resources}]}});
        fill(&mut pod);
        prepare_create(&mut pod);
        pod
    }

    fn faults(new: &Value, old: &Value) -> Vec<String> {
        let mut found = Findings::default();
        validate(new, old, &mut found);
        found.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn pod_resize_changes_container_resources_only() {
        let old = pod(&json!({"requests": {"cpu": "1"}}));
        let mut new = old.clone();
        new["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2".into();
        new["spec"]["containers"][0]["image"] = "other".into();
        new["metadata"]["labels"] = json!({"a": "b"});
        only_resources(&mut new, &old);
        assert_eq!(new["spec"]["containers"][0]["image"], "i");
        assert_eq!(new["metadata"].get("labels"), None);
        assert_eq!(
            new["spec"]["containers"][0]["resources"]["requests"]["cpu"],
            "2"
        );
        assert_eq!(faults(&new, &old), Vec::<String>::new());
    }

    #[test]
    fn resize_cannot_change_qos_class_resource_names_or_containers() {
        let old = pod(&json!({"requests": {"cpu": "1"}}));
        let best_effort = pod(&json!({}));
        let mut new = best_effort;
        only_resources(&mut new, &old);
        let found = faults(&new, &old);
        assert!(
            found[0].contains("Pod QOS Class may not change"),
            "{found:?}"
        );
        assert!(found[1].contains("requests cannot be removed"), "{found:?}");
        let mut renamed = old.clone();
        renamed["spec"]["containers"][0]["name"] = "d".into();
        only_resources(&mut renamed, &old);
        let found = faults(&renamed, &old);
        assert!(found[0].contains("may not be renamed"), "{found:?}");
        let mut disk = old.clone();
        disk["spec"]["containers"][0]["resources"]["requests"]["ephemeral-storage"] = "1".into();
        only_resources(&mut disk, &old);
        assert_eq!(faults(&disk, &old), [format!("spec: Forbidden: {ONLY}")]);
    }
}
