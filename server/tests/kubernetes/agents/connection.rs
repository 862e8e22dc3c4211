//! Tests of connection proofs, and of the error reasons that agents report.

use drover_access::proof::connect_message;
use drover_agent::status::STATUS_CONFIG_MAP;
use drover_agent_link::binding::BINDING_CONFIG_MAP;
use drover_api::agent::ConnectProof;
use drover_api::ids::ClusterUid;
use drover_e2e::{ControlPlane, eventually};
use drover_tunnel::protocol::{self, Version};
use http::StatusCode;
use serde_json::{Value, json};

use super::rig::{NAMESPACE, Rig, SOON, Steps, in_pod, replica, run, start};

/// Requests a tunnel with a proof. Returns the status code and the JSON body of the response.
pub(super) async fn connect(
    rig: &Rig,
    proof: &ConnectProof,
    versions: &str,
) -> (StatusCode, Value) {
    use base64::Engine as _;
    let encoded =
        base64::engine::general_purpose::STANDARD.encode(serde_json::to_vec(proof).unwrap());
    let response = crate::server::client(&rig.server.trust)
        .get(format!("{}/v1/connect", rig.server.url))
        .version(reqwest::Version::HTTP_11)
        .header("drover-agent-proof", encoded)
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header(protocol::VERSION_HEADER.as_str(), versions)
        .send()
        .await
        .unwrap();
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return (status, Value::Null);
    }
    (status, response.json().await.unwrap())
}

/// Requests a challenge for a Cluster.
pub(super) async fn challenge(rig: &Rig, uid: &ClusterUid) -> String {
    let path = "/v1/agent/challenge";
    let body = Some(json!({ "clusterUid": uid }));
    let call = rig.server.call(reqwest::Method::POST, path, None, body);
    let answer = call.await.expect(200);
    answer["nonce"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn connect_proof_is_accepted_once_and_only_for_its_cluster() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let member = Steps::of(&cluster).await.registrar().run().await.unwrap();
    let other = ClusterUid::new(rig.create("other").await);
    let prove = |nonce: String| ConnectProof {
        signature: member
            .key
            .sign(&connect_message(&member.cluster_uid, &nonce, "pod-0")),
        cluster_uid: member.cluster_uid.clone(),
        nonce,
        node: None,
        replica: "pod-0".to_owned(),
        agent_version: "test".to_owned(),
    };
    let good = prove(challenge(&rig, &member.cluster_uid).await);

    let mut renamed = good.clone();
    renamed.replica = "pod-1".to_owned();
    let mut claimed = good.clone();
    claimed.cluster_uid = other.clone();
    let mut unregistered = prove(challenge(&rig, &other).await);
    unregistered.cluster_uid = other.clone();
    let foreign = prove(challenge(&rig, &other).await);
    for (case, proof, reason) in [
        ("another replica's name", &renamed, "ForeignKey"),
        ("another Cluster", &claimed, "ForeignChallenge"),
        (
            "a challenge of another Cluster",
            &foreign,
            "ForeignChallenge",
        ),
        ("a Cluster without a key", &unregistered, "NotRegistered"),
    ] {
        let (status, body) = connect(&rig, proof, "1, 2").await;
        assert_eq!(status, 401, "{case}: {body}");
        assert_eq!(body["details"]["causes"][0]["reason"], reason, "{case}");
    }
    let (status, _) = connect(&rig, &good, "1, 2").await;
    assert_eq!(status, StatusCode::SWITCHING_PROTOCOLS);
    let (status, body) = connect(&rig, &good, "1, 2").await;
    assert_eq!(status, 401);
    assert_eq!(body["details"]["causes"][0]["reason"], "ReplayedChallenge");
    let next = prove(challenge(&rig, &member.cluster_uid).await);
    assert_eq!(
        connect(&rig, &next, "99").await.0,
        StatusCode::UPGRADE_REQUIRED
    );
    let events = rig.events("shop").await;
    for message in ["ForeignKey", "ReplayedChallenge"] {
        assert!(
            events.contains(&message.to_owned()),
            "{message}: {events:?}"
        );
    }
}

#[tokio::test]
async fn agent_with_the_previous_protocol_version_can_connect() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let mut old = replica(&in_pod(&cluster).await, "pod-0");
    old.connection.protocols = vec![Version::V1];
    let _agent = run(old);
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    let status = rig.status("shop").await;
    assert_eq!(status.agent.unwrap().protocol, 1);
    assert_eq!(status.kubernetes_version.as_deref(), Some("v1.36.3"));
    rig.server
        .get("/k8s/clusters/shop/api/v1/nodes", &rig.admin)
        .await
        .expect(200);
}

