//! Tests that users get access to clusters when they become administrators on the hub, and lose
//! access when they stop being administrators.

use drover_e2e::eventually;
use serde_json::json;

use super::rig::{Rig, SOON, start};

#[tokio::test]
async fn changes_of_administrators_update_cluster_bindings_and_drift_is_repaired() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "AccessApplied", ("True", "Applied"))
        .await;

    let body = json!({
        "name": "ann", "password": "the very first password", "administrator": true,
    });
    let ann = rig
        .server
        .post("/v1/users", &rig.admin, body)
        .await
        .expect(201);
    let name = format!("drover:user:{}", ann["uid"].as_str().unwrap());
    let has_access = async |expected: bool| {
        eventually(
            &format!("{name} has access: {expected}"),
            SOON,
            async || {
                let objects = [
                    "clusterrole/drover-user-0",
                    "clusterrolebinding/drover-administrators-0",
                ];
                let mut seen = Vec::new();
                for object in objects {
                    let found = cluster.kubectl(["get", object, "-o", "yaml"]).await;
                    seen.push(
                        found
                            .map_err(|error| error.to_string())?
                            .stdout
                            .contains(&name),
                    );
                }
                if seen == [expected, expected] {
                    Ok(())
                } else {
                    Err(format!("{seen:?}"))
                }
            },
        )
        .await
        .unwrap();
    };
    has_access(true).await;
    rig.server
        .call(
            reqwest::Method::PATCH,
            "/v1/users/ann",
            Some(&rig.admin),
            Some(json!({ "enabled": false })),
        )
        .await
        .expect(200);
    has_access(false).await;

    // The server cannot check the bindings while the cluster is disconnected.
    let enable = Some(json!({ "enabled": true }));
    let applied = ("True", "Applied");
    rig.wait_for("shop", "AccessApplied", applied).await;
    drop(agent);
    rig.wait_for("shop", "Connected", ("False", "AgentGone"))
        .await;
    let patch = reqwest::Method::PATCH;
    let patched = rig
        .server
        .call(patch, "/v1/users/ann", Some(&rig.admin), enable);
    patched.await.expect(200);
    rig.wait_for("shop", "AccessApplied", ("Unknown", "NotConnected"))
        .await;
    let agent = start(&cluster, "pod-0").await;
    has_access(true).await;
    rig.wait_for("shop", "AccessApplied", applied).await;

    // A user deletes the binding. The agent reports the change and the server restores the binding.
    cluster
        .kubectl(["delete", "clusterrolebinding", "drover-administrators-0"])
        .await
        .unwrap();
    eventually("the binding to be repaired", SOON, async || {
        cluster
            .kubectl(["get", "clusterrolebinding", "drover-administrators-0"])
            .await
            .map(|_| ())
    })
    .await
    .unwrap();
    // A user adds a subject to the binding of the administrators. The server removes the subject.
    let added = r#"[{"op": "add", "path": "/subjects/-", "value":
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory"}}]"#;
    let binding = "clusterrolebinding/drover-administrators-0";
    cluster
        .kubectl(["patch", binding, "--type=json", "-p", added])
        .await
        .unwrap();
    eventually("the added subject to be removed", SOON, async || {
        let seen = cluster.kubectl(["get", binding, "-o", "yaml"]).await;
        let seen = seen.map_err(|error| error.to_string())?.stdout;
        let there = seen.contains("mallory");
        (!there).then_some(()).ok_or(seen)
    })
    .await
    .unwrap();
    drop(agent);
}

#[tokio::test]
async fn obsolete_objects_are_pruned_from_the_cluster() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    // Objects of an earlier plan with more roles.
    let label = "management.drover.dev/access=user-lane";
    cluster
        .kubectl([
            "create",
            "clusterrole",
            "drover-user-7",
            "--verb=get",
            "--resource=pods",
        ])
        .await
        .unwrap();
    cluster
        .kubectl(["label", "clusterrole", "drover-user-7", label])
        .await
        .unwrap();
    let _agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "AccessApplied", ("True", "Applied"))
        .await;
    let remaining = cluster
        .kubectl(["get", "clusterroles", "-l", label, "-o", "name"])
        .await
        .unwrap();
    assert_eq!(
        remaining.stdout.trim(),
        "clusterrole.rbac.authorization.k8s.io/drover-user-0"
    );
}
