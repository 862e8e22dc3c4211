//! Permits. A permit proves that an identity may access a target.

use drover_api::ids::UserUid;
use drover_api::kinds::TokenPurpose;
use jiff::Timestamp;
use thiserror::Error;

pub use crate::grants::Target;
use crate::grants::{Grants, Provenance, RightsHolder};
use crate::identity::{Account, Identity, Principal};
use crate::names::{KubernetesIdentity, UserName};

/// Proof that an identity may use a target. The proxy requires a permit for each request.
///
/// Only [`decide`] creates permits. Permits are immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    target: Target,
    holder: Holder,
    expires_at: Timestamp,
}

/// The owner of a permit, and the owner's identity at the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A Drover user.
    User {
        /// UID of the User object.
        user: UserUid,
        /// ID of the token that authenticated the user.
        token_id: String,
        /// The user's name and groups at the target.
        identity: KubernetesIdentity,
        /// The roles on which the permit depends. The permit ends when the user loses one of the
        /// permissions of these roles.
        provenance: Provenance,
    },
    /// A service account of the hub. Requests to the hub use the identity of the account.
    Account(Account),
}

impl Permit {
    /// Returns the cluster for which the permit is valid.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the owner of the permit.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Returns the time at which the permit and its open streams end.
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }
}

/// Reasons why a request receives no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Denied {
    /// The token is valid only for setting a new password.
    #[error(
        "this token is valid only for setting a new password: run \"drover login\" again or POST \
         /v1/me/password"
    )]
    PasswordChangeRequired,
    /// The token has expired.
    #[error("the token has expired: log in again, or create a new token")]
    Expired,
    /// The token is limited to a cluster other than the target.
    #[error("this token is limited to a different cluster: use a token for this cluster")]
    OtherCluster,
    /// The user has no binding that grants access to the target.
    #[error("you have no role in this cluster: ask an administrator for a role")]
    NoBinding,
    /// A service account of the hub sent a request for a managed cluster.
    #[error(
        "service accounts of the hub can access only the hub (cluster \"local\"): use a user's \
         token for all other clusters"
    )]
    OnlyTheHub,
}

/// Decides whether an identity may use a target at the current time.
///
/// This function does not check whether the user is enabled, because only an enabled user has an
/// [`Identity`].
pub fn decide(
    principal: &Principal,
    target: &Target,
    grants: &Grants,
    now: Timestamp,
) -> Result<Permit, Denied> {
    match principal {
        Principal::User(identity) => decide_person(identity, target, grants, now),
        Principal::Account(account) => decide_account(account, target, now),
    }
}

/// Checks, in this order: purpose, expiry and cluster of the token, then the user's bindings.
fn decide_person(
    identity: &Identity,
    target: &Target,
    grants: &Grants,
    now: Timestamp,
) -> Result<Permit, Denied> {
    if identity.token.purpose == TokenPurpose::PasswordChange {
        return Err(Denied::PasswordChangeRequired);
    }
    if now >= identity.token.expires_at {
        return Err(Denied::Expired);
    }
    match (&identity.token.cluster, target) {
        (None, _) => {}
        (Some(only), Target::Cluster(asked)) if only == asked => {}
        (Some(_), _) => return Err(Denied::OtherCluster),
    }
    let user = UserName::of(&identity.user_uid);
    let rights_holder = RightsHolder {
        user: &user,
        groups: &identity.groups,
    };
    let provenance = grants
        .provenance(rights_holder, target)
        .ok_or(Denied::NoBinding)?;
    let groups = grants.groups_at(&identity.groups, target);
    Ok(Permit {
        target: target.clone(),
        expires_at: identity.token.expires_at,
        holder: Holder::User {
            user: identity.user_uid.clone(),
            token_id: identity.token.id.clone(),
            identity: identity.with_groups(groups),
            provenance,
        },
    })
}

