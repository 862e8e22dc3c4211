//! Tests of the warning that most users have the same client address.

use std::net::IpAddr;

use drover_api::kinds::TokenPurpose::{Browser, Kubeconfig, PasswordChange, Session};

use super::*;

#[tokio::test]
async fn only_administrators_receive_the_warning_about_a_shared_sign_in_address() {
    let server = TestServer::new();
    let version = routes::all()
        .into_iter()
        .find(|route| route.path == "/v1/version");
    let version = &version.unwrap();
    let administrator = server.person(true, Session, None);
    let (_, body) = server.call(version, Some(&administrator)).await;
    assert_eq!(body["sharedAddress"], Value::Null);

    let proxy = IpAddr::from([192, 0, 2, 7]);
    for user in ["a", "b", "c", "d", "e"] {
        server.sources.record(&UserUid::new(user), proxy);
    }
    let (_, body) = server.call(version, Some(&administrator)).await;
    let shared = serde_json::json!({ "address": "192.0.2.7", "users": 5 });
    assert_eq!(body["sharedAddress"], shared);

    let others = [
        None,
        Some("no token".to_owned()),
        Some(server.person(false, Session, None)),
        Some(server.person(false, Browser, None)),
        Some(server.person(true, PasswordChange, None)),
        Some(server.person(true, Kubeconfig, None)),
        Some(server.person(true, Session, Some("other"))),
    ];
    for token in others {
        let (code, body) = server.call(version, token.as_deref()).await;
        assert_eq!(code, StatusCode::OK, "{token:?}");
        assert!(body["version"].is_string(), "{token:?}: {body}");
        assert!(!body.to_string().contains("192.0.2.7"), "{token:?}: {body}");
        assert_eq!(body["sharedAddress"], Value::Null, "{token:?}");
    }
}
