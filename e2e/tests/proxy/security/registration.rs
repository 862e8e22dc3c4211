//! Attack groups 17 and 19: registration of agents, and the targets of an agent.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_e2e::{ControlPlane, Member, Options, World, eventually};
use serde_json::{Value, json};

use crate::wire::{self, Request};

const SOON: Duration = Duration::from_mins(1);

/// Returns the registration token from a manifest.
pub(crate) fn token_in(manifest: &str) -> String {
    let line = manifest
        .lines()
        .find(|line| line.trim_start().starts_with("token: "));
    let value = line
        .unwrap()
        .split_once(": ")
        .unwrap()
        .1
        .trim_matches(['"', '\'', ' ']);
    String::from_utf8(STANDARD.decode(value).unwrap()).unwrap()
}

/// Attack group 17: registration and connection with a wrong identity.
pub(crate) async fn agent_cannot_register_as_a_different_cluster(world: &mut World) {
    let admin = world.admin.clone();
    let manifest = admin
        .drover()
        .run(["cluster", "import", "east"])
        .await
        .unwrap()
        .stdout;
    let import = token_in(&manifest);
    assert!(
        import.starts_with("droverimport_"),
        "the manifest must contain a registration token"
    );
    user_and_registration_tokens_are_not_interchangeable(world, &import).await;
    another_cluster_cannot_register_as_east(world, &manifest).await;
}

async fn user_and_registration_tokens_are_not_interchangeable(world: &World, import: &str) {
    let register = json!({
        "clusterUid": "0", "publicKey": STANDARD.encode([1; 32]),
        "signature": STANDARD.encode([2; 64]), "agentVersion": "0",
    });
    let attempts = [
        (
            "a user's token registers",
            Request::new("POST", "/v1/agent/register")
                .json(&register.to_string())
                .authorized(world),
        ),
        (
            "a user's token gets a manifest",
            Request::get("/v1/import/manifest").authorized(world),
        ),
        (
            "a registration token lists clusters",
            Request::get("/v1/clusters").bearer(import),
        ),
        (
            "a registration token for a cluster path",
            Request::get("/k8s/clusters/east/api").bearer(import),
        ),
        (
            "a registration token in a URL",
            Request::get(&format!("/v1/import/manifest?token={import}")),
        ),
        (
            "a bad signature",
            Request::new("POST", "/v1/agent/register")
                .json(&register.to_string())
                .bearer(import),
        ),
        (
            "a connection without proof",
            Request::get("/v1/connect")
                .line("Upgrade: websocket")
                .line("Sec-WebSocket-Version: 13")
                .line("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="),
        ),
        (
            "a connection with a user's token",
            Request::get("/v1/connect")
                .authorized(world)
                .line("Upgrade: websocket")
                .line("Sec-WebSocket-Version: 13")
                .line("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="),
        ),
    ];
    for (case, request) in attempts {
        let answer = request.send(world).await;
        assert!((400..500).contains(&answer.code), "{case}: {answer:?}");
        assert!(!answer.body.contains(import), "{case}: {answer:?}");
    }
}

/// Asserts that a different cluster cannot register with the manifest of `east`. The agent of the
/// different cluster has a different key.
async fn another_cluster_cannot_register_as_east(world: &World, manifest: &str) {
    let options = Options {
        name: "thief".to_owned(),
        ..Options::default()
    };
    let mut thief = Member::new(ControlPlane::start(options).await.unwrap(), None);
    let kubectl = thief.cluster.command_line().with_stdin(manifest);
    kubectl.run(["apply", "-f", "-"]).await.unwrap();
    thief.start_agents(1).await.unwrap();
    eventually("the event on the Cluster", SOON, async || {
        let words = ["get", "events", "-A", "-o", "json"];
        let text = world.hub.kubectl(words).await.unwrap().stdout;
        let events: Value = serde_json::from_str(&text).unwrap();
        let of_east = |event: &&Value| {
            let about = &event["involvedObject"];
            about["kind"] == "Cluster" && about["name"] == "east" && event["type"] == "Warning"
        };
        let found = events["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(of_east)
            .cloned();
        found.ok_or_else(|| "none".to_owned())
    })
    .await
    .unwrap();
    eventually(
        "the attacker's agent to report the rejection",
        SOON,
        async || {
            let words = [
                "--namespace=drover-agent",
                "get",
                "configmap",
                "drover-agent-status",
                "-o",
                "json",
            ];
            let output = thief
                .cluster
                .kubectl(words)
                .await
                .map_err(|error| error.to_string())?;
            let refused = output.stdout.contains(r#"connected\":false"#)
                && !output.stdout.contains(r#"reason\":\"Starting"#);
            if refused { Ok(()) } else { Err(output.stdout) }
        },
    )
    .await
    .unwrap();
    // The real cluster is still connected: its namespace UID differs from that of the attacker's
    // cluster.
    let words = "get namespace kube-system -o jsonpath={.metadata.uid}";
    let direct = world.direct().run(words.split(' ')).await.unwrap();
    let through = world.through().run(words.split(' ')).await.unwrap();
    assert_eq!(direct.stdout, through.stdout);
}

/// Attack group 19: the agent connects only to the API server of its cluster, regardless of the URL
/// and the `Host` header of a request.
pub(crate) async fn agent_connects_to_its_api_server_only(world: &mut World) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let trap = listener.local_addr().unwrap();
    let host = world.server.address();
    for (target, lines) in [
        (
            format!("http://{trap}/k8s/clusters/east/api"),
            format!("Host: {trap}"),
        ),
        (
            format!("/k8s/clusters/east/@{trap}/api"),
            format!("Host: {host}"),
        ),
        (
            format!("/k8s/clusters/east/http://{trap}/api"),
            format!("Host: {host}"),
        ),
        ("/k8s/clusters/east/api".to_owned(), format!("Host: {trap}")),
        (
            "/k8s/clusters/east/api".to_owned(),
            format!("Host: {host}\r\nX-Forwarded-Host: {trap}"),
        ),
        (
            "/k8s/clusters/east/api".to_owned(),
            format!("Host: {host}\r\nX-Original-Url: http://{trap}/"),
        ),
    ] {
        let request = Request::get(&target).line(&lines).line("Connection: close");
        let answer = request
            .authorized(world)
            .send_bare(world, Duration::from_secs(20))
            .await;
        assert!(answer.code < 500, "{target}: {answer:?}");
    }
    let connect = Request::new("CONNECT", &trap.to_string()).line(&format!("Host: {trap}"));
    let answer = connect
        .authorized(world)
        .send_bare(world, Duration::from_secs(5))
        .await;
    assert!(answer.code == 0 || answer.is_refusal(), "{answer:?}");
    let caught = tokio::time::timeout(Duration::from_millis(500), listener.accept()).await;
    assert!(
        caught.is_err(),
        "the agent connected to the foreign address: {caught:?}"
    );
    drop(wire::token(world));
}
