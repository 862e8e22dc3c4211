//! What may be written to the hub by whom, one table for both kinds of hub. Nothing of it is
//! stored: every write is a dry run.

use std::time::Duration;

use drover_e2e::eventually;
use futures::StreamExt as _;
use http::{Method, Request};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(writes_to_the_hub_are_judged_by_who_writes_what);

const SOON: Duration = Duration::from_mins(1);
/// A person of Drover, and somebody whom only the hub knows; both may do everything by RBAC.
const PERSON: &str = "drover:user:5b3c4fd4-0000-4000-8000-000000000000";
const JANE: &str = "jane";
const OURS: &str = "/apis/management.drover.dev/v1alpha1";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const SECRETS: &str = "/api/v1/namespaces/drover-system/secrets";

/// A write, and a part of why it is refused; it is not where that is empty.
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

/// Makes a write in somebody's name; gives the code and the hub's words.
async fn try_write(server: &Server, row: &Row) -> (u16, String) {
    let kind = match row.method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder()
        .method(row.method.clone())
        .uri(format!("{}?dryRun=All", row.path))
        .header("content-type", kind)
        .header("impersonate-user", row.writer)
        .header("impersonate-group", "system:masters")
        .body(serde_json::to_vec(&row.body).unwrap())
        .unwrap();
    match server.hub.client().request::<Value>(request).await {
        Ok(_) => (200, String::new()),
        Err(kube::Error::Api(status)) => (status.code, status.message),
        Err(other) => panic!("{}: {other:?}", row.path),
    }
}

fn patch(writer: &'static str, path: &str, body: Value, refused: &'static str) -> Row {
    row(
        writer,
        Method::PATCH,
        format!("{OURS}/{path}"),
        body,
        refused,
    )
}

fn users() -> Vec<Row> {
    let new = |name: &str, administrator: bool| {
        json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "User",
            "metadata": { "name": name }, "spec": { "administrator": administrator },
        })
    };
    let path = || format!("{OURS}/users");
    let administrator = || json!({ "spec": { "administrator": true } });
    let waived = json!({ "spec": { "mustChangePassword": false } });
    let note = |key: &str| json!({ "metadata": { "annotations": { key: "x" } } });
    let untold = note("management.drover.dev/first-password-untold");
    let seen = json!({ "status": { "lastLoginAt": "2026-01-01T00:00:00Z" } });
    vec![
        row(
            PERSON,
            Method::POST,
            path(),
            new("eve", true),
            "administrators",
        ),
        row(PERSON, Method::POST, path(), new("eve", false), ""),
        patch(PERSON, "users/ann", administrator(), "administrators"),
        patch(JANE, "users/ann", administrator(), "administrators"),
        patch(
            PERSON,
            "users/ann",
            json!({ "spec": { "displayName": "Ann" } }),
            "",
        ),
        patch(
            PERSON,
            "users/ann",
            json!({ "spec": { "enabled": false } }),
            "",
        ),
        patch(PERSON, "users/ann", waived, "mustChangePassword"),
        patch(JANE, "users/ann/status", seen, "only Drover's server"),
        patch(JANE, "users/ann", untold, "notes"),
        patch(JANE, "users/ann", note("example.com/mine"), ""),
    ]
}

fn tokens(id: &str) -> Vec<Row> {
    let new = json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "Token",
        "metadata": { "name": "bcdfghjkmnpq" },
        "spec": {
            "userName": "admin", "userUid": "1", "purpose": "Api",
            "hash": format!("sha256:{}", "0".repeat(64)), "expiresAt": "2100-01-01T00:00:00Z",
        },
    });
    let owner = json!({ "metadata": { "ownerReferences": [] } });
    let label = json!({ "metadata": { "labels": { "mine": "yes" } } });
    let finalizer = json!({ "metadata": { "finalizers": ["example.com/stay"] } });
    let it = format!("tokens/{id}");
    vec![
        row(
            JANE,
            Method::POST,
            format!("{OURS}/tokens"),
            new,
            "drover token create",
        ),
        patch(PERSON, &it, label, ""),
        patch(PERSON, &it, finalizer, "finalizers"),
        patch(PERSON, &it, owner, "ownerReferences"),
        row(
            PERSON,
            Method::DELETE,
            format!("{OURS}/{it}"),
            json!({}),
            "",
        ),
    ]
}

