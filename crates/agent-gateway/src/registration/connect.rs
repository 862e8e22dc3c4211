//! `POST /v1/agent/challenge` and `GET /v1/connect`: proves the key and attaches the tunnel.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_access::proof::{connect_message, node_connect_message};
use drover_api::agent::{Challenge, ChallengeRequest, ConnectProof, PROOF_HEADER};
use drover_api::ids::ClusterUid;
use drover_api::kinds::Cluster;
use drover_tunnel::protocol::{self, Version};
use drover_tunnel::tunnel::Driver;
use drover_tunnel::{Tunnel, ws};
use http::{HeaderMap, Request, StatusCode};
use hyper::upgrade::OnUpgrade;
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::RegistrationState;
use super::decide::{Refusal, node_agent};
use super::register::{refusal, version};
use super::signer::{
    Signer, challenge_refused, current_or_stored_cluster, foreign_key, node_not_registered, spend,
};
use crate::tunnels::{AttachedAgent, TunnelSource};
use drover_http_edge::listen::ConnectionSlot;
use drover_http_edge::networks::{NOWHERE, Quota, Rates, sender};
use drover_http_edge::status::Status;

/// Maximum length of the proof header, in bytes.
const MAX_PROOF: usize = 4096;
/// Maximum length of a replica's name, in characters.
const MAX_REPLICA: usize = 253;
/// Rate limits of challenges per Cluster, from one network and from wider networks.
const CHALLENGES: [Quota; 3] = [
    Quota::per_second(2).burst(30),
    Quota::per_second(4).burst(60),
    Quota::per_second(8).burst(120),
];

/// Counts challenges per Cluster and network.
#[derive(Debug)]
pub struct ChallengeRate(Rates<ClusterUid>);

impl Default for ChallengeRate {
    fn default() -> Self {
        Self(Rates::new(CHALLENGES))
    }
}

impl ChallengeRate {
    pub(super) fn check(
        &self,
        cluster: &ClusterUid,
        peer: Option<SocketAddr>,
    ) -> Result<(), Status> {
        let slow = |_| {
            Status::too_many_requests(
                "the agents of this cluster connect too often; wait, then try again",
                5,
            )
        };
        let from = peer.map_or(NOWHERE, |peer| peer.ip());
        self.0.check(cluster, from).map_err(slow)
    }
}

/// Issues a challenge to an agent.
pub fn challenge(
    state: &RegistrationState,
    peer: Option<SocketAddr>,
    request: &ChallengeRequest,
) -> Result<Challenge, Status> {
    state.hub.stores().health().check()?;
    // Count only requests for existing Clusters, so that unauthenticated clients cannot fill the
    // memory with invented UIDs.
    if state
        .hub
        .stores()
        .clusters
        .by_uid(request.cluster_uid.as_str())
        .is_none()
    {
        return Err(refusal(&Refusal::NoSuchCluster));
    }
    state.challenge_rate.check(&request.cluster_uid, peer)?;
    let key = state.hub.keys().challenge();
    let nonce = state
        .challenges
        .issue(key, &request.cluster_uid, Timestamp::now())
        .map_err(|error| Status::internal(error.to_string()))?;
    Ok(Challenge { nonce })
}

/// An agent that has proved its cluster's key.
#[derive(Debug)]
struct AuthenticatedAgent {
    cluster: ClusterUid,
    name: String,
    agent: AttachedAgent,
    protocol: Version,
}

/// Checks the proof of the key, responds 101, and attaches the tunnel after the upgrade.
pub async fn connect(state: RegistrationState, mut request: axum::extract::Request) -> Response {
    let upgrade = hyper::upgrade::on(&mut request);
    let (head, _) = request.into_parts();
    let request = Request::from_parts(head, ());
    let proved = match prove(&state, &request).await {
        Ok(proved) => proved,
        Err(status) => return with_versions(&status),
    };
    let switch = match ws::accept_response(&request) {
        Ok(switch) => switch,
        Err(error) => return Status::bad_request(error.to_string()).into_response(),
    };
    let (mut head, ()) = switch.into_parts();
    head.headers
        .insert(protocol::VERSION_HEADER, protocol::chosen(proved.protocol));
    // The cluster's tunnel limit counts the connection from here on.
    if let Some(slot) = request.extensions().get::<ConnectionSlot>() {
        slot.proved(&proved.cluster, sender(request.extensions()));
    }
    tokio::spawn(serve(state, proved, upgrade));
    Response::from_parts(head, axum::body::Body::empty())
}

