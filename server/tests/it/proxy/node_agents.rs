//! Tests of the selection between the agent and node agents.

use std::time::Duration;

use drover_agent_gateway::tunnels::{AttachedAgent, NoTunnel, SwitchReason, TunnelSource, Tunnels};
use drover_telemetry::Metrics;
use tokio::time::Instant;

use super::client::get;
use super::cluster::{Cluster, answer, control_plane, key_of};
use super::rig::{LIMIT, Rig, eventually, uid};

/// Maximum time until requests use a node agent after the agent has failed.
const TAKEOVER: Duration = Duration::from_secs(5);

fn named(name: &'static str) -> Cluster {
    Cluster::new(move |_| async move { answer(200, name) })
}

/// Returns the response to a request, within `limit`.
async fn answered_by(rig: &Rig, limit: Duration) -> String {
    let asking = get(rig, &rig.ann, "/k8s/clusters/a/x");
    let got = tokio::time::timeout(limit, asking).await;
    let body = got.expect("a response in time").body;
    String::from_utf8(body.to_vec()).unwrap()
}

fn reason(rig: &Rig) -> SwitchReason {
    rig.tunnels.active(&uid("a")).unwrap().reason
}

#[tokio::test]
async fn node_agent_replaces_a_hung_agent_within_five_seconds_and_returns_the_requests() {
    let rig = Rig::new().await;
    let _node = named("node").attach_node(&rig, "a", "cp-1").await;
    let agent = named("agent").attach(&rig, "a", "r1").await;
    // No request has used the node agent's tunnel for longer than a probe.
    eventually("the agent is used", async || {
        (answered_by(&rig, LIMIT).await == "agent").then_some(())
    })
    .await;
    agent.pair.frozen.send_replace(true);
    tokio::time::sleep(TAKEOVER).await;
    assert_eq!(answered_by(&rig, Duration::from_secs(1)).await, "node");
    assert_eq!(reason(&rig), SwitchReason::AgentSilent);
    agent.pair.frozen.send_replace(false);
    eventually("the agent is used again", async || {
        (answered_by(&rig, LIMIT).await == "agent").then_some(())
    })
    .await;
    assert_eq!(reason(&rig), SwitchReason::PreferredAgentAvailable);
}

#[tokio::test(start_paused = true)]
async fn node_agent_replaces_two_hung_replicas_within_five_seconds() {
    // The server probes idle tunnels every 15 s.
    for used_for in 40..55 {
        let tunnels = Tunnels::new(&Metrics::new());
        let mut replicas = Vec::new();
        for replica in ["r1", "r2"] {
            let agent = named("agent");
            let attached = agent.attach_to(&tunnels, "a", replica, TunnelSource::Agent);
            replicas.push(attached.await);
        }
        let node = control_plane("cp-1");
        let _node = named("node").attach_to(&tunnels, "a", "cp-1", node).await;
        // Only one replica receives requests.
        for _ in 0..used_for {
            assert_eq!(tunnels.choose(&uid("a")).unwrap().node(), None);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        for replica in &replicas {
            replica.pair.frozen.send_replace(true);
        }
        let hung = Instant::now();
        while tunnels.choose(&uid("a")).unwrap().node().is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let took = hung.elapsed();
            assert!(took < TAKEOVER, "the agent is still used after {took:?}");
        }
    }
}

#[tokio::test]
async fn node_agent_replaces_an_agent_without_api_server() {
    let rig = Rig::new().await;
    let down = named("agent").on_controller_lane(async |_| answer(503, "no API server"));
    let _agent = down.attach(&rig, "a", "r1").await;
    let _node = named("node").attach_node(&rig, "a", "cp-1").await;
    assert_eq!(answered_by(&rig, LIMIT).await, "agent");
    eventually("the node agent is used", async || {
        (answered_by(&rig, LIMIT).await == "node").then_some(())
    })
    .await;
    assert_eq!(reason(&rig), SwitchReason::ApiServerUnreachable);
}

#[tokio::test]
async fn new_tunnel_of_the_agent_receives_requests_only_after_it_is_proven() {
    let rig = Rig::new().await;
    let _node = named("node").attach_node(&rig, "a", "cp-1").await;
    assert_eq!(answered_by(&rig, LIMIT).await, "node");
    let a = uid("a");
    let selected = rig.tunnels.choose(&a).unwrap();
    let _agent = named("agent").attach(&rig, "a", "r1").await;
    assert_eq!(
        answered_by(&rig, LIMIT).await,
        "node",
        "the agent is not proven yet"
    );
    // The report stream moves to the agent at the same time as the requests.
    tokio::time::timeout(LIMIT, rig.tunnels.superseded(&a, &selected))
        .await
        .expect("the agent is proven");
    assert_eq!(answered_by(&rig, LIMIT).await, "agent");
    let metrics = rig.metrics.encode().unwrap();
    for reason in ["Connected", "PreferredAgentAvailable"] {
        let line = format!("drover_agent_switches_total{{reason=\"{reason}\"}} 1");
        assert!(metrics.contains(&line), "{metrics}");
    }
}

#[tokio::test]
async fn node_agents_cannot_replace_the_tunnels_of_the_agent() {
    let rig = Rig::new().await;
    let _agent = named("agent").attach(&rig, "a", "r1").await;
    let mut nodes = Vec::new();
    for node in ["r1", "cp-1", "cp-1", "cp-2", "cp-3", "cp-4", "cp-5"] {
        nodes.push(named("node").attach_node(&rig, "a", node).await);
    }
    let connected = rig.tunnels.connected(&uid("a"));
    let sources: Vec<_> = connected.iter().map(|c| c.agent.source.node()).collect();
    assert_eq!(sources, [None, Some("cp-3"), Some("cp-4"), Some("cp-5")]);
    assert_eq!(answered_by(&rig, LIMIT).await, "agent");
}

#[tokio::test]
async fn only_the_agent_is_asked_to_verify_node_agents() {
    let rig = Rig::new().await;
    let node = named("node").attach_node(&rig, "a", "cp-1").await;
    let refused = rig.tunnels.choose_agent(&uid("a"));
    assert!(matches!(refused, Err(NoTunnel::NotConnected)));
    let _agent = named("agent").attach(&rig, "a", "r1").await;
    assert!(rig.tunnels.choose_agent(&uid("a")).is_ok());
    let bound = key_of("cp-1");
    let is_bound =
        |agent: &AttachedAgent| agent.source == TunnelSource::Agent || agent.key == bound;
    rig.tunnels.retain(&uid("a"), is_bound, |_| true);
    assert_eq!(rig.tunnels.connected(&uid("a")).len(), 2);
    // A tunnel of the same node with a key that is no longer bound is closed.
    let bound = key_of("cp-2");
    let is_bound =
        |agent: &AttachedAgent| agent.source == TunnelSource::Agent || agent.key == bound;
    rig.tunnels.retain(&uid("a"), is_bound, |_| true);
    let closed = tokio::time::timeout(LIMIT, node.pair.tunnel.closed()).await;
    assert!(closed.unwrap().to_string().contains("no longer valid"));
}
