//! `POST /v1/agent/node`: binds the key of a node agent to its node.
//!
//! The server forwards the token of the node agent's pod to the cluster agent. The cluster agent
//! verifies the token with the cluster's API server, which names the node. The server binds the key
//! only to a node that it has selected for tunnels. A bound key is valid until the node is no longer
//! selected, for example because the node was deleted.

use drover_access::proof::{PublicKey, node_register_message};
use drover_api::agent::{
    ENDORSE_PATH, EndorseRequest, Endorsement, NodeRegisterRequest, NodeRegisterResponse,
};
use drover_api::kinds::{Cluster, NodeAgentKey};
use http::StatusCode;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use thiserror::Error;

use super::RegistrationState;
use super::decide::{Refusal, bound_key};
use super::register::{MAX_ATTEMPTS, current_cluster, refusal, replace_unless_changed, version};
use drover_http_edge::status::Status;
use drover_hub::Hub;

/// Maximum length of a token, in bytes.
const MAX_TOKEN: usize = 8 * 1024;

/// The reason for refusing the key of a node agent.
#[derive(Debug, Error)]
enum NodeRefusal {
    /// The cluster has no bound key.
    #[error("the cluster is not registered: the cluster's agent must register first")]
    ClusterNotRegistered,
    /// The signature of the request does not match the key in the request.
    #[error("the signature of the request does not match the public key in the request")]
    BadSignature,
    /// The key in the request is the key of the cluster's agent.
    #[error("the key is the key of the cluster's agent: a node agent needs its own key")]
    KeyOfCluster,
    /// The cluster's agent cannot verify the token now.
    #[error("the cluster's agent cannot verify the node agent now; the node agent tries again")]
    AgentUnavailable(String),
    /// The cluster's agent does not accept the token.
    #[error("the cluster's agent rejected the node agent's token")]
    TokenRefused(String),
    /// The server has not selected the node for a tunnel.
    #[error(
        "the node {0} is not selected for a tunnel: the node agent waits until the server selects the node"
    )]
    NotSelected(String),
}

impl NodeRefusal {
    const fn reason(&self) -> &'static str {
        match self {
            Self::ClusterNotRegistered => "ClusterNotRegistered",
            Self::BadSignature => "BadSignature",
            Self::KeyOfCluster => "KeyOfCluster",
            Self::AgentUnavailable(_) => "AgentUnavailable",
            Self::TokenRefused(_) => "NodeTokenRefused",
            Self::NotSelected(_) => "NodeNotSelected",
        }
    }

    fn status(&self) -> Status {
        let code = match self {
            Self::AgentUnavailable(_) => return Status::unavailable(self.to_string(), 5),
            Self::ClusterNotRegistered | Self::NotSelected(_) => StatusCode::CONFLICT,
            Self::BadSignature | Self::KeyOfCluster | Self::TokenRefused(_) => {
                StatusCode::UNAUTHORIZED
            }
        };
        let message = self.to_string();
        Status::new(code, self.reason(), &message).because("", self.reason(), message)
    }
}

/// Binds the key in a request to the node that the pod's token names.
pub(super) async fn register(
    state: &RegistrationState,
    request: &NodeRegisterRequest,
) -> Result<NodeRegisterResponse, Status> {
    let key = PublicKey::parse(&request.public_key)
        .map_err(|error| Status::invalid("publicKey", error.to_string()))?;
    if request.token.is_empty() || request.token.len() > MAX_TOKEN {
        let message = format!("must be the token of the pod, at most {MAX_TOKEN} bytes");
        return Err(Status::invalid("token", message));
    }
    let message = node_register_message(&request.cluster_uid, &key);
    if key.verify(&message, &request.signature).is_err() {
        return Err(NodeRefusal::BadSignature.status());
    }
    let mut cluster = current(state, request, &key).await?;
    let endorsement = match endorse(state, request).await {
        Ok(endorsement) => endorsement,
        Err(refused) => return Err(refuse(state, &cluster, &refused).await),
    };
    for _ in 0..MAX_ATTEMPTS {
        let Some(bound) = bind(&state.hub, cluster, &key, &endorsement).await? else {
            cluster = current(state, request, &key).await?;
            continue;
        };
        state.hub.stores().clusters.wait_for(&bound).await;
        let note = format!(
            "the key of the node agent on {} is bound; version {}",
            endorsement.node,
            version(&request.agent_version)
        );
        let notices = &state.notices;
        notices.inform(&bound, "NodeAgentRegistered", &note).await;
        return Ok(NodeRegisterResponse {
            cluster_name: bound.name_any(),
            node: endorsement.node,
        });
    }
    Err(Status::unavailable(
        "cannot register the node agent: concurrent requests change the Cluster; try again",
        1,
    ))
}

