//! `POST /v1/agent/hub-token`: issues a token for the hub's Kubernetes API to a cluster's agent.
//!
//! The agent proves the key that is bound to its Cluster, as for a tunnel. The hub then issues a token of
//! the service account [`HUB_ACCOUNT`] in the cluster's own namespace. The roles of this service account
//! determine the permissions of the token. The server computes the namespace from the name of the Cluster
//! and never reads it from the request. A controller creates the namespace and the service account, and
//! deletes both with the Cluster.

use std::net::SocketAddr;

use drover_access::proof::hub_token_message;
use drover_api::gitops::{
    HUB_ACCOUNT, HUB_TOKEN_SECONDS, HubToken, HubTokenRequest, fleet_namespace,
};
use drover_api::ids::ClusterUid;
use drover_api::kinds::Cluster;
use drover_api::rest::Secret;
use http::Extensions;
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::ResourceExt as _;
use kube::api::{Api, PostParams};

use super::RegistrationState;
use super::decide::Refusal;
use super::register::{refusal, version};
use super::signer::{Signer, challenge_refused, current_or_stored_cluster, foreign_key, spend};
use crate::tunnels::TunnelSource;
use drover_gitops::ids::cluster_namespace;
use drover_http_edge::networks::{NOWHERE, Quota, Rates};
use drover_http_edge::status::Status;
use drover_hub::{Hub, HubError, call};

/// Rate limits of tokens per Cluster, to one network and to wider networks. An agent requests a token at
/// its start and every 48 minutes.
const TOKENS: [Quota; 3] = [
    Quota::per_second(1).burst(20),
    Quota::per_second(1).burst(20),
    Quota::per_second(1).burst(20),
];
/// Time after which an agent repeats its request while its namespace does not exist, in seconds.
const RETRY_SECONDS: u32 = 5;

/// Counts hub tokens per Cluster and network.
#[derive(Debug)]
pub(super) struct HubTokenRate(Rates<ClusterUid>);

impl Default for HubTokenRate {
    fn default() -> Self {
        Self(Rates::new(TOKENS))
    }
}

impl HubTokenRate {
    fn check(&self, cluster: &ClusterUid, peer: Option<SocketAddr>) -> Result<(), Status> {
        let from = peer.map_or(NOWHERE, |peer| peer.ip());
        let exceeded = |_| {
            let message =
                "the agents of this cluster request tokens too often; wait, then try again";
            Status::too_many_requests(message, RETRY_SECONDS)
        };
        self.0.check(cluster, from).map_err(exceeded)
    }
}

/// Checks the proof of the cluster's key, and issues a token. The order of the checks is relevant for
/// security: a request without the key causes no request to the hub and does not count against the rate
/// limit of the Cluster.
pub(super) async fn issue(
    state: &RegistrationState,
    extensions: &Extensions,
    peer: Option<SocketAddr>,
    request: &HubTokenRequest,
) -> Result<HubToken, Status> {
    state.hub.stores().health().check()?;
    let uid = &request.cluster_uid;
    let now = Timestamp::now();
    let key = state.hub.keys().challenge();
    let genuine = state
        .challenges
        .check(key, uid, &request.nonce, now)
        .map_err(challenge_refused)?;
    let cluster = current_or_stored_cluster(state, uid, extensions).await?;
    // A tunnel can open during the deletion, because the server removes its objects through the tunnel.
    if cluster.metadata.deletion_timestamp.is_some() {
        return Err(refusal(&Refusal::ClusterDeleted));
    }
    // Only the cluster's agent has a service account on the hub, so the key of a node agent is not valid.
    let message = hub_token_message(uid, &request.nonce);
    let signer = Signer::new(&cluster, TunnelSource::Agent, message)?;
    if !signer.has_signed(&signer.key, &request.signature) {
        return Err(foreign_key(state, &cluster, &signer, &request.signature).await);
    }
    spend(state, &cluster, &genuine, now).await?;
    state.hub_token_rate.check(uid, peer)?;
    state.check_all_rate(extensions)?;
    let issued = token_of(&state.hub, &cluster, now).await?;
    tracing::info!(
        cluster = cluster.name_any(),
        namespace = issued.namespace,
        agent_version = version(&request.agent_version),
        "issued a hub token to an agent"
    );
    Ok(issued)
}

/// Requests a token of the service account of a Cluster's agent from the hub.
async fn token_of(hub: &Hub, cluster: &Cluster, now: Timestamp) -> Result<HubToken, Status> {
    let cluster_name = cluster.name_any();
    let cluster_namespace_name = fleet_namespace(&cluster_name);
    let namespace = cluster_namespace(cluster_namespace_name, &cluster_name);
    let accounts: Api<ServiceAccount> = Api::namespaced(hub.client(), &namespace);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(HUB_TOKEN_SECONDS),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let params = PostParams::default();
    let issuing = accounts.create_token_request(HUB_ACCOUNT, &params, &request);
    let issued = call("create a token of an agent's service account", issuing).await;
    let status = match issued {
        Ok(issued) => issued.status.unwrap_or_default(),
        Err(error) if error.is_not_found() => return Err(no_namespace()),
        Err(error) => return Err(HubError::into(error)),
    };
    let token = status.token.filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| Status::internal("the hub issued no token"))?;
    let expires_at = status.expiration_timestamp.map(|time| time.0);
    Ok(HubToken {
        token: Secret::new(token),
        expires_at: expires_at.unwrap_or(now),
        cluster_namespace: cluster_namespace_name.to_owned(),
        cluster_name,
        namespace,
        check_in: cluster.spec.check_in.clone(),
    })
}

/// Returns the response to an agent whose service account on the hub does not exist yet.
fn no_namespace() -> Status {
    let message = "the cluster's GitOps namespace does not exist yet; the server creates it within \
                   seconds";
    Status::unavailable(message, RETRY_SECONDS).because("", "HubNamespaceMissing", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_rate_limit_is_per_cluster() {
        let rate = HubTokenRate::default();
        let peer = Some(SocketAddr::from(([192, 0, 2, 1], 1)));
        let (a, b) = (ClusterUid::new("a"), ClusterUid::new("b"));
        let issued = (0..100).filter(|_| rate.check(&a, peer).is_ok()).count();
        assert!((20..=22).contains(&issued), "{issued}");
        assert!(rate.check(&b, peer).is_ok());
    }
}
