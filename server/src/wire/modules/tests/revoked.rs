//! Tests of the revocation of tokens by an administrator.

use serde_json::json;

use super::changes::{FakeHub, object};
use super::*;

/// Creates one token of each purpose for user-1 on the hub.
fn give_tokens(hub: &FakeHub) {
    for purpose in ["Session", "Browser", "Api", "Kubeconfig"] {
        let spec = json!({
            "userName": "user-1", "userUid": "user-1", "purpose": purpose, "hash": "x",
            "expiresAt": "2100-01-01T00:00:00Z",
        });
        hub.put("tokens", &object("Token", &purpose.to_lowercase(), &spec));
    }
}

fn left(hub: &FakeHub) -> Vec<&'static str> {
    let all = ["session", "browser", "api", "kubeconfig"];
    let is_left = |name: &&str| hub.get::<Value>("tokens", name).is_some();
    all.into_iter().filter(is_left).collect()
}

// The clock is paused, so each write waits its full timeout for the stores without delay.
#[tokio::test(start_paused = true)]
async fn password_reset_revokes_all_tokens_unless_revoke_tokens_is_false() {
    let hub = FakeHub::default();
    let server = TestServer::with_client(hub.client());
    let admin = server.person(true, TokenPurpose::Session, None);
    server.person(false, TokenPurpose::Session, None);
    let spec = json!({ "enabled": true, "administrator": false });
    hub.put("users", &object("User", "user-1", &spec));
    let (post, path) = (Method::POST, "/v1/users/user-1/password");
    for (body, expected) in [
        (json!({ "new": "long enough it is" }), vec![]),
        (
            json!({ "new": "long enough it is", "revokeTokens": false }),
            vec!["api", "kubeconfig"],
        ),
    ] {
        give_tokens(&hub);
        let (code, said) = server.send(post.clone(), path, &admin, body.clone()).await;
        assert_eq!(code, StatusCode::NO_CONTENT, "{said}");
        assert_eq!(left(&hub), expected, "{body}");
    }
}

#[tokio::test]
async fn administrator_revokes_all_tokens_of_a_user() {
    let hub = FakeHub::default();
    let server = TestServer::with_client(hub.client());
    let admin = server.person(true, TokenPurpose::Session, None);
    server.person(false, TokenPurpose::Session, None);
    give_tokens(&hub);
    let path = "/v1/users/user-1/tokens";
    let (code, body) = server.send(Method::DELETE, path, &admin, json!({})).await;
    assert_eq!(code, StatusCode::NO_CONTENT, "{body}");
    assert!(left(&hub).is_empty());
}
