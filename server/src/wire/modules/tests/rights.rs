//! Tests that every route requires authentication and exactly its documented permission.

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
async fn all_protected_routes_reject_unauthenticated_requests() {
    let server = TestServer::new();
    let unknown = issue::<ForUsers>(&[99; 32]);
    for route in &routes::all() {
        for token in [None, Some(unknown.token.expose_secret()), Some("nonsense")] {
            let (code, body) = server.call(route, token).await;
            let case = format!("{route:?} with {token:?}: {code} {body}");
            match route.right {
                Right::Anyone => assert_ne!(code, StatusCode::UNAUTHORIZED, "{case}"),
                // Agents authenticate by a signature in the body, so the handler may parse the body
                // first.
                Right::Agent => {
                    assert!(code.is_client_error(), "{case}");
                    assert_ne!(code, StatusCode::NOT_FOUND, "{case}");
                }
                _ => assert_eq!(code, StatusCode::UNAUTHORIZED, "{case}"),
            }
            if code.is_client_error() {
                assert_eq!(body["kind"], "Status", "{case}");
                assert_eq!(body["code"], code.as_u16(), "{case}");
                assert!(
                    body["message"].as_str().is_some_and(|m| !m.is_empty()),
                    "{case}"
                );
            }
        }
    }
    assert_eq!(
        server.writes.load(Ordering::SeqCst),
        0,
        "the hub must be unchanged"
    );
}

#[tokio::test]
async fn all_protected_routes_reject_cross_site_requests_and_invalid_sessions() {
    let server = TestServer::new();
    let session = server.person(true, TokenPurpose::Browser, None);
    let program = server.person(true, TokenPurpose::Session, None);
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
    for route in &routes::all() {
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
        for (headers, expected) in refused {
            let (code, body) = server.call_with(route, &headers).await;
            assert_eq!(code.as_u16(), expected, "{route:?} {headers:?}: {body}");
        }
    }
    let sign_in = Route {
        method: Method::POST,
        path: "/v1/session".into(),
        right: Right::Anyone,
    };
    let (code, body) = server.call_with(&sign_in, &[host, evil]).await;
    assert_eq!(code, StatusCode::FORBIDDEN, "{body}");
    assert_eq!(
        server.writes.load(Ordering::SeqCst),
        0,
        "the hub must be unchanged"
    );
}

#[tokio::test]
async fn token_is_accepted_only_by_routes_of_its_purpose() {
    let server = TestServer::new();
    let person = server.person(false, TokenPurpose::Session, None);
    let change = server.person(true, TokenPurpose::PasswordChange, None);
    let elsewhere = server.person(true, TokenPurpose::Kubeconfig, Some("another-uid"));
    let here = server.person(true, TokenPurpose::Kubeconfig, Some("shop-uid"));
    let credential = server.person(true, TokenPurpose::Credential, None);
    for route in &routes::all() {
        for (user, token, opens) in [
            (
                "the token of a user without a role",
                &person,
                vec![Right::User, Right::AnyToken],
            ),
            (
                "a token for a password change",
                &change,
                vec![Right::AnyToken],
            ),
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
            // The excluded routes delete the token, or return 403 for another reason.
            let special = [
                "/v1/logout",
                "/v1/me/password",
                "/v1/session",
                "/v1/sessions",
            ]
            .contains(&&*route.path);
            if special || matches!(route.right, Right::Anyone | Right::Agent) {
                continue;
            }
            let (code, body) = server.call(route, Some(token)).await;
            let refused = code == StatusCode::FORBIDDEN;
            assert_eq!(
                refused,
                !opens.contains(&route.right),
                "{user}: {route:?}: {code} {body}"
            );
        }
    }
    assert_eq!(
        server.writes.load(Ordering::SeqCst),
        0,
        "the hub must be unchanged"
    );
}

#[tokio::test]
async fn cluster_can_be_imported_by_its_owner_but_not_by_a_viewer() {
    use serde_json::json;
    let server = TestServer::new();
    let import = Route {
        method: Method::POST,
        path: "/v1/clusters/{name}/import".into(),
        right: Right::User,
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
        server.stores.role_templates.apply(template);
    }
    for (number, (role, wanted, writes)) in [
        (None, StatusCode::NOT_FOUND, false),
        (Some("viewer"), StatusCode::FORBIDDEN, false),
        // The fake hub refuses writes, but counts the attempts.
        (Some("owner"), StatusCode::NOT_FOUND, true),
    ]
    .into_iter()
    .enumerate()
    {
        let token = server.person(false, TokenPurpose::Session, None);
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
            let store = &server.stores.cluster_role_template_bindings;
            store.apply(binding);
        }
        let (code, body) = server.call(&import, Some(&token)).await;
        assert_eq!(code, wanted, "{role:?}: {body}");
        let wrote = server.writes.load(Ordering::SeqCst) > 0;
        assert_eq!(wrote, writes, "{role:?}");
    }
}

/// Creates a role on the hub that allows this user every verb on settings.
fn lets_write_settings(server: &TestServer, user: &str) {
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
    server.stores.global_roles.apply(role);
    server.stores.global_role_bindings.apply(binding);
}

#[tokio::test]
async fn security_settings_can_be_changed_only_by_administrators() {
    let server = TestServer::new();
    let admin = server.person(true, TokenPurpose::Session, None);
    let clerk = server.person(false, TokenPurpose::Session, None);
    lets_write_settings(&server, "user-1");
    for (token, administers) in [(&admin, true), (&clerk, false)] {
        let (code, list) = server
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
            let (code, answer) = server.send(Method::PUT, &path, token, body).await;
            // The fake hub has no objects.
            let expected = if writable {
                StatusCode::NOT_FOUND
            } else {
                StatusCode::FORBIDDEN
            };
            assert_eq!(code, expected, "{name}: {answer}");
            if !writable {
                assert_eq!(answer["message"], setting["readOnly"], "{name}");
            }
        }
    }
}
