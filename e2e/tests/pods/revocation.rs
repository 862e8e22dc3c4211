//! Tests that streams into pods end when their credential is revoked.

use std::time::{Duration, Instant};

use drover_e2e::{CommandLine, Running, World, eventually};

const SOON: Duration = Duration::from_mins(1);
const ENDLESS: &str = "while :; do echo ran; sleep 1; done";
const SERVING: &str = "httpd -p 8080 -h /www; while :; do echo tick; sleep 1; done";
const CUT_WITHIN: Duration = Duration::from_secs(5);

pub(crate) async fn deleted_token_closes_exec_logs_and_port_forward(world: &mut World) {
    let kubeconfig = world.admin.token_kubeconfig("east").await.unwrap();
    let kubectl = world.admin.kubectl_with(&kubeconfig);
    world.run_pod("streamer", SERVING).await.unwrap();
    let mut open = open_streams(world, &kubectl).await;
    let text = std::fs::read_to_string(&kubeconfig).unwrap();
    let id = text
        .split_once("drover_")
        .unwrap()
        .1
        .split('_')
        .next()
        .unwrap();
    world
        .admin
        .drover()
        .run(["token", "delete", id])
        .await
        .unwrap();
    let since = Instant::now();
    for stream in &mut open {
        let case = format!("{} to end", stream.name());
        let end = eventually(&case, SOON, async || {
            stream.exited().ok_or("the stream is still open")
        });
        end.await.unwrap();
        let took = since.elapsed();
        assert!(took < CUT_WITHIN, "{} went on for {took:?}", stream.name());
    }
    for words in [
        "exec streamer -- true",
        "logs streamer",
        "port-forward streamer :8080",
        "get pods",
    ] {
        let refused = kubectl.output(words.split(' ')).await.unwrap();
        assert!(!refused.status.success(), "{words}: {refused:?}");
    }
}

/// Starts `kubectl exec`, `logs -f`, `port-forward` and `get --watch` with a pod. Waits for the
/// first output of each command.
async fn open_streams(world: &World, kubectl: &CommandLine) -> Vec<Running> {
    let logs = world.scratch("revoked-streams").unwrap();
    let spdy = kubectl
        .clone()
        .env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false")
        .env("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false");
    let exec = ["exec", "streamer", "--", "sh", "-c", ENDLESS];
    let follow = ["logs", "-f", "streamer"];
    let forward = ["port-forward", "streamer", ":8080"];
    let watch = ["get", "pods", "--watch"];
    let forwarding = "Forwarding from 127.0.0.1";
    let mut open = Vec::new();
    for (name, kubectl, words, sign) in [
        ("exec", kubectl, exec.as_slice(), "ran"),
        ("exec-spdy", &spdy, &exec, "ran"),
        ("logs", kubectl, &follow, "tick"),
        ("forward", kubectl, &forward, forwarding),
        ("forward-spdy", &spdy, &forward, forwarding),
        ("watch", kubectl, &watch, "streamer"),
    ] {
        let mut running = kubectl.start(name, words, &logs).unwrap();
        running.wait_for_log(sign, SOON).await.unwrap();
        open.push(running);
    }
    open
}
