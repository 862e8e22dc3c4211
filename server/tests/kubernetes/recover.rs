//! `drover server recover`: the way back when nobody can log in.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use drover_hub::connect::HubOptions;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio::process::Command;

use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(who_is_recovered_administers_drover_if_nobody_else_does);

/// Longest that the program may take, however slow the machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// How it ended.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) success: bool,
    /// The password, if there is one.
    pub(crate) out: String,
    pub(crate) said: String,
}

/// Runs it with these arguments and no surroundings.
pub(crate) async fn recover(arguments: &[&str]) -> Recovered {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drover"));
    let running = command
        .args(["server", "recover"])
        .args(arguments)
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(PATIENCE, running)
        .await
        .unwrap()
        .unwrap();
    Recovered {
        success: ended.status.success(),
        out: String::from_utf8(ended.stdout)
            .unwrap()
            .trim_end()
            .to_owned(),
        said: String::from_utf8(ended.stderr).unwrap(),
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

async fn who_is_recovered_administers_drover_if_nobody_else_does(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    server.user(&admin, "ann").await;
    server.stop().await;

    // While somebody administers Drover, a new password makes nobody else an administrator.
    let ann = recover_on(&hub, "ann").await;
    assert!(
        ann.success && !ann.said.contains("administrator now"),
        "{ann:?}"
    );
    let nobody = recover_on(&hub, "nobody").await;
    assert!(
        !nobody.success && nobody.said.contains("--user: admin"),
        "{nobody:?}"
    );
    let server = Server::start(&hub).await;
    let session = server.first_login("ann", &ann.out).await;
    server.get("/v1/users", &session).await.expect(403);

    // A token for programs outlives a password, and would outlive the loss of office.
    let wish = json!({ "purpose": "Api", "ttlSeconds": 3600 });
    let made = server.post("/v1/tokens", &admin, wish).await.expect(201);
    let old = made["token"].as_str().unwrap().to_owned();
    server.get("/v1/users", &old).await.expect(200);

    // What only the server can do, and older rules let others do.
    let off = Patch::Merge(json!({ "spec": { "enabled": false } }));
    let (users, params) = (server.hub.users(), PatchParams::default());
    users.patch("admin", &params, &off).await.unwrap();
    server.stop().await;
    let back = recover_on(&hub, "admin").await;
    assert!(
        back.success && back.said.contains("administrator now"),
        "{back:?}"
    );
    let server = Server::start(&hub).await;
    let session = server.first_login("admin", &back.out).await;
    server.get("/v1/users", &session).await.expect(200);
    assert!(back.said.contains("all of their tokens"), "{back:?}");
    server.get("/v1/users", &old).await.expect(401);

    let users = server.hub.users();
    users
        .delete("admin", &DeleteParams::default())
        .await
        .unwrap();
    server.stop().await;
    let again = recover_on(&hub, "boss").await;
    assert!(
        again.success && again.said.contains("administrator now"),
        "{again:?}"
    );
    let server = Server::start(&hub).await;
    let session = server.first_login("boss", &again.out).await;
    server.get("/v1/users", &session).await.expect(200);
    server.stop().await;
}
