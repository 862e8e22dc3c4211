//! Decides whether a key is bound to a Cluster. The decision has no side effects.

use drover_access::proof::PublicKey;
use drover_api::kinds::{Cluster, NodeAgentStatus};
use thiserror::Error;

/// A registration request, and the objects on the hub that the decision depends on.
#[derive(Debug)]
pub struct Observed<'a> {
    /// The Cluster with the UID in the request.
    pub cluster: Option<&'a Cluster>,
    /// The key in the request.
    pub key: &'a PublicKey,
    /// True if the signature of the request matches the key in the request.
    pub signed: bool,
    /// The validity of the presented token.
    pub token: TokenState,
    /// Name of a different Cluster that the key is already bound to.
    pub held_by: Option<&'a str>,
}

/// The validity of a presented registration token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// The request contains no registration token.
    Absent,
    /// The token does not exist, or its secret is wrong.
    Invalid,
    /// The registration token has expired.
    Expired,
    /// The token is for a different Cluster than the request.
    OtherCluster,
    /// The token allows this registration.
    Valid {
        /// ID of the valid token.
        id: String,
    },
}

/// The decision on a registration request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistrationDecision {
    /// The key is already bound to the Cluster. The server sends the same response as for a new
    /// binding.
    AlreadyBound,
    /// The token is valid for the Cluster, so the server binds the key.
    Bind {
        /// ID of the registration token. The server deletes this token after the registration.
        token_id: String,
    },
}

/// The reason for refusing a registration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The UID in the request is not the UID of a Cluster.
    #[error(
        "the server has no Cluster with this UID: the Cluster was deleted, or the manifest is \
         from a different server; import the cluster again"
    )]
    NoSuchCluster,
    /// The Cluster is being deleted.
    #[error(
        "this Cluster is being deleted on the server; import the cluster again as a new Cluster"
    )]
    ClusterDeleted,
    /// The signature of the request does not match the key in the request.
    #[error("the signature of the request does not match the public key in the request")]
    BadSignature,
    /// The Cluster is already bound to a different key.
    #[error(
        "this Cluster is already registered with a different key: if the cluster was recreated, \
         delete the Cluster on the server and import the cluster again"
    )]
    AlreadyRegistered,
    /// The request has no token.
    #[error("a registration token is needed: apply a fresh manifest of \"drover cluster import\"")]
    TokenRequired,
    /// The token does not exist, or its secret is wrong.
    #[error(
        "the registration token is invalid or was already used: apply a fresh manifest of \
         \"drover cluster import\""
    )]
    TokenInvalid,
    /// The token has expired.
    #[error(
        "the registration token has expired: apply a fresh manifest of \"drover cluster import\""
    )]
    TokenExpired,
    /// The token is for a different Cluster than the request.
    #[error(
        "the registration token is for a different Cluster: apply the manifest of this Cluster"
    )]
    TokenOfOtherCluster,
    /// The key is already bound to a different Cluster.
    #[error(
        "this cluster is already registered as {name:?}: delete the Cluster {name:?} first, or \
         delete the Secret drover-agent-key in the cluster to register the cluster a second time",
         name = .0
    )]
    KeyOfOtherCluster(String),
}

impl Refusal {
    /// Returns the `PascalCase` reason of the refusal, which is stable across releases.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoSuchCluster => "NoSuchCluster",
            Self::ClusterDeleted => "ClusterDeleted",
            Self::BadSignature => "BadSignature",
            Self::AlreadyRegistered => "AlreadyRegistered",
            Self::TokenRequired => "TokenRequired",
            Self::TokenInvalid => "TokenInvalid",
            Self::TokenExpired => "TokenExpired",
            Self::TokenOfOtherCluster => "TokenOfOtherCluster",
            Self::KeyOfOtherCluster(_) => "KeyOfOtherCluster",
        }
    }
}

/// Decides on a registration request.
///
/// The checks run in this order: the Cluster, the signature, the bound key, the token. The function
/// checks the token only if the Cluster has no bound key. Therefore a used token is worthless, and
/// a bound key requires no token.
pub fn decide(observed: &Observed<'_>) -> Result<RegistrationDecision, Refusal> {
    let cluster = observed.cluster.ok_or(Refusal::NoSuchCluster)?;
    if cluster.metadata.deletion_timestamp.is_some() {
        return Err(Refusal::ClusterDeleted);
    }
    if !observed.signed {
        return Err(Refusal::BadSignature);
    }
    if let Some(bound) = bound_key(cluster) {
        return if *bound == observed.key.encode() {
            Ok(RegistrationDecision::AlreadyBound)
        } else {
            Err(Refusal::AlreadyRegistered)
        };
    }
    let token_id = match &observed.token {
        TokenState::Absent => return Err(Refusal::TokenRequired),
        TokenState::Invalid => return Err(Refusal::TokenInvalid),
        TokenState::Expired => return Err(Refusal::TokenExpired),
        TokenState::OtherCluster => return Err(Refusal::TokenOfOtherCluster),
        TokenState::Valid { id } => id.clone(),
    };
    match observed.held_by {
        Some(other) => Err(Refusal::KeyOfOtherCluster(other.to_owned())),
        None => Ok(RegistrationDecision::Bind { token_id }),
    }
}

