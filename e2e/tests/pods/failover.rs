//! Tests that a node agent replaces the agent. The node of the cluster becomes a control-plane node.

mod fault;
mod open_streams;

use std::time::{Duration, Instant};

use drover_e2e::{World, eventually};
use serde_json::Value;

use self::fault::Fault;
use self::open_streams::OpenStreams;
use crate::client::Client;
use crate::replicas::{cluster_object, has_tunnels};

const SOON: Duration = Duration::from_mins(2);
/// Maximum time until requests use the node agent after a fault of the agent. The target is five seconds,
/// which the bench `failover` measures. Other suites on the machine can delay the probes.
const TAKEOVER: Duration = Duration::from_secs(10);
/// Time for which the tunnel of a hung agent stays open. After this, the server has no response to its
/// pings.
const STREAMS_CONTINUE: Duration = Duration::from_secs(20);
/// Maximum number of switches in the status of a Cluster.
const MAX_SWITCHES: usize = 10;
/// The reason of the switch back to the agent.
const AVAILABLE: &str = "PreferredAgentAvailable";

/// Waits until the status of the Cluster matches. Returns the status.
async fn wait_for(world: &World, what: &str, matches: impl Fn(&Value) -> bool) -> Value {
    eventually(what, SOON, async || {
        let mut object = cluster_object(world).await;
        let status = object["status"].take();
        if matches(&status) {
            Ok(status)
        } else {
            Err(status.to_string())
        }
    })
    .await
    .unwrap()
}

/// Returns the switches of the Cluster, newest first.
fn switches(status: &Value) -> &[Value] {
    let switches = status["connection"]["switches"].as_array();
    switches.map_or(&[], Vec::as_slice)
}

/// Waits until the current connection uses the agent, or the node agent on `node`, because of
/// `reason`. Returns the switches of the Cluster, newest first.
async fn wait_for_switch(world: &World, node: Option<&str>, reason: &str) -> Vec<Value> {
    let what = format!("the switch to {} ({reason})", node.unwrap_or("the agent"));
    let status = wait_for(world, &what, |status| {
        let switch = switches(status).first();
        switch.is_some_and(|it| it["node"].as_str() == node && it["reason"] == reason)
    });
    switches(&status.await).to_vec()
}

/// Waits until `drover cluster get` shows the agent in use, the time and the reason.
async fn wait_until_shown(world: &World, agent: &str, reason: &str) {
    let get = ["cluster", "get", world.east.name()];
    eventually("the page of the cluster", SOON, async || {
        let page = world.admin.drover().run(get).await.unwrap().stdout;
        let connection = page.lines().find(|line| line.starts_with("Connection"));
        let shown = connection.unwrap_or_default();
        let history = page.split_once("Switches:").unwrap_or_default().1;
        let newest = history.lines().nth(2).unwrap_or_default();
        let matches = shown.contains(&format!(" {agent}, for "))
            && shown.ends_with(&format!("({reason})"))
            && newest.contains(agent)
            && newest.contains(reason);
        matches.then_some(()).ok_or(page)
    })
    .await
    .unwrap();
}

/// Makes the node of the cluster a control-plane node, so that the server selects its node agent.
/// Returns the name of the node.
///
/// The node stays a control-plane node, because each change of the label replaces the pod of the node
/// agent.
pub(crate) async fn make_control_plane(world: &World) -> String {
    let node = world.east.node.as_ref().unwrap().name().to_owned();
    let label = "node-role.kubernetes.io/control-plane=";
    let label = ["label", "node", &node, label, "--overwrite"];
    world.direct().run(label).await.unwrap();
    node
}

/// Waits until the node agent of the control-plane node has a tunnel and the agent receives the
/// requests. Returns the name of the node.
pub(crate) async fn with_node_agent(world: &mut World) -> String {
    let node = make_control_plane(world).await;
    wait_for(world, "the report of the node agent", |status| {
        let facts = &status["nodeFacts"][0];
        facts["controlPlane"] == true
            && facts["kubeletVersion"] == "v1.36.3"
            && facts["nodeAgent"]["certificates"][0]["component"] == "kubelet"
    })
    .await;
    eventually("the tunnel of the node agent", SOON, async || {
        let log = world.server.printed();
        let mut connected = log.lines().filter(|line| line.contains("agent connected"));
        let found = connected.any(|line| line.contains(&format!("node=\"{node}\"")));
        found.then_some(()).ok_or("the node agent has no tunnel")
    })
    .await
    .unwrap();
    has_tunnels(world, 2).await;
    wait_for(world, "the agent to receive the requests", |status| {
        switches(status)
            .first()
            .is_some_and(|it| it["node"].is_null())
    })
    .await;
    node
}

/// Causes a fault of the agent and ends the fault. Asserts that requests use the node agent during the
/// fault, that requests return to the agent, that open streams continue, and that the history of
/// switches contains both switches.
async fn fail_over(world: &mut World, fault: Fault) {
    let node = with_node_agent(world).await;
    let pod = fault.name();
    world.run_pod(pod, OpenStreams::SCRIPT).await.unwrap();
    let before = cluster_object(world).await;
    let before = switches(&before["status"]);
    let client = Client::new(world.kubeconfig());
    client.time_until_success(TAKEOVER).await;
    let mut through_agent = OpenStreams::start(world, pod, "agent").await;

    let cause = fault.begin(world).await;
    let begin = Instant::now();
    let took = client.time_until_success(TAKEOVER).await;
    eprintln!("{pod}: a request that was sent {took:?} after the fault succeeded");
    let kubectl = world.through();
    kubectl.run(["get", "namespace", "default"]).await.unwrap();
    wait_for_switch(world, Some(&node), fault.reason()).await;
    let node_agent = format!("node agent on {node}");
    wait_until_shown(world, &node_agent, fault.reason()).await;
    let mut through_node_agent = OpenStreams::start(world, pod, "node-agent").await;
    wait_for(world, "the reports of the node agent", |status| {
        status["connection"]["reportingNode"] == node.as_str()
    })
    .await;
    cause.end(world).await;
    let may_end = fault.closes_streams() || begin.elapsed() > STREAMS_CONTINUE;

    let after = wait_for_switch(world, None, AVAILABLE).await;
    wait_until_shown(world, "agent", AVAILABLE).await;
    assert_eq!(after[1]["node"], node.as_str());
    assert_eq!(after[1]["reason"], fault.reason());
    let kept = before.len().min(MAX_SWITCHES - 2);
    assert_eq!(after[2..], before[..kept], "previous switches are missing");
    through_node_agent.continue_streams(world, false).await;
    through_agent.continue_streams(world, may_end).await;
    has_tunnels(world, 2).await;
    kubectl.run(["get", "namespace", "default"]).await.unwrap();
    let delete = ["delete", "pod", pod, "--now", "--wait=false"];
    world.direct().run(delete).await.unwrap();
}

pub(crate) async fn node_agent_replaces_agent_without_pods(world: &mut World) {
    fail_over(world, Fault::NoPods).await;
}

pub(crate) async fn node_agent_replaces_partitioned_agent(world: &mut World) {
    fail_over(world, Fault::Partition).await;
}

pub(crate) async fn node_agent_replaces_hung_agent(world: &mut World) {
    fail_over(world, Fault::Hang).await;
}

pub(crate) async fn node_agent_replaces_agent_without_api_server(world: &mut World) {
    fail_over(world, Fault::NoApiServer).await;
}
