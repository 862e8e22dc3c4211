use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::silent_hub::silent_hub;
use drover_testkit::kinds::token;
use drover_testkit::kinds::{person, provider};

fn corp() -> TokenProvider {
    TokenProvider {
        name: "corp".to_owned(),
        uid: ProviderUid::new("p1"),
    }
}

fn provider_logouts() -> ProviderLogouts {
    let hub = silent_hub();
    let settings = Settings::new(hub.stores().clone(), "https://127.0.0.1:8443");
    ProviderLogouts::new(
        hub.clone(),
        settings,
        Providers::new(hub),
        KeyedLock::default(),
    )
}

#[tokio::test]
async fn provider_logout_requires_that_provider_and_sign_out_there_are_enabled() {
    for (enabled, there, uid, expected) in [
        (true, true, "p1", true),
        (true, false, "p1", false),
        (false, true, "p1", false),
        (true, true, "p2", false),
    ] {
        let provider_logouts = provider_logouts();
        let mut provider = provider("corp", uid, enabled);
        provider.spec.sign_out_there = there;
        provider_logouts.hub.stores().auth_providers.apply(provider);
        let is_wanted = provider_logouts.enabled_provider(&corp()).is_some();
        assert_eq!(is_wanted, expected, "{enabled} {there} {uid}");
    }
}

#[tokio::test]
async fn provider_token_is_revoked_when_the_last_drover_token_of_the_user_is_deleted() {
    let provider_logouts = provider_logouts();
    let tokens = &provider_logouts.hub.stores().tokens;
    // Another user's token of the provider, and the user's token of another provider.
    for (id, user, uid) in [("bcdfghjkmnpq", "u2", "p1"), ("cdfghjkmnpqr", "u1", "p2")] {
        let mut other = token(id, user);
        other.spec.provider = Some(TokenProvider {
            name: "corp".to_owned(),
            uid: ProviderUid::new(uid),
        });
        tokens.apply(other);
    }
    let mut own = token("dfghjkmnpqrs", "u1");
    own.spec.provider = Some(corp());
    let expired = Time(Timestamp::now() - SignedDuration::from_secs(1));
    let later = std::mem::replace(&mut own.spec.expires_at, expired);
    tokens.apply(own.clone());
    assert!(!provider_logouts.has_valid_token(&person(), &corp()));
    own.spec.expires_at = later;
    tokens.apply(own);
    assert!(provider_logouts.has_valid_token(&person(), &corp()));
}