/// Checks the proof of the key in a connection request. The order of the checks is relevant for
/// security.
async fn prove(
    state: &RegistrationState,
    request: &Request<()>,
) -> Result<AuthenticatedAgent, Status> {
    let headers = request.headers();
    state.hub.stores().health().check()?;
    let proof = read_proof(headers)?;
    let now = Timestamp::now();
    let key = state.hub.keys().challenge();
    let genuine = state
        .challenges
        .check(key, &proof.cluster_uid, &proof.nonce, now)
        .map_err(challenge_refused)?;
    let cluster =
        current_or_stored_cluster(state, &proof.cluster_uid, request.extensions()).await?;
    let signer = signer(&cluster, &proof)?;
    if !signer.has_signed(&signer.key, &proof.signature) {
        return Err(foreign_key(state, &cluster, &signer, &proof.signature).await);
    }
    spend(state, &cluster, &genuine, now).await?;
    let protocol = protocol::negotiate(headers).map_err(|error| {
        Status::new(
            StatusCode::UPGRADE_REQUIRED,
            "UpgradeRequired",
            error.to_string(),
        )
    })?;
    Ok(AuthenticatedAgent {
        name: cluster.name_any(),
        agent: AttachedAgent {
            source: signer.source,
            key: signer.key,
            previous_key: signer.previous,
            replica: proof.replica,
            version: version(&proof.agent_version),
            protocol: protocol.number(),
        },
        cluster: proof.cluster_uid,
        protocol,
    })
}

/// Returns the agent that a proof names. A proof with a node requires the key of this node's agent.
fn signer(cluster: &Cluster, proof: &ConnectProof) -> Result<Signer, Status> {
    let (uid, nonce, replica) = (&proof.cluster_uid, &proof.nonce, &proof.replica);
    let (source, message) = match &proof.node {
        None => (TunnelSource::Agent, connect_message(uid, nonce, replica)),
        Some(node) => {
            let agent = node_agent(cluster, node).ok_or_else(node_not_registered)?;
            let (node, class) = (node.clone(), agent.class);
            let message = node_connect_message(uid, nonce, replica, &node);
            (TunnelSource::Node { node, class }, message)
        }
    };
    Signer::new(cluster, source, message)
}

/// Parses the header with the proof of the key.
pub fn read_proof(headers: &HeaderMap) -> Result<ConnectProof, Status> {
    let malformed =
        |problem: &str| Status::unauthorized(format!("the header {PROOF_HEADER} {problem}"));
    let mut values = headers.get_all(PROOF_HEADER).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(malformed(
            "must be present exactly once; agents of Drover send it",
        ));
    };
    if value.len() > MAX_PROOF {
        return Err(malformed("is too long"));
    }
    let json = STANDARD
        .decode(value.as_bytes())
        .map_err(|_| malformed("is not base64"))?;
    let proof: ConnectProof =
        serde_json::from_slice(&json).map_err(|_| malformed("is not the JSON of a proof"))?;
    let plain = proof.replica.bytes().all(|b| b.is_ascii_graphic());
    if proof.replica.is_empty() || proof.replica.len() > MAX_REPLICA || !plain {
        return Err(malformed(
            "contains no replica name of 1 to 253 visible characters",
        ));
    }
    Ok(proof)
}

