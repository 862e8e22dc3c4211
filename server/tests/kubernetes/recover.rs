//! Tests that `drover server recover` restores access when no user can log in.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use drover_hub::connect::HubOptions;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio::process::Command;

use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(recovered_user_becomes_administrator_if_no_other_administrator_exists);

/// The maximum run time of the program on a slow machine.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The exit code and output of one run.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) success: bool,
    /// Standard output, which contains the new password.
    pub(crate) stdout: String,
    /// Standard error, which contains notices and errors.
    pub(crate) stderr: String,
}

/// Runs `drover server recover` with these arguments and an empty environment.
pub(crate) async fn recover(arguments: &[&str]) -> Recovered {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drover"));
    let running = command
        .args(["server", "recover"])
        .args(arguments)
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(TIMEOUT, running)
        .await
        .unwrap()
        .unwrap();
    Recovered {
        success: ended.status.success(),
        stdout: String::from_utf8(ended.stdout)
            .unwrap()
            .trim_end()
            .to_owned(),
        stderr: String::from_utf8(ended.stderr).unwrap(),
    }
}

async fn recover_on(hub: &TestHub, user: &str) -> Recovered {
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let hub = match hub.options() {
        HubOptions::Kubeconfig { file, .. } => ["--kubeconfig".to_owned(), path(&file)],
        _ => ["--data-dir".to_owned(), path(hub.folder())],
    };
    recover(&[&hub[0], &hub[1], "--user", user]).await
}

async fn recovered_user_becomes_administrator_if_no_other_administrator_exists(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    server.user(&admin, "ann").await;
    server.stop().await;

    // Another enabled administrator exists, so a new password does not make ann an administrator.
    let ann = recover_on(&hub, "ann").await;
    assert!(
        ann.success && !ann.stderr.contains("enabled administrator"),
        "{ann:?}"
    );
    let nobody = recover_on(&hub, "nobody").await;
    assert!(
        !nobody.success
            && nobody
                .stderr
                .contains("--user to one of the administrators: admin"),
        "{nobody:?}"
    );
    let server = Server::start(&hub).await;
    let session = server.first_login("ann", &ann.stdout).await;
    server.get("/v1/users", &session).await.expect(403);

    // Changes of the password and of the permissions do not revoke this API token.
    let wish = json!({ "purpose": "Api", "ttlSeconds": 3600 });
    let created = server.post("/v1/tokens", &admin, wish).await.expect(201);
    let old = created["token"].as_str().unwrap().to_owned();
    server.get("/v1/users", &old).await.expect(200);

    // Disable the last administrator. Only the server may do so now; older rules allowed it.
    let off = Patch::Merge(json!({ "spec": { "enabled": false } }));
    let (users, params) = (server.hub.users(), PatchParams::default());
    users.patch("admin", &params, &off).await.unwrap();
    server.stop().await;
    let back = recover_on(&hub, "admin").await;
    assert!(
        back.success && back.stderr.contains("enabled administrator"),
        "{back:?}"
    );
    let server = Server::start(&hub).await;
    let session = server.first_login("admin", &back.stdout).await;
    server.get("/v1/users", &session).await.expect(200);
    assert!(
        back.stderr
            .contains("All sessions and tokens of the user have ended"),
        "{back:?}"
    );
    server.get("/v1/users", &old).await.expect(401);

    let users = server.hub.users();
    users
        .delete("admin", &DeleteParams::default())
        .await
        .unwrap();
    server.stop().await;
    let again = recover_on(&hub, "boss").await;
    assert!(
        again.success && again.stderr.contains("enabled administrator"),
        "{again:?}"
    );
    let server = Server::start(&hub).await;
    let session = server.first_login("boss", &again.stdout).await;
    server.get("/v1/users", &session).await.expect(200);
    server.stop().await;
}
