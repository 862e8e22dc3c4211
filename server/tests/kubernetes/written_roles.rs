//! Tests of role changes over REST, for RoleTemplates and GlobalRoles, and of the members of
//! GlobalRoles.

use serde_json::{Value, json};

use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(
    role_changes_require_all_permissions_of_the_role,
    global_role_grants_require_all_permissions_of_the_role,
);

fn reading(resource: &str) -> Value {
    json!({ "apiGroups": [""], "resources": [resource], "verbs": ["get", "list"] })
}

async fn role_changes_require_all_permissions_of_the_role(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let ann = server.user(&admin, "ann").await;
    let shop = json!({ "name": "shop" });
    server.post("/v1/clusters", &admin, shop).await.expect(201);

    let pods = json!({ "context": "Cluster", "rules": [reading("pods")] });
    let wish = json!({ "name": "pods-reader", "spec": pods });
    server
        .post("/v1/roles", &ann, wish.clone())
        .await
        .expect(403);
    let created = server
        .post("/v1/roles", &admin, wish.clone())
        .await
        .expect(201);
    assert_eq!(
        (&created["builtIn"], &created["bound"]),
        (&json!(false), &json!(0))
    );
    server.post("/v1/roles", &admin, wish).await.expect(409);
    let heir =
        json!({ "context": "Cluster", "rules": [reading("nodes")], "inherits": ["pods-reader"] });
    let heir = json!({ "name": "all-reader", "spec": heir });
    let heir = server.post("/v1/roles", &admin, heir).await.expect(201);
    assert_eq!(
        heir["cluster"]["rules"],
        json!([reading("nodes"), reading("pods")])
    );

    // The response to an invalid role names the field, and the role is unchanged.
    for (spec, field) in [
        (
            json!({ "context": "Cluster", "rule": [reading("pods")] }),
            "spec.rule",
        ),
        (
            json!({ "context": "Cluster", "rules": [{ "verbs": 1 }] }),
            "spec.rules[0].verbs",
        ),
    ] {
        let refused = server
            .put("/v1/roles/pods-reader", &admin, json!({ "spec": spec }))
            .await;
        let refused = refused.expect(422);
        assert_eq!(refused["details"]["causes"][0]["field"], field, "{refused}");
    }
    second_change_of_the_same_version_is_rejected(&server, &admin).await;
    holder_of_a_role_can_read_but_not_change_the_role(&server, &admin, &ann).await;
    role_in_use_cannot_be_deleted(&server, &admin).await;
    server.stop().await;
}

async fn second_change_of_the_same_version_is_rejected(server: &Server, admin: &str) {
    let read = server.get("/v1/roles/pods-reader", admin).await.expect(200);
    assert_eq!(read["restsOnIt"]["roles"], json!(["all-reader"]));
    let change = |resource: &str| {
        let spec = json!({ "context": "Cluster", "rules": [reading(resource)] });
        json!({ "spec": spec, "resourceVersion": read["resourceVersion"] })
    };
    let changed = server
        .put("/v1/roles/pods-reader", admin, change("services"))
        .await
        .expect(200);
    assert_eq!(changed["spec"]["rules"], json!([reading("services")]));
    server
        .put("/v1/roles/pods-reader", admin, change("secrets"))
        .await
        .expect(409);
}

async fn holder_of_a_role_can_read_but_not_change_the_role(
    server: &Server,
    admin: &str,
    ann: &str,
) {
    let give = json!({ "role": "pods-reader", "user": "ann" });
    server
        .post("/v1/clusters/shop/members", admin, give)
        .await
        .expect(201);
    let seen = server.get("/v1/roles/pods-reader", ann).await.expect(200);
    assert_eq!(seen["spec"]["rules"], json!([reading("services")]));
    let nothing = json!({ "mayChange": false, "mayDelete": false, "mayCopy": false });
    assert_eq!((&seen["rights"], &seen["bound"]), (&nothing, &Value::Null));
    let listed = async |token: &str, query: &str| {
        let path = format!("/v1/roles{query}");
        let list = server.get(&path, token).await.expect(200);
        let found = list["items"].as_array().unwrap().iter();
        found
            .clone()
            .find(|role| role["name"] == "pods-reader")
            .unwrap()
            .clone()
    };
    let all = json!({ "mayChange": true, "mayDelete": true, "mayCopy": true, "mayGive": true, "mayTake": true });
    let of_admin = listed(admin, "?cluster=shop").await;
    assert_eq!((&of_admin["rights"], &of_admin["bound"]), (&all, &json!(1)));
    assert_eq!(
        listed(ann, "?cluster=shop").await["rights"]["mayGive"],
        false
    );
    server.get("/v1/roles?cluster=none", ann).await.expect(404);
}

