use drover_access::names::GroupName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::stores::groups::groups_of;
use drover_testkit::kinds::{person, provider, token};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn changed(change: impl FnOnce(&mut ProviderIdentity)) -> User {
    let mut user = person();
    change(&mut user.status.as_mut().unwrap().identities[0]);
    user
}

#[test]
fn token_and_groups_are_rejected_when_the_provider_identity_is_invalid() {
    let day = 24 * 60 * 60;
    let mut leaving = provider("corp", "p1", true);
    leaving.metadata.deletion_timestamp = Some(Time(at(1)));
    let refused = changed(|identity| identity.state = IdentityState::Refused);
    let unreachable = changed(|identity| identity.state = IdentityState::Unreachable);
    let unlinked = changed(|identity| identity.provider_uid = ProviderUid::new("p9"));
    for (case, provider, user, now, expected) in [
        (
            "valid identity",
            provider("corp", "p1", true),
            person(),
            1,
            Ok(()),
        ),
        (
            "disabled provider",
            provider("corp", "p1", false),
            person(),
            1,
            Err(InvalidReason::ProviderDisabled),
        ),
        (
            "another provider with the same name",
            provider("corp", "p2", true),
            person(),
            1,
            Err(InvalidReason::ProviderDeleted),
        ),
        (
            "provider in deletion",
            leaving,
            person(),
            1,
            Err(InvalidReason::ProviderDeleted),
        ),
        (
            "refused by the provider",
            provider("corp", "p1", true),
            refused,
            1,
            Err(InvalidReason::Refused),
        ),
        (
            "unreachable provider within the grace period",
            provider("corp", "p1", true),
            unreachable.clone(),
            day,
            Ok(()),
        ),
        (
            "unreachable provider after the grace period",
            provider("corp", "p1", true),
            unreachable,
            day + 1,
            Err(InvalidReason::GracePeriodExpired),
        ),
        (
            "unlinked user",
            provider("corp", "p1", true),
            unlinked,
            1,
            Err(InvalidReason::Unlinked),
        ),
    ] {
        let stores = Stores::synced_empty();
        stores.auth_providers.apply(provider);
        let mut token = token("bcdfghjkmnpq", "u1");
        assert_eq!(
            check_token(&token, &user, &stores, at(now)),
            Ok(()),
            "{case}"
        );
        token.spec.provider = Some(TokenProvider {
            name: "corp".to_owned(),
            uid: ProviderUid::new("p1"),
        });
        assert_eq!(
            check_token(&token, &user, &stores, at(now)),
            expected,
            "{case}"
        );
        let groups = groups_of(&user, &stores, at(now));
        let groups: Vec<_> = groups.iter().map(GroupName::as_str).collect();
        let counted: &[_] = if expected.is_ok() {
            &["drover:corp:devs"]
        } else {
            &[]
        };
        assert_eq!(groups, counted, "{case}");
    }
}

#[test]
fn grace_period_for_unreachable_provider_is_configurable() {
    let stores = Stores::synced_empty();
    assert_eq!(grace(&stores), SignedDuration::from_hours(24));
    let spec = drover_api::kinds::SettingSpec {
        value: "12h".to_owned(),
    };
    stores
        .settings
        .apply(drover_api::kinds::Setting::new("provider-grace", spec));
    assert_eq!(grace(&stores), SignedDuration::from_hours(12));
}
