//! Permits: proof that an identity may do this on that cluster.

use drover_api::ids::{ClusterUid, UserUid};
use drover_api::kinds::TokenPurpose;
use jiff::Timestamp;
use thiserror::Error;

use crate::identity::{Account, Identity, Principal};
use crate::names::KubernetesIdentity;

/// Where a request wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The hub itself, known as cluster `local`.
    Hub,
    /// A managed cluster.
    Cluster(ClusterUid),
}

/// Proof that somebody may use a target; the proxy takes nothing else.
///
/// Only [`decide`] makes one, and nothing changes one, so whoever holds a permit holds a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    target: Target,
    holder: Holder,
    expires_at: Timestamp,
}

/// Whose a permit is, and how they appear at the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// One of Drover's people.
    Person {
        /// UID of the User.
        user: UserUid,
        /// The token that the permit stands on.
        token_id: String,
        /// Their name and groups at the target.
        identity: KubernetesIdentity,
        /// Whether `kubectl --as` may be asked for; the cluster has its own say.
        may_impersonate: bool,
    },
    /// A service account of the hub, which appears there as itself.
    Account(Account),
}

impl Permit {
    /// Where it leads.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Whose it is.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Open streams end then.
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }
}

/// Why there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Denied {
    /// The token only allows setting a new password.
    #[error("set a new password first: run \"drover login\" again or POST /v1/me/password")]
    PasswordChangeRequired,
    /// The token's time is over.
    #[error("the token has expired: log in again or use a newer token")]
    Expired,
    /// The token is limited to another cluster.
    #[error("this token is limited to another cluster: use one made for this cluster")]
    OtherCluster,
    /// No binding allows it.
    #[error("you have no role on this cluster: ask an administrator for one")]
    NoBinding,
    /// A service account of the hub asks for something else than the hub.
    #[error(
        "a service account of the hub can use nothing but the hub, cluster \"local\": people's \
         tokens are for the others"
    )]
    OnlyTheHub,
}

/// Decides whether somebody may use a target now.
pub fn decide(who: Principal, target: Target, now: Timestamp) -> Result<Permit, Denied> {
    match who {
        Principal::Person(identity) => decide_person(&identity, target, now),
        Principal::Account(account) => decide_account(account, target, now),
    }
}

/// Order: what the token may do at all, its time, its cluster, then the person's bindings.
fn decide_person(identity: &Identity, target: Target, now: Timestamp) -> Result<Permit, Denied> {
    if identity.token.purpose == TokenPurpose::PasswordChange {
        return Err(Denied::PasswordChangeRequired);
    }
    if now >= identity.token.expires_at {
        return Err(Denied::Expired);
    }
    match (&identity.token.cluster, &target) {
        (None, _) => {}
        (Some(only), Target::Cluster(asked)) if only == asked => {}
        (Some(_), _) => return Err(Denied::OtherCluster),
    }
    if !identity.administrator {
        return Err(Denied::NoBinding);
    }
    Ok(Permit {
        target,
        expires_at: identity.token.expires_at,
        holder: Holder::Person {
            user: identity.user_uid.clone(),
            token_id: identity.token.id.clone(),
            identity: identity.in_clusters(),
            may_impersonate: identity.administrator,
        },
    })
}

/// What an account may do on the hub is for the hub's own roles to say, as if it came there
/// straight. In a cluster its name would be somebody else's.
fn decide_account(account: Account, target: Target, now: Timestamp) -> Result<Permit, Denied> {
    if now >= account.expires_at {
        return Err(Denied::Expired);
    }
    match target {
        Target::Cluster(_) => Err(Denied::OnlyTheHub),
        Target::Hub => Ok(Permit {
            target,
            expires_at: account.expires_at,
            holder: Holder::Account(account),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account_token::AccountToken;
    use crate::identity::TokenLimits;
    use crate::names::AccountName;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn identity(purpose: TokenPurpose, scope: Option<&str>, administrator: bool) -> Identity {
        Identity {
            user_uid: UserUid::new("u"),
            user_name: "ann".into(),
            display_name: None,
            administrator,
            groups: Vec::new(),
            token: TokenLimits {
                id: "t".into(),
                purpose,
                cluster: scope.map(ClusterUid::new),
                expires_at: at(100),
            },
        }
    }

    #[test]
    fn a_permit_needs_a_living_token_its_cluster_and_a_binding() {
        use TokenPurpose::{Api, PasswordChange};
        let a = || Target::Cluster(ClusterUid::new("a"));
        for (purpose, scope, administrator, target, now, wanted) in [
            (Api, None, true, a(), 99, Ok(())),
            (Api, None, true, Target::Hub, 99, Ok(())),
            (Api, Some("a"), true, a(), 99, Ok(())),
            (Api, Some("b"), true, a(), 99, Err(Denied::OtherCluster)),
            (
                Api,
                Some("a"),
                true,
                Target::Hub,
                99,
                Err(Denied::OtherCluster),
            ),
            (Api, None, true, a(), 100, Err(Denied::Expired)),
            (Api, None, false, a(), 99, Err(Denied::NoBinding)),
            (Api, None, false, Target::Hub, 99, Err(Denied::NoBinding)),
            (
                PasswordChange,
                None,
                true,
                a(),
                99,
                Err(Denied::PasswordChangeRequired),
            ),
        ] {
            let who = Principal::Person(identity(purpose, scope, administrator));
            let got = decide(who, target.clone(), at(now));
            assert_eq!(
                got.map(|_| ()),
                wanted,
                "{purpose:?} {scope:?} {target:?} {now}"
            );
        }
    }
    #[test]
    fn an_account_of_the_hub_goes_to_the_hub_as_itself_and_nowhere_else() {
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
        for (target, now, wanted) in [
            (Target::Hub, 99, Ok(Holder::Account(account.clone()))),
            (Target::Hub, 100, Err(Denied::Expired)),
            (a, 99, Err(Denied::OnlyTheHub)),
        ] {
            let got = decide(Principal::Account(account.clone()), target, at(now));
            assert_eq!(got.map(|permit| permit.holder), wanted, "{now}");
        }
    }
}
