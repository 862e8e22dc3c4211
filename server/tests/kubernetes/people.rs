//! Tests of users, clusters, settings and kubeconfigs over REST.

mod views;

use std::time::Duration;

use drover_access::setting::Setting;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource as _, ResourceExt as _};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(
    administrator_manages_users_and_clusters_that_other_users_cannot_see,
    holders_of_global_roles_import_clusters_and_manage_users,
    new_administrator_has_no_owner_references,
    settings_have_defaults_are_validated_and_take_effect,
    kubeconfig_works_with_kubectl_and_contains_one_scoped_token_per_cluster,
);

/// An owner reference. The garbage collector deletes a user with this reference when the owner is
/// deleted.
async fn new_administrator_has_no_owner_references(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    server.user(&admin, "ann").await;
    let namespaces: Api<Namespace> = Api::all(server.hub.client());
    let owner = namespaces.get("default").await.unwrap();
    let owner = owner.owner_ref(&()).unwrap();
    let (users, params) = (server.hub.users(), PatchParams::default());
    let tie = Patch::Merge(json!({ "metadata": { "ownerReferences": [owner] } }));
    let ann = users.patch("ann", &params, &tie).await.unwrap();
    assert_eq!(ann.owner_references().len(), 1);
    let promote = json!({ "administrator": true });
    let promoted = server.call(Method::PATCH, "/v1/users/ann", Some(&admin), Some(promote));
    promoted.await.expect(200);
    let ann = users.get("ann").await.unwrap();
    assert!(ann.spec.administrator && ann.owner_references().is_empty());
    server.stop().await;
}

