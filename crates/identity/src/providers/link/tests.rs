use jiff::SignedDuration;

use super::*;
use crate::silent_hub::silent_hub;
use drover_testkit::kinds::{person, provider};

/// Returns a user whose identity at provider `p1` was confirmed `hours` hours ago.
fn confirmed(hours: i64) -> User {
    let mut user = person();
    let identity = &mut user.status.as_mut().unwrap().identities[0];
    identity.confirmed_at.0 = Timestamp::now() - SignedDuration::from_hours(hours);
    user
}

fn bob(change: impl FnOnce(&mut User)) -> User {
    let mut user = person();
    user.metadata.name = Some("bob".to_owned());
    user.metadata.uid = Some("u2".to_owned());
    user.status = None;
    change(&mut user);
    user
}

/// Links the identity of `from` at provider `p1` to `to`, and returns the error.
fn link_result(enabled: bool, from: &User, to: &User) -> Result<(), String> {
    let hub = silent_hub();
    hub.stores()
        .auth_providers
        .apply(provider("corp", "p1", enabled));
    // A long grace period, so that only the rules of linking apply.
    let grace = drover_api::kinds::SettingSpec {
        value: "30d".to_owned(),
    };
    let grace = drover_api::kinds::Setting::new("provider-grace", grace);
    hub.stores().settings.apply(grace);
    let links = Links::new(hub, KeyedLock::default());
    let moved = identity(from, &ProviderUid::new("p1")).map_err(|error| error.to_string())?;
    let checked = links.check(from, to, &moved);
    checked.map_err(|error| error.to_string())
}

#[tokio::test]
async fn identity_link_requires_a_recently_confirmed_identity_and_an_enabled_user() {
    let nobody = bob(|_| {});
    assert_eq!(link_result(true, &confirmed(0), &nobody), Ok(()));
    assert_eq!(link_result(true, &confirmed(23), &nobody), Ok(()));

    let with = |state| {
        let mut user = confirmed(0);
        user.status.as_mut().unwrap().identities[0].state = state;
        user
    };
    let leaving = bob(|bob| {
        let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::now());
        bob.metadata.deletion_timestamp = Some(now);
    });
    for (case, enabled, from, to, expected) in [
        (
            "an old confirmation",
            true,
            confirmed(25),
            nobody.clone(),
            "has not confirmed",
        ),
        (
            "an unreachable provider",
            true,
            with(IdentityState::Unreachable),
            nobody.clone(),
            "has not confirmed",
        ),
        (
            "a refused identity",
            true,
            with(IdentityState::Refused),
            nobody.clone(),
            "rejects the user",
        ),
        (
            "a disabled provider",
            false,
            confirmed(0),
            nobody.clone(),
            "is disabled",
        ),
        (
            "a target with an identity of the provider",
            true,
            confirmed(0),
            bob(|bob| bob.status = person().status),
            "unlink this identity first",
        ),
        (
            "a disabled target",
            true,
            confirmed(0),
            bob(|bob| bob.spec.enabled = false),
            "enable the user first",
        ),
        (
            "a target in deletion",
            true,
            confirmed(0),
            leaving,
            "enable the user first",
        ),
        (
            "the same user",
            true,
            confirmed(0),
            confirmed(0),
            "different user",
        ),
        (
            "a source without identity",
            true,
            nobody.clone(),
            nobody,
            "does not have this identity",
        ),
    ] {
        let error = link_result(enabled, &from, &to).expect_err(case);
        assert!(error.contains(expected), "{case}: {error}");
    }
}