/// Decides whether a service account of the hub may use a target. RBAC of the hub determines the
/// permissions of the account. The account has no access to managed clusters, because a managed
/// cluster can have a different account with the same name.
fn decide_account(account: &Account, target: &Target, now: Timestamp) -> Result<Permit, Denied> {
    if now >= account.expires_at {
        return Err(Denied::Expired);
    }
    match target {
        Target::Cluster(_) => Err(Denied::OnlyTheHub),
        Target::Hub => Ok(Permit {
            target: Target::Hub,
            expires_at: account.expires_at,
            holder: Holder::Account(account.clone()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use drover_api::ids::ClusterUid;

    use super::*;
    use crate::account_token::AccountToken;
    use crate::grants::tests::world::{World, group, rule, user};
    use crate::identity::TokenLimits;
    use crate::names::{AccountName, GroupName};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn identity(user: &str, purpose: TokenPurpose, scope: Option<&str>) -> Identity {
        Identity {
            user_uid: UserUid::new(user),
            user_name: user.into(),
            display_name: None,
            administrator: false,
            groups: ["drover:oidc:devs", "drover:oidc:others"]
                .map(|name| GroupName::parse(name).unwrap())
                .to_vec(),
            token: TokenLimits {
                id: "t".into(),
                purpose,
                cluster: scope.map(ClusterUid::new),
                provider: None,
                expires_at: at(100),
            },
        }
    }

    #[test]
    fn permit_requires_a_token_valid_for_the_cluster_and_a_role_binding() {
        use TokenPurpose::{Api, PasswordChange};
        let world = World::new()
            .cluster_role("reader", &[rule("", "pods", "get")])
            .in_cluster("one", "reader", "a", &user("ann"))
            .in_cluster("two", "reader", "b", &user("ann"))
            .administrator("adm");
        let grants = world.gather();
        let cluster = |uid| Target::Cluster(ClusterUid::new(uid));
        for (principal, purpose, scope, target, now, expected) in [
            ("ann", Api, None, cluster("a"), 99, Ok(())),
            ("ann", Api, Some("a"), cluster("a"), 99, Ok(())),
            (
                "ann",
                Api,
                Some("b"),
                cluster("a"),
                99,
                Err(Denied::OtherCluster),
            ),
            ("ann", Api, None, Target::Hub, 99, Err(Denied::NoBinding)),
            ("ann", Api, None, cluster("c"), 99, Err(Denied::NoBinding)),
            ("ann", Api, None, cluster("a"), 100, Err(Denied::Expired)),
            ("adm", Api, None, Target::Hub, 99, Ok(())),
            ("adm", Api, None, cluster("c"), 99, Ok(())),
            (
                "adm",
                Api,
                Some("a"),
                Target::Hub,
                99,
                Err(Denied::OtherCluster),
            ),
            ("bob", Api, None, cluster("a"), 99, Err(Denied::NoBinding)),
            (
                "adm",
                PasswordChange,
                None,
                cluster("a"),
                99,
                Err(Denied::PasswordChangeRequired),
            ),
        ] {
            let principal = Principal::User(Arc::new(identity(principal, purpose, scope)));
            let got = decide(&principal, &target, &grants, at(now));
            assert_eq!(
                got.map(|_| ()),
                expected,
                "{principal:?} {purpose:?} {scope:?} {target:?} {now}"
            );
        }
    }

    #[test]
    fn cluster_receives_only_groups_that_have_a_role_in_the_cluster() {
        let world = World::new()
            .cluster_role("reader", &[rule("", "pods", "get")])
            .in_cluster("one", "reader", "a", &group("drover:oidc:devs"));
        let principal = Principal::User(Arc::new(identity("ann", TokenPurpose::Api, None)));
        let target = Target::Cluster(ClusterUid::new("a"));
        let permit = decide(&principal, &target, &world.gather(), at(1)).unwrap();
        let Holder::User { identity, .. } = permit.holder() else {
            panic!("a person");
        };
        let groups: Vec<_> = identity.groups().iter().map(GroupName::as_str).collect();
        assert_eq!(groups, ["drover:oidc:devs"]);
    }

    #[test]
    fn service_account_of_hub_can_access_only_the_hub() {
        // {} . {"sub":"system:serviceaccount:apps:puller"} . x
        let token = "e30.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6YXBwczpwdWxsZXIifQ.eA";
        let account = Account {
            name: AccountName::parse("system:serviceaccount:apps:puller").unwrap(),
            uid: "s".into(),
            token: AccountToken::parse(token).unwrap().digest(),
            extras: Vec::new(),
            expires_at: at(100),
        };
        let a = Target::Cluster(ClusterUid::new("a"));
        for (target, now, expected) in [
            (Target::Hub, 99, Ok(Holder::Account(account.clone()))),
            (Target::Hub, 100, Err(Denied::Expired)),
            (a, 99, Err(Denied::OnlyTheHub)),
        ] {
            let principal = Principal::Account(account.clone());
            let got = decide(&principal, &target, &Grants::default(), at(now));
            assert_eq!(got.map(|permit| permit.holder), expected, "{now}");
        }
    }
}
