//! Tests of failures: the error messages, the time until an error, and the recovery.

use std::time::{Duration, Instant};

use drover_e2e::{Component, World, eventually};
use serde_json::Value;

use crate::wire::{Answer, Request};

const SOON: Duration = Duration::from_mins(1);
/// Maximum time from the stop of an agent until requests succeed again.
const SWITCHED_WITHIN: Duration = Duration::from_secs(5);

fn get(path: &str) -> Request {
    Request::get(&format!("/k8s/clusters/east{path}"))
}

async fn ask(world: &World) -> Answer {
    get("/api/v1/namespaces/default")
        .authorized(world)
        .send(world)
        .await
}

/// Asserts that Drover rejected the request with a complete `Status` that contains advice.
fn assert_status(answer: &Answer, code: u16, reason: &str) {
    assert_eq!(answer.code, code, "{answer:?}");
    let status: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(status["kind"], "Status", "{status}");
    assert_eq!(status["apiVersion"], "v1", "{status}");
    assert_eq!(status["code"], code, "{status}");
    assert_eq!(status["reason"], reason, "{status}");
    assert!(status["message"].as_str().unwrap().len() > 20, "{status}");
}

/// Restarts both agents and waits until the cluster is usable.
async fn restore_agents(world: &mut World) {
    world.east.end_agents();
    world.east.start_agents(2).await.unwrap();
    let admin = world.admin.clone();
    world.east.wait_until_usable(&admin).await.unwrap();
    both_tunnels(world).await;
}

async fn both_tunnels(world: &World) {
    eventually("both tunnels", SOON, async || {
        let words = [
            "get",
            "clusters.management.drover.dev",
            "east",
            "-o",
            "jsonpath={.status.agent.tunnels}",
        ];
        let tunnels = world.hub.kubectl(words).await.unwrap().stdout;
        if tunnels == "2" { Ok(()) } else { Err(tunnels) }
    })
    .await
    .unwrap();
}

pub(crate) async fn requests_succeed_after_one_replica_failed(world: &mut World) {
    both_tunnels(world).await;
    // Kill the replica: its connection closes.
    world.east.agents()[0].kill().unwrap();
    requests_go_on(world).await;
    world.east.agents()[0].restart().unwrap();
    both_tunnels(world).await;
    // Paused: its connection stays open without responses.
    for number in 0..2 {
        world.east.agents()[number].pause().unwrap();
        requests_go_on(world).await;
        world.east.agents()[number].resume().unwrap();
        both_tunnels(world).await;
    }
}

/// Additional time beyond a documented limit, because the test machine can be slow.
const GRACE: Duration = Duration::from_secs(2);

