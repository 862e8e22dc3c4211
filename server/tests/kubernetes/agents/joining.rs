//! Tests the import of a cluster, from the manifest to the connected cluster.

use drover_agent_link::registration::{KEY_SECRET, REGISTRATION_SECRET, Step};
use drover_e2e::{ControlPlane, eventually};
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::rig::{Rig, SOON, Steps, apply, control_plane, outside, replica, run, secret, start};

#[tokio::test]
async fn imported_cluster_becomes_ready_and_receives_requests_with_impersonated_user_names() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    rig.wait_for("shop", "Ready", ("False", "NotImported"))
        .await;
    let first = start(&cluster, "pod-0").await;
    let _second = start(&cluster, "pod-1").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;

    let caller = "/k8s/clusters/shop/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let me = rig.server.get("/v1/me", &rig.admin).await.expect(200);
    for _ in 0..2 {
        let answer = rig
            .server
            .post(caller, &rig.admin, body.clone())
            .await
            .expect(201);
        let user = &answer["status"]["userInfo"];
        assert_eq!(user["username"], me["kubernetesUser"]);
        assert!(
            !user["groups"]
                .as_array()
                .unwrap()
                .iter()
                .any(|g| g == "system:masters")
        );
    }
    let pods = "/k8s/clusters/shop/api/v1/namespaces/kube-system/configmaps";
    let list = rig.server.get(pods, &rig.admin).await.expect(200);
    assert_eq!(list["kind"], "ConfigMapList");

    // The first replica stops gracefully. The second replica continues to serve.
    first.terminate().await;
    rig.server.get(pods, &rig.admin).await.expect(200);
    let status = rig.status("shop").await;
    assert_eq!(status.kubernetes_version.as_deref(), Some("v1.36.3"));
    assert!(rig.events("shop").await.contains(&"Registered".to_owned()));
}

#[tokio::test]
async fn registration_completes_after_a_crash_between_any_two_steps() {
    let (rig, cluster) = Rig::with_cluster().await;
    // Registration has five steps. The sixth round runs without a crash.
    for crash_after in 0..=5 {
        let name = format!("shop-{crash_after}");
        let uid = rig.join(&name, &cluster).await;
        let steps = Steps::of(&cluster).await;
        let mut step = Step::Start;
        for _ in 0..crash_after {
            step = steps.registrar().advance(step).await.unwrap();
        }
        drop(step);

        let member = steps.registrar().run().await.unwrap();
        assert_eq!(member.cluster_uid.as_str(), uid, "after step {crash_after}");
        assert_registered_and_token_deleted(&rig, &cluster, &name).await;
        let bound = rig.status(&name).await.registration.unwrap();
        assert_eq!(bound.public_key, member.key.public().encode());
        // The next round uses another cluster with another key.
        cluster
            .kubectl(["delete", "namespace", "drover-agent", "--wait"])
            .await
            .unwrap();
    }
}

async fn assert_registered_and_token_deleted(rig: &Rig, cluster: &ControlPlane, name: &str) {
    let used = secret(cluster, REGISTRATION_SECRET).await.unwrap();
    assert!(
        used.data.is_none_or(|data| data.is_empty()),
        "{name}: the token still exists"
    );
    let copied = used.metadata.annotations.unwrap_or_default();
    assert!(
        copied.is_empty(),
        "{name}: the copy of the token in the kubectl annotation still exists"
    );
    let tokens = rig.server.hub.registration_tokens();
    let remaining = tokens
        .list(&kube::api::ListParams::default())
        .await
        .unwrap()
        .items;
    assert!(
        !remaining
            .iter()
            .any(|token| token.spec.cluster_name == name),
        "{name}: {remaining:?}"
    );
}

#[tokio::test]
async fn registration_completes_after_a_server_crash_before_the_token_is_deleted() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let steps = Steps::of(&cluster).await;
    let token = steps.store.registration_token().await.unwrap().unwrap();
    let first = steps.registrar().run().await.unwrap();
    // Simulates that the server did not delete the token and the agent got no response: the agent
    // repeats the request without the object on the hub and without stored state.
    let stale = json!({ "stringData": { "token": token.expose_secret() } }).to_string();
    let (name, key) = (REGISTRATION_SECRET, KEY_SECRET);
    for (secret, patch) in [
        (name, stale.as_str()),
        (key, r#"{"data":{"cluster-uid":null,"cluster-name":null}}"#),
    ] {
        cluster
            .kubectl([
                "-n",
                "drover-agent",
                "patch",
                "secret",
                secret,
                "--type=merge",
                "-p",
                patch,
            ])
            .await
            .unwrap();
    }
    let again = steps.registrar().run().await.unwrap();
    assert_eq!(first.key.public(), again.key.public());
    assert_registered_and_token_deleted(&rig, &cluster, "shop").await;
}

