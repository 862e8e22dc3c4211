//! Every route, called without the right that it demands, or with just that.

use drover_access::token::UserToken;
use drover_api::group::GROUP;
use drover_api::ids::RoleUid;
use drover_api::kinds::{
    BindingSubject, GlobalRole, GlobalRoleBinding, GlobalRoleBindingSpec, GlobalRoleSpec,
    RoleReference, UserReference,
};
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::*;

#[tokio::test]
async fn no_route_does_anything_for_a_stranger() {
    let whole = Whole::new();
    let unknown = issue::<ForUsers>(&[99; 32]);
    for route in ROUTES {
        for token in [None, Some(unknown.token.expose_secret()), Some("nonsense")] {
            let (code, body) = whole.call(route, token).await;
            let what = format!("{route:?} with {token:?}: {code} {body}");
            match route.right {
                Right::Anyone => assert_ne!(code, StatusCode::UNAUTHORIZED, "{what}"),
                // Agents prove themselves by what they sign, so a body may be judged first.
                Right::Agent => {
                    assert!(code.is_client_error(), "{what}");
                    assert_ne!(code, StatusCode::NOT_FOUND, "{what}");
                }
                _ => assert_eq!(code, StatusCode::UNAUTHORIZED, "{what}"),
            }
            if code.is_client_error() {
                assert_eq!(body["kind"], "Status", "{what}");
                assert_eq!(body["code"], code.as_u16(), "{what}");
                assert!(
                    body["message"].as_str().is_some_and(|m| !m.is_empty()),
                    "{what}"
                );
            }
        }
    }
    assert_eq!(
        whole.writes.load(Ordering::SeqCst),
        0,
        "the hub is as it was"
    );
}

#[tokio::test]
async fn no_route_does_anything_for_a_session_that_another_page_uses_or_that_is_none() {
    let whole = Whole::new();
    let session = whole.person(true, TokenPurpose::Browser, None);
    let program = whole.person(true, TokenPurpose::Session, None);
    let unknown = issue::<ForUsers>(&[99; 32]);
    let cookie = |token: &str| format!("__Host-drover={token}");
    let csrf = |token: &str| UserToken::parse(token).unwrap().csrf_token();
    let unknown = unknown.token.expose_secret();
    let (cookie_of, csrf_of) = (cookie(&session), csrf(&session));
    let (program_cookie, program_csrf) = (cookie(&program), csrf(&program));
    let (unknown_cookie, unknown_csrf) = (cookie(unknown), csrf(unknown));
    let host = ("host", "d.example");
    let (own, evil) = (
        ("origin", "https://d.example"),
        ("origin", "https://evil.example"),
    );
    let shown = ("x-drover-csrf", &*csrf_of);
    for route in ROUTES {
        if matches!(route.right, Right::Anyone | Right::Agent) {
            continue;
        }
        let mut refused = vec![
            (vec![("cookie", &*cookie_of), host, evil, shown], 403),
            (
                vec![
                    ("cookie", &*program_cookie),
                    host,
                    own,
                    ("x-drover-csrf", &*program_csrf),
                ],
                401,
            ),
            (
                vec![
                    ("cookie", &*unknown_cookie),
                    host,
                    own,
                    ("x-drover-csrf", &*unknown_csrf),
                ],
                401,
            ),
        ];
        if route.method != Method::GET {
            refused.push((vec![("cookie", &*cookie_of), host, own], 403));
            refused.push((vec![("cookie", &*cookie_of), host, shown], 403));
        }
        for (headers, wanted) in refused {
            let (code, body) = whole.call_with(route, &headers).await;
            assert_eq!(code.as_u16(), wanted, "{route:?} {headers:?}: {body}");
        }
    }
    let sign_in = Route {
        method: Method::POST,
        path: "/v1/session",
        right: Right::Anyone,
    };
    let (code, body) = whole.call_with(&sign_in, &[host, evil]).await;
    assert_eq!(code, StatusCode::FORBIDDEN, "{body}");
    assert_eq!(
        whole.writes.load(Ordering::SeqCst),
        0,
        "the hub is as it was"
    );
}

