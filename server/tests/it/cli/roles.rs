//! Tests of the requests that `drover role` and `drover access --global` send.

use http::StatusCode;
use serde_json::{Value, json};

use super::program::Drover;
use super::stub::Stub;

#[tokio::test(flavor = "multi_thread")]
async fn role_and_global_member_commands_send_requests_to_their_rest_paths() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    let requested = async |line: &str, answer: &'static str| {
        stub.world.lock().instead = Some((StatusCode::OK, "", answer));
        let arguments: Vec<_> = line.split(' ').collect();
        drover.run(&arguments).await.ok();
        let seen = stub.world.lock().seen.pop().unwrap();
        (format!("{} {}", seen.method, seen.target), seen.body)
    };
    let line = "role create deployer --in project --verb get,list --resource pods";
    let (place, body) = requested(line, "{}").await;
    let rule = json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] });
    let spec = json!({ "context": "Project", "locked": false, "rules": [rule] });
    assert_eq!(place, "POST /v1/roles");
    assert_eq!(body, json!({ "name": "deployer", "spec": spec }));

    let line = "role create watchers --global --in-every-cluster cluster-viewer";
    let (place, body) = requested(line, "{}").await;
    assert_eq!(place, "POST /v1/global-roles");
    assert_eq!(body["spec"]["inEveryCluster"], json!(["cluster-viewer"]));

    let (place, body) = requested("role delete deployer --yes", "").await;
    assert_eq!(
        (place.as_str(), body),
        ("DELETE /v1/roles/deployer", Value::Null)
    );

    let list = r#"{ "items": [] }"#;
    let (place, _) = requested("access list --global", list).await;
    assert_eq!(place, "GET /v1/global-members?limit=500");
    let member = r#"{ "id": "m-1", "role": "viewer", "createdAt": "2026-11-20T12:00:00Z", "conditions": [] }"#;
    let (place, body) = requested("access grant viewer --global --user ann", member).await;
    assert_eq!(place, "POST /v1/global-members");
    assert_eq!(body, json!({ "role": "viewer", "user": "ann" }));
    let (place, _) = requested("access revoke m-1 --global", "").await;
    assert_eq!(place, "DELETE /v1/global-members/m-1");

    let two = ["access", "list", "--global", "--cluster", "berlin"];
    drover.run(&two).await.failed(2, "--cluster");
    let nowhere = ["role", "create", "x", "--verb", "get", "--resource", "pods"];
    drover.run(&nowhere).await.failed(2, "--in cluster");
}