fn clusters_and_settings() -> Vec<Row> {
    let key = json!({ "status": { "registration": {
        "publicKey": "AAAA", "boundAt": "2026-01-01T00:00:00Z", "tokenId": "x",
    } } });
    let value = |text: &str| json!({ "spec": { "value": text } });
    vec![
        patch(PERSON, "clusters/shop/status", key, "only Drover's server"),
        patch(
            PERSON,
            "clusters/shop",
            json!({ "spec": { "description": "x" } }),
            "",
        ),
        patch(PERSON, "settings/session-ttl", value("soon"), "session-ttl"),
        patch(PERSON, "settings/session-ttl", value("2h"), ""),
    ]
}

/// The server's Secrets, and accounts' tokens.
fn secrets() -> Vec<Row> {
    let secret =
        |name: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name } });
    let made_up = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "generateName": "password-" },
    });
    let of_account = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {
            "name": "lasting", "annotations": { "kubernetes.io/service-account.name": "default" },
        },
    });
    let damage = json!({ "data": { "tls.crt": "bm9uc2Vuc2U=" } });
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "expirationSeconds": 600 },
    });
    let token =
        |namespace: &str| format!("/api/v1/namespaces/{namespace}/serviceaccounts/default/token");
    let system = "/api/v1/namespaces/kube-system/secrets".to_owned();
    vec![
        row(
            JANE,
            Method::POST,
            SECRETS.to_owned(),
            secret("password-1"),
            "server's own",
        ),
        row(
            JANE,
            Method::POST,
            SECRETS.to_owned(),
            made_up,
            "server's own",
        ),
        row(PERSON, Method::POST, SECRETS.to_owned(), secret("mine"), ""),
        row(
            PERSON,
            Method::PATCH,
            format!("{SECRETS}/server-ca"),
            damage,
            "server's own",
        ),
        row(
            JANE,
            Method::DELETE,
            format!("{SECRETS}/plan-signing-keys"),
            json!({}),
            "server's own",
        ),
        row(
            PERSON,
            Method::POST,
            system.clone(),
            of_account.clone(),
            "outlive",
        ),
        row(JANE, Method::POST, system, of_account, ""),
        row(
            PERSON,
            Method::POST,
            token("drover-system"),
            request.clone(),
            "outlive",
        ),
        row(
            PERSON,
            Method::POST,
            token("kube-system"),
            request.clone(),
            "outlive",
        ),
        row(
            JANE,
            Method::POST,
            token("drover-system"),
            request.clone(),
            "",
        ),
        row(PERSON, Method::POST, token("default"), request, ""),
    ]
}

fn binding(role: &str, kind: &str, name: &str) -> Value {
    let group = if kind == "ServiceAccount" {
        ""
    } else {
        "rbac.authorization.k8s.io"
    };
    let mut subject = json!({ "kind": kind, "name": name, "apiGroup": group });
    if kind == "ServiceAccount" {
        subject["namespace"] = "default".into();
    }
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "tried" }, "subjects": [subject],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role,
        },
    })
}

fn bindings() -> Vec<Row> {
    let everywhere = |writer, role: &str, kind: &str, name: &str, refused| {
        let path = format!("{RBAC}/clusterrolebindings");
        row(
            writer,
            Method::POST,
            path,
            binding(role, kind, name),
            refused,
        )
    };
    let within = |namespace: &str, role: &str, refused| {
        let path = format!("{RBAC}/namespaces/{namespace}/rolebindings");
        let mut body = binding(role, "ServiceAccount", "robot");
        body["kind"] = "RoleBinding".into();
        row(PERSON, Method::POST, path, body, refused)
    };
    vec![
        everywhere(
            JANE,
            "view",
            "User",
            "drover:user:1",
            "name that Drover gives",
        ),
        everywhere(
            PERSON,
            "view",
            "Group",
            "drover:local:x",
            "name that Drover gives",
        ),
        everywhere(JANE, "cluster-admin", "User", "bob", ""),
        everywhere(
            JANE,
            "cluster-admin",
            "Group",
            "system:authenticated",
            "everybody",
        ),
        everywhere(JANE, "view", "Group", "system:authenticated", ""),
        everywhere(
            PERSON,
            "cluster-admin",
            "ServiceAccount",
            "robot",
            "administrator of Drover",
        ),
        everywhere(PERSON, "edit", "User", "bob", "administrator of Drover"),
        everywhere(PERSON, "view", "ServiceAccount", "robot", ""),
        within("default", "admin", ""),
        within("drover-system", "admin", "administrator of Drover"),
        within("kube-system", "edit", "administrator of Drover"),
        within("drover-system", "view", ""),
    ]
}

