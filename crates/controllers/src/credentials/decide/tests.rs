use drover_api::ids::{ClusterUid, ProviderUid, UserUid};
use drover_api::kinds::{
    ClusterRegistrationTokenSpec, ClusterScope, ClusterSpec, ClusterStatus, Registration,
    TokenSpec, UserSpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

pub(in crate::credentials) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn ann(enabled: bool, must_change_password: bool) -> User {
    let spec = UserSpec {
        display_name: None,
        enabled,
        administrator: false,
        must_change_password,
    };
    User::new("ann", spec)
}

fn shop(registered_with: Option<&str>) -> Cluster {
    let mut cluster = Cluster::new("shop", ClusterSpec::default());
    cluster.status = registered_with.map(|id| ClusterStatus {
        registration: Some(Registration {
            public_key: "k".into(),
            previous_key: None,
            bound_at: Time(at(0)),
            token_id: id.into(),
        }),
        ..ClusterStatus::default()
    });
    cluster
}

/// Returns a token that expires at second 100.
pub(in crate::credentials) fn credential(scoped: bool) -> Token {
    let scope = ClusterScope {
        name: "shop".into(),
        uid: ClusterUid::new("c"),
    };
    let spec = TokenSpec {
        user_name: "ann".into(),
        user_uid: UserUid::new("u"),
        purpose: TokenPurpose::Credential,
        hash: String::new(),
        cluster: scoped.then_some(scope),
        provider: None,
        description: None,
        expires_at: Time(at(100)),
        idle_seconds: None,
    };
    Token::new("t", spec)
}

#[track_caller]
fn assert_says(condition_value: &ConditionValue, status: &str, reason: &str, advice: &str) {
    assert_eq!(
        (condition_value.status.as_str(), condition_value.reason),
        (status, reason)
    );
    assert!(
        condition_value.message.contains(advice),
        "{condition_value:?}"
    );
}

#[test]
fn enabled_user_is_ready_unless_a_password_change_is_required() {
    for (enabled, must_change, status, reason, advice) in [
        (true, false, "True", "Enabled", "can sign in"),
        (false, false, "False", "Disabled", "drover user enable ann"),
        (false, true, "False", "Disabled", "drover user enable ann"),
        (
            true,
            true,
            "False",
            "PasswordChangeRequired",
            "drover login",
        ),
    ] {
        assert_says(
            &user(&ann(enabled, must_change), &[]),
            status,
            reason,
            advice,
        );
    }
}

#[test]
fn user_condition_names_unreachable_or_rejecting_provider() {
    let mut identity = ProviderIdentity {
        provider: "corp".into(),
        provider_uid: ProviderUid::new("p"),
        id: "1".into(),
        login: "ann".into(),
        groups: Vec::new(),
        groups_left_out: 0,
        confirmed_at: Time(at(0)),
        state: IdentityState::Confirmed,
        message: None,
        since: None,
    };
    let says =
        |identity: &ProviderIdentity, invalid| user(&ann(true, false), &[(identity, invalid)]);
    assert_says(&says(&identity, None), "True", "Enabled", "can sign in");
    identity.state = IdentityState::Unreachable;
    identity.message = Some("it is down".into());
    let (status, reason) = ("True", "ProviderUnreachable");
    assert_says(&says(&identity, None), status, reason, "it is down");
    let over = says(&identity, Some(InvalidReason::GracePeriodExpired));
    assert_says(&over, "False", "ProviderFallen", "corp: ");
    let stands_on_it = token(
        &credential(false),
        Some(&ann(true, false)),
        None,
        Some(InvalidReason::Refused),
        at(1),
    );
    assert_says(&stands_on_it, "False", "ProviderFallen", "rejects the user");
}

#[test]
fn idle_session_is_not_valid() {
    let mut session = credential(false);
    session.spec.expires_at = Time(at(1_000_000));
    session.spec.idle_seconds = Some(3600);
    session.metadata.creation_timestamp = Some(Time(at(0)));
    let there = ann(true, false);
    let says = |now| token(&session, Some(&there), None, None, at(now));
    assert_says(&says(3600), "True", "Active", "is valid");
    assert_says(&says(7200), "False", "Idle", "sign in again");
}

#[test]
fn token_is_valid_until_expiry_or_deletion_of_user_or_cluster() {
    let mut leaving = ann(true, false);
    leaving.metadata.deletion_timestamp = Some(Time(at(1)));
    let (there, off, new) = (ann(true, false), ann(false, false), ann(true, true));
    let berlin = shop(None);
    let cluster = Some(&berlin);
    for (scoped, user, cluster, now, status, reason, advice) in [
        (false, Some(&there), None, 99, "True", "Active", "is valid"),
        (false, Some(&new), None, 99, "True", "Active", "is valid"),
        (
            true,
            Some(&there),
            cluster,
            99,
            "True",
            "Active",
            "is valid",
        ),
        (
            false,
            Some(&there),
            None,
            100,
            "False",
            "Expired",
            "drover login",
        ),
        (false, None, None, 100, "False", "Expired", "drover login"),
        (false, None, None, 99, "False", "UserGone", "new tokens"),
        (false, Some(&leaving), None, 99, "False", "UserGone", "ann"),
        (
            false,
            Some(&off),
            None,
            99,
            "False",
            "UserDisabled",
            "enable ann",
        ),
        (
            true,
            Some(&off),
            None,
            99,
            "False",
            "UserDisabled",
            "enable ann",
        ),
        (true, Some(&there), None, 99, "False", "ClusterGone", "shop"),
    ] {
        let condition_value = token(&credential(scoped), user, cluster, None, at(now));
        assert_says(&condition_value, status, reason, advice);
    }
}

#[test]
fn registration_token_is_invalid_after_use_or_expiry_or_cluster_deletion() {
    let spec = ClusterRegistrationTokenSpec {
        cluster_name: "shop".into(),
        cluster_uid: ClusterUid::new("c"),
        hash: String::new(),
        expires_at: Time(at(100)),
    };
    let waiting = ClusterRegistrationToken::new("t", spec);
    let mut leaving = shop(None);
    leaving.metadata.deletion_timestamp = Some(Time(at(1)));
    let import = "drover cluster import shop";
    for (cluster, now, status, reason, advice) in [
        (Some(shop(None)), 99, "True", "Waiting", "once"),
        (Some(shop(None)), 100, "False", "Expired", import),
        (Some(shop(Some("t"))), 99, "False", "Used", "registered"),
        (Some(shop(Some("t"))), 100, "False", "Used", "registered"),
        (
            Some(shop(Some("o"))),
            99,
            "False",
            "ClusterRegistered",
            "shop",
        ),
        (Some(leaving), 99, "False", "ClusterGone", import),
        (None, 99, "False", "ClusterGone", import),
    ] {
        let condition_value = registration_token(&waiting, cluster.as_ref(), at(now));
        assert_says(&condition_value, status, reason, advice);
    }
}
