//! Tests of routes that a user calls with a global role, for allowed and forbidden actions.

use drover_api::group::GROUP;
use serde_json::json;

use super::*;

/// Creates a user with a global role that has one rule for Drover's kinds. Returns the user's
/// token.
fn with_global_role(server: &TestServer, role: &str, resources: &[&str], verbs: &[&str]) -> String {
    let rules = json!([{ "apiGroups": [GROUP], "resources": resources, "verbs": verbs }]);
    with_rules(server, role, &rules)
}

/// Creates a user with a global role that contains these rules. Returns the user's token.
pub(super) fn with_rules(server: &TestServer, role: &str, rules: &Value) -> String {
    let object = |kind: &str, spec: &Value| {
        json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
            "metadata": { "name": role, "uid": role }, "spec": spec,
        })
    };
    let user = format!("user-{}", server.stores.tokens.len());
    let token = server.person(false, TokenPurpose::Session, None);
    let global = object("GlobalRole", &json!({ "rules": rules }));
    let binding = object(
        "GlobalRoleBinding",
        &json!({
            "role": { "name": role, "uid": role },
            "subject": { "user": { "name": user, "uid": user } },
        }),
    );
    let stores = &server.stores;
    stores
        .global_roles
        .apply(serde_json::from_value(global).unwrap());
    stores
        .global_role_bindings
        .apply(serde_json::from_value(binding).unwrap());
    token
}

/// Waits until the task that records the last use of tokens has ended. The task ends with a write
/// to the hub, and the test counts writes.
async fn last_use_task_ends() {
    tokio::task::yield_now().await;
}

const MANAGE: &[&str] = &[
    "get", "list", "watch", "create", "update", "patch", "delete",
];

fn new_password() -> Value {
    json!({ "new": "a password that is long" })
}

fn new_user(administrator: bool) -> Value {
    json!({ "name": "eve", "password": "a password that is long", "administrator": administrator })
}

/// Returns requests that the server rejects for a user whose only global role is `users-manage`.
fn refused_requests() -> Vec<(&'static str, Method, &'static str, Value)> {
    vec![
        (
            "create an administrator",
            Method::POST,
            "/v1/users",
            new_user(true),
        ),
        (
            "promote a user to administrator",
            Method::PATCH,
            "/v1/users/user-2",
            json!({ "administrator": true }),
        ),
        (
            "disable an administrator",
            Method::PATCH,
            "/v1/users/user-0",
            json!({ "enabled": false }),
        ),
        (
            "delete an administrator",
            Method::DELETE,
            "/v1/users/user-0",
            Value::Null,
        ),
        (
            "set the password of an administrator",
            Method::POST,
            "/v1/users/user-0/password",
            new_password(),
        ),
        (
            "set the password of a user with other permissions",
            Method::POST,
            "/v1/users/user-1/password",
            new_password(),
        ),
        (
            "link an identity",
            Method::POST,
            "/v1/users/user-2/identities",
            json!({ "from": "user-1" }),
        ),
        (
            "create a cluster",
            Method::POST,
            "/v1/clusters",
            json!({ "name": "b" }),
        ),
        ("read settings", Method::GET, "/v1/settings", Value::Null),
    ]
}

#[tokio::test]
async fn user_with_permission_to_manage_users_cannot_change_administrators() {
    let server = TestServer::new();
    last_use_task_ends().await;
    // user-0 is administrator, user-1 imports clusters, user-2 has no role, user-3 manages users.
    let _admin = server.person(true, TokenPurpose::Session, None);
    let _importer = with_global_role(&server, "clusters-import", &["clusters"], &["create"]);
    let _bob = server.person(false, TokenPurpose::Session, None);
    let manager = with_global_role(&server, "users-manage", &["users"], MANAGE);
    let send = async |method: Method, path: &str, body: Value| {
        let before = server.writes.load(Ordering::SeqCst);
        let (code, answer) = server.send(method, path, &manager, body).await;
        let wrote = server.writes.load(Ordering::SeqCst) > before;
        (code.as_u16(), wrote, answer)
    };
    let (code, _, list) = send(Method::GET, "/v1/users", Value::Null).await;
    assert_eq!(code, 200, "{list}");
    let rights = |name: &str| {
        let users = list["items"].as_array().unwrap();
        let user = users.iter().find(|user| user["name"] == name).unwrap();
        user["rights"].clone()
    };
    let reported = |change, delete, password| {
        json!({
            "mayChange": change, "mayDelete": delete, "maySetPassword": password,
            "mayAdminister": false,
        })
    };
    assert_eq!(rights("user-0"), reported(false, false, false));
    assert_eq!(rights("user-1"), reported(true, true, false));
    assert_eq!(rights("user-2"), reported(true, true, true));

    for (case, method, path, body) in refused_requests() {
        let (code, wrote, answer) = send(method, path, body).await;
        assert_eq!((code, wrote), (403, false), "{case}: {answer}");
    }
    // The fake hub refuses writes, but counts the attempts.
    for (method, path, body) in [
        (Method::POST, "/v1/users", new_user(false)),
        (
            Method::PATCH,
            "/v1/users/user-1",
            json!({ "enabled": false }),
        ),
        (Method::POST, "/v1/users/user-2/password", new_password()),
    ] {
        let (code, wrote, answer) = send(method.clone(), path, body).await;
        assert!(wrote && code != 403, "{method} {path}: {code} {answer}");
    }
    let (_, _, me) = send(Method::GET, "/v1/me", Value::Null).await;
    assert_eq!(me["rights"]["mayCreateUsers"], true, "{me}");
    assert_eq!(me["rights"]["mayImportClusters"], false, "{me}");
}