async fn holders_of_global_roles_import_clusters_and_manage_users(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let (ann, bob) = (
        server.user(&admin, "ann").await,
        server.user(&admin, "bob").await,
    );
    for (user, role) in [("ann", "clusters-import"), ("bob", "users-manage")] {
        let body = json!({ "role": role, "user": user });
        let value = server.post("/v1/global-members", &admin, body);
        value.await.expect(201);
    }

    let cluster = json!({ "name": "till" });
    server
        .post("/v1/clusters", &bob, cluster.clone())
        .await
        .expect(403);
    server.post("/v1/clusters", &ann, cluster).await.expect(201);
    let till = server.get("/v1/clusters/till", &ann).await.expect(200);
    for right in ["mayImport", "mayDelete", "allNamespaces"] {
        assert_eq!(till["rights"][right], true, "{right}: {till}");
    }
    assert_eq!(till["rights"]["mayChange"], false, "{till}");
    let import = "/v1/clusters/till/import";
    server.post(import, &ann, json!({})).await.expect(200);
    server.delete("/v1/clusters/till", &ann).await.expect(204);

    server.get("/v1/users", &ann).await.expect(403);
    let password = "a password that is long";
    let new = |name: &str, administrator: bool| json!({ "name": name, "password": password, "administrator": administrator });
    server
        .post("/v1/users", &bob, new("eve", false))
        .await
        .expect(201);
    server
        .post("/v1/users", &bob, new("root", true))
        .await
        .expect(403);
    let patch = async |name: &str, change: Value| {
        let path = format!("/v1/users/{name}");
        let request = || server.call(Method::PATCH, &path, Some(&bob), Some(change.clone()));
        // The server writes the status of a new user at the same time, so a request can conflict.
        for _ in 0..10 {
            let answer = request().await;
            if answer.code != StatusCode::CONFLICT {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        request().await
    };
    patch("eve", json!({ "displayName": "Eve" }))
        .await
        .expect(200);
    patch("eve", json!({ "administrator": true }))
        .await
        .expect(403);
    patch("admin", json!({ "enabled": false }))
        .await
        .expect(403);
    server.delete("/v1/users/admin", &bob).await.expect(403);
    let reset = json!({ "new": password });
    for (name, expected) in [("eve", 204), ("ann", 403), ("admin", 403)] {
        let url = format!("/v1/users/{name}/password");
        server
            .post(&url, &bob, reset.clone())
            .await
            .expect(expected);
    }
    server.delete("/v1/users/eve", &bob).await.expect(204);
    server.stop().await;
}

async fn administrator_manages_users_and_clusters_that_other_users_cannot_see(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let ann = server.user(&admin, "ann").await;
    server
        .post("/v1/clusters", &admin, json!({ "name": "shop" }))
        .await
        .expect(201);

    // Ann has no role and sees no clusters and no other users.
    let clusters = server.get("/v1/clusters", &ann).await.expect(200);
    assert_eq!(clusters, json!({ "items": [] }));
    server.get("/v1/clusters/shop", &ann).await.expect(404);
    server.get("/v1/users", &ann).await.expect(403);
    server
        .post("/v1/clusters", &ann, json!({ "name": "mine" }))
        .await
        .expect(403);
    server.delete("/v1/clusters/shop", &ann).await.expect(404);
    let tokens = server.get("/v1/tokens", &ann).await.expect(200);
    let owners: Vec<_> = tokens["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["username"].clone())
        .collect();
    assert_eq!(owners, ["ann"]);
    let others = server.get("/v1/tokens", &admin).await.expect(200);
    let foreign = others["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["username"] == "admin");
    let foreign = foreign.unwrap()["id"].as_str().unwrap();
    server
        .delete(&format!("/v1/tokens/{foreign}"), &ann)
        .await
        .expect(404);

    // The response to an invalid request names the field.
    for (path, body, field) in [
        ("/v1/clusters", json!({ "name": "local" }), "name"),
        ("/v1/clusters", json!({ "name": "a b" }), "name"),
        (
            "/v1/clusters",
            json!({ "name": "x", "colour": "red" }),
            "colour",
        ),
        (
            "/v1/users",
            json!({ "name": "Bob", "password": "long enough it is" }),
            "name",
        ),
        (
            "/v1/users",
            json!({ "name": "bob", "password": "short" }),
            "password",
        ),
        (
            "/v1/tokens",
            json!({ "purpose": "Api", "ttlSeconds": 0 }),
            "ttlSeconds",
        ),
        ("/v1/tokens", json!({ "purpose": "Session" }), "purpose"),
    ] {
        let refused = server.post(path, &admin, body).await.expect(422);
        assert_eq!(refused["details"]["causes"][0]["field"], field, "{refused}");
    }
    server
        .post("/v1/clusters", &admin, json!({ "name": "shop" }))
        .await
        .expect(409);
    let lasting = server.post(
        "/v1/users",
        &admin,
        json!({ "name": "ann", "password": "long enough it is" }),
    );
    lasting.await.expect(409);

    // Administrators cannot remove their own access.
    server.delete("/v1/users/admin", &admin).await.expect(409);
    let off = Some(json!({ "enabled": false }));
    server
        .call(Method::PATCH, "/v1/users/admin", Some(&admin), off)
        .await
        .expect(409);
    server.stop().await;
}

async fn settings_have_defaults_are_validated_and_take_effect(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let settings = server.get("/v1/settings", &admin).await.expect(200);
    let find = |name: &str, list: &Value| {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["name"] == name)
            .cloned()
            .unwrap()
    };
    assert_eq!(find("session-ttl", &settings)["inEffect"], "16h");
    assert_eq!(find("server-url", &settings)["inEffect"], server.url);

    let put = |name: &str, value: &str| {
        let (path, body) = (format!("/v1/settings/{name}"), json!({ "value": value }));
        let (server, admin) = (&server, &admin);
        async move {
            server
                .call(Method::PUT, &path, Some(admin), Some(body))
                .await
        }
    };
    let refused = put("session-ttl", "soon").await.expect(422);
    assert_eq!(refused["details"]["causes"][0]["field"], "value");
    put("no-such", "1").await.expect(404);
    let shown = put("token-max-ttl", "2h").await.expect(200);
    assert_eq!(shown["inEffect"], "2h");
    let wish = json!({ "purpose": "Api", "ttlSeconds": 7201 });
    server.post("/v1/tokens", &admin, wish).await.expect(422);

    // kubectl on the hub shows the effective value of every setting.
    let limit = Duration::from_secs(30);
    let objects = drover_e2e::eventually("a condition on every setting", limit, async || {
        let list = hub
            .kubectl(["get", "settings.management.drover.dev", "-o", "json"])
            .await;
        let list: Value = serde_json::from_str(&list.unwrap().stdout).unwrap();
        let items = list["items"].as_array().unwrap();
        let judged = |s: &Value| s["status"]["conditions"][0]["status"] == "True";
        // The controller validated some settings before their change.
        let newest =
            |s: &Value| s["metadata"]["name"] != "token-max-ttl" || s["status"]["inEffect"] == "2h";
        if items.len() == Setting::ALL.len() && items.iter().all(|s| judged(s) && newest(s)) {
            Ok(list)
        } else {
            Err(list)
        }
    });
    let objects = objects.await.unwrap();
    let ttl = objects["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["metadata"]["name"] == "token-max-ttl");
    assert_eq!(ttl.unwrap()["status"]["inEffect"], "2h");
    server.stop().await;
}

async fn kubeconfig_works_with_kubectl_and_contains_one_scoped_token_per_cluster(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    for name in ["one", "two"] {
        server
            .post("/v1/clusters", &admin, json!({ "name": name }))
            .await
            .expect(201);
    }
    let wish = json!({ "credential": "Token", "clusters": ["one", "two"], "ttlSeconds": 600 });
    let created = server
        .post("/v1/kubeconfig", &admin, wish)
        .await
        .expect(201);
    let text = created["kubeconfig"].as_str().unwrap();
    let path = hub.folder().join("drover.kubeconfig");
    std::fs::write(&path, text).unwrap();
    let (kubectl, _counter) = hub.command_line().await;
    let kubectl = kubectl.with_kubeconfig(&path);
    let view = kubectl
        .run(["config", "view", "--raw", "-o", "json"])
        .await
        .unwrap();
    let view: Value = serde_json::from_str(&view.stdout).unwrap();
    assert_eq!(view["current-context"], "one");
    assert_eq!(
        view["clusters"][1]["cluster"]["server"],
        format!("{}/k8s/clusters/two", server.url)
    );
    let token = view["users"][1]["user"]["token"].as_str().unwrap();
    let me = server.get("/v1/me", token).await.expect(200);
    assert_eq!(me["token"]["cluster"]["name"], "two");
    assert_eq!(me["token"]["purpose"], "Kubeconfig");

    let exec = server
        .post("/v1/kubeconfig", &admin, json!({ "credential": "Exec" }))
        .await;
    let exec = exec.expect(201);
    assert!(
        !exec["kubeconfig"].as_str().unwrap().contains("drover_"),
        "the file must contain no token"
    );
    let wish = json!({ "credential": "Token", "clusters": ["one", "nowhere"] });
    let before = server.hub.stores().tokens.len();
    server
        .post("/v1/kubeconfig", &admin, wish)
        .await
        .expect(404);
    assert_eq!(
        server.hub.stores().tokens.len(),
        before,
        "access must be checked before a token is created"
    );
    let wish = json!({ "credential": "Token", "clusters": ["local"] });
    server
        .post("/v1/kubeconfig", &admin, wish)
        .await
        .expect(422);
    server.stop().await;
}
