//! Whether a key is bound to a Cluster. Pure.

use drover_access::proof::PublicKey;
use drover_api::kinds::Cluster;
use thiserror::Error;

/// What a registration request looks like beside the hub's present state.
#[derive(Debug)]
pub struct Observed<'a> {
    /// The Cluster with the UID that the request names.
    pub cluster: Option<&'a Cluster>,
    /// The key that the request brings.
    pub key: &'a PublicKey,
    /// Whether the request is signed with that key.
    pub signed: bool,
    /// What the presented token is worth.
    pub token: TokenState,
    /// Name of another Cluster that this key is bound to.
    pub held_by: Option<&'a str>,
}

/// What a presented registration token is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// None was presented.
    Absent,
    /// There is no such token, or its secret is another.
    Invalid,
    /// Its time is over.
    Expired,
    /// It is for another Cluster.
    OtherCluster,
    /// It allows this registration.
    Valid {
        /// Its id.
        id: String,
    },
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The key is bound already: answer as if it had just been.
    AlreadyBound,
    /// Bind the key, on the word of this token.
    Bind {
        /// Id of the token.
        token_id: String,
    },
}

/// Why a registration is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No Cluster has that UID.
    #[error(
        "the server has no Cluster with this UID: it was deleted, or the manifest is of another server; import the cluster again"
    )]
    NoSuchCluster,
    /// The Cluster is going away.
    #[error(
        "this Cluster is being deleted at the server; import the cluster again under a new one"
    )]
    ClusterDeleted,
    /// The request is not signed with the key that it brings.
    #[error("the request is not signed with the key that it brings")]
    BadSignature,
    /// Another key is bound.
    #[error(
        "this Cluster is registered already, with another key: if the cluster was made anew, delete the Cluster at the server and import it again"
    )]
    AlreadyRegistered,
    /// No token.
    #[error("a registration token is needed: apply a fresh manifest of \"drover cluster import\"")]
    TokenRequired,
    /// A token that is worth nothing.
    #[error(
        "the registration token is not valid, or was used already: apply a fresh manifest of \"drover cluster import\""
    )]
    TokenInvalid,
    /// A token whose time is over.
    #[error(
        "the registration token has expired: apply a fresh manifest of \"drover cluster import\""
    )]
    TokenExpired,
    /// A token of another Cluster.
    #[error(
        "the registration token is for another Cluster: apply the manifest that was made for this one"
    )]
    TokenOfOtherCluster,
    /// The key is another Cluster's.
    #[error(
        "this cluster is registered as {0:?} already: delete that Cluster first, or delete Secret drover-agent-key in the cluster to register it twice"
    )]
    KeyOfOtherCluster(String),
}

impl Refusal {
    /// PascalCase cause, stable across releases.
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

/// Decides a registration.
///
/// Order: the Cluster, the proof, the key that is bound; only where none is bound does the token
/// count. So a used token is worth nothing, and a bound key needs none.
pub fn decide(observed: &Observed<'_>) -> Result<Verdict, Refusal> {
    let cluster = observed.cluster.ok_or(Refusal::NoSuchCluster)?;
    if cluster.metadata.deletion_timestamp.is_some() {
        return Err(Refusal::ClusterDeleted);
    }
    if !observed.signed {
        return Err(Refusal::BadSignature);
    }
    if let Some(bound) = bound_key(cluster) {
        return if *bound == observed.key.encode() {
            Ok(Verdict::AlreadyBound)
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
        None => Ok(Verdict::Bind { token_id }),
    }
}

/// The key bound to a Cluster, base64.
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
    fn a_key_is_bound_once_and_on_the_word_of_a_valid_token_only() {
        use TokenState::{Absent, Expired, Invalid, OtherCluster};
        let (free, ours, theirs, gone) = (
            cluster(None, false),
            cluster(Some(&KEY), false),
            cluster(Some(&OTHER), false),
            cluster(Some(&KEY), true),
        );
        let bind = Ok(Verdict::Bind {
            token_id: "t".into(),
        });
        let held = Some("b");
        for (what, cluster, signed, token, held_by, wanted) in [
            ("first", Some(&free), true, valid(), None, bind),
            (
                "same key",
                Some(&ours),
                true,
                valid(),
                None,
                Ok(Verdict::AlreadyBound),
            ),
            (
                "same key, token gone",
                Some(&ours),
                true,
                Invalid,
                None,
                Ok(Verdict::AlreadyBound),
            ),
            (
                "same key, no token",
                Some(&ours),
                true,
                Absent,
                None,
                Ok(Verdict::AlreadyBound),
            ),
            (
                "same key, expired",
                Some(&ours),
                true,
                Expired,
                None,
                Ok(Verdict::AlreadyBound),
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
                held,
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
            assert_eq!(decide(&observed), wanted, "{what}");
        }
    }
}
