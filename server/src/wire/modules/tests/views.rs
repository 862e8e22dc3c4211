//! Tests of preferences and saved views: each user reads and changes only the own objects.

use drover_api::kinds::{
    Project, ProjectRoleTemplateBinding, RoleTemplate, SavedView, UserPreferences,
};
use drover_api::view_path;
use serde_json::json;

use super::changes::{FakeHub, object};
use super::*;

/// A server with the administrator `user-0`, and the users `user-1` and `user-2`. `user-1` is a member
/// of the project `desk`.
struct Desk {
    hub: FakeHub,
    server: TestServer,
    tokens: [String; 3],
}

impl Desk {
    fn new() -> Self {
        let hub = FakeHub::default();
        let server = TestServer::with_client(hub.client());
        let tokens = [true, false, false]
            .map(|administrator| server.person(administrator, TokenPurpose::Session, None));
        let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
        let role = object(
            "RoleTemplate",
            "desk",
            &json!({ "context": "Project", "rules": rules }),
        );
        let role: RoleTemplate = serde_json::from_value(role).unwrap();
        server.stores.role_templates.apply(role);
        let spec = json!({ "cluster": { "name": "shop", "uid": "shop-uid" }, "namespaces": [] });
        let project: Project = serde_json::from_value(object("Project", "desk", &spec)).unwrap();
        server.stores.projects.apply(project);
        let spec = json!({
            "project": { "name": "desk", "uid": "desk" }, "role": { "name": "desk", "uid": "desk" },
            "subject": { "user": { "name": "user-1", "uid": "user-1" } },
        });
        let binding = object("ProjectRoleTemplateBinding", "p", &spec);
        let binding: ProjectRoleTemplateBinding = serde_json::from_value(binding).unwrap();
        server.stores.project_role_template_bindings.apply(binding);
        Self {
            hub,
            server,
            tokens,
        }
    }

