//! Replaces the key of an agent through a tunnel that the present key has authenticated.
//!
//! The agent stores its new key before the server binds it. The server binds the key with a
//! compare-and-swap on the Cluster's status, and then asks the agent to use it. The replaced key does
//! not authenticate new connections from then on.

use std::time::Duration;

use bytes::Bytes;
use drover_access::proof::{PublicKey, next_key_message};
use drover_api::agent::{
    Lane, NEXT_KEY_PATH, NextKey, REFUSED_HEADER, SWITCH_KEY_PATH, SwitchKeyRequest,
};
use drover_api::client_error::shortened;
use drover_api::ids::ClusterUid;
use drover_api::kinds::{Cluster, NodeAgentKey, Registration};
use drover_tunnel::SendError;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;
use thiserror::Error;

use super::claim::{self, Claim};
use super::register::{MAX_ATTEMPTS, current_cluster, holder, replace_unless_changed};
use crate::tunnels::{AttachedAgent, SelectedTunnel, TunnelSource};
use drover_hub::{Hub, HubError};

/// Timeout of a request to the agent.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum size of the agent's response, in bytes.
const MAX_RESPONSE: usize = 16 * 1024;

/// The reason why a key was not replaced.
#[derive(Debug, Error)]
pub enum RotationError {
    /// The agent is of a version without key rotation.
    #[error("the agent is older than the server: upgrade the agent")]
    AgentTooOld,
    /// The agent did not respond.
    #[error("the agent did not respond: {0}")]
    NoResponse(String),
    /// The tunnel could not carry the request.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The agent responded with an error.
    #[error("the agent refused: {0}")]
    Refused(String),
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
    #[error("concurrent requests change the Cluster")]
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
    let next: NextKey = serde_json::from_slice(&body)
        .map_err(|error| RotationError::NoResponse(error.to_string()))?;
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

/// Asks an agent to open a new tunnel with the key that the server has bound.
pub async fn switch(tunnel: &SelectedTunnel, public_key: &str) -> Result<(), RotationError> {
    let request = SwitchKeyRequest {
        public_key: public_key.to_owned(),
    };
    let body = json!(request).to_string();
    send(tunnel, SWITCH_KEY_PATH, body.into()).await.map(drop)
}

async fn send(
    tunnel: &SelectedTunnel,
    path: &'static str,
    body: Bytes,
) -> Result<Bytes, RotationError> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = http::Uri::from_static(path);
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(CONTENT_TYPE, json);
    let no_response = |error: String| RotationError::NoResponse(error);
    let answered = async {
        let response = tunnel.send(Lane::Report, request).await?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, MAX_RESPONSE).collect().await;
        let body = body.map_err(|error| no_response(error.to_string()))?;
        Ok::<_, RotationError>((head, body.to_bytes()))
    };
    let answered = tokio::time::timeout(TIMEOUT, answered).await;
    let (head, body) = answered.map_err(|_| no_response("timeout".to_owned()))??;
    if head.status == StatusCode::OK {
        return Ok(body);
    }
    if head.headers.contains_key(REFUSED_HEADER) {
        return Err(RotationError::AgentTooOld);
    }
    Err(RotationError::Refused(
        match serde_json::from_slice::<kube::core::Status>(&body) {
            Ok(status) => shortened(&status.message),
            Err(_) => format!("status {}", head.status),
        },
    ))
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
