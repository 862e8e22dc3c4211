//! Pods that a user names directly, or by a workload or Service.

use serde_json::Value;

use super::api::{ClusterApi, JSON};
use super::discovery::Discovery;
use super::objects::{Query, list_pages};
use crate::failure::Failure;

/// Number of pods of a workload from which a command selects a pod.
const MAX_PODS: u32 = 100;
/// The annotation with the container that kubectl selects by default.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// A pod or a workload on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PodTarget {
    /// The name of a pod.
    Pod(String),
    /// An object with a selector of pods, such as a Deployment or a Service.
    Workload {
        /// The kind as the user typed it.
        kind: String,
        /// Name of the object.
        name: String,
    },
}

impl PodTarget {
    /// Parses `POD`, `pod/POD` or `TYPE/NAME`.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        match text.split_once('/') {
            None if !text.is_empty() => Ok(Self::Pod(text.to_owned())),
            Some(("pod" | "pods" | "po", name)) if is_name(name) => Ok(Self::Pod(name.to_owned())),
            Some((kind, name)) if !kind.is_empty() && is_name(name) => Ok(Self::Workload {
                kind: kind.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(Failure::Usage(format!(
                "cannot use {text:?} as a pod; write POD or TYPE/NAME, for example deployment/web"
            ))),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains('/')
}

/// Pods of a target.
#[derive(Clone, Debug)]
pub(crate) struct SelectedPods {
    /// The label or field selector of the pods.
    pub(crate) query: Query,
    /// The workload, if the target is a workload.
    pub(crate) workload: Option<Value>,
}

/// Returns the selectors of the pods of a target.
pub(crate) async fn pods_of(
    api: &ClusterApi,
    namespace: &str,
    target: &PodTarget,
) -> Result<SelectedPods, Failure> {
    let (kind, name) = match target {
        PodTarget::Pod(name) => {
            let fields = Some(format!("metadata.name={name}"));
            let query = Query {
                fields,
                ..Query::default()
            };
            return Ok(SelectedPods {
                query,
                workload: None,
            });
        }
        PodTarget::Workload { kind, name } => (kind, name),
    };
    let discovery = Discovery::of(api).await?;
    let found = discovery.find(kind, "get");
    let Some(resource) = found.first() else {
        return Err(Failure::Absent(format!(
            "the cluster {cluster} has no resource {kind:?}; to see the resources, use completion \
             or kubectl api-resources",
            cluster = api.name()
        )));
    };
    let path = resource.path(Some(namespace), Some(name));
    let workload: Value = api.get(&path, &[], JSON).await?;
    let labels = selector(&workload["spec"]["selector"]).ok_or_else(|| {
        Failure::Other(format!(
            "{kind}/{name} has no selector of pods; write the name of a pod"
        ))
    })?;
    Ok(SelectedPods {
        query: Query {
            labels: Some(labels),
            ..Query::default()
        },
        workload: Some(workload),
    })
}

/// Returns the pod of a target: the named pod, or a running pod of a workload, ready pods first.
/// Also returns the workload.
pub(crate) async fn pod_of(
    api: &ClusterApi,
    namespace: &str,
    target: &PodTarget,
) -> Result<(Value, Option<Value>), Failure> {
    let path = ["api", "v1", "namespaces", namespace, "pods"].map(str::to_owned);
    if let PodTarget::Pod(name) = target {
        let path: Vec<String> = path.into_iter().chain([name.clone()]).collect();
        return Ok((api.get(&path, &[], JSON).await?, None));
    }
    let selected = pods_of(api, namespace, target).await?;
    let query = Query {
        chunk_size: MAX_PODS,
        ..selected.query
    };
    let page = list_pages(api, &path, &query, JSON).next().await?;
    let pods = page.as_ref().and_then(|page| page["items"].as_array());
    let best = pods.into_iter().flatten().max_by_key(|pod| rank(pod));
    match best.filter(|pod| rank(pod) > 0) {
        Some(pod) => Ok((pod.clone(), selected.workload)),
        None => Err(Failure::Absent(format!(
            "no pod of the workload runs in the namespace {namespace}; to see the pods, run: \
             drover get pods --cluster {cluster} -n {namespace}",
            cluster = api.name()
        ))),
    }
}

/// Returns 2 for a ready pod, 1 for a running pod, and 0 for all other pods.
fn rank(pod: &Value) -> u8 {
    if pod["status"]["phase"] != "Running" || !pod["metadata"]["deletionTimestamp"].is_null() {
        return 0;
    }
    let conditions = pod["status"]["conditions"].as_array();
    let is_ready =
        |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    1 + u8::from(conditions.into_iter().flatten().any(is_ready))
}

/// Returns the text of a selector: a map of labels, or `matchLabels` and `matchExpressions`.
fn selector(selector: &Value) -> Option<String> {
    let fields = selector.as_object()?;
    let is_structured =
        fields.contains_key("matchLabels") || fields.contains_key("matchExpressions");
    let labels = if is_structured {
        selector["matchLabels"].as_object()
    } else {
        Some(fields)
    };
    let equal = labels.into_iter().flatten();
    let mut parts: Vec<String> = equal
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
        .collect();
    let expressions = selector["matchExpressions"].as_array();
    for expression in expressions.into_iter().flatten().filter(|_| is_structured) {
        let key = expression["key"].as_str()?;
        let values = expression["values"].as_array();
        let values: Vec<&str> = values
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let values = values.join(",");
        parts.push(match expression["operator"].as_str()? {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        });
    }
    (!parts.is_empty()).then(|| parts.join(","))
}

/// Returns the names of a pod's containers: init containers, containers and ephemeral containers.
pub(crate) fn pod_containers(pod: &Value) -> Vec<String> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let containers = lists
        .into_iter()
        .filter_map(|list| pod["spec"][list].as_array());
    let names = containers
        .flatten()
        .filter_map(|container| container["name"].as_str());
    names.map(str::to_owned).collect()
}

/// Returns the container that commands use by default: the container that the pod's annotation
/// names, or the first container.
pub(crate) fn default_container(pod: &Value) -> Option<String> {
    let annotated = pod["metadata"]["annotations"][DEFAULT_CONTAINER].as_str();
    let first = || pod["spec"]["containers"][0]["name"].as_str();
    let known = pod_containers(pod);
    let annotated = annotated.filter(|name| known.iter().any(|known| known == name));
    annotated.or_else(first).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_of_workloads_and_services_become_text() {
        for (value, text) in [
            (json!({"app": "web"}), Some("app=web")),
            (
                json!({"matchLabels": {"app": "web", "tier": "a"}}),
                Some("app=web,tier=a"),
            ),
            (
                json!({"matchLabels": {"app": "web"}, "matchExpressions": [
                    {"key": "tier", "operator": "In", "values": ["a", "b"]},
                    {"key": "old", "operator": "DoesNotExist"},
                    {"key": "new", "operator": "Exists"},
                    {"key": "zone", "operator": "NotIn", "values": ["z"]}]}),
                Some("app=web,tier in (a,b),!old,new,zone notin (z)"),
            ),
            (json!({}), None),
            (json!({"matchLabels": {}}), None),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "Near"}]}),
                None,
            ),
            (json!(null), None),
        ] {
            assert_eq!(selector(&value).as_deref(), text, "{value}");
        }
    }

    #[test]
    fn targets_are_parsed() {
        let workload = |kind: &str, name: &str| PodTarget::Workload {
            kind: kind.to_owned(),
            name: name.to_owned(),
        };
        for (text, target) in [
            ("web", Some(PodTarget::Pod("web".to_owned()))),
            ("po/web", Some(PodTarget::Pod("web".to_owned()))),
            ("deploy/web", Some(workload("deploy", "web"))),
            ("", None),
            ("deploy/", None),
            ("/web", None),
            ("a/b/c", None),
        ] {
            assert_eq!(PodTarget::parse(text).ok(), target, "{text}");
        }
    }

    #[test]
    fn default_container_is_the_annotated_or_first_container() {
        let mut pod = json!({"metadata": {"annotations": {}}, "spec": {
            "initContainers": [{"name": "init"}],
            "containers": [{"name": "a"}, {"name": "b"}]}});
        assert_eq!(default_container(&pod).as_deref(), Some("a"));
        pod["metadata"]["annotations"][DEFAULT_CONTAINER] = json!("b");
        assert_eq!(default_container(&pod).as_deref(), Some("b"));
        pod["metadata"]["annotations"][DEFAULT_CONTAINER] = json!("missing");
        assert_eq!(default_container(&pod).as_deref(), Some("a"));
        assert_eq!(pod_containers(&pod), ["init", "a", "b"]);
    }

    #[test]
    fn ready_pods_are_preferred_and_ended_pods_are_not_used() {
        let pod = |phase: &str, ready: &str| json!({"status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}});
        assert_eq!(rank(&pod("Running", "True")), 2);
        assert_eq!(rank(&pod("Running", "False")), 1);
        assert_eq!(rank(&pod("Succeeded", "False")), 0);
        let mut deleted = pod("Running", "True");
        deleted["metadata"]["deletionTimestamp"] = json!("2026-11-20T12:00:00Z");
        assert_eq!(rank(&deleted), 0);
    }
}