async fn wait_for_reason(cluster: &ControlPlane, expected: &str) {
    eventually(
        &format!("the agent to report {expected}"),
        SOON,
        async || {
            let map = cluster
                .kubectl([
                    "-n",
                    NAMESPACE,
                    "get",
                    "configmap",
                    STATUS_CONFIG_MAP,
                    "-o",
                    "json",
                ])
                .await
                .map_err(|error| error.to_string())?;
            let map: Value = serde_json::from_str(&map.stdout).unwrap();
            let text = map["data"]["pod-0"].as_str().unwrap_or_default().to_owned();
            let condition: Value = serde_json::from_str(&text).unwrap_or_default();
            if condition["reason"] == expected {
                Ok(())
            } else {
                Err(text)
            }
        },
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn agent_reports_the_exact_reason_of_a_failed_connection() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let elsewhere = relay("127.0.0.2:0", rig.server.url.trim_start_matches("https://")).await;
    let api = cluster.url();
    for (case, data, reason) in [
        (
            "a port without a listener",
            json!({ "server-url": format!("https://{free}") }),
            "ConnectionRefused",
        ),
        (
            "an unresolvable host name",
            json!({ "server-url": "https://drover.invalid" }),
            "DNSFailed",
        ),
        (
            "another authority",
            json!({ "server-ca.crt": cluster.ca() }),
            "TLSUnknownAuthority",
        ),
        (
            "a name that is not in the certificate",
            json!({ "server-url": format!("https://{elsewhere}") }),
            "TLSNameMismatch",
        ),
        (
            "an address of another program",
            json!({ "server-url": api, "server-ca.crt": cluster.ca() }),
            "Unauthorized",
        ),
        (
            "a deleted Cluster",
            json!({ "cluster-uid": "gone" }),
            "NoSuchCluster",
        ),
        (
            "a missing server URL",
            json!({ "server-url": "" }),
            "ManifestIncomplete",
        ),
    ] {
        let before = binding(&cluster).await;
        let patch = json!({ "data": data }).to_string();
        patch_binding(&cluster, &patch).await;
        let agent = start(&cluster, "pod-0").await;
        wait_for_reason(&cluster, reason).await;
        drop(agent);
        patch_binding(&cluster, &json!({ "data": before }).to_string()).await;
        eprintln!("{case}: {reason}");
    }
    let events = cluster
        .kubectl([
            "-n",
            NAMESPACE,
            "get",
            "events",
            "-o",
            "jsonpath={.items[*].reason}",
        ])
        .await
        .unwrap();
    assert!(
        events.stdout.contains("TLSUnknownAuthority"),
        "{}",
        events.stdout
    );
    let _agent = start(&cluster, "pod-0").await;
    wait_for_reason(&cluster, "Connected").await;
}

async fn binding(cluster: &ControlPlane) -> Value {
    let map = cluster
        .kubectl([
            "-n",
            NAMESPACE,
            "get",
            "configmap",
            BINDING_CONFIG_MAP,
            "-o",
            "json",
        ])
        .await
        .unwrap();
    serde_json::from_str::<Value>(&map.stdout).unwrap()["data"].clone()
}

async fn patch_binding(cluster: &ControlPlane, patch: &str) {
    let name = BINDING_CONFIG_MAP;
    cluster
        .kubectl([
            "-n",
            NAMESPACE,
            "patch",
            "configmap",
            name,
            "--type=merge",
            "-p",
            patch,
        ])
        .await
        .unwrap();
}

#[tokio::test]
async fn tunnels_of_a_deleted_cluster_are_closed_permanently() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    rig.server
        .delete("/v1/clusters/shop", &rig.admin)
        .await
        .expect(204);
    eventually("the agent to report the deletion", SOON, async || {
        let gone = rig.server.get("/k8s/clusters/shop/api", &rig.admin).await;
        if gone.code == 404 {
            Ok(())
        } else {
            Err(gone.body.to_string())
        }
    })
    .await
    .unwrap();
    let again = rig.server.call(
        reqwest::Method::POST,
        "/v1/agent/challenge",
        None,
        Some(json!({ "clusterUid": "whatever" })),
    );
    again.await.expect(404);
}