/// Asserts that a request succeeds within the documented time after an agent stops. Asserts that
/// all later requests succeed.
async fn requests_go_on(world: &World) {
    let begin = Instant::now();
    let mut answered = None;
    while begin.elapsed() < 2 * SWITCHED_WITHIN {
        let request = ask(world);
        match tokio::time::timeout(SWITCHED_WITHIN, request).await {
            Ok(answer) if answer.code == 200 => {
                answered.get_or_insert_with(|| begin.elapsed());
            }
            other => assert!(
                answered.is_none() && begin.elapsed() < SWITCHED_WITHIN + GRACE,
                "after {:?}, first answered after {answered:?}: {other:?}",
                begin.elapsed()
            ),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let answered = answered.unwrap();
    assert!(
        answered < SWITCHED_WITHIN + GRACE,
        "the first response arrived after {answered:?}"
    );
}

pub(crate) async fn cluster_without_agents_returns_503_immediately_until_agents_restart(
    world: &mut World,
) {
    // kubectl shows messages of Drover only after it has cached the cluster's kinds.
    world.through().run(["get", "namespaces"]).await.unwrap();
    for agent in world.east.agents() {
        agent.kill().unwrap();
    }
    let begin = Instant::now();
    let reported = eventually("the refusal", SOON, async || {
        let answer = ask(world).await;
        if answer.body.contains("is unreachable") {
            Ok(answer)
        } else {
            Err(format!("{answer:?}"))
        }
    })
    .await
    .unwrap();
    assert!(
        begin.elapsed() < Duration::from_secs(10),
        "the error arrived after {:?}",
        begin.elapsed()
    );
    assert_status(&reported, 503, "ServiceUnavailable");
    let kubectl = world.through().with_limit(Duration::from_secs(30));
    let reported = kubectl.output(["get", "namespaces"]).await.unwrap();
    assert!(reported.stderr.contains("is unreachable"), "{reported:?}");
    eventually("the condition of the Cluster", SOON, async || {
        let words = ["cluster", "get", "east", "-o", "json"];
        let view = world.admin.drover().run(words).await.unwrap().stdout;
        let view: Value = serde_json::from_str(&view).unwrap();
        let conditions = view["conditions"].as_array().unwrap();
        let connected = conditions
            .iter()
            .find(|c| c["type"] == "Connected")
            .unwrap();
        if connected["status"] == "False" {
            Ok(())
        } else {
            Err(connected.to_string())
        }
    })
    .await
    .unwrap();
    restore_agents(world).await;
    assert_eq!(ask(world).await.code, 200);
}

pub(crate) async fn paused_api_server_is_reported_within_the_timeout(world: &mut World) {
    world.east.cluster.pause(Component::ApiServer).unwrap();
    let begin = Instant::now();
    let path = "/api/v1/namespaces/default?timeout=3s";
    let answer = get(path).authorized(world).send(world).await;
    let took = begin.elapsed();
    // The probes of the tunnel have failed by now. The message must still not blame the running
    // agent.
    tokio::time::sleep(Duration::from_secs(8)).await;
    let later = get(path).authorized(world).send(world).await;
    // Other requests to Drover respond without delay.
    let list = world
        .admin
        .drover()
        .with_limit(Duration::from_secs(10))
        .run(["cluster", "list"])
        .await;
    world.east.cluster.resume(Component::ApiServer).unwrap();
    list.unwrap();
    assert_status(&answer, 504, "Timeout");
    assert_status(&later, 504, "Timeout");
    assert!(
        took < Duration::from_secs(15),
        "the error arrived after {took:?}"
    );
    world.east.cluster.wait_until_ready().await.unwrap();
    eventually("the answer", SOON, async || ok(&ask(world).await))
        .await
        .unwrap();
}

fn ok(answer: &Answer) -> Result<(), String> {
    if answer.code == 200 {
        Ok(())
    } else {
        Err(format!("{answer:?}"))
    }
}

pub(crate) async fn stopped_api_server_is_reported_immediately(world: &mut World) {
    world.east.cluster.kill(Component::ApiServer).unwrap();
    let begin = Instant::now();
    let answer = ask(world).await;
    let took = begin.elapsed();
    world
        .east
        .cluster
        .restart(Component::ApiServer)
        .await
        .unwrap();
    assert!([502, 503].contains(&answer.code), "{answer:?}");
    let status: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(status["kind"], "Status", "{status}");
    assert!(
        took < Duration::from_secs(10),
        "the error arrived after {took:?}"
    );
    eventually("the answer", SOON, async || ok(&ask(world).await))
        .await
        .unwrap();
    let admin = world.admin.clone();
    world.east.wait_until_usable(&admin).await.unwrap();
}

pub(crate) async fn proxy_forwards_requests_while_the_hub_is_down(world: &mut World) {
    ok(&ask(world).await).unwrap();
    let hub = world.hub.control_plane().unwrap();
    hub.kill(Component::ApiServer).unwrap();
    for _ in 0..10 {
        ok(&ask(world).await).unwrap();
    }
    world.through().run(["get", "namespaces"]).await.unwrap();
    let login = world
        .admin
        .drover()
        .with_limit(Duration::from_secs(45))
        .with_stdin(format!("{}\n", world.admin.password));
    let url = world.server.url();
    let words = ["login", &url, "--username=admin", "--password-stdin"];
    let refused = login.output(words).await.unwrap();
    let hub = world.hub.control_plane().unwrap();
    hub.restart(Component::ApiServer).await.unwrap();
    assert!(!refused.status.success(), "{refused:?}");
    assert!(refused.stderr.contains("hub"), "{refused:?}");
    eventually("the login", SOON, async || {
        login.run(words).await.map_err(|error| error.to_string())
    })
    .await
    .unwrap();
    world.server.running().check().unwrap();
}

pub(crate) async fn agents_reconnect_to_a_restarted_server(world: &mut World) {
    world.server.restart().await.unwrap();
    let begin = Instant::now();
    eventually("the proxy", SOON, async || ok(&ask(world).await))
        .await
        .unwrap();
    assert!(
        begin.elapsed() < Duration::from_secs(40),
        "the tunnels opened after {:?}",
        begin.elapsed()
    );
    both_tunnels(world).await;
}

pub(crate) async fn agent_with_wrong_certificate_authority_reports_the_tls_error(
    world: &mut World,
) {
    let words = [
        "--namespace=drover-agent",
        "get",
        "configmap",
        "drover-agent-server",
        "-o",
        "json",
    ];
    let before = world.east.cluster.kubectl(words).await.unwrap().stdout;
    let mut changed: Value = serde_json::from_str(&before).unwrap();
    let pinned = &mut changed["data"]["server-ca.crt"];
    assert!(pinned.is_string(), "{pinned}");
    *pinned = world.east.cluster.ca().into();
    let kubectl = world.east.cluster.command_line();
    let replace = |text: String| kubectl.clone().with_stdin(text);
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=e2e",
        "-f",
        "-",
    ];
    changed["metadata"]["managedFields"].take();
    replace(changed.to_string()).run(apply).await.unwrap();
    world.east.end_agents();
    world.east.start_agents(1).await.unwrap();
    let reported = eventually("the agent to report the error", SOON, async || {
        let words = [
            "--namespace=drover-agent",
            "get",
            "configmap",
            "drover-agent-status",
            "-o",
            "json",
        ];
        let status = world
            .east
            .cluster
            .kubectl(words)
            .await
            .map_err(|e| e.to_string())?;
        let text = status.stdout;
        let fits = text.contains("ertificate") && text.contains(r#"connected\":false"#);
        if fits { Ok(text) } else { Err(text) }
    })
    .await;
    let mut restored: Value = serde_json::from_str(&before).unwrap();
    restored["metadata"]["managedFields"].take();
    restored["metadata"]["resourceVersion"].take();
    replace(restored.to_string()).run(apply).await.unwrap();
    restore_agents(world).await;
    reported.unwrap();
}
