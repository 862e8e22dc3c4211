//! The proof of an agent's key: the bound key, the signed message, and the responses to proofs that the
//! server does not accept.

use std::sync::Arc;

use drover_access::proof::PublicKey;
use drover_api::group::CLUSTER_FINALIZER;
use drover_api::ids::ClusterUid;
use drover_api::kinds::Cluster;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::RegistrationState;
use super::challenge::{ChallengeError, ValidNonce};
use super::decide::{Refusal, bound_key};
use super::register::{current_cluster, refusal};
use crate::tunnels::TunnelSource;
use drover_http_edge::status::Status;

/// Maximum time in which an agent starts to use its new key.
pub const KEY_CHANGE_TIME: SignedDuration = SignedDuration::from_mins(5);

/// The agent that a proof names, the agent's bound key, and the message that the agent must sign.
pub(super) struct Signer {
    pub(super) source: TunnelSource,
    pub(super) key: PublicKey,
    bound_at: Timestamp,
    /// The key that `key` replaced.
    pub(super) previous: Option<PublicKey>,
    message: Vec<u8>,
}

impl Signer {
    /// Returns the signer with the key that is bound to the source. The agent must sign `message`.
    pub(super) fn new(
        cluster: &Cluster,
        source: TunnelSource,
        message: Vec<u8>,
    ) -> Result<Self, Status> {
        let bound = source.bound_key(cluster).ok_or_else(|| match &source {
            TunnelSource::Agent => not_registered(),
            TunnelSource::Node { .. } => node_not_registered(),
        })?;
        Ok(Self {
            source,
            key: parse_key(&bound.public_key)?,
            previous: bound.previous.as_deref().map(parse_key).transpose()?,
            bound_at: bound.at,
            message,
        })
    }

    /// Reports whether `signature` is a signature of the message with `key`.
    pub(super) fn has_signed(&self, key: &PublicKey, signature: &str) -> bool {
        key.verify(&self.message, signature).is_ok()
    }
}

fn parse_key(bound: &str) -> Result<PublicKey, Status> {
    PublicKey::parse(bound).map_err(|error| Status::internal(error.to_string()))
}

/// Returns the response to a proof that is not signed with the bound key, and writes an Event.
pub(super) async fn foreign_key(
    state: &RegistrationState,
    cluster: &Cluster,
    signer: &Signer,
    signature: &str,
) -> Status {
    let previous = signer.previous.as_ref();
    if previous.is_some_and(|key| signer.has_signed(key, signature)) {
        return replaced_key(state, cluster, signer).await;
    }
    if let Some(node) = signer.source.node() {
        let note = format!(
            "refused a connection: it is not signed with the key of the node agent on {node}"
        );
        state.notices.warn(cluster, "ForeignNodeKey", &note).await;
        // A new pod of the node agent has a new key.
        return node_not_registered();
    }
    let note = "refused a connection: it is not signed with the key that is bound to this Cluster";
    state.notices.warn(cluster, "ForeignKey", note).await;
    let message = "the proof is not signed with the key that is bound to this Cluster: if \
        the cluster was recreated, delete the Cluster on the server and import the cluster \
        again";
    Status::unauthorized(message).because("", "ForeignKey", message)
}

/// Returns the response to a proof that is signed with a replaced key. The agent knows its new key soon
/// after the server has bound it, so a later proof with the replaced key can come from an attacker.
async fn replaced_key(state: &RegistrationState, cluster: &Cluster, signer: &Signer) -> Status {
    let (name, source) = (cluster.name_any(), &signer.source);
    tracing::info!(cluster = name, %source, "refused a connection with a replaced key");
    if Timestamp::now().duration_since(signer.bound_at) > KEY_CHANGE_TIME {
        let note = format!(
            "refused a connection: it is signed with the replaced key of {source}; an attacker may \
             have copied the key"
        );
        state.notices.warn(cluster, "ReplacedKey", &note).await;
    }
    let message =
        "the proof is signed with a key that was replaced: the agent must use its new key";
    Status::unauthorized(message).because("", "KeyReplaced", message)
}

/// Returns the Cluster from the stores. Reads the hub if the stores have no key for the Cluster.
pub(super) async fn current_or_stored_cluster(
    state: &RegistrationState,
    uid: &ClusterUid,
    request: &http::Extensions,
) -> Result<Arc<Cluster>, Status> {
    let known = state.hub.stores().clusters.by_uid(uid.as_str());
    let known = known.ok_or_else(|| refusal(&Refusal::NoSuchCluster))?;
    // The agent may connect while the server's finalizer is set: the server must remove its objects
    // from the cluster.
    if known.metadata.deletion_timestamp.is_some() && !has_finalizer(&known) {
        return Err(refusal(&Refusal::ClusterDeleted));
    }
    if bound_key(&known).is_some() {
        return Ok(known);
    }
    state.check_rate(request)?;
    let current = current_cluster(&state.hub, uid).await?;
    current
        .map(Arc::new)
        .ok_or_else(|| refusal(&Refusal::NoSuchCluster))
}

/// Marks the challenge of a verified proof as used. Writes an Event if the challenge was used before.
pub(super) async fn spend(
    state: &RegistrationState,
    cluster: &Cluster,
    genuine: &ValidNonce,
    now: Timestamp,
) -> Result<(), Status> {
    let Err(error) = state.challenges.spend(genuine, now) else {
        return Ok(());
    };
    if matches!(error, ChallengeError::Replayed) {
        let note = "refused a connection: its proof was used before; if no agent of this cluster was \
                    restarted recently, an attacker may have read one of its connections";
        state.notices.warn(cluster, "ReplayedChallenge", note).await;
    }
    Err(challenge_refused(error))
}

fn not_registered() -> Status {
    let message = "no key is bound to this Cluster: the agent must register first; apply a fresh manifest of \"drover cluster import\"";
    Status::unauthorized(message).because("", "NotRegistered", message)
}

pub(super) fn node_not_registered() -> Status {
    let message = "no key is bound to this node: the node agent must register first";
    Status::unauthorized(message).because("", "NotRegistered", message)
}

pub(super) fn challenge_refused(error: ChallengeError) -> Status {
    let message = error.to_string();
    match error {
        ChallengeError::Full => Status::unavailable(message, 60),
        ChallengeError::Foreign => {
            Status::unauthorized(&message).because("", "ForeignChallenge", message)
        }
        ChallengeError::Stale => {
            Status::unauthorized(&message).because("", "StaleChallenge", message)
        }
        ChallengeError::Replayed => {
            Status::unauthorized(&message).because("", "ReplayedChallenge", message)
        }
    }
}

/// Returns true if the Cluster has the finalizer of the server. The server removes the finalizer
/// after it has deleted Drover's objects in the cluster.
fn has_finalizer(cluster: &Cluster) -> bool {
    let mut finalizers = cluster.finalizers().iter();
    finalizers.any(|finalizer| finalizer == CLUSTER_FINALIZER)
}
