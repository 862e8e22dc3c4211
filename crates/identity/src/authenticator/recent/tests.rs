use drover_access::names::GroupName;
use drover_api::ids::ProviderUid;
use drover_api::kinds::{Setting, SettingSpec, TokenProvider};
use drover_testkit::kinds::{person, provider, token};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

const DAY: i64 = 24 * 60 * 60;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Creates stores with a user, the user's provider, and a token that depends on the provider.
fn stores() -> Stores {
    let stores = Stores::synced_empty();
    stores.auth_providers.apply(provider("corp", "p1", true));
    stores.users.apply(person());
    let mut token = token("bcdfghjkmnpq", "u1");
    token.spec.provider = Some(TokenProvider {
        name: "corp".to_owned(),
        uid: ProviderUid::new("p1"),
    });
    stores.tokens.apply(token);
    stores
}

fn identify(
    recent: &RecentIdentities,
    stores: &Stores,
    second: i64,
) -> Result<Arc<Identity>, IdentifyError> {
    let token = stores.tokens.by_name("bcdfghjkmnpq").unwrap();
    let user = stores.users.by_uid("u1");
    recent.identity(&token, user.as_ref(), stores, at(second))
}

/// The name of an input, and a change of the input.
type Change<'a> = (&'a str, &'a dyn Fn(&Stores));

#[test]
fn identity_is_computed_again_after_a_change_of_each_input() {
    let changes: [Change<'_>; 5] = [
        ("token", &|stores| {
            let token = stores.tokens.by_name("bcdfghjkmnpq").unwrap();
            stores.tokens.apply((*token).clone());
        }),
        ("user", &|stores| stores.users.apply(person())),
        ("provider", &|stores| {
            stores.auth_providers.apply(provider("other", "p2", true));
        }),
        ("setting", &|stores| {
            let value = "48h".to_owned();
            let setting = Setting::new("provider-grace", SettingSpec { value });
            stores.settings.apply(setting);
        }),
        ("grants", &|stores| drop(stores.grants.fresh(stores))),
    ];
    for (input, change) in changes {
        let (recent, stores) = (RecentIdentities::default(), stores());
        let before = identify(&recent, &stores, 1).unwrap();
        let again = identify(&recent, &stores, 2).unwrap();
        assert!(Arc::ptr_eq(&before, &again), "no change before: {input}");
        change(&stores);
        let after = identify(&recent, &stores, 2).unwrap();
        assert!(!Arc::ptr_eq(&before, &after), "{input}");
    }
}

#[test]
fn recent_identity_is_rejected_after_expiry_disabling_or_the_grace_period() {
    let (recent, all) = (RecentIdentities::default(), stores());
    assert!(identify(&recent, &all, 1).is_ok());
    let error = identify(&recent, &all, 365 * DAY).unwrap_err();
    assert!(matches!(error, IdentifyError::ProviderInvalid(_)));

    let all = stores();
    assert!(identify(&recent, &all, 1).is_ok());
    all.auth_providers.apply(provider("corp", "p1", false));
    let error = identify(&recent, &all, 1).unwrap_err();
    assert!(matches!(error, IdentifyError::ProviderInvalid(_)));

    let all = stores();
    assert!(identify(&recent, &all, 1).is_ok());
    let mut disabled = person();
    disabled.spec.enabled = false;
    all.users.apply(disabled);
    let error = identify(&recent, &all, 1).unwrap_err();
    assert!(matches!(error, IdentifyError::UserGone));

    let all = stores();
    let mut short = token("bcdfghjkmnpq", "u1");
    short.spec.expires_at = Time(at(100));
    all.tokens.apply(short);
    assert!(identify(&recent, &all, 99).is_ok());
    let error = identify(&recent, &all, 100).unwrap_err();
    assert!(matches!(error, IdentifyError::Expired));
}

#[test]
fn number_of_recent_identities_is_limited() {
    let (recent, stores) = (RecentIdentities::default(), stores());
    let user = stores.users.by_uid("u1");
    for number in 0..=MAX_IDENTITIES {
        let token = Arc::new(token(&format!("t{number}"), "u1"));
        assert!(
            recent
                .identity(&token, user.as_ref(), &stores, at(1))
                .is_ok()
        );
    }
    assert_eq!(recent.0.read().by_token.len(), 1);
}

#[test]
fn number_of_groups_of_recent_identities_is_limited() {
    let (recent, stores) = (RecentIdentities::default(), stores());
    let mut identities = Identities::default();
    let mut insert = |token: &str, groups| {
        let mut identity = (*identify(&recent, &stores, 1).unwrap()).clone();
        identity.groups = vec![GroupName::of("corp", "g").unwrap(); groups];
        let inputs = Inputs::of(
            &stores.tokens.by_name("bcdfghjkmnpq").unwrap(),
            &stores.users.by_uid("u1").unwrap(),
            &stores,
        );
        let recent = Recent {
            inputs,
            validity: at(0)..at(1),
            identity: Arc::new(identity),
        };
        drop(identities.insert(token, recent));
        (identities.groups, identities.by_token.len())
    };
    let half = MAX_GROUPS / 2;
    assert_eq!(insert("a", half), (half, 1));
    assert_eq!(insert("a", half), (half, 1));
    assert_eq!(insert("b", half), (2 * half, 2));
    assert_eq!(insert("c", 1), (1, 1));
}
