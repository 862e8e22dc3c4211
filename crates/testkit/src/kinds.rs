//! Sample custom resources for unit tests.

use drover_access::token::TokenHash;
use drover_api::ids::{ProviderUid, UserUid};
use drover_api::kinds::{
    AuthProvider, AuthProviderSpec, IdentityGroup, IdentityState, ProviderIdentity, Token,
    TokenPurpose, TokenSpec, User, UserSpec, UserStatus,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Returns a token of the user `ann` that never expires.
pub fn token(id: &str, user_uid: &str) -> Token {
    let spec = TokenSpec {
        user_name: "ann".to_owned(),
        user_uid: UserUid::new(user_uid),
        purpose: TokenPurpose::Api,
        hash: TokenHash::of_nothing().as_str().to_owned(),
        cluster: None,
        provider: None,
        description: None,
        expires_at: Time(Timestamp::MAX),
        idle_seconds: None,
    };
    Token::new(id, spec)
}

/// Returns an AuthProvider object.
pub fn provider(name: &str, uid: &str, enabled: bool) -> AuthProvider {
    let spec = AuthProviderSpec {
        enabled,
        ..AuthProviderSpec::default()
    };
    let mut provider = AuthProvider::new(name, spec);
    provider.metadata.uid = Some(uid.to_owned());
    provider
}

/// Returns a user with an identity at the provider `p1`. The provider confirmed the identity at
/// second 0.
pub fn person() -> User {
    let spec = UserSpec {
        display_name: None,
        enabled: true,
        administrator: false,
        must_change_password: false,
    };
    let group = |name: &str| IdentityGroup {
        name: name.to_owned(),
        display_name: "a group".to_owned(),
    };
    let mut user = User::new("ann", spec);
    user.metadata.uid = Some("u1".to_owned());
    user.status = Some(UserStatus {
        identities: vec![ProviderIdentity {
            provider: "corp".to_owned(),
            provider_uid: ProviderUid::new("p1"),
            id: "583231".to_owned(),
            login: "ann".to_owned(),
            groups: vec![group("drover:corp:devs"), group("drover:other:admins")],
            groups_left_out: 0,
            confirmed_at: Time(Timestamp::UNIX_EPOCH),
            state: IdentityState::Confirmed,
            message: None,
            since: None,
        }],
        ..UserStatus::default()
    });
    user
}