async fn role_in_use_cannot_be_deleted(server: &Server, admin: &str) {
    let refused = server
        .delete("/v1/roles/pods-reader", admin)
        .await
        .expect(403);
    assert!(
        refused["message"].as_str().unwrap().contains("all-reader"),
        "{refused}"
    );
    let start = server
        .get("/v1/roles/cluster-viewer", admin)
        .await
        .expect(200);
    let rights = json!({ "mayChange": false, "mayDelete": false, "mayCopy": true });
    assert_eq!(
        (&start["builtIn"], &start["rights"]),
        (&json!(true), &rights)
    );
    let kept = json!({ "spec": { "context": "Cluster" } });
    server
        .put("/v1/roles/cluster-viewer", admin, kept)
        .await
        .expect(403);
    server
        .delete("/v1/roles/cluster-viewer", admin)
        .await
        .expect(403);
    server
        .delete("/v1/roles/all-reader", admin)
        .await
        .expect(204);
    server
        .delete("/v1/roles/pods-reader", admin)
        .await
        .expect(204);
    server.get("/v1/roles/pods-reader", admin).await.expect(404);
}

async fn global_role_grants_require_all_permissions_of_the_role(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let (ann, _) = (
        server.user(&admin, "ann").await,
        server.user(&admin, "bob").await,
    );
    server.get("/v1/global-roles", &ann).await.expect(403);
    let give = json!({ "role": "roles-manage", "user": "ann" });
    server
        .post("/v1/global-members", &ann, give.clone())
        .await
        .expect(403);
    let value = server
        .post("/v1/global-members", &admin, give.clone())
        .await
        .expect(201);
    server
        .post("/v1/global-members", &admin, give)
        .await
        .expect(409);
    let nobody = json!({ "role": "roles-manage" });
    server
        .post("/v1/global-members", &admin, nobody)
        .await
        .expect(422);

    // Ann manages roles, but only within her own permissions.
    let list = server.get("/v1/global-roles", &ann).await.expect(200);
    let rights = |name: &str| {
        let found = list["items"].as_array().unwrap().iter();
        found.clone().find(|role| role["name"] == name).unwrap()["rights"].clone()
    };
    assert_eq!(rights("roles-manage")["mayCopy"], true);
    assert_eq!(rights("viewer")["mayCopy"], false);
    let too_much = json!({ "inEveryCluster": ["cluster-viewer"] });
    let wish = json!({ "name": "watchers", "spec": too_much });
    let refused = server
        .post("/v1/global-roles", &ann, wish.clone())
        .await
        .expect(403);
    assert!(
        refused["message"].as_str().unwrap().contains("lack"),
        "{refused}"
    );
    let created = server
        .post("/v1/global-roles", &admin, wish)
        .await
        .expect(201);
    assert!(
        !created["everyCluster"]["rules"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    // Without a resource version, because a controller can change the role before this request.
    let more = json!({ "spec": { "displayName": "Watchers" } });
    server
        .put("/v1/global-roles/watchers", &ann, more)
        .await
        .expect(403);
    server
        .delete("/v1/global-roles/watchers", &ann)
        .await
        .expect(403);

    // Only users who can list bindings see the members of a global role.
    server.get("/v1/global-members", &ann).await.expect(403);
    let give = json!({ "role": "watchers", "user": "bob" });
    server
        .post("/v1/global-members", &admin, give)
        .await
        .expect(201);
    let members = server.get("/v1/global-members", &admin).await.expect(200);
    let members = members["items"].as_array().unwrap().iter();
    let user: Vec<_> = members
        .map(|it| (it["user"].as_str(), it["role"].as_str()))
        .collect();
    assert!(user.contains(&(Some("bob"), Some("watchers"))), "{user:?}");
    let watchers = server
        .get("/v1/global-roles/watchers", &admin)
        .await
        .expect(200);
    assert_eq!(watchers["bound"], 1);

    let id = value["id"].as_str().unwrap();
    let path = format!("/v1/global-members/{id}");
    server.delete(&path, &ann).await.expect(403);
    server.delete(&path, &admin).await.expect(204);
    server.get("/v1/global-roles", &ann).await.expect(403);
    server.delete(&path, &admin).await.expect(404);
    server
        .delete("/v1/global-roles/watchers", &admin)
        .await
        .expect(204);
    server.stop().await;
}
