//! Tests of preferences and saved views on real hubs: the rules of the schemas, and the deletion with
//! the user.

use std::time::Duration;

use drover_api::kinds::{SavedView, UserPreferences};
use drover_e2e::eventually;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(
    preferences_and_views_are_deleted_with_their_user,
    schema_limits_the_names_of_views_and_preferences,
);

const SOON: Duration = Duration::from_mins(1);

async fn preferences_and_views_are_deleted_with_their_user(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let ann = server.user(&admin, "ann").await;
    let content = json!({ "name": "Failed pods", "path": "/objects/pods?state=failed" });
    let created = server.post("/v1/views", &ann, content.clone()).await;
    let id = created.expect(201)["id"].as_str().unwrap().to_owned();
    let chosen = json!({ "rowHeight": "Compact" });
    let put = server.put("/v1/preferences", &ann, chosen);
    put.await.expect(200);
    let views: Api<SavedView> = Api::all(server.hub.client());
    let preferences: Api<UserPreferences> = Api::all(server.hub.client());
    assert_eq!(
        views
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    server.delete("/v1/users/ann", &admin).await.expect(204);
    let gone = eventually("the objects of the user to be deleted", SOON, async || {
        let views = views
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len();
        let preferences = preferences
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len();
        match (views, preferences) {
            (0, 0) => Ok(()),
            left => Err(format!("{left:?}")),
        }
    });
    gone.await.unwrap();

    let again = server.user(&admin, "ann").await;
    let listed = server.get("/v1/views", &again).await.expect(200);
    assert_eq!(listed["items"], json!([]));
    let read = server.get("/v1/preferences", &again).await.expect(200);
    assert_eq!(read, json!({}));
    let path = format!("/v1/views/{id}");
    server.put(&path, &again, content).await.expect(404);
    server.stop().await;
}

async fn schema_limits_the_names_of_views_and_preferences(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    server.user(&admin, "ann").await;
    let uid = server.hub.users().get("ann").await.unwrap().uid().unwrap();
    let spec = |extra: Value| {
        let mut spec = json!({
            "userName": "ann", "userUid": uid, "displayName": "Pods", "path": "/objects/pods",
        });
        let extra = extra.as_object().unwrap().clone();
        spec.as_object_mut().unwrap().extend(extra);
        spec
    };
    let none = || json!({});
    let views: Api<SavedView> = Api::all(server.hub.client());
    for (name, spec, refused) in [
        (format!("{uid}-0"), spec(none()), ""),
        (format!("{uid}-99"), spec(none()), ""),
        (format!("{uid}-100"), spec(none()), "at most 100"),
        (format!("{uid}-00"), spec(none()), "at most 100"),
        (format!("{uid}-1-1"), spec(none()), "at most 100"),
        ("pods".to_owned(), spec(none()), "at most 100"),
        (
            format!("{uid}-1"),
            spec(json!({ "userUid": "00000000-0000-4000-8000-000000000000" })),
            "spec.userUid",
        ),
        (
            format!("{uid}-1"),
            spec(json!({ "shared": "Project" })),
            "set project",
        ),
        (
            format!("{uid}-1"),
            spec(json!({ "displayName": "x".repeat(101) })),
            "100",
        ),
        (
            format!("{uid}-1"),
            spec(json!({ "path": format!("/{}", "x".repeat(2048)) })),
            "2048",
        ),
    ] {
        let view = json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "SavedView",
            "metadata": { "name": name }, "spec": spec,
        });
        let view = serde_json::from_value(view).unwrap();
        check(views.create(&PostParams::default(), &view).await, refused);
    }
    let preferences: Api<UserPreferences> = Api::all(server.hub.client());
    for (name, refused) in [("ann", "metadata.name must be equal"), (&*uid, "")] {
        let object = json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "UserPreferences",
            "metadata": { "name": name }, "spec": { "userName": "ann", "userUid": uid },
        });
        let object = serde_json::from_value(object).unwrap();
        let created = preferences.create(&PostParams::default(), &object).await;
        check(created, refused);
    }
    server.stop().await;
}

/// Asserts that the hub rejects a creation with a message that contains `refused`. If `refused` is
/// empty, asserts that the hub creates the object.
#[track_caller]
fn check<K: std::fmt::Debug>(created: kube::Result<K>, refused: &str) {
    match created {
        Ok(object) => assert!(refused.is_empty(), "{refused}: {object:?}"),
        Err(kube::Error::Api(status)) => {
            assert_eq!(status.code, 422, "{status:?}");
            let message = &status.message;
            assert!(
                !refused.is_empty() && message.contains(refused),
                "{message}"
            );
        }
        Err(other) => panic!("{other:?}"),
    }
}