#[tokio::test]
async fn a_token_opens_only_what_it_was_made_for() {
    let whole = Whole::new();
    let person = whole.person(false, TokenPurpose::Session, None);
    let change = whole.person(true, TokenPurpose::PasswordChange, None);
    let elsewhere = whole.person(true, TokenPurpose::Kubeconfig, Some("another-uid"));
    let here = whole.person(true, TokenPurpose::Kubeconfig, Some("shop-uid"));
    let credential = whole.person(true, TokenPurpose::Credential, None);
    for route in ROUTES {
        for (who, token, opens) in [
            (
                "a person without a role",
                &person,
                vec![Right::Person, Right::AnyToken],
            ),
            ("a password to be changed", &change, vec![Right::AnyToken]),
            (
                "a token of another cluster",
                &elsewhere,
                vec![Right::AnyToken],
            ),
            (
                "a token of this cluster",
                &here,
                vec![Right::AnyToken, Right::Permit],
            ),
            (
                "a token for kubectl",
                &credential,
                vec![Right::AnyToken, Right::Permit],
            ),
        ] {
            // These would end the token itself, or answer 403 for the want of something else.
            let special = [
                "/v1/logout",
                "/v1/me/password",
                "/v1/session",
                "/v1/sessions",
            ]
            .contains(&route.path);
            if special || matches!(route.right, Right::Anyone | Right::Agent) {
                continue;
            }
            let (code, body) = whole.call(route, Some(token)).await;
            let refused = code == StatusCode::FORBIDDEN;
            assert_eq!(
                refused,
                !opens.contains(&route.right),
                "{who}: {route:?}: {code} {body}"
            );
        }
    }
    assert_eq!(
        whole.writes.load(Ordering::SeqCst),
        0,
        "the hub is as it was"
    );
}

#[tokio::test]
async fn a_clusters_owner_imports_it_and_who_sees_it_only_does_not() {
    use serde_json::json;
    let whole = Whole::new();
    let import = Route {
        method: Method::POST,
        path: "/v1/clusters/{name}/import",
        right: Right::Person,
    };
    let everything = json!([
        { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
        { "nonResourceURLs": ["*"], "verbs": ["*"] },
    ]);
    let nodes = json!([{ "apiGroups": [""], "resources": ["nodes"], "verbs": ["get"] }]);
    for (role, rules) in [("owner", everything), ("viewer", nodes)] {
        let template = json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "RoleTemplate",
            "metadata": { "name": role, "uid": role },
            "spec": { "context": "Cluster", "rules": rules },
        });
        let template = serde_json::from_value(template).unwrap();
        whole.stores.role_templates.apply(template);
    }
    for (number, (role, wanted, writes)) in [
        (None, StatusCode::NOT_FOUND, false),
        (Some("viewer"), StatusCode::FORBIDDEN, false),
        // The hub of these tests takes nothing, but was asked to.
        (Some("owner"), StatusCode::NOT_FOUND, true),
    ]
    .into_iter()
    .enumerate()
    {
        let token = whole.person(false, TokenPurpose::Session, None);
        let user = format!("user-{number}");
        if let Some(role) = role {
            let binding = json!({
                "apiVersion": "management.drover.dev/v1alpha1",
                "kind": "ClusterRoleTemplateBinding",
                "metadata": { "name": role, "uid": role },
                "spec": {
                    "cluster": { "name": "shop", "uid": "shop-uid" },
                    "role": { "name": role, "uid": role },
                    "subject": { "user": { "name": user, "uid": user } },
                },
            });
            let binding = serde_json::from_value(binding).unwrap();
            let mirror = &whole.stores.cluster_role_template_bindings;
            mirror.apply(binding);
        }
        let (code, body) = whole.call(&import, Some(&token)).await;
        assert_eq!(code, wanted, "{role:?}: {body}");
        let wrote = whole.writes.load(Ordering::SeqCst) > 0;
        assert_eq!(wrote, writes, "{role:?}");
    }
}

