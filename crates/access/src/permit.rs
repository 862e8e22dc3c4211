//! Permits: proof that an identity may do this on that cluster.

use drover_api::ids::{ClusterUid, UserUid};
use drover_api::kinds::TokenPurpose;
use jiff::Timestamp;
use thiserror::Error;

use crate::identity::Identity;
use crate::names::KubernetesIdentity;

/// Where a request wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The hub itself, known as cluster `local`.
    Hub,
    /// A managed cluster.
    Cluster(ClusterUid),
}

/// Proof that an identity may use a target; the proxy takes nothing else.
///
/// Only [`decide`] makes one, and nothing changes one, so whoever holds a permit holds a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    target: Target,
    user: UserUid,
    token_id: String,
    expires_at: Timestamp,
    identity: KubernetesIdentity,
    may_impersonate: bool,
}

impl Permit {
    /// Where it leads.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Whose it is.
    pub fn user(&self) -> &UserUid {
        &self.user
    }

    /// The token that it stands on.
    pub fn token_id(&self) -> &str {
        &self.token_id
    }

    /// Open streams end then.
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// How the person appears at the target.
    pub fn identity(&self) -> &KubernetesIdentity {
        &self.identity
    }

    /// Whether `kubectl --as` may be asked for; the cluster has its own say.
    pub fn may_impersonate(&self) -> bool {
        self.may_impersonate
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
}

/// Decides whether an identity may use a target now.
///
/// Order: what the token may do at all, its time, its cluster, then the person's bindings.
pub fn decide(identity: &Identity, target: Target, now: Timestamp) -> Result<Permit, Denied> {
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
        user: identity.user_uid.clone(),
        token_id: identity.token.id.clone(),
        expires_at: identity.token.expires_at,
        identity: identity.in_clusters(),
        may_impersonate: identity.administrator,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::TokenLimits;

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
            let got = decide(
                &identity(purpose, scope, administrator),
                target.clone(),
                at(now),
            );
            assert_eq!(
                got.map(|_| ()),
                wanted,
                "{purpose:?} {scope:?} {target:?} {now}"
            );
        }
    }
}