#[tokio::test]
async fn agent_replicas_that_start_at_the_same_time_share_one_key() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let (one, two) = (Steps::of(&cluster).await, Steps::of(&cluster).await);
    let (first, second) = (one.registrar(), two.registrar());
    let (remaining, right) = tokio::join!(first.run(), second.run());
    let (remaining, right) = (remaining.unwrap(), right.unwrap());
    assert_eq!(remaining.key.public(), right.key.public());
    let bound = rig.status("shop").await.registration.unwrap();
    assert_eq!(bound.public_key, remaining.key.public().encode());
    assert_registered_and_token_deleted(&rig, &cluster, "shop").await;
}

#[tokio::test]
async fn reapplied_manifest_does_not_change_the_agent_key() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.create("shop").await;
    let import = rig.import("shop").await;
    apply(&cluster, &import).await;
    let agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Connected", ("True", "TunnelOpen"))
        .await;
    let before = secret(&cluster, KEY_SECRET).await.unwrap().data;

    apply(&cluster, &import).await;
    apply(&cluster, &rig.import("shop").await).await;
    assert_eq!(secret(&cluster, KEY_SECRET).await.unwrap().data, before);
    drop(agent);
    let _again = start(&cluster, "pod-0").await;
    eventually("the token to be deleted again", SOON, async || {
        let used = secret(&cluster, REGISTRATION_SECRET).await.unwrap();
        if used.data.is_none_or(|data| data.is_empty()) {
            Ok(())
        } else {
            Err("still there")
        }
    })
    .await
    .unwrap();
    rig.wait_for("shop", "Connected", ("True", "TunnelOpen"))
        .await;
}

#[tokio::test]
async fn manifest_request_without_registration_token_in_a_header_is_rejected() {
    let (rig, _cluster) = Rig::with_cluster().await;
    rig.create("shop").await;
    let import = rig.import("shop").await;
    let token = import["registrationToken"].as_str().unwrap();
    let path = "/v1/import/manifest";
    let answer = rig.server.call_text(Method::GET, path, Some(token)).await;
    assert_eq!(
        answer,
        (200, import["manifest"].as_str().unwrap().to_owned())
    );
    for bad in [None, Some(rig.admin.as_str()), Some("droverimport_x_y")] {
        let (code, _) = rig.server.call_text(Method::GET, path, bad).await;
        assert_eq!(code, 401, "{bad:?}");
    }
    let (code, _) = rig
        .server
        .call_text(Method::GET, &format!("{path}?token={token}"), None)
        .await;
    assert_eq!(code, 401, "a token in the URL must be rejected");
}

#[tokio::test]
async fn agent_outside_of_its_cluster_joins_with_a_kubeconfig() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = run(replica(&outside(&cluster).await, "laptop"));
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
}

#[tokio::test]
async fn deleted_cluster_contains_no_drover_objects() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    let body = json!({ "purpose": "Kubeconfig", "cluster": "shop" });
    let scoped = rig
        .server
        .post("/v1/tokens", &rig.admin, body)
        .await
        .expect(201);
    rig.import("shop").await;

    rig.server
        .delete("/v1/clusters/shop", &rig.admin)
        .await
        .expect(204);
    eventually("the Cluster to be deleted", SOON, async || {
        match rig.server.hub.clusters().get_opt("shop").await.unwrap() {
            None => Ok(()),
            Some(remaining) => Err(format!("{:?}", remaining.metadata.finalizers)),
        }
    })
    .await
    .unwrap();
    let id = scoped["metadata"]["id"].as_str().unwrap();
    assert!(rig.server.hub.tokens().get_opt(id).await.unwrap().is_none());
    let tokens = rig.server.hub.registration_tokens();
    assert!(
        tokens
            .list(&kube::api::ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    let selector = "app.kubernetes.io/name=drover-agent";
    eventually(
        "the objects of Drover to be deleted in the cluster",
        SOON,
        async || {
            let kinds = "namespaces,clusterroles,clusterrolebindings";
            let remaining = cluster
                .kubectl(["get", kinds, "-l", selector, "-o", "name"])
                .await;
            let remaining = remaining.map_err(|error| error.to_string())?.stdout;
            if remaining.trim().is_empty() {
                Ok(())
            } else {
                Err(remaining)
            }
        },
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn registered_cluster_cannot_register_as_a_second_cluster() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    Steps::of(&cluster).await.registrar().run().await.unwrap();
    // Apply the manifest of another Cluster in the same cluster, which then uses the same key.
    rig.join("twin", &cluster).await;
    let error = Steps::of(&cluster)
        .await
        .registrar()
        .run()
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("already registered as \"shop\""),
        "{error}"
    );
    assert!(
        rig.events("twin")
            .await
            .contains(&"KeyOfOtherCluster".to_owned())
    );
    let elsewhere = control_plane("elsewhere").await;
    apply(&elsewhere, &rig.import("twin").await).await;
    Steps::of(&elsewhere).await.registrar().run().await.unwrap();
}