/// A role on the hub that lets this user do everything to settings.
fn lets_write_settings(whole: &Whole, user: &str) {
    let rules = vec![PolicyRule {
        api_groups: Some(vec![GROUP.to_owned()]),
        resources: Some(vec!["settings".to_owned()]),
        verbs: vec!["*".to_owned()],
        ..PolicyRule::default()
    }];
    let spec = GlobalRoleSpec {
        rules,
        ..GlobalRoleSpec::default()
    };
    let mut role = GlobalRole::new("settings-manage", spec);
    role.metadata.uid = Some("role-uid".to_owned());
    let spec = GlobalRoleBindingSpec {
        role: RoleReference {
            name: "settings-manage".to_owned(),
            uid: Some(RoleUid::new("role-uid")),
        },
        subject: BindingSubject {
            user: Some(UserReference {
                name: user.to_owned(),
                uid: Some(UserUid::new(user)),
            }),
            group: None,
        },
    };
    let mut binding = GlobalRoleBinding::new("one", spec);
    binding.metadata.uid = Some("binding-uid".to_owned());
    whole.stores.global_roles.apply(role);
    whole.stores.global_role_bindings.apply(binding);
}

#[tokio::test]
async fn settings_that_affect_security_are_read_only_without_administration() {
    let whole = Whole::new();
    let admin = whole.person(true, TokenPurpose::Session, None);
    let clerk = whole.person(false, TokenPurpose::Session, None);
    lets_write_settings(&whole, "user-1");
    for (token, administers) in [(&admin, true), (&clerk, false)] {
        let (code, list) = whole
            .send(Method::GET, "/v1/settings", token, Value::Null)
            .await;
        assert_eq!(code, StatusCode::OK, "{list}");
        for setting in list["items"].as_array().unwrap() {
            let name = setting["name"].as_str().unwrap();
            let writable =
                administers || ["kubeconfig-token-ttl", "token-default-ttl"].contains(&name);
            assert_eq!(setting["readOnly"].is_null(), writable, "{setting}");
            let path = format!("/v1/settings/{name}");
            let body = serde_json::json!({ "value": "" });
            let (code, answer) = whole.send(Method::PUT, &path, token, body).await;
            // The hub of this test has no objects.
            let wanted = if writable {
                StatusCode::NOT_FOUND
            } else {
                StatusCode::FORBIDDEN
            };
            assert_eq!(code, wanted, "{name}: {answer}");
            if !writable {
                assert_eq!(answer["message"], setting["readOnly"], "{name}");
            }
        }
    }
}

/// Gives a new person a global role with these rules; gives their token.
fn with_global_role(whole: &Whole, role: &str, resources: &[&str], verbs: &[&str]) -> String {
    use serde_json::json;
    let object = |kind: &str, spec: &Value| {
        json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": kind,
            "metadata": { "name": role, "uid": role }, "spec": spec,
        })
    };
    let user = format!("user-{}", whole.stores.tokens.len());
    let token = whole.person(false, TokenPurpose::Session, None);
    let rules = json!([{
        "apiGroups": ["management.drover.dev"], "resources": resources, "verbs": verbs,
    }]);
    let global = object("GlobalRole", &json!({ "rules": rules }));
    let binding = object(
        "GlobalRoleBinding",
        &json!({
            "role": { "name": role, "uid": role },
            "subject": { "user": { "name": user, "uid": user } },
        }),
    );
    let stores = &whole.stores;
    stores
        .global_roles
        .apply(serde_json::from_value(global).unwrap());
    stores
        .global_role_bindings
        .apply(serde_json::from_value(binding).unwrap());
    token
}

/// Lets the task that records the last use of tokens end. It writes once more when it stops, and would
/// write what the requests of the test noted.
async fn last_use_task_ends() {
    tokio::task::yield_now().await;
}

const MANAGE: &[&str] = &[
    "get", "list", "watch", "create", "update", "patch", "delete",
];

