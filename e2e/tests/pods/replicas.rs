//! Tests of the two agent pods that the import manifest creates.

use std::time::{Duration, Instant};

use drover_e2e::{World, eventually};
use serde_json::Value;

const SOON: Duration = Duration::from_mins(2);

pub(crate) async fn cluster_object(world: &World) -> Value {
    let words = [
        "get",
        "clusters.management.drover.dev",
        "east",
        "-o",
        "json",
    ];
    let text = world.hub.kubectl(words).await.unwrap().stdout;
    serde_json::from_str(&text).unwrap()
}

pub(crate) async fn has_tunnels(world: &World, expected: u64) {
    eventually("the tunnels", SOON, async || {
        let object = cluster_object(world).await;
        let tunnels = &object["status"]["agent"]["tunnels"];
        if *tunnels == expected {
            Ok(())
        } else {
            Err(tunnels.to_string())
        }
    })
    .await
    .unwrap();
}

pub(crate) async fn agent(world: &World, line: &str) -> String {
    let words = ["--namespace=drover-agent"]
        .into_iter()
        .chain(line.split(' '));
    world.direct().run(words).await.unwrap().stdout
}

pub(crate) async fn agent_replicas_register_as_one_cluster_with_separate_tunnels(
    world: &mut World,
) {
    agent(
        world,
        "rollout status deployment/drover-agent --timeout=120s",
    )
    .await;
    let pods = agent(world, "get pods -o jsonpath={.items[*].status.phase}").await;
    assert_eq!(pods, "Running Running");
    has_tunnels(world, 2).await;
    eventually("the Cluster to be Ready", SOON, async || {
        let object = cluster_object(world).await;
        let conditions = object["status"]["conditions"].as_array().unwrap();
        let bad: Vec<_> = conditions
            .iter()
            .filter(|c| c["status"] != "True")
            .collect();
        if bad.is_empty() {
            Ok(())
        } else {
            Err(format!("{bad:?}"))
        }
    })
    .await
    .unwrap();
    let object = cluster_object(world).await;
    let status = &object["status"];
    assert!(status["registration"]["publicKey"].is_string(), "{status}");
    assert_eq!(status["nodes"]["total"], 1, "{status}");
    assert_eq!(status["kubernetesVersion"], "v1.36.3", "{status}");
    // The server and the agent have deleted the registration token.
    let tokens = world.hub.kubectl([
        "get",
        "clusterregistrationtokens.management.drover.dev",
        "-o",
        "name",
    ]);
    assert_eq!(tokens.await.unwrap().stdout, "");
    eventually("the agent to delete the token", SOON, async || {
        let words = [
            "--namespace=drover-agent",
            "get",
            "secret",
            "drover-agent-registration",
            "-o",
            "jsonpath={.data.token}",
        ];
        let output = world.direct().output(words).await.unwrap();
        if output.stdout.is_empty() {
            Ok(())
        } else {
            Err("the token still exists")
        }
    })
    .await
    .unwrap();
    let restarts = agent(
        world,
        "get pods -o jsonpath={.items[*].status.containerStatuses[*].restartCount}",
    );
    assert_eq!(restarts.await, "0 0");
}

pub(crate) async fn requests_succeed_after_one_pod_is_deleted(world: &mut World) {
    has_tunnels(world, 2).await;
    let pods = agent(world, "get pods -o jsonpath={.items[*].metadata.name}").await;
    for grace in ["--grace-period=40", "--now"] {
        let names = agent(world, "get pods -o jsonpath={.items[*].metadata.name}").await;
        let pod = names.split(' ').next().unwrap();
        agent(world, &format!("delete pod {pod} --wait=false {grace}")).await;
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(8) {
            let through = world.through().with_limit(Duration::from_secs(10));
            through.run(["get", "namespace", "default"]).await.unwrap();
        }
        agent(
            world,
            "rollout status deployment/drover-agent --timeout=120s",
        )
        .await;
        has_tunnels(world, 2).await;
    }
    let after = agent(world, "get pods -o jsonpath={.items[*].metadata.name}").await;
    assert_ne!(pods, after);
}