#[tokio::test]
async fn rest_routes_check_permissions_of_global_roles() {
    let server = TestServer::new();
    last_use_task_ends().await;
    let importer = with_global_role(&server, "clusters-import", &["clusters"], &["create"]);
    let kinds = ["users", "settings", "authproviders", "tokens", "clusters"];
    let viewer = with_global_role(&server, "viewer", &kinds, &["get", "list", "watch"]);
    let code = async |token: &str, method: Method, path: &str, body: Value| {
        let (code, _) = server.send(method, path, token, body).await;
        code.as_u16()
    };
    for (path, imports, views) in [
        ("/v1/users", 403, 200),
        ("/v1/users/user-0", 403, 200),
        ("/v1/settings", 403, 200),
        ("/v1/auth-providers", 403, 200),
        ("/v1/audit", 403, 403),
    ] {
        let got = (
            code(&importer, Method::GET, path, Value::Null).await,
            code(&viewer, Method::GET, path, Value::Null).await,
        );
        assert_eq!(got, (imports, views), "{path}");
    }
    let (_, own) = server
        .send(Method::GET, "/v1/tokens", &importer, Value::Null)
        .await;
    let (_, all) = server
        .send(Method::GET, "/v1/tokens", &viewer, Value::Null)
        .await;
    let count = |list: &Value| list["items"].as_array().map(Vec::len);
    assert_eq!((count(&own), count(&all)), (Some(1), Some(2)));
    let theirs = own["items"][0]["id"].as_str().unwrap();
    let path = format!("/v1/tokens/{theirs}");
    assert_eq!(code(&viewer, Method::DELETE, &path, Value::Null).await, 404);
    for (method, path, body) in [
        (Method::POST, "/v1/clusters", json!({ "name": "b" })),
        (Method::DELETE, "/v1/users/user-0", Value::Null),
        (
            Method::PUT,
            "/v1/settings/token-default-ttl",
            json!({ "value": "1h" }),
        ),
        (Method::DELETE, "/v1/auth-providers/x", Value::Null),
    ] {
        let refused = code(&viewer, method.clone(), path, body).await;
        assert_eq!(refused, 403, "{method} {path}");
    }
    assert_eq!(server.writes.load(Ordering::SeqCst), 0);
    // The fake hub refuses writes, but counts the attempts.
    code(
        &importer,
        Method::POST,
        "/v1/clusters",
        json!({ "name": "b" }),
    )
    .await;
    assert_eq!(server.writes.load(Ordering::SeqCst), 1);
}

// The clock is paused, so each write waits its full timeout for the stores without delay.
#[tokio::test(start_paused = true)]
async fn token_can_be_deleted_by_its_user_and_by_users_with_delete_permission() {
    let server = TestServer::new();
    last_use_task_ends().await;
    // Token names follow the order of creation.
    let user = server.person(false, TokenPurpose::Session, None);
    let other = server.person(false, TokenPurpose::Session, None);
    let (_, own) = server
        .send(Method::GET, "/v1/tokens", &user, Value::Null)
        .await;
    let id = own["items"][0]["id"].as_str().unwrap().to_owned();
    let rule = |verb: &str, names: Option<&str>| {
        let mut rule = json!({ "apiGroups": [GROUP], "resources": ["tokens"], "verbs": [verb] });
        if let Some(name) = names {
            rule["resourceNames"] = json!([name]);
        }
        json!([rule])
    };
    let lister = with_rules(&server, "lister", &rule("list", None));
    let named = with_rules(&server, "named", &rule("delete", Some(&id)));
    let elsewhere = with_rules(&server, "elsewhere", &rule("delete", Some("another")));
    let deleter = with_rules(&server, "deleter", &rule("delete", None));
    let path = format!("/v1/tokens/{id}");
    for (caller, token, deletes) in [
        ("another user", &other, false),
        ("a user who lists tokens", &lister, false),
        ("a user who deletes another token", &elsewhere, false),
        ("a user who deletes this token", &named, true),
        ("a user who deletes tokens", &deleter, true),
        ("the user of the token", &user, true),
    ] {
        let before = server.writes.load(Ordering::SeqCst);
        let (code, answer) = server.send(Method::DELETE, &path, token, Value::Null).await;
        let wrote = server.writes.load(Ordering::SeqCst) > before;
        let expected = if deletes { 204 } else { 404 };
        assert_eq!(
            (code.as_u16(), wrote),
            (expected, deletes),
            "{caller}: {answer}"
        );
    }
}
