//! The watches and polls that update the observed state.

use std::sync::Arc;
use std::time::Duration;

use drover_api::client_error::{message, watch_message};
use drover_api::group::{CONTROL_PLANE_LABEL, NODE_AGENT_NAMESPACE, NODE_REPORT_LABEL};
use drover_api::kinds::NodeFacts;
use drover_api::report::{AgentReport, EventReport};
use futures::{Stream, StreamExt as _};
use http::Request;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{
    ConfigMap, Event as CoreEvent, Namespace, NodeAddress, NodeCondition,
};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::client::Body;
use kube::core::{GroupVersionKind, Object};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tracing::debug;

use crate::DEPLOYMENT;
use crate::observed::Observed;
use crate::pods::{self, PodSpec, PodStatus};
use crate::resource_list::ResourceList;
use crate::sums::ObservedNode;
use crate::{Source, drift, health, node_facts};

/// Number of objects per page of the first list. Limits the memory for decoding the response.
const PAGE: u32 = 250;
/// Interval between polls of the cluster's health and of the agent's Deployment.
const LOOK: Duration = Duration::from_secs(5);
/// Number of poll intervals between two reads of the nodes' usage. metrics-server updates the usage
/// every 15 s or less often.
const USAGE_EVERY: u32 = 6;
/// Number of poll intervals between two reads of the agent's Deployment after its rollout is
/// complete.
const SETTLED_EVERY: u32 = 4;
/// Number of poll intervals between two reads of the API server's version.
const VERSION_EVERY: u32 = 12;
/// Time limit of one poll.
const POLL_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of bytes that the agent reads from a health response.
const MOST_HEALTH: usize = 64 * 1024;
/// Maximum length of an event's message, in characters.
const MESSAGE: usize = 1024;

/// The fields of a node's status that the report needs.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeStatus {
    #[serde(default)]
    capacity: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    allocatable: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    conditions: Vec<NodeCondition>,
    #[serde(default)]
    addresses: Vec<NodeAddress>,
    #[serde(default)]
    node_info: NodeInfo,
}

/// The versions of a node's programs.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeInfo {
    kubelet_version: String,
    kernel_version: String,
    os_image: String,
    container_runtime_version: String,
}

/// An empty spec of a node, because the report needs no field of the spec.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct NodeSpec {}

type Node = Object<NodeSpec, NodeStatus>;
type Pod = Object<PodSpec, PodStatus>;

/// Starts every watch and poll of one stream.
pub(crate) fn start(tasks: &mut JoinSet<()>, source: &Arc<Source>, observed: &Observed) {
    tasks.spawn(nodes(source.client.clone(), observed.clone()));
    tasks.spawn(node_agents(source.client.clone(), observed.clone()));
    tasks.spawn(pods(source.client.clone(), observed.clone()));
    tasks.spawn(events(source.client.clone(), observed.clone()));
    tasks.spawn(polls(Arc::clone(source), observed.clone()));
    drift::start(tasks, &source.client, observed);
}

fn core(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind))
}

fn paged<K>(api: Api<K>, config: watcher::Config) -> impl Stream<Item = Event<K>> + Send
where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    kube::runtime::watcher(api, config.page_size(PAGE))
        .default_backoff()
        .filter_map(|event| {
            let event = event
                .inspect_err(|error| debug!(error = watch_message(error), "restarting a watch"))
                .ok();
            std::future::ready(event)
        })
}

async fn nodes(client: kube::Client, observed: Observed) {
    let api: Api<Node> = Api::all_with(client, &core("Node"));
    let mut stream = std::pin::pin!(paged(api, watcher::Config::default()));
    while let Some(event) = stream.next().await {
        observed.update(|state| {
            state.nodes.apply(event, |node| Some(observed_node(node)));
        });
    }
}

async fn pods(client: kube::Client, observed: Observed) {
    let api: Api<Pod> = Api::all_with(client, &core("Pod"));
    let mut stream = std::pin::pin!(paged(api, watcher::Config::default()));
    while let Some(event) = stream.next().await {
        observed.update(|state| {
            let facts = |pod: Pod| pods::facts(&pod.spec, pod.status.as_ref());
            state.pods.apply(event, facts);
        });
    }
}