#[tokio::test]
async fn holder_of_manage_users_changes_users_but_no_administrator() {
    use serde_json::json;
    let whole = Whole::new();
    last_use_task_ends().await;
    // user-0 administers Drover, user-1 imports clusters, user-2 has no role, user-3 manages users.
    let _admin = whole.person(true, TokenPurpose::Session, None);
    let _importer = with_global_role(&whole, "clusters-import", &["clusters"], &["create"]);
    let _bob = whole.person(false, TokenPurpose::Session, None);
    let manager = with_global_role(&whole, "users-manage", &["users"], MANAGE);
    let send = async |method: Method, path: &str, body: Value| {
        let before = whole.writes.load(Ordering::SeqCst);
        let (code, answer) = whole.send(method, path, &manager, body).await;
        let wrote = whole.writes.load(Ordering::SeqCst) > before;
        (code.as_u16(), wrote, answer)
    };
    let (code, _, list) = send(Method::GET, "/v1/users", Value::Null).await;
    assert_eq!(code, 200, "{list}");
    let rights = |name: &str| {
        let users = list["items"].as_array().unwrap();
        let user = users.iter().find(|user| user["name"] == name).unwrap();
        user["rights"].clone()
    };
    let told = |change, delete, password| {
        json!({
            "mayChange": change, "mayDelete": delete, "maySetPassword": password,
            "mayAdminister": false,
        })
    };
    assert_eq!(rights("user-0"), told(false, false, false));
    assert_eq!(rights("user-1"), told(true, true, false));
    assert_eq!(rights("user-2"), told(true, true, true));

    let password = json!({ "new": "a password that is long" });
    let new = |administrator: bool| json!({ "name": "eve", "password": "a password that is long", "administrator": administrator });
    for (what, method, path, body) in [
        (
            "an administrator is made",
            Method::POST,
            "/v1/users",
            new(true),
        ),
        (
            "somebody becomes one",
            Method::PATCH,
            "/v1/users/user-2",
            json!({ "administrator": true }),
        ),
        (
            "one is disabled",
            Method::PATCH,
            "/v1/users/user-0",
            json!({ "enabled": false }),
        ),
        (
            "one is deleted",
            Method::DELETE,
            "/v1/users/user-0",
            Value::Null,
        ),
        (
            "the password of one is set",
            Method::POST,
            "/v1/users/user-0/password",
            password.clone(),
        ),
        (
            "the password of a user with other rights is set",
            Method::POST,
            "/v1/users/user-1/password",
            password.clone(),
        ),
        (
            "an identity is linked",
            Method::POST,
            "/v1/users/user-2/identities",
            json!({ "from": "user-1" }),
        ),
        (
            "a cluster is made",
            Method::POST,
            "/v1/clusters",
            json!({ "name": "b" }),
        ),
        (
            "settings are read",
            Method::GET,
            "/v1/settings",
            Value::Null,
        ),
    ] {
        let (code, wrote, answer) = send(method, path, body).await;
        assert_eq!((code, wrote), (403, false), "{what}: {answer}");
    }
    // The hub of these tests takes nothing, but was asked to.
    for (method, path, body) in [
        (Method::POST, "/v1/users", new(false)),
        (
            Method::PATCH,
            "/v1/users/user-1",
            json!({ "enabled": false }),
        ),
        (Method::POST, "/v1/users/user-2/password", password),
    ] {
        let (code, wrote, answer) = send(method.clone(), path, body).await;
        assert!(wrote && code != 403, "{method} {path}: {code} {answer}");
    }
    let (_, _, me) = send(Method::GET, "/v1/me", Value::Null).await;
    assert_eq!(me["rights"]["mayCreateUsers"], true, "{me}");
    assert_eq!(me["rights"]["mayImportClusters"], false, "{me}");
}

#[tokio::test]
async fn routes_follow_the_rights_of_global_roles() {
    use serde_json::json;
    let whole = Whole::new();
    last_use_task_ends().await;
    let importer = with_global_role(&whole, "clusters-import", &["clusters"], &["create"]);
    let kinds = ["users", "settings", "authproviders", "tokens", "clusters"];
    let viewer = with_global_role(&whole, "viewer", &kinds, &["get", "list", "watch"]);
    let code = async |token: &str, method: Method, path: &str, body: Value| {
        let (code, _) = whole.send(method, path, token, body).await;
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
    let (_, own) = whole
        .send(Method::GET, "/v1/tokens", &importer, Value::Null)
        .await;
    let (_, all) = whole
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
    assert_eq!(whole.writes.load(Ordering::SeqCst), 0);
    // The hub of these tests takes nothing, but was asked to.
    code(
        &importer,
        Method::POST,
        "/v1/clusters",
        json!({ "name": "b" }),
    )
    .await;
    assert_eq!(whole.writes.load(Ordering::SeqCst), 1);
}
