//! The API `metrics.k8s.io` with simulated usage of nodes and pods.

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::response::Response;
use drover_apiserver::select::LabelSelector;
use drover_apiserver::serve::answer;
use drover_apiserver::serve::negotiate::Format;
use drover_apiserver::serve::request::ResourcePath;
use drover_apiserver::status::ApiError;
use http::{StatusCode, Uri};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Node, Pod};
use kube::ResourceExt as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answers;
use crate::annotations::{USAGE_CPU, USAGE_MEMORY, node_fails};
use crate::decide::amounts::{Unit, units};
use crate::hash::fnv1a;
use crate::world::World;

/// Maximum usage of a container that requests no resources: CPU in millicores and memory in bytes.
const DEFAULT_USAGE: (i64, i64) = (10, 32 << 20);
/// Usage of a node on which no pods run: CPU in millicores and memory in bytes.
const NODE_USAGE: (i64, i64) = (120, 600 << 20);
/// Period in seconds after which the simulated usage repeats.
const PERIOD: i64 = 600;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Options {
    label_selector: String,
}

/// CPU usage in millicores, and memory usage in bytes.
type Usage = (i64, i64);

pub(super) fn nodes(
    answers: &Answers,
    path: &ResourcePath,
    uri: &Uri,
) -> Result<Response, ApiError> {
    let world = answers.world.lock();
    let now = answers.clock.now();
    let used = by_node(&world, now);
    let all = world
        .nodes
        .iter()
        // Unreachable nodes have no metrics, so omit them.
        .filter(|node| !node_fails(node.metadata.annotations.as_ref()))
        .map(|node| of_node(node, &used, now));
    answer("NodeMetrics", path, uri, all.collect())
}

pub(super) fn pods(
    answers: &Answers,
    path: &ResourcePath,
    uri: &Uri,
) -> Result<Response, ApiError> {
    let world = answers.world.lock();
    let now = answers.clock.now();
    let here =
        |pod: &&Pod| path.namespace.is_empty() || pod.namespace().as_ref() == Some(&path.namespace);
    let running = world
        .pods
        .iter()
        .filter(here)
        .filter(|pod| is_running(&world, pod));
    let all = running.map(|pod| of_pod(pod, now)).collect();
    answer("PodMetrics", path, uri, all)
}

fn answer(
    kind: &str,
    path: &ResourcePath,
    uri: &Uri,
    mut all: Vec<Value>,
) -> Result<Response, ApiError> {
    if !path.name.is_empty() {
        let found = all
            .into_iter()
            .find(|one| one["metadata"]["name"] == path.name);
        let one = found
            .ok_or_else(|| ApiError::not_found("metrics.k8s.io", &path.resource, &path.name))?;
        return Ok(answer::value(StatusCode::OK, Format::Json, &one));
    }
    let options = Query::<Options>::try_from_uri(uri)
        .map_err(|error| ApiError::bad_request(format!("cannot parse the query: {error}")))?
        .0;
    let selector: LabelSelector = options
        .label_selector
        .parse()
        .map_err(|error| ApiError::bad_request(format!("{error}")))?;
    all.retain(|one| selector.matches_object(one));
    let list = json!({
        "kind": format!("{kind}List"), "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {},
        "items": all,
    });
    Ok(answer::value(StatusCode::OK, Format::Json, &list))
}

fn is_running(world: &World, pod: &Pod) -> bool {
    let running = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref())
        == Some("Running");
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let node = node.and_then(|name| world.nodes.get("", name));
    running && node.is_some_and(|node| !node_fails(node.metadata.annotations.as_ref()))
}

fn by_node(world: &World, now: Timestamp) -> BTreeMap<&str, Usage> {
    let mut used: BTreeMap<&str, Usage> = BTreeMap::new();
    for pod in world.pods.iter().filter(|pod| is_running(world, pod)) {
        let Some(spec) = &pod.spec else { continue };
        let sum = used
            .entry(spec.node_name.as_deref().unwrap_or_default())
            .or_default();
        for container in &spec.containers {
            let (cpu, memory) = of_container(pod, container, now);
            *sum = (sum.0 + cpu, sum.1 + memory);
        }
    }
    used
}

/// Returns the simulated usage of a container: between 40 % and 80 % of the container's requests.
fn of_container(pod: &Pod, container: &Container, now: Timestamp) -> Usage {
    let requests = container
        .resources
        .as_ref()
        .and_then(|one| one.requests.as_ref());
    let requested_value = |annotation, name, unit| {
        let text = pod.annotations().get(annotation);
        let value = text.and_then(|text| units(text, unit));
        let requested = requests
            .and_then(|all| all.get(name))
            .and_then(|quantity| units(&quantity.0, unit));
        (value, requested)
    };
    let seed = i64::from(fnv1a(&format!(
        "{}/{}",
        pod.uid().unwrap_or_default(),
        container.name
    )));
    let share = share(seed, now.as_second());
    let of = |(value, requested): (Option<i64>, Option<i64>), modest| {
        value.unwrap_or_else(|| requested.unwrap_or(modest).saturating_mul(share) / 1000)
    };
    (
        of(
            requested_value(USAGE_CPU, "cpu", Unit::Milli),
            DEFAULT_USAGE.0,
        )
        .max(1),
        of(
            requested_value(USAGE_MEMORY, "memory", Unit::Whole),
            DEFAULT_USAGE.1,
        ),
    )
}

/// Returns a number from 400 to 800, in thousandths. The number follows a triangle wave over time,
/// and `seed` determines the phase of the wave.
fn share(seed: i64, second: i64) -> i64 {
    let at = (second + seed).rem_euclid(PERIOD);
    let half = PERIOD / 2;
    let height = if at < half { at } else { PERIOD - at };
    400 + 400 * height / half
}

fn written((cpu, memory): Usage) -> Value {
    json!({"cpu": format!("{cpu}m"), "memory": format!("{}Ki", memory / 1024)})
}

fn of_node(node: &Node, used: &BTreeMap<&str, Usage>, now: Timestamp) -> Value {
    let pods = used
        .get(node.name_any().as_str())
        .copied()
        .unwrap_or_default();
    json!({
        "kind": "NodeMetrics", "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {
            "name": node.name_any(), "labels": node.labels(),
            "creationTimestamp": time(now),
        },
        "timestamp": time(now), "window": "30s",
        "usage": written((NODE_USAGE.0 + pods.0, NODE_USAGE.1 + pods.1)),
    })
}

fn of_pod(pod: &Pod, now: Timestamp) -> Value {
    let spec = pod.spec.as_ref();
    let containers = spec.map_or(&[][..], |spec| spec.containers.as_slice());
    let containers: Vec<Value> = containers
        .iter()
        .map(|one| json!({"name": one.name, "usage": written(of_container(pod, one, now))}))
        .collect();
    json!({
        "kind": "PodMetrics", "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {
            "name": pod.name_any(), "namespace": pod.namespace(), "labels": pod.labels(),
            "creationTimestamp": time(now),
        },
        "timestamp": time(now), "window": "30s", "containers": containers,
    })
}

fn time(at: Timestamp) -> Value {
    json!(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_usage_stays_below_requests_and_changes_slowly() {
        for second in 0..2 * PERIOD {
            let (now, next) = (share(3, second), share(3, second + 1));
            assert!((400..=800).contains(&now), "{now}");
            assert!((now - next).abs() <= 2, "{now} {next}");
        }
    }
}
