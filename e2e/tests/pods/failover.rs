//! Tests that a node agent replaces the agent. The node of the cluster becomes a control-plane node.

use std::time::{Duration, Instant};

use drover_e2e::{World, eventually};
use serde_json::Value;

use crate::replicas::{agent, cluster_object, has_tunnels};

const SOON: Duration = Duration::from_mins(2);
/// Maximum time until requests use the node agent after the agent's pods have ended.
const TAKEOVER: Duration = Duration::from_secs(5);
const ENDLESS: &str = "while :; do echo ran; sleep 1; done";
const TICKING: &str = "while :; do echo tick; sleep 1; done";

/// Waits until the status of the Cluster matches.
async fn wait_for(world: &World, what: &str, matches: impl Fn(&Value) -> bool) {
    eventually(what, SOON, async || {
        let object = cluster_object(world).await;
        let status = &object["status"];
        if matches(status) {
            Ok(())
        } else {
            Err(status.to_string())
        }
    })
    .await
    .unwrap();
}

fn current_switch(status: &Value) -> &Value {
    &status["connection"]["switches"][0]
}

pub(crate) async fn node_agent_serves_all_streams_while_the_agent_has_no_pods(world: &mut World) {
    has_tunnels(world, 2).await;
    let nodes = ["get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"];
    let node = world.direct().run(nodes).await.unwrap().stdout;
    let label = "node-role.kubernetes.io/control-plane=";
    world
        .direct()
        .run(["label", "node", &node, label])
        .await
        .unwrap();
    wait_for(world, "the key of the node agent", |status| {
        status["nodeAgents"][0]["key"].is_object()
    })
    .await;
    wait_for(world, "the report of the node agent", |status| {
        let facts = &status["nodeFacts"][0];
        facts["controlPlane"] == true
            && facts["kubeletVersion"] == "v1.36.3"
            && facts["nodeAgent"]["certificates"][0]["component"] == "kubelet"
    })
    .await;
    world.run_pod("survivor", TICKING).await.unwrap();
    // The tunnel of the node agent is proven after three probes.
    tokio::time::sleep(Duration::from_secs(10)).await;

    agent(world, "scale deployment/drover-agent --replicas=0").await;
    agent(
        world,
        "delete pods --selector=app.kubernetes.io/name=drover-agent --now",
    )
    .await;
    let ended = Instant::now();
    eventually("a request through the node agent", TAKEOVER, async || {
        let through = world.through().with_limit(Duration::from_secs(4));
        through.run(["get", "namespace", "default"]).await.map(drop)
    })
    .await
    .unwrap();
    assert!(ended.elapsed() < TAKEOVER + Duration::from_secs(4));
    wait_for(world, "the switch to the node agent", |status| {
        current_switch(status)["node"] == node.as_str()
    })
    .await;
    wait_for(world, "the reports of the node agent", |status| {
        status["connection"]["reportingNode"] == node.as_str()
    })
    .await;

    let logs = world.scratch("failover").unwrap();
    let mut open = Vec::new();
    for (name, words, sign) in [
        (
            "exec",
            &["exec", "survivor", "--", "sh", "-c", ENDLESS][..],
            "ran",
        ),
        ("logs", &["logs", "-f", "survivor"], "tick"),
        ("watch", &["get", "pods", "--watch"], "survivor"),
    ] {
        let mut running = world.through().start(name, words, &logs).unwrap();
        running.wait_for_log(sign, SOON).await.unwrap();
        open.push(running);
    }
    agent(world, "scale deployment/drover-agent --replicas=2").await;
    wait_for(world, "the switch to the agent", |status| {
        let switch = current_switch(status);
        switch["node"].is_null() && switch["reason"] == "PreferredAgentAvailable"
    })
    .await;
    has_tunnels(world, 2).await;
    // Open streams stay on the tunnel of the node agent.
    tokio::time::sleep(Duration::from_secs(5)).await;
    for stream in &mut open {
        assert!(stream.exited().is_none(), "{} ended", stream.name());
    }
    let through = world.through();
    through.run(["get", "namespace", "default"]).await.unwrap();
    drop(open);
    let label = label.replace('=', "-");
    world
        .direct()
        .run(["label", "node", &node, &label])
        .await
        .unwrap();
}