fn roles() -> Vec<Row> {
    let role = |resource: &str, verb: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": "tried" },
            "rules": [{ "apiGroups": [""], "resources": [resource], "verbs": [verb] }],
        })
    };
    let aggregated = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "tried" }, "rules": [],
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "x": "y" } }] },
    });
    let label = json!({ "metadata": { "labels": {
        "rbac.authorization.k8s.io/aggregate-to-view": "true",
    } } });
    let path = || format!("{RBAC}/clusterroles");
    let admin = || format!("{RBAC}/clusterroles/cluster-admin");
    let note = json!({ "metadata": { "annotations": { "example.com/mine": "x" } } });
    vec![
        row(
            PERSON,
            Method::POST,
            path(),
            role("secrets", "get"),
            "administrator of Drover",
        ),
        row(
            PERSON,
            Method::POST,
            path(),
            role("users", "impersonate"),
            "act as others",
        ),
        row(PERSON, Method::POST, path(), role("configmaps", "get"), ""),
        row(JANE, Method::POST, path(), role("secrets", "get"), ""),
        row(
            PERSON,
            Method::POST,
            path(),
            aggregated.clone(),
            "aggregated",
        ),
        row(JANE, Method::POST, path(), aggregated, ""),
        row(
            PERSON,
            Method::PATCH,
            admin(),
            label,
            "administrator of Drover",
        ),
        row(PERSON, Method::PATCH, admin(), note, ""),
    ]
}

async fn writes_to_the_hub_are_judged_by_who_writes_what(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let ann = json!({ "name": "ann", "password": "the very first password" });
    server.post("/v1/users", &admin, ann).await.expect(201);
    server
        .post("/v1/clusters", &admin, json!({ "name": "shop" }))
        .await
        .expect(201);
    let wish = json!({ "purpose": "Api", "ttlSeconds": 3600 });
    let made = server.post("/v1/tokens", &admin, wish).await.expect(201);
    let token = made["metadata"]["id"].as_str().unwrap();
    // A real hub asks only once it has been told to, and has shown that it reaches the server.
    let first = tokens(token).remove(0);
    let in_force = eventually("the rules to be in force", SOON, async || match try_write(
        &server, &first,
    )
    .await
    {
        (403, _) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    in_force.await.unwrap();
    let settings = eventually("the settings to be there", SOON, async || {
        server.hub.settings().get("session-ttl").await
    });
    settings.await.unwrap();

    let mut wrong = Vec::new();
    let rows = [
        users(),
        tokens(token),
        clusters_and_settings(),
        secrets(),
        bindings(),
        roles(),
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
                "{writer} {method} {path} {body}: wanted {refused:?}: {code} {message}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    server.stop().await;
}

#[tokio::test]
async fn a_server_whose_hub_cannot_reach_it_says_so_and_stops_nobody() {
    let hub = TestHub::kubernetes().await;
    let mut options = crate::server::options(&hub, None);
    // Nobody listens there.
    options.hub_webhook = Some("https://127.0.0.1:1".parse().unwrap());
    let stop = tokio_util::sync::CancellationToken::new();
    let server = drover_server::wire::start(options, stop.clone())
        .await
        .unwrap();
    let client = server.hub().client();
    let running = tokio::spawn(server.wait());
    // The trial comes and goes, and leaves nothing behind that asks.
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(client);
    let seen = webhooks.watch(&WatchParams::default(), "0").await.unwrap();
    let names = seen.filter_map(async |event| match event.unwrap() {
        WatchEvent::Added(added) => Some(("added", added.name_any())),
        WatchEvent::Deleted(gone) => Some(("gone", gone.name_any())),
        _ => None,
    });
    let first: Vec<_> = tokio::time::timeout(SOON, Box::pin(names).take(2).collect())
        .await
        .unwrap();
    let trial = |what| (what, "drover-rules-probe".to_owned());
    assert_eq!(first, [trial("added"), trial("gone")]);
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"password-1"}}"#;
    let (line, _counter) = hub.command_line().await;
    let line = line.with_stdin(secret);
    line.run([
        "create",
        "-n",
        "drover-system",
        "--dry-run=server",
        "-f",
        "-",
    ])
    .await
    .unwrap();
    stop.cancel();
    running.await.unwrap().unwrap();
}