fn observed_node(node: Node) -> ObservedNode {
    let status = node.status.unwrap_or_default();
    let is_true = |kind: &str| {
        let mut found = status.conditions.iter().filter(|one| one.type_ == kind);
        found.any(|one| one.status == "True")
    };
    let ready = is_true("Ready");
    let conditions = status.conditions.iter();
    let problems = conditions.filter(|one| node_facts::is_problem(&one.type_, &one.status));
    let mut problems: Vec<String> = problems.map(|one| one.type_.clone()).collect();
    if !ready {
        problems.insert(0, "NotReady".to_owned());
    }
    let labels = node.metadata.labels.unwrap_or_default();
    let info = status.node_info;
    let mut addresses = status.addresses.iter();
    let internal = addresses.find(|address| address.type_ == "InternalIP");
    ObservedNode {
        facts: NodeFacts {
            name: node.metadata.name.unwrap_or_default(),
            control_plane: labels.contains_key(CONTROL_PLANE_LABEL),
            internal_ip: internal.map(|address| address.address.clone()),
            kubelet_version: info.kubelet_version,
            kernel_version: info.kernel_version,
            os_image: info.os_image,
            container_runtime: info.container_runtime_version,
            problems,
            node_agent: None,
        },
        ready,
        capacity: pods::amounts(&status.capacity),
        allocatable: pods::amounts(&status.allocatable),
    }
}

/// Follows the reports of node agents. An older manifest does not permit the watch; the facts then lack
/// the reports.
async fn node_agents(client: kube::Client, observed: Observed) {
    let api: Api<ConfigMap> = Api::namespaced(client, NODE_AGENT_NAMESPACE);
    let config = watcher::Config::default().labels(NODE_REPORT_LABEL);
    let mut stream = std::pin::pin!(paged(api, config));
    while let Some(event) = stream.next().await {
        observed.update(|state| state.node_agents.apply(event, node_facts::parse));
    }
}

/// Watches warning events. Reports only events that arrive after the first list, because the events
/// in the list occurred before the stream started.
async fn events(client: kube::Client, observed: Observed) {
    let config = watcher::Config::default().fields("type=Warning");
    let mut stream = std::pin::pin!(paged(Api::<CoreEvent>::all(client), config));
    while let Some(event) = stream.next().await {
        if let Event::Apply(event) = event {
            observed.event(event_report(event));
        }
    }
}

fn event_report(event: CoreEvent) -> EventReport {
    let object = event.involved_object;
    let (kind, name) = (
        object.kind.unwrap_or_default(),
        object.name.unwrap_or_default(),
    );
    let series = event.series.unwrap_or_default();
    EventReport {
        regarding: match object.namespace {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        },
        reason: event.reason.unwrap_or_default(),
        message: event
            .message
            .unwrap_or_default()
            .chars()
            .take(MESSAGE)
            .collect(),
        last_seen: series
            .last_observed_time
            .or(event.event_time)
            .map(|time| time.0)
            .or_else(|| event.last_timestamp.map(|time| time.0))
            .unwrap_or_else(Timestamp::now),
        count: series
            .count
            .or(event.count)
            .and_then(|n| n.try_into().ok())
            .unwrap_or(1),
    }
}