/// Converts an error to a response. The response to an unsupported protocol version contains the
/// supported versions as headers.
fn with_versions(status: &Status) -> Response {
    let mut response = status.clone().into_response();
    if status.code() == StatusCode::UPGRADE_REQUIRED {
        response
            .headers_mut()
            .extend(protocol::VersionError::Unreadable.headers());
    }
    response
}

/// Waits for the upgrade of the connection, then starts the tasks of the tunnel.
async fn serve(state: RegistrationState, proved: AuthenticatedAgent, upgrade: OnUpgrade) {
    let AuthenticatedAgent {
        cluster,
        name,
        agent,
        ..
    } = proved;
    let replica = agent.replica.clone();
    let node = agent.source.node().map(str::to_owned);
    let Some((tunnel, driver)) = open(&state, &name, &replica, upgrade).await else {
        return;
    };
    let driver = tokio::spawn(driver);
    let attached = state.tunnels.attach(cluster, agent, tunnel);
    tracing::info!(cluster = name, replica, node, "agent connected");
    // A separate task, because this task runs as long as the tunnel and must not reserve memory
    // for opening the tunnel.
    tokio::spawn(async move {
        match driver.await {
            Ok(reason) => tracing::info!(cluster = name, replica, %reason, "agent tunnel closed"),
            Err(error) => tracing::error!(cluster = name, replica, %error, "tunnel task failed"),
        }
        drop(attached);
    });
}

async fn open(
    state: &RegistrationState,
    name: &str,
    replica: &str,
    upgrade: OnUpgrade,
) -> Option<(Tunnel, Driver)> {
    let stream = match ws::accept(upgrade).await {
        Ok(stream) => stream,
        Err(error) => {
            tracing::debug!(cluster = name, replica, %error, "agent disconnected before the \
                                                              tunnel opened");
            return None;
        }
    };
    match Tunnel::open(stream, state.tunnels.options()).await {
        Ok(opened) => Some(opened),
        Err(error) => {
            tracing::warn!(cluster = name, replica, %error, "failed to open an agent tunnel");
            None
        }
    }
}

/// Returns the client's address, if the listener adds the address to requests.
pub fn peer(extensions: &http::Extensions) -> Option<SocketAddr> {
    extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map(|info| info.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_rate_limit_is_per_network() {
        let rate = ChallengeRate::default();
        let cluster = ClusterUid::new("a");
        let peer = |n: u8| Some(SocketAddr::from(([10, 0, 0, n], 1)));
        let refused = (0..100)
            .filter(|_| rate.check(&cluster, peer(1)).is_err())
            .count();
        assert!((60..=70).contains(&refused), "{refused}");
        assert!(rate.check(&cluster, peer(2)).is_ok());
        let neighbour = |n: u16| Some(SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, n], 1)));
        let refused = (0..100)
            .filter(|n| rate.check(&cluster, neighbour(*n)).is_err())
            .count();
        assert!(
            (60..=70).contains(&refused),
            "a /64 counts as one network: {refused}"
        );
    }

    #[test]
    fn malformed_key_proofs_are_rejected() {
        let encode = |json: &str| STANDARD.encode(json);
        let good =
            r#"{"clusterUid":"u","nonce":"n","replica":"pod","agentVersion":"1","signature":"s"}"#;
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(PROOF_HEADER, value.parse().unwrap());
            }
            read_proof(&headers)
                .map(|_| ())
                .map_err(|status| status.code().as_u16())
        };
        assert_eq!(read(&[&encode(good)]), Ok(()));
        for bad in [
            vec![],
            vec![encode(good), encode(good)],
            vec!["%".to_owned()],
            vec![encode("{}")],
            vec![encode(&good.replace("pod", ""))],
            vec![encode(&good.replace("pod", "a b"))],
            vec![encode(&good.replace("\"u\"", "\"u\",\"x\":1"))],
            vec![encode(&good.replace("pod", &"x".repeat(5000)))],
        ] {
            let bad: Vec<&str> = bad.iter().map(String::as_str).collect();
            assert_eq!(read(&bad), Err(401), "{bad:?}");
        }
    }
}