/// Reads the Cluster of a request from the hub. Returns an error if the Cluster has no bound key.
async fn current(
    state: &RegistrationState,
    request: &NodeRegisterRequest,
    key: &PublicKey,
) -> Result<Cluster, Status> {
    let cluster = current_cluster(&state.hub, &request.cluster_uid).await?;
    let cluster = cluster.ok_or_else(|| refusal(&Refusal::NoSuchCluster))?;
    if cluster.metadata.deletion_timestamp.is_some() {
        return Err(refusal(&Refusal::ClusterDeleted));
    }
    match bound_key(&cluster) {
        None => Err(NodeRefusal::ClusterNotRegistered.status()),
        Some(bound) if *bound == key.encode() => Err(NodeRefusal::KeyOfCluster.status()),
        Some(_) => Ok(cluster),
    }
}

/// Asks the cluster's agent to verify the token. A node agent is not asked.
async fn endorse(
    state: &RegistrationState,
    request: &NodeRegisterRequest,
) -> Result<Endorsement, NodeRefusal> {
    let unavailable = |cause: String| NodeRefusal::AgentUnavailable(cause);
    let tunnel = state.tunnels.choose_agent(&request.cluster_uid);
    let tunnel = tunnel.map_err(|error| unavailable(error.to_string()))?;
    let body = EndorseRequest {
        token: request.token.clone(),
    };
    let body = serde_json::to_vec(&body).expect("a token can be serialized as JSON");
    let answer = tunnel.post_to_agent(ENDORSE_PATH, body.into()).await;
    let answer = answer.map_err(|error| unavailable(error.to_string()))?;
    match answer.head.status {
        StatusCode::OK => {
            let parsed = serde_json::from_slice(&answer.body);
            parsed.map_err(|error| unavailable(error.to_string()))
        }
        StatusCode::UNAUTHORIZED => Err(NodeRefusal::TokenRefused(answer.error_message())),
        _ => Err(unavailable(answer.error_message())),
    }
}

/// Binds the key to the node. Returns `None` if the Cluster has changed since the caller read it.
async fn bind(
    hub: &Hub,
    mut cluster: Cluster,
    key: &PublicKey,
    endorsement: &Endorsement,
) -> Result<Option<Cluster>, Status> {
    let agents = &mut cluster.status.get_or_insert_default().node_agents;
    let selected = agents.iter_mut().find(|agent| {
        agent.node == endorsement.node
            && agent.node_uid == endorsement.node_uid
            && agent.class == endorsement.class
    });
    let Some(selected) = selected else {
        return Err(NodeRefusal::NotSelected(endorsement.node.clone()).status());
    };
    let public_key = key.encode();
    let bound = selected.key.as_ref();
    if bound.is_some_and(|bound| bound.public_key == public_key) {
        return Ok(Some(cluster));
    }
    selected.key = Some(NodeAgentKey {
        public_key,
        previous_key: None,
        bound_at: Time(Timestamp::now()),
    });
    Ok(replace_unless_changed(hub, "bind a node agent's key", &cluster).await?)
}

/// Logs a refused key and returns the response, which does not contain the cause in the cluster. Writes
/// an Event if the agent rejected the token.
async fn refuse(state: &RegistrationState, cluster: &Cluster, refused: &NodeRefusal) -> Status {
    let (name, reason) = (cluster.name_any(), refused.reason());
    match refused {
        NodeRefusal::TokenRefused(cause) => {
            tracing::warn!(
                cluster = name,
                reason,
                cause,
                "rejected the registration of a node agent"
            );
            let note = format!("rejected the registration of a node agent: {cause}");
            state.notices.warn(cluster, reason, &note).await;
        }
        NodeRefusal::AgentUnavailable(cause) => {
            tracing::info!(
                cluster = name,
                reason,
                cause,
                "cannot register a node agent"
            );
        }
        _ => {}
    }
    refused.status()
}