async fn polls(source: Arc<Source>, observed: Observed) {
    let deployments: Api<Deployment> = Api::namespaced(source.client.clone(), &source.namespace);
    let mut settled = false;
    for look in 0_u32.. {
        if look.is_multiple_of(VERSION_EVERY)
            && let Some(version) = polled(source.client.apiserver_version()).await
        {
            observed.update(|state| state.version = Some(version.git_version));
        }
        if look.is_multiple_of(VERSION_EVERY)
            && let Some(uid) = cluster_uid(&source.client).await
        {
            observed.update(|state| state.cluster_uid = Some(uid));
        }
        let components = health_of(&source.client).await;
        observed.update(|state| state.components = Some(components));
        if (!settled || look.is_multiple_of(SETTLED_EVERY))
            && let Some(found) = polled(deployments.get_opt(DEPLOYMENT)).await
        {
            let report = found.map(agent_report);
            settled = report.as_ref().is_some_and(is_settled);
            observed.update(|state| state.agent = report);
        }
        if look.is_multiple_of(USAGE_EVERY) {
            let usage = usage(source.client.clone()).await;
            observed.update(|state| state.usage = usage);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Returns the UID of the namespace kube-system. Lists namespaces, because the report lane has
/// permission to list but not to get namespaces.
async fn cluster_uid(client: &kube::Client) -> Option<String> {
    let api: Api<Namespace> = Api::all(client.clone());
    let params = ListParams::default().fields("metadata.name=kube-system");
    let found = polled(api.list_metadata(&params)).await?;
    found.items.into_iter().next()?.metadata.uid
}

async fn polled<T>(request: impl Future<Output = kube::Result<T>>) -> Option<T> {
    match tokio::time::timeout(POLL_TIMEOUT, request).await {
        Ok(Ok(found)) => Some(found),
        Ok(Err(error)) => {
            debug!(
                error = message(&error),
                "failed to read an object for the report"
            );
            None
        }
        Err(_) => None,
    }
}

async fn health_of(client: &kube::Client) -> Vec<drover_api::kinds::ComponentHealth> {
    let ask = async {
        let request = Request::get("/readyz?verbose").body(Body::empty())?;
        let response = client.send(request).await?;
        let ready = response.status().is_success();
        let body = http_body_util::Limited::new(response.into_body(), MOST_HEALTH);
        let text = http_body_util::BodyExt::collect(body).await?.to_bytes();
        Ok::<_, drover_tunnel::BoxError>(health::components(ready, &String::from_utf8_lossy(&text)))
    };
    match tokio::time::timeout(POLL_TIMEOUT, ask).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => health::unreachable(&error.to_string()),
        Err(_) => health::unreachable("the readiness check does not respond"),
    }
}

fn agent_report(deployment: Deployment) -> AgentReport {
    let spec = deployment.spec.unwrap_or_default();
    let status = deployment.status.unwrap_or_default();
    // The counts of an older generation include pods that the rollout replaces.
    let current = status.observed_generation >= deployment.metadata.generation;
    let updated = status
        .updated_replicas
        .unwrap_or(0)
        .min(status.available_replicas.unwrap_or(0));
    let image = spec
        .template
        .spec
        .and_then(|pod| pod.containers.into_iter().next());
    AgentReport {
        image: image
            .and_then(|container| container.image)
            .unwrap_or_default(),
        updated_available: if current {
            updated.try_into().unwrap_or(0)
        } else {
            0
        },
        wanted: spec.replicas.unwrap_or(1).try_into().unwrap_or(0),
    }
}

/// Returns true if the rollout of the agent's Deployment is complete. After the rollout, the agent
/// polls the Deployment less often.
fn is_settled(report: &AgentReport) -> bool {
    report.updated_available >= report.wanted
}

/// Returns the resource usage of all nodes together, from metrics.k8s.io. Returns an empty list if
/// the cluster does not serve this API.
async fn usage(client: kube::Client) -> ResourceList {
    let gvk = GroupVersionKind::gvk("metrics.k8s.io", "v1beta1", "NodeMetrics");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "nodes");
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let mut sum = ResourceList::default();
    let params = ListParams::default();
    let Some(nodes) = polled(api.list(&params)).await else {
        return sum;
    };
    for node in nodes {
        if let Some(usage) = node.data.get("usage").and_then(|usage| usage.as_object()) {
            let pairs = usage
                .iter()
                .filter_map(|(name, text)| Some((name.as_str(), text.as_str()?)));
            sum.add(&ResourceList::read(pairs));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rollout_is_complete_when_all_pods_of_the_newest_generation_are_available() {
        let deployment = |generation: i64, updated: i32, available: i32| {
            let value = json!({
                "metadata": {"generation": 2},
                "spec": {
                    "replicas": 2, "selector": {},
                    "template": {"spec": {"containers": [{"name": "agent", "image": "a:1"}]}},
                },
                "status": {
                    "observedGeneration": generation,
                    "updatedReplicas": updated, "availableReplicas": available,
                },
            });
            agent_report(serde_json::from_value(value).unwrap())
        };
        assert!(is_settled(&deployment(2, 2, 2)));
        for (generation, updated, available) in [(1, 2, 2), (2, 1, 2), (2, 2, 1)] {
            assert!(!is_settled(&deployment(generation, updated, available)));
        }
    }
}
