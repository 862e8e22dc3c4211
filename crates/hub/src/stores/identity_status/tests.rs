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
fn a_token_and_groups_stand_while_the_provider_and_its_word_do() {
    let day = 24 * 60 * 60;
    let mut leaving = provider("corp", "p1", true);
    leaving.metadata.deletion_timestamp = Some(Time(at(1)));
    let refused = changed(|identity| identity.state = IdentityState::Refused);
    let unreachable = changed(|identity| identity.state = IdentityState::Unreachable);
    let unlinked = changed(|identity| identity.provider_uid = ProviderUid::new("p9"));
    for (what, provider, user, now, wanted) in [
        (
            "all is well",
            provider("corp", "p1", true),
            person(),
            1,
            Ok(()),
        ),
        (
            "the provider is disabled",
            provider("corp", "p1", false),
            person(),
            1,
            Err(InvalidReason::ProviderDisabled),
        ),
        (
            "another of its name is there",
            provider("corp", "p2", true),
            person(),
            1,
            Err(InvalidReason::ProviderDeleted),
        ),
        (
            "it is being deleted",
            leaving,
            person(),
            1,
            Err(InvalidReason::ProviderDeleted),
        ),
        (
            "the provider said no",
            provider("corp", "p1", true),
            refused,
            1,
            Err(InvalidReason::Refused),
        ),
        (
            "it cannot be asked, within the grace time",
            provider("corp", "p1", true),
            unreachable.clone(),
            day,
            Ok(()),
        ),
        (
            "it cannot be asked for longer",
            provider("corp", "p1", true),
            unreachable,
            day + 1,
            Err(InvalidReason::GracePeriodExpired),
        ),
        (
            "the user is not its any more",
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
            "{what}"
        );
        token.spec.provider = Some(TokenProvider {
            name: "corp".to_owned(),
            uid: ProviderUid::new("p1"),
        });
        assert_eq!(
            check_token(&token, &user, &stores, at(now)),
            wanted,
            "{what}"
        );
        let groups = groups_of(&user, &stores, at(now));
        let groups: Vec<_> = groups.iter().map(GroupName::as_str).collect();
        let counted: &[_] = if wanted.is_ok() {
            &["drover:corp:devs"]
        } else {
            &[]
        };
        assert_eq!(groups, counted, "{what}");
    }
}

#[test]
fn the_grace_time_is_a_setting() {
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
