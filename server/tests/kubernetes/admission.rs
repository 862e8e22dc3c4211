//! Tests that the hub allows or rejects each write in a table of writers and writes. Every write is
//! a dry run. The test runs on the embedded hub and on an external hub.

mod accounts;
mod certificates;
mod foundations;
mod kinds;
mod rights;
mod secrets;
mod webhook;

use std::time::Duration;

use drover_e2e::eventually;
use http::{Method, Request};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(writes_to_the_hub_are_admitted_by_writer_and_object);

const SOON: Duration = Duration::from_mins(1);
/// Names of two users: a user of Drover, and a user who exists only on the hub. RBAC allows every
/// write of both users.
const PERSON: &str = "drover:user:5b3c4fd4-0000-4000-8000-000000000000";
const JANE: &str = "jane";
/// Names of two service accounts: an account of a user, and an account in the namespace of
/// Kubernetes controllers.
const ROBOT: &str = "system:serviceaccount:apps:robot";
const OF_SYSTEM: &str = "system:serviceaccount:kube-system:robot";
const OURS: &str = "/apis/management.drover.dev/v1alpha1";

/// A write, and a part of its expected error message. If the message is empty, the hub must accept
/// the write.
struct Row {
    writer: &'static str,
    method: Method,
    path: String,
    body: Value,
    refused: &'static str,
}

fn row(
    writer: &'static str,
    method: Method,
    path: String,
    body: Value,
    refused: &'static str,
) -> Row {
    Row {
        writer,
        method,
        path,
        body,
        refused,
    }
}

/// Sends a write that impersonates the row's writer. Returns the status code and the message of the
/// hub.
async fn try_write(server: &Server, row: &Row) -> (u16, String) {
    let kind = match row.method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    // The body of a deletion sets the options; the query is ignored.
    let body = match row.method {
        Method::DELETE => json!({ "dryRun": ["All"] }),
        _ => row.body.clone(),
    };
    let request = Request::builder()
        .method(row.method.clone())
        .uri(format!("{}?dryRun=All", row.path))
        .header("content-type", kind)
        .header("impersonate-user", row.writer)
        .header("impersonate-group", "system:masters")
        .body(serde_json::to_vec(&body).unwrap())
        .unwrap();
    match server.hub.client().request::<Value>(request).await {
        Ok(_) => (200, String::new()),
        Err(kube::Error::Api(status)) => (status.code, status.message),
        Err(other) => panic!("{}: {other:?}", row.path),
    }
}

/// Waits until the hub enforces the admission rules. An external hub enforces the rules after the
/// server has checked its address and applied the webhook configuration.
pub(crate) async fn wait_for_rules(server: &Server) {
    let first = row(
        JANE,
        Method::DELETE,
        "/api/v1/namespaces/drover-system".to_owned(),
        json!({}),
        "",
    );
    let requested = eventually("the rules to be in force", SOON, async || match try_write(
        server, &first,
    )
    .await
    {
        (403, _) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    requested.await.unwrap();
}

async fn writes_to_the_hub_are_admitted_by_writer_and_object(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    for (name, administrator) in [("ann", false), ("eve", true)] {
        let user = json!({
            "name": name, "password": "the very first password", "administrator": administrator,
        });
        server.post("/v1/users", &admin, user).await.expect(201);
    }
    let disable = json!({ "enabled": false });
    let disabled = server.call(Method::PATCH, "/v1/users/eve", Some(&admin), Some(disable));
    disabled.await.expect(200);
    server
        .post("/v1/clusters", &admin, json!({ "name": "shop" }))
        .await
        .expect(201);
    let wish = json!({ "purpose": "Api", "ttlSeconds": 3600 });
    let created = server.post("/v1/tokens", &admin, wish).await.expect(201);
    let token = created["metadata"]["id"].as_str().unwrap();
    let ann = server.hub.users().get("ann").await.unwrap();
    wait_for_rules(&server).await;
    let settings = eventually("the settings to exist", SOON, async || {
        server.hub.settings().get("session-ttl").await
    });
    settings.await.unwrap();

    // Only an external hub has certificate signing requests, and controllers with service accounts.
    let (certificates, of_kubernetes) = match &hub {
        TestHub::Kubernetes(_) => (certificates::requests(&server).await, true),
        TestHub::Embedded(_) => (Vec::new(), false),
    };
    let mut wrong = Vec::new();
    let rows = [
        kinds::users(),
        kinds::administrators(),
        kinds::tokens(token),
        kinds::clusters_and_settings(),
        kinds::views(&ann.uid().unwrap()),
        kinds::administered(),
        secrets::secrets(),
        secrets::bootstrap_tokens(),
        rights::bindings(),
        rights::roles(),
        rights::server_bindings(),
        rights::default_roles(),
        accounts::accounts(of_kubernetes),
        foundations::namespaces(&server).await,
        foundations::definitions(),
        certificates,
    ];
    for row in rows.iter().flatten() {
        let (code, message) = try_write(&server, row).await;
        let as_wanted = if row.refused.is_empty() {
            code == 200
        } else {
            code == 403 && message.contains(row.refused)
        };
        if !as_wanted {
            let Row {
                writer,
                method,
                path,
                body,
                refused,
            } = row;
            wrong.push(format!(
                "{writer} {method} {path} {body}: expected {refused:?}, got {code} {message}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    server.stop().await;
}