/// Returns the entry of a node that can have a tunnel of its node agent.
pub fn node_agent<'a>(cluster: &'a Cluster, node: &str) -> Option<&'a NodeAgentStatus> {
    let mut agents = cluster.status.as_ref()?.node_agents.iter();
    agents.find(|agent| agent.node == node)
}

/// Returns the key that is bound to a Cluster, in base64.
pub fn bound_key(cluster: &Cluster) -> Option<&String> {
    Some(&cluster.status.as_ref()?.registration.as_ref()?.public_key)
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::{ClusterSpec, ClusterStatus, Registration};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    const KEY: PublicKey = PublicKey::from_bytes([1; 32]);
    const OTHER: PublicKey = PublicKey::from_bytes([2; 32]);

    fn cluster(bound: Option<&PublicKey>, deleting: bool) -> Cluster {
        let mut cluster = Cluster::new("shop", ClusterSpec::default());
        let now = Time(jiff::Timestamp::UNIX_EPOCH);
        cluster.metadata.deletion_timestamp = deleting.then(|| now.clone());
        cluster.status = bound.map(|key| ClusterStatus {
            registration: Some(Registration {
                public_key: key.encode(),
                previous_key: None,
                bound_at: now,
                token_id: "t".into(),
            }),
            ..Default::default()
        });
        cluster
    }

    fn valid() -> TokenState {
        TokenState::Valid { id: "t".into() }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn agent_key_is_bound_once_and_only_with_a_valid_registration_token() {
        use TokenState::{Absent, Expired, Invalid, OtherCluster};
        let (free, ours, theirs, gone) = (
            cluster(None, false),
            cluster(Some(&KEY), false),
            cluster(Some(&OTHER), false),
            cluster(Some(&KEY), true),
        );
        let bind = Ok(RegistrationDecision::Bind {
            token_id: "t".into(),
        });
        let owned = Some("b");
        for (case, cluster, signed, token, held_by, expected) in [
            ("first", Some(&free), true, valid(), None, bind),
            (
                "same key",
                Some(&ours),
                true,
                valid(),
                None,
                Ok(RegistrationDecision::AlreadyBound),
            ),
            (
                "same key, token gone",
                Some(&ours),
                true,
                Invalid,
                None,
                Ok(RegistrationDecision::AlreadyBound),
            ),
            (
                "same key, no token",
                Some(&ours),
                true,
                Absent,
                None,
                Ok(RegistrationDecision::AlreadyBound),
            ),
            (
                "same key, expired",
                Some(&ours),
                true,
                Expired,
                None,
                Ok(RegistrationDecision::AlreadyBound),
            ),
            (
                "stolen key, unsigned",
                Some(&ours),
                false,
                valid(),
                None,
                Err(Refusal::BadSignature),
            ),
            (
                "second key",
                Some(&theirs),
                true,
                valid(),
                None,
                Err(Refusal::AlreadyRegistered),
            ),
            (
                "stolen token later",
                Some(&theirs),
                true,
                Invalid,
                None,
                Err(Refusal::AlreadyRegistered),
            ),
            (
                "no token",
                Some(&free),
                true,
                Absent,
                None,
                Err(Refusal::TokenRequired),
            ),
            (
                "unknown token",
                Some(&free),
                true,
                Invalid,
                None,
                Err(Refusal::TokenInvalid),
            ),
            (
                "expired token",
                Some(&free),
                true,
                Expired,
                None,
                Err(Refusal::TokenExpired),
            ),
            (
                "B's token",
                Some(&free),
                true,
                OtherCluster,
                None,
                Err(Refusal::TokenOfOtherCluster),
            ),
            (
                "A's key",
                Some(&free),
                true,
                valid(),
                owned,
                Err(Refusal::KeyOfOtherCluster("b".into())),
            ),
            (
                "unsigned",
                Some(&free),
                false,
                valid(),
                None,
                Err(Refusal::BadSignature),
            ),
            (
                "deleting",
                Some(&gone),
                true,
                valid(),
                None,
                Err(Refusal::ClusterDeleted),
            ),
            (
                "unknown",
                None,
                true,
                valid(),
                None,
                Err(Refusal::NoSuchCluster),
            ),
        ] {
            let observed = Observed {
                cluster,
                key: &KEY,
                signed,
                token,
                held_by,
            };
            assert_eq!(decide(&observed), expected, "{case}");
        }
    }
}
