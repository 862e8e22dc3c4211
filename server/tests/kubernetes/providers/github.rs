//! Tests of sign-in with GitHub. A different person can get a released GitHub login (attack group
//! 23).

use drover_testkit::github::Fake;
use drover_testkit::github::world::{CLIENT, SECRET};
use reqwest::Method;
use serde_json::json;

use super::rig::{Rig, SignedIn};

/// Creates a GitHub provider named `hub`.
pub(super) async fn github(rig: &Rig, fake: &Fake) {
    let back = format!("{}/v1/providers/hub/callback", rig.server.url);
    fake.world().callback = back;
    rig.secret("hub", "clientSecret", SECRET).await;
    let spec = json!({
        "enabled": true,
        "github": {
            "url": fake.web().as_str().trim_end_matches('/'),
            "clientId": CLIENT,
            "clientSecret": { "name": "hub", "key": "clientSecret" },
            "caBundle": fake.certificate(),
        },
    });
    rig.provider("hub", serde_json::from_value(spec).unwrap())
        .await;
}

pub(super) async fn sign_in(rig: &Rig, fake: &Fake, account: u64) -> SignedIn {
    let (page, cookie) = rig.begin("hub").await;
    let query = fake.world().allow(&page, account);
    let back = format!("{}/v1/providers/hub/callback?{query}", rig.server.url);
    let answer = rig.come_back(&back.parse().unwrap(), &cookie).await;
    assert_eq!(answer.code.as_u16(), 200, "{:?}", answer.body);
    rig.session(&answer).await
}

#[tokio::test]
async fn reused_github_login_creates_a_new_user_and_a_revoked_token_ends_access() {
    let (rig, fake) = (Rig::start().await, Fake::start().await);
    {
        let mut world = fake.world();
        world.account(1, "ann");
        world.organization(10, "acme", 1);
    }
    github(&rig, &fake).await;
    let ann = sign_in(&rig, &fake, 1).await;
    assert_eq!(rig.me(&ann).await.expect(200)["username"], "ann");
    let requested = rig.server.call(
        Method::POST,
        "/v1/users/ann/refresh",
        Some(&rig.admin),
        None,
    );
    let identity = requested.await.expect(200)["identities"][0].clone();
    assert_eq!(identity["state"], "Confirmed", "{identity}");
    assert_eq!(identity["groups"][0]["name"], "drover:hub:org:10");

    {
        let mut world = fake.world();
        world.account(1, "ann-of-old");
        world.account(2, "ann");
    }
    let other = sign_in(&rig, &fake, 2).await;
    assert_eq!(rig.me(&other).await.expect(200)["username"], "ann-2");
    let again = sign_in(&rig, &fake, 1).await;
    assert_eq!(rig.me(&again).await.expect(200)["username"], "ann");

    fake.world().tokens.clear();
    let requested = rig.server.call(
        Method::POST,
        "/v1/users/ann/refresh",
        Some(&rig.admin),
        None,
    );
    let identity = requested.await.expect(200)["identities"][0].clone();
    assert_eq!(identity["state"], "Refused", "{identity}");
    rig.me(&ann).await.expect(401);
    rig.server.stop().await;
}
