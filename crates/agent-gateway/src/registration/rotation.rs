//! Replaces the key of an agent through a tunnel that the current key has authenticated.
//!
//! The agent stores its new key before the server binds it. The server binds the key with a
//! compare-and-swap on the Cluster's status, and then asks the agent to use it. The replaced key does
//! not authenticate new connections from then on.

use bytes::Bytes;
use drover_access::proof::{PublicKey, next_key_message};
use drover_api::agent::{NEXT_KEY_PATH, NextKey, REFUSED_HEADER, USE_KEY_PATH, UseKeyRequest};
use drover_api::ids::ClusterUid;
use drover_api::kinds::{Cluster, NodeAgentKey, Registration};
use http::StatusCode;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;
use thiserror::Error;

use super::claim::{self, Claim};
use super::register::{MAX_ATTEMPTS, current_cluster, holder, replace_unless_changed};
use crate::tunnels::{AttachedAgent, ReportCallError, SelectedTunnel, TunnelSource};
use drover_hub::{Hub, HubError};

/// The reason why a key was not replaced.
#[derive(Debug, Error)]
pub enum RotationError {
    /// The version of the agent does not support key rotation.
    #[error("the agent's version does not support key rotation: upgrade the agent")]
    AgentTooOld,
    /// The agent did not respond.
    #[error(transparent)]
    Call(#[from] ReportCallError),
    /// The agent responded with an error.
    #[error("the agent cannot replace its key: {0}")]
    Refused(String),
    /// The response contains no key.
    #[error("the agent's response contains no key: {0}")]
    Malformed(#[source] serde_json::Error),
    /// The response is not signed with the new key.
    #[error("the agent's response is not signed with its new key")]
    BadSignature,
    /// A different Cluster has the key.
    #[error("the agent's new key is the key of the Cluster {0:?}")]
    KeyOfOtherCluster(String),
    /// The tunnel's key is no longer the bound key.
    #[error("the agent's key was replaced concurrently")]
    OtherKey,
    /// Concurrent writers changed the Cluster too often.
    #[error("cannot bind the new key: the Cluster changed during each attempt")]
    Conflict,
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
}

/// Replaces the key of the agent at the other end of `tunnel`. `bound_at` is the time of the new
/// binding. Returns the changed Cluster.
pub async fn replace(
    hub: &Hub,
    uid: &ClusterUid,
    agent: &AttachedAgent,
    tunnel: &SelectedTunnel,
    bound_at: Timestamp,
) -> Result<Cluster, RotationError> {
    let next = next_key(uid, agent, tunnel).await?;
    for _ in 0..MAX_ATTEMPTS {
        let cluster = current_cluster(hub, uid).await?;
        let bound = cluster
            .as_ref()
            .and_then(|cluster| agent.source.bound_key(cluster));
        let (Some(cluster), Some(bound)) = (cluster, bound) else {
            return Err(RotationError::OtherKey);
        };
        if bound.public_key != agent.key.encode() {
            return Err(RotationError::OtherKey);
        }
        if agent.source == TunnelSource::Agent {
            if let Some(other) = holder(hub, &next, uid) {
                return Err(RotationError::KeyOfOtherCluster(other));
            }
            match claim::take(hub, &next, &cluster).await? {
                Claim::Ours => {}
                Claim::Changed => continue,
                Claim::OfOther(name) => return Err(RotationError::KeyOfOtherCluster(name)),
            }
        }
        let cluster = with_next_key(cluster, &agent.source, &next, bound_at);
        let written = replace_unless_changed(hub, "replace an agent's key", &cluster).await?;
        if let Some(written) = written {
            hub.stores().clusters.wait_for(&written).await;
            // The agent has only the bound key and the key that it replaced.
            if agent.source == TunnelSource::Agent
                && let Some(earlier) = bound.previous
            {
                claim::release(hub, &earlier, &written).await?;
            }
            return Ok(written);
        }
    }
    Err(RotationError::Conflict)
}

/// Requests a new key from an agent, and verifies that the agent has its private key.
async fn next_key(
    uid: &ClusterUid,
    agent: &AttachedAgent,
    tunnel: &SelectedTunnel,
) -> Result<PublicKey, RotationError> {
    let body = send(tunnel, NEXT_KEY_PATH, Bytes::new()).await?;
    let next: NextKey = serde_json::from_slice(&body).map_err(RotationError::Malformed)?;
    verified_key(uid, &agent.key, &next)
}

/// Returns the key in an agent's response. Returns an error if the response is not signed with this key
/// for the replacement of `current`.
fn verified_key(
    uid: &ClusterUid,
    current: &PublicKey,
    next: &NextKey,
) -> Result<PublicKey, RotationError> {
    let key = PublicKey::parse(&next.public_key).map_err(|_| RotationError::BadSignature)?;
    let message = next_key_message(uid, current, &key);
    if key == *current || key.verify(&message, &next.signature).is_err() {
        return Err(RotationError::BadSignature);
    }
    Ok(key)
}

/// Returns the Cluster with a new key for an agent that has a bound key.
fn with_next_key(
    mut cluster: Cluster,
    source: &TunnelSource,
    next: &PublicKey,
    bound_at: Timestamp,
) -> Cluster {
    let status = cluster.status.get_or_insert_default();
    let (public_key, bound_at) = (next.encode(), Time(bound_at));
    match source {
        TunnelSource::Agent => {
            let replaced = status.registration.take();
            status.registration = replaced.map(|replaced| Registration {
                public_key,
                previous_key: Some(replaced.public_key),
                bound_at,
                token_id: replaced.token_id,
            });
        }
        TunnelSource::Node { node, .. } => {
            let mut agents = status.node_agents.iter_mut();
            if let Some(agent) = agents.find(|agent| agent.node == *node) {
                agent.key = agent.key.take().map(|replaced| NodeAgentKey {
                    public_key,
                    previous_key: Some(replaced.public_key),
                    bound_at,
                });
            }
        }
    }
    cluster
}

/// Asks an agent to open a tunnel with the key that the server has bound.
pub async fn request_use(tunnel: &SelectedTunnel, public_key: &str) -> Result<(), RotationError> {
    let request = UseKeyRequest {
        public_key: public_key.to_owned(),
    };
    let body = json!(request).to_string();
    send(tunnel, USE_KEY_PATH, body.into()).await.map(drop)
}

async fn send(
    tunnel: &SelectedTunnel,
    path: &'static str,
    body: Bytes,
) -> Result<Bytes, RotationError> {
    let answer = tunnel.post_to_agent(path, body).await?;
    if answer.head.status == StatusCode::OK {
        return Ok(answer.body);
    }
    if answer.head.headers.contains_key(REFUSED_HEADER) {
        return Err(RotationError::AgentTooOld);
    }
    Err(RotationError::Refused(answer.error_message()))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn pair(seed: u8) -> (Ed25519KeyPair, PublicKey) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let public = PublicKey::from_bytes(pair.public_key().as_ref().try_into().unwrap());
        (pair, public)
    }

    #[test]
    fn next_key_is_bound_only_if_the_agent_has_signed_with_it() {
        let uid = ClusterUid::new("a");
        let ((_, current), (next, next_public), (other, _)) = (pair(1), pair(2), pair(3));
        let signed = |by: &Ed25519KeyPair, uid: &ClusterUid, current: &PublicKey| NextKey {
            public_key: next_public.encode(),
            signature: STANDARD.encode(by.sign(&next_key_message(uid, current, &next_public))),
        };
        let verified = |next: &NextKey| verified_key(&uid, &current, next).ok();
        let good = signed(&next, &uid, &current);
        assert_eq!(verified(&good), Some(next_public.clone()));
        let same = NextKey {
            public_key: current.encode(),
            ..good.clone()
        };
        for bad in [
            signed(&other, &uid, &current),
            signed(&next, &ClusterUid::new("b"), &current),
            signed(&next, &uid, &next_public),
            same,
        ] {
            assert_eq!(verified(&bad), None);
        }
    }
}