#[tokio::test]
async fn deleted_cluster_is_cleaned_up_after_its_agent_reconnects() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    // A user has deleted an object of the manifest.
    let delete = ["delete", "clusterrolebinding", "drover-report"];
    cluster.kubectl(delete).await.unwrap();
    drop(agent);
    rig.wait_for("shop", "Connected", ("False", "AgentGone"))
        .await;
    let deleted = rig.server.delete("/v1/clusters/shop", &rig.admin).await;
    deleted.expect(204);
    rig.wait_for("shop", "CleanedUp", ("Unknown", "WaitingForAgent"))
        .await;
    let _agent = start(&cluster, "pod-0").await;
    eventually(
        "the objects of Drover to be deleted in the cluster",
        SOON,
        async || {
            let remaining = cluster
                .kubectl(["get", "clusterrolebindings,clusterroles", "-o", "name"])
                .await
                .map_err(|error| error.to_string())?;
            let remaining: Vec<_> = remaining.stdout.lines().map(str::to_owned).collect();
            let drovers = remaining.iter().filter(|name| {
                name.contains("drover-user") || name.contains("drover-administrators")
            });
            match drovers.count() {
                0 => Ok(()),
                _ => Err(format!("{remaining:?}")),
            }
        },
    )
    .await
    .unwrap();
    gone(&rig).await;
}

/// Runs the reported cleanup commands. Asserts that the commands remove all objects of Drover,
/// including the objects that Helm installed.
async fn run_reported_commands(cluster: &ControlPlane, message: &str) {
    let kinds = "clusterroles,clusterrolebindings";
    let helms = "app.kubernetes.io/managed-by=Helm";
    for name in ["drover-controller", "drover-report"] {
        let label = ["label", "--overwrite", kinds, name, helms];
        cluster.kubectl(label).await.unwrap();
    }
    let (_, commands) = message.split_once("run in the cluster: ").unwrap();
    for command in commands.split(" && ") {
        let words = command.strip_prefix("kubectl ").unwrap().split(' ');
        cluster.kubectl(words).await.unwrap();
    }
    let kinds = "namespaces,clusterroles,clusterrolebindings";
    let remaining = cluster.kubectl(["get", kinds, "-o", "name"]).await.unwrap();
    assert!(!remaining.stdout.contains("drover"), "{}", remaining.stdout);
}

#[tokio::test]
async fn deleted_cluster_without_agent_reports_the_manual_cleanup_commands() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    drop(agent);
    rig.wait_for("shop", "Connected", ("False", "AgentGone"))
        .await;
    let deleted = rig.server.delete("/v1/clusters/shop", &rig.admin).await;
    deleted.expect(204);
    let message = eventually(
        "the cleanup commands in the condition",
        2 * SOON,
        async || {
            let view = rig.server.get("/v1/clusters/shop", &rig.admin).await.body;
            let conditions = view["conditions"].as_array().cloned().unwrap_or_default();
            let found = conditions.iter().find(|c| c["type"] == "CleanedUp");
            match found.filter(|condition| condition["status"] == "False") {
                Some(condition) => Ok(condition["message"].as_str().unwrap_or_default().to_owned()),
                None => Err(view.to_string()),
            }
        },
    );
    let message = message.await.unwrap();
    assert!(
        message.contains("kubectl delete namespace drover-agent"),
        "{message}"
    );
    run_reported_commands(&cluster, &message).await;
    gone(&rig).await;
    let events = rig.events("shop").await;
    assert!(events.contains(&"AgentGone".to_owned()), "{events:?}");
}

async fn gone(rig: &Rig) {
    eventually("the Cluster to be deleted", SOON, async || {
        match rig.server.get("/v1/clusters/shop", &rig.admin).await {
            answer if answer.code == 404 => Ok(()),
            answer => Err(answer.body.to_string()),
        }
    })
    .await
    .unwrap();
}

/// Starts a TCP relay that forwards connections from a different address to the server. Clients of
/// the relay receive the server's certificate.
async fn relay(from: &str, to: &str) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind(from).await.unwrap();
    let (address, to) = (listener.local_addr().unwrap(), to.to_owned());
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let mut far = tokio::net::TcpStream::connect(&to).await.unwrap();
            tokio::spawn(async move {
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    address
}
