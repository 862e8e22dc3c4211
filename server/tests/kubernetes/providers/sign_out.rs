//! Tests of sign-out at the identity provider.

use drover_e2e::eventually;
use drover_testkit::github::Fake;
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::github::{github, sign_in};
use super::rig::{Rig, SOON, SignedIn};

async fn sign_out(rig: &Rig, user: &SignedIn, path: &str, code: u16) -> Value {
    let answer = rig.by(user, Method::DELETE, path, None).await;
    let forgotten = super::rig::set_cookie(&answer).expect("the response deletes the cookie");
    assert!(forgotten.contains("Max-Age=0"), "{forgotten}");
    answer.expect(code)
}

/// Returns the `form-action` directive of the page's Content-Security-Policy.
async fn form_action(rig: &Rig) -> String {
    let page = rig.server.call(Method::GET, "/", None, None).await;
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    policy.split_once("form-action ").unwrap().1.to_owned()
}

#[tokio::test]
async fn provider_session_ends_at_sign_out_only_if_sign_out_there_is_enabled() {
    let rig = Rig::start().await;
    let provider = rig.openid("corp").await;
    let ann = rig.sign_in("corp", &provider, "ann").await;
    sign_out(&rig, &ann, "/v1/session", 204).await;
    assert_eq!(form_action(&rig).await, "'none'");
    let (mut browser, (url, cookie)) = (provider.browser(), rig.begin("corp").await);
    let back = browser.sign_in(url, "ann").await;
    let again = rig.session(&rig.come_back(&back, &cookie).await).await;
    rig.change("corp", json!({ "signOutThere": true })).await;
    assert!(browser.is_signed_in(&provider.issuer).await);

    let onward = sign_out(&rig, &again, "/v1/session", 200).await;
    rig.me(&again).await.expect(401);
    assert_eq!(onward["provider"], "corp");
    let url: Url = onward["url"].as_str().unwrap().parse().unwrap();
    assert_eq!(url.query(), None, "the URL must have no query");
    // A second use of the sign-out URL returns no data.
    let spent = rig.by(&again, Method::DELETE, "/v1/session", None).await;
    assert!(spent.body.get("fields").is_none(), "{}", spent.body);

    let origin = url.origin().ascii_serialization();
    let allowed = eventually("form-action to contain the provider", SOON, async || {
        let action = form_action(&rig).await;
        let expected = format!("'self' {origin}");
        if action == expected {
            Ok(())
        } else {
            Err(action)
        }
    });
    allowed.await.unwrap();
    let fields: Vec<(String, String)> = onward["fields"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
        .collect();
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    let home = browser.sign_out(url, &fields).await;
    assert_eq!(home.as_str(), format!("{}/", rig.server.url));
    assert!(!browser.is_signed_in(&provider.issuer).await);

    // Signing out everywhere includes the provider, unless the provider's configuration disables
    // it.
    let everywhere = rig.sign_in("corp", &provider, "ann").await;
    sign_out(&rig, &everywhere, "/v1/sessions", 200).await;
    rig.change("corp", json!({ "signOutThere": false })).await;
    let closed = eventually("form-action to contain no provider", SOON, async || {
        let action = form_action(&rig).await;
        if action == "'none'" {
            Ok(())
        } else {
            Err(action)
        }
    });
    closed.await.unwrap();
    rig.server.stop().await;
}

#[tokio::test]
async fn github_token_is_revoked_when_the_last_drover_token_of_the_user_is_deleted() {
    let (rig, fake) = (Rig::start().await, Fake::start().await);
    fake.world().account(1, "ann");
    github(&rig, &fake).await;
    let ann = sign_in(&rig, &fake, 1).await;
    sign_out(&rig, &ann, "/v1/session", 204).await;
    // The configuration does not enable sign-out at the provider.
    assert_eq!(fake.world().tokens.len(), 1);
    fake.world().tokens.clear();
    rig.change("hub", json!({ "signOutThere": true })).await;

    let ann = sign_in(&rig, &fake, 1).await;
    let token = rig.api_token(&ann).await;
    sign_out(&rig, &ann, "/v1/session", 204).await;
    let result = rig
        .server
        .post("/v1/users/ann/refresh", &rig.admin, json!({}));
    let identity = result.await.expect(200)["identities"][0].clone();
    assert_eq!(identity["state"], "Confirmed", "{identity}");
    rig.server.get("/v1/me", &token).await.expect(200);

    let id = token.split('_').nth(1).unwrap();
    let path = format!("/v1/tokens/{id}");
    rig.server.delete(&path, &token).await.expect(204);
    let gone = eventually("the token to be revoked at GitHub", SOON, async || {
        let remaining = fake.world().tokens.len();
        if remaining == 0 {
            Ok(())
        } else {
            Err(remaining)
        }
    });
    gone.await.unwrap();
    // The revoked token did not disable the user, who can sign in again.
    let again = sign_in(&rig, &fake, 1).await;
    assert_eq!(rig.me(&again).await.expect(200)["username"], "ann");
    rig.server.stop().await;
}
