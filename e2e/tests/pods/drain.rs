//! Tests that requests continue while the node of the agent is drained.

use std::time::Duration;

use drover_e2e::{World, eventually};

use crate::failover::with_node_agent;
use crate::replicas::{agent, has_tunnels};

const SOON: Duration = Duration::from_mins(2);

pub(crate) async fn requests_continue_while_both_nodes_of_the_agent_are_drained_in_turn(
    world: &mut World,
) {
    let first = with_node_agent(world).await;
    // The drain would wait for the pods of earlier tests.
    let delete = ["delete", "pods", "--all", "--now"];
    world.direct().run(delete).await.unwrap();
    let second = world.east.join_node("node-2").await.unwrap();
    // The agent's pods move to the second node, and back to the first node.
    drain(world, &first, second.name()).await;
    drain(world, second.name(), &first).await;
    let delete = ["delete", "node", second.name()];
    world.direct().run(delete).await.unwrap();
}

/// Drains a node while requests run. Waits until the agent's pods are on the node `other`, and makes
/// the drained node schedulable again.
async fn drain(world: &World, drained: &str, other: &str) {
    let logs = world.scratch("drain").unwrap();
    let options = ["--ignore-daemonsets", "--delete-emptydir-data", "--force"];
    let words = ["drain", drained].into_iter().chain(options);
    let name = format!("drain-{drained}");
    let mut drain = world.direct().start(&name, words, &logs).unwrap();
    let mut requests = 0;
    let status = loop {
        let kubectl = world.through().with_limit(Duration::from_secs(10));
        kubectl.run(["get", "namespace", "default"]).await.unwrap();
        requests += 1;
        if let Some(status) = drain.exited() {
            break status;
        }
    };
    eprintln!("{requests} requests succeeded during the drain of {drained}");
    assert!(status.success(), "{}", drain.log());
    let wait = "rollout status deployment/drover-agent --timeout=120s";
    agent(world, wait).await;
    let nodes = "get pods -o jsonpath={.items[*].spec.nodeName}";
    eventually("the agent's pods on the other node", SOON, async || {
        let nodes = agent(world, nodes).await;
        let moved = nodes == format!("{other} {other}");
        moved.then_some(()).ok_or(nodes)
    })
    .await
    .unwrap();
    has_tunnels(world, 2).await;
    // The drain keeps the pods of DaemonSets.
    let running = format!("--field-selector=spec.nodeName={drained},status.phase=Running");
    let kubectl = world.direct();
    let words = ["--namespace=drover-node-agent", "get", "pods", &running];
    let words = words.into_iter().chain(["-o", "name"]);
    eventually("the pod of the node agent", SOON, async || {
        let pods = kubectl.run(words.clone()).await;
        let pods = pods.map_err(|error| error.to_string())?.stdout;
        (pods.lines().count() == 1).then_some(()).ok_or(pods)
    })
    .await
    .unwrap();
    kubectl.run(["uncordon", drained]).await.unwrap();
}