    /// Adds a view of a user to the hub and to the stores.
    fn view(&self, user: &str, number: u8, sharing: &Value) -> String {
        let mut spec = json!({
            "userName": user, "userUid": user, "displayName": "Pods", "path": "/objects/pods",
        });
        let fields = sharing.as_object().unwrap().clone();
        spec.as_object_mut().unwrap().extend(fields);
        let name = format!("{user}-{number}");
        let mut view = object("SavedView", &name, &spec);
        view["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "User", "name": user, "uid": user,
        }]);
        self.hub.put("savedviews", &view);
        let view: SavedView = serde_json::from_value(view).unwrap();
        self.server.stores.saved_views.apply(view);
        name
    }

    async fn send(&self, user: usize, method: Method, path: &str, body: Value) -> (u16, Value) {
        let token = &self.tokens[user];
        let (code, body) = self.server.send(method, path, token, body).await;
        (code.as_u16(), body)
    }

    async fn listed(&self, user: usize) -> Vec<String> {
        let (code, body) = self.send(user, Method::GET, "/v1/views", json!({})).await;
        assert_eq!(code, 200, "{body}");
        let items = body["items"].as_array().unwrap().iter();
        items
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn content(sharing: &Value) -> Value {
    let mut content = json!({ "name": "Failed pods", "path": "/objects/pods?state=failed" });
    let fields = sharing.as_object().unwrap().clone();
    content.as_object_mut().unwrap().extend(fields);
    content
}

#[tokio::test(start_paused = true)]
async fn user_sees_own_views_and_views_shared_with_the_user() {
    let desk = Desk::new();
    let private = desk.view("user-0", 0, &json!({ "shared": "Private" }));
    let everyone = desk.view("user-0", 1, &json!({ "shared": "Everyone" }));
    let project =
        |uid: &str| json!({ "shared": "Project", "project": { "name": "desk", "uid": uid } });
    let of_project = desk.view("user-0", 2, &project("desk"));
    // The project was deleted and created again with the same name.
    let of_earlier = desk.view("user-0", 3, &project("earlier-desk"));
    let of_deleted_user = desk.view("gone", 0, &json!({ "shared": "Everyone" }));
    let own = desk.view("user-1", 0, &json!({}));
    let all = [&private, &everyone, &of_project, &of_earlier];
    assert_eq!(desk.listed(0).await, all.map(String::as_str));
    assert_eq!(desk.listed(1).await, [&*everyone, &*of_project, &*own]);
    assert_eq!(desk.listed(2).await, [&*everyone]);
    for (user, view, code) in [
        (0, &own, 404),
        (1, &private, 404),
        (1, &of_earlier, 404),
        (1, &of_deleted_user, 404),
        (1, &everyone, 403),
        (1, &of_project, 403),
        (2, &of_project, 404),
        (0, &of_deleted_user, 404),
    ] {
        for method in [Method::PUT, Method::DELETE] {
            let path = format!("/v1/views/{view}");
            let answer = desk.send(user, method, &path, content(&json!({}))).await;
            assert_eq!(answer.0, code, "{user} {view}: {answer:?}");
        }
        assert!(
            desk.hub.get::<Value>("savedviews", view).is_some(),
            "{view}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn private_view_of_another_user_and_missing_view_have_the_same_response() {
    let desk = Desk::new();
    let private = desk.view("user-0", 0, &json!({}));
    for method in [Method::PUT, Method::DELETE] {
        let mut answers = Vec::new();
        for id in [&*private, "user-0-1"] {
            let path = format!("/v1/views/{id}");
            let body = content(&json!({}));
            let (code, body) = desk.send(1, method.clone(), &path, body).await;
            assert_eq!(code, 404, "{body}");
            answers.push(body.to_string().replace(id, "ID"));
        }
        assert_eq!(answers[0], answers[1]);
    }
}

#[tokio::test(start_paused = true)]
async fn view_is_created_changed_and_deleted_by_its_owner() {
    let desk = Desk::new();
    desk.view("user-1", 0, &json!({}));
    // The name `user-1-1` is in use on the hub, and the store does not contain the object yet.
    desk.hub
        .put("savedviews", &object("SavedView", "user-1-1", &json!({})));
    let project = json!({ "shared": "Project", "project": "desk" });
    let (code, created) = desk
        .send(1, Method::POST, "/v1/views", content(&project))
        .await;
    assert_eq!(code, 201, "{created}");
    assert_eq!(created["id"], "user-1-2", "{created}");
    assert_eq!(
        (&created["own"], &created["owner"]),
        (&json!(true), &json!("user-1"))
    );
    let stored: SavedView = desk.hub.get("savedviews", "user-1-2").unwrap();
    let owners = stored.metadata.owner_references.clone().unwrap();
    assert_eq!((owners.len(), &*owners[0].uid), (1, "user-1"), "{owners:?}");
    assert_eq!(stored.spec.project.as_ref().unwrap().uid.as_str(), "desk");
    desk.server.stores.saved_views.apply(stored);
    let path = "/v1/views/user-1-2";
    let renamed = json!({ "name": "Pods", "path": "/objects/pods" });
    let (code, changed) = desk.send(1, Method::PUT, path, renamed).await;
    assert_eq!(code, 200, "{changed}");
    let shown = (&changed["name"], &changed["shared"], &changed["project"]);
    assert_eq!(shown, (&json!("Pods"), &json!("Private"), &Value::Null));
    let (code, body) = desk.send(1, Method::DELETE, path, json!({})).await;
    assert_eq!(code, 204, "{body}");
    assert!(desk.hub.get::<Value>("savedviews", "user-1-2").is_none());
}

#[tokio::test(start_paused = true)]
async fn invalid_view_is_rejected_with_the_name_of_its_field() {
    let desk = Desk::new();
    let for_project = |name: &str| json!({ "shared": "Project", "project": name });
    for (user, change, code, said) in [
        (1, json!({ "path": "https://evil.example/" }), 422, "path: "),
        (1, json!({ "path": "//evil.example/" }), 422, "path: "),
        (1, json!({ "path": "/v1/session" }), 422, "path: "),
        (1, json!({ "name": "" }), 422, "name: "),
        (1, json!({ "name": "x".repeat(101) }), 422, "name: "),
        (1, json!({ "color": "red" }), 422, "color"),
        (1, json!({ "shared": "Nobody" }), 422, "shared"),
        (1, json!({ "shared": "Project" }), 422, "project: "),
        (1, json!({ "project": "desk" }), 422, "project: "),
        (1, for_project("other"), 404, "other"),
        (2, for_project("desk"), 404, "desk"),
        (
            1,
            json!({ "shared": "Everyone" }),
            403,
            "only administrators",
        ),
        (0, json!({ "shared": "Everyone" }), 201, ""),
    ] {
        let (answer, body) = desk
            .send(user, Method::POST, "/v1/views", content(&change))
            .await;
        assert_eq!(answer, code, "{change}: {body}");
        let message = body["message"].as_str().unwrap_or_default();
        assert!(message.contains(said), "{change}: {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn user_with_100_views_saves_a_view_after_deleting_another() {
    let desk = Desk::new();
    for number in 0..100 {
        desk.view("user-1", number, &json!({}));
    }
    let save = async || {
        desk.send(1, Method::POST, "/v1/views", content(&json!({})))
            .await
    };
    let (code, body) = save().await;
    assert_eq!(code, 409, "{body}");
    assert!(
        body["message"].as_str().unwrap().contains("delete a view"),
        "{body}"
    );
    let path = "/v1/views/user-1-42";
    let (code, body) = desk.send(1, Method::DELETE, path, json!({})).await;
    assert_eq!(code, 204, "{body}");
    desk.server.stores.saved_views.remove("user-1-42");
    let (code, body) = save().await;
    assert_eq!((code, &body["id"]), (201, &json!("user-1-42")), "{body}");
}

#[tokio::test(start_paused = true)]
async fn preferences_belong_to_one_user() {
    let desk = Desk::new();
    let path = "/v1/preferences";
    let chosen = json!({
        "rowHeight": "Compact", "theme": "Dark", "language": "German", "singleKeys": false,
    });
    let (code, body) = desk.send(1, Method::PUT, path, chosen.clone()).await;
    assert_eq!((code, &body), (200, &chosen));
    let stored: UserPreferences = desk.hub.get("userpreferences", "user-1").unwrap();
    let owners = stored.metadata.owner_references.clone().unwrap();
    assert_eq!((owners.len(), &*owners[0].uid), (1, "user-1"), "{owners:?}");
    desk.server.stores.user_preferences.apply(stored);
    for (user, expected) in [(0, json!({})), (1, chosen), (2, json!({}))] {
        let (code, body) = desk.send(user, Method::GET, path, json!({})).await;
        assert_eq!((code, body), (200, expected), "{user}");
    }
    let (code, body) = desk
        .send(1, Method::PUT, path, json!({ "theme": "Light" }))
        .await;
    assert_eq!((code, body), (200, json!({ "theme": "Light" })));
    for (change, field) in [
        (json!({ "rowHeight": "Tiny" }), "rowHeight"),
        (json!({ "colour": "red" }), "colour"),
        (json!({ "singleKeys": "no" }), "singleKeys"),
    ] {
        let (code, body) = desk.send(1, Method::PUT, path, change).await;
        assert_eq!(code, 422, "{body}");
        assert!(body["message"].as_str().unwrap().contains(field), "{body}");
    }
}

#[test]
fn saved_view_cannot_open_a_path_of_the_server() {
    let shown_in_the_web_ui = |path: &str| path == "/";
    for route in routes::all() {
        let path = path_of(&route);
        let refused = view_path::check(&path).is_err();
        assert!(refused || shown_in_the_web_ui(&path), "{path}");
    }
}
