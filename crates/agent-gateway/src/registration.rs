//! Registration and connection of clusters.
//!
//! *Owns* the manifest, the binding of a cluster's key to its Cluster's UID, and the proof of the
//! key at every connection. *Never* has a credential of a cluster: the key authenticates the
//! cluster and does not grant access to the cluster.

pub mod challenge;
mod claim;
pub mod connect;
pub mod decide;
mod hub_token;
pub mod import;
pub mod manifest;
mod node;
pub mod notice;
pub mod pin;
pub mod register;
pub mod rotation;
mod signer;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{FromRequest as _, FromRequestParts as _, Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use drover_access::same_origin::Head;
use drover_api::agent::{
    Challenge, ChallengeRequest, NodeRegisterRequest, NodeRegisterResponse, RegisterRequest,
    RegisterResponse,
};
use drover_api::gitops::{HubToken, HubTokenRequest};
use drover_api::ids::ClusterUid;
use drover_api::rest::{Import, ImportRequest};
use governor::DefaultDirectRateLimiter;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use http::{Extensions, HeaderValue};
use kube::ResourceExt as _;
use secrecy::{ExposeSecret as _, SecretString};
use utoipa_axum::routes;

use self::challenge::Challenges;
use self::connect::ChallengeRate;
use self::decide::Refusal;
use self::hub_token::HubTokenRate;
use self::notice::Notices;
use self::register::refusal;
pub use self::signer::KEY_CHANGE_TIME;
use crate::tunnels::Tunnels;
use drover_audit::AuditNotes;
use drover_http_edge::body;
use drover_http_edge::listen::ConnectionSlot;
use drover_http_edge::networks::{Quota, Rates, sender};
use drover_http_edge::routes::{Right, Routes};
use drover_http_edge::status::Status;
use drover_http_edge::unauthenticated::AgentJson;
use drover_hub::Hub;
use drover_hub::settings::Settings;
use drover_hub::visibility::{Visibility, cluster_scope};
use drover_identity::Authenticator;
use drover_identity::caller::check_token;
use drover_identity::caller::identify;

/// Rate limit of agents' requests that cause work on the hub. Networks from which agents have
/// proved their keys have a separate budget of the same size.
const BURST: NonZeroU32 = NonZeroU32::new(200).expect("200 is not zero");
const PER_SECOND: NonZeroU32 = NonZeroU32::new(50).expect("50 is not zero");
/// Rate limit of manifest requests with a registration token. The limit is separate from the limit
/// of agents, because any client can send such a request.
const MANIFEST_BURST: NonZeroU32 = NonZeroU32::new(50).expect("50 is not zero");
const MANIFESTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(10).expect("10 is not zero");
/// Rate limits of one network and of the wider networks that contain it. These limits prevent a
/// single client from consuming the total limit.
const NETWORK_QUOTAS: [Quota; 3] = [
    Quota::per_second(5).burst(40),
    Quota::per_second(12).burst(80),
    Quota::per_second(25).burst(100),
];

/// Rate limits of agents' requests, per network and in total.
#[derive(Debug)]
struct RegistrationRate {
    networks: Rates,
    all: DefaultDirectRateLimiter,
    of_known: DefaultDirectRateLimiter,
    manifests: DefaultDirectRateLimiter,
}

/// The class of a request. The class selects the rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// A request for an existing Cluster, from any network.
    Cluster,
    /// A request for an existing Cluster, from a network from which an agent has proved its key.
    ClusterOfKnown,
    /// A request for a manifest, with a token that may be invalid.
    Manifest,
}

impl Default for RegistrationRate {
    fn default() -> Self {
        let limiter = |rate, burst| {
            DefaultDirectRateLimiter::direct(governor::Quota::per_second(rate).allow_burst(burst))
        };
        Self {
            networks: Rates::new(NETWORK_QUOTAS),
            all: limiter(PER_SECOND, BURST),
            of_known: limiter(PER_SECOND, BURST),
            manifests: limiter(MANIFESTS_PER_SECOND, MANIFEST_BURST),
        }
    }
}

impl RegistrationRate {
    fn check(&self, from: IpAddr, work: Work) -> Result<(), Status> {
        // A request beyond its network's limit does not count against the total.
        self.check_network(from)?;
        self.check_all(work)
    }

    fn check_network(&self, from: IpAddr) -> Result<(), Status> {
        self.networks.check(&(), from).map_err(|_| busy())
    }

    fn check_all(&self, work: Work) -> Result<(), Status> {
        let all = match work {
            Work::Cluster => &self.all,
            Work::ClusterOfKnown => &self.of_known,
            Work::Manifest => &self.manifests,
        };
        all.check().map_err(|_| busy())
    }
}

fn busy() -> Status {
    Status::too_many_requests("too many agents register concurrently; try again", 2)
}

/// Returns the rate limit class of a request that refers to an existing Cluster.
fn cluster_work(request: &Extensions) -> Work {
    let slot = request.get::<ConnectionSlot>();
    if slot.is_some_and(|slot| slot.is_agents_network(sender(request))) {
        Work::ClusterOfKnown
    } else {
        Work::Cluster
    }
}

/// A function that returns the pin (public key hash) of the current server certificate.
pub type Pin = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// The state of the registration handlers. Clones share the state.
#[derive(Clone)]
pub struct RegistrationState {
    hub: Hub,
    settings: Settings,
    authenticator: Authenticator,
    tunnels: Tunnels,
    trust: Option<Arc<str>>,
    pin: Pin,
    challenges: Arc<Challenges>,
    challenge_rate: Arc<ChallengeRate>,
    /// Rate limits of node agents' registrations. Each registration causes a TokenReview.
    node_rate: Arc<ChallengeRate>,
    /// Rate limits of hub tokens. Each token causes a TokenRequest.
    hub_token_rate: Arc<HubTokenRate>,
    rate: Arc<RegistrationRate>,
    notices: Arc<Notices>,
}

impl std::fmt::Debug for RegistrationState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistrationState")
            .field("hub", &self.hub)
            .finish_non_exhaustive()
    }
}

impl RegistrationState {
    /// Creates the state. `trust` is the CA certificate for agents, in PEM. `pin` returns the
    /// public key hash of the server's certificate.
    pub fn new(
        hub: Hub,
        settings: Settings,
        authenticator: Authenticator,
        tunnels: Tunnels,
        trust: Option<Arc<str>>,
        pin: Pin,
        notices: Arc<Notices>,
    ) -> Self {
        Self {
            notices,
            hub,
            settings,
            authenticator,
            tunnels,
            trust,
            pin,
            challenges: Arc::default(),
            challenge_rate: Arc::default(),
            node_rate: Arc::default(),
            hub_token_rate: Arc::default(),
            rate: Arc::default(),
        }
    }

    fn is_cluster(&self, uid: &ClusterUid) -> bool {
        self.hub.stores().clusters.by_uid(uid.as_str()).is_some()
    }

    /// Returns the server URL and the CA certificate for a new manifest.
    pub fn reached_at(&self) -> (String, Option<Arc<str>>) {
        (self.settings.server_url(), self.trust.clone())
    }

    /// Returns an error if the request exceeds a rate limit.
    fn check_rate(&self, request: &Extensions) -> Result<(), Status> {
        self.rate.check(sender(request), cluster_work(request))
    }

    /// Returns an error if the request exceeds the total rate limit. The agent has proved its key, so
    /// that the limits of its network do not apply.
    fn check_all_rate(&self, request: &Extensions) -> Result<(), Status> {
        self.rate.check_all(cluster_work(request))
    }
}

/// Returns the registration routes with the permissions that each route requires.
pub fn declared() -> Routes<RegistrationState> {
    Routes::default()
        .add(Right::Agent, routes!(register))
        .add(Right::Agent, routes!(register_node))
        .add(Right::Agent, routes!(challenge))
        .add(Right::Agent, routes!(hub_token))
        .add(Right::Agent, routes!(connect))
        .add(Right::Agent, routes!(import_manifest))
        .add(Right::User, routes!(import_cluster))
}

/// Returns the router with the routes of [`declared`].
pub fn router(state: RegistrationState) -> Router {
    declared().into_router().with_state(state)
}

/// Binds a cluster's key to its Cluster. The request's credential is a registration token.
#[utoipa::path(post, path = "/v1/agent/register", tag = "agents",
    request_body = RegisterRequest, responses((status = 200, body = RegisterResponse)))]
async fn register(
    State(state): State<RegistrationState>,
    noted: AuditNotes,
    request: Request,
) -> Result<Json<RegisterResponse>, Status> {
    state.rate.check_network(sender(request.extensions()))?;
    let work = cluster_work(request.extensions());
    let headers = request.headers().clone();
    let AgentJson(asked) = AgentJson::<RegisterRequest>::from_request(request, &state).await?;
    // A request without an existing Cluster causes no work on the hub, so the rate limit does not
    // count it.
    if !state.is_cluster(&asked.cluster_uid) {
        return Err(refusal(&Refusal::NoSuchCluster));
    }
    state.rate.check_all(work)?;
    let answer = register::register(&state, &headers, &asked).await?;
    note(&state, &noted, &asked.cluster_uid);
    Ok(Json(answer))
}

/// Binds the key of a node agent to its node. The cluster's agent verifies the token in the request.
#[utoipa::path(post, path = "/v1/agent/node", tag = "agents",
    request_body = NodeRegisterRequest, responses((status = 200, body = NodeRegisterResponse)))]
async fn register_node(
    State(state): State<RegistrationState>,
    noted: AuditNotes,
    request: Request,
) -> Result<Json<NodeRegisterResponse>, Status> {
    state.rate.check_network(sender(request.extensions()))?;
    let work = cluster_work(request.extensions());
    let peer = connect::peer(request.extensions());
    let AgentJson(asked) = AgentJson::<NodeRegisterRequest>::from_request(request, &state).await?;
    if !state.is_cluster(&asked.cluster_uid) {
        return Err(refusal(&Refusal::NoSuchCluster));
    }
    state.node_rate.check(&asked.cluster_uid, peer)?;
    state.rate.check_all(work)?;
    let answer = node::register(&state, &asked).await?;
    note(&state, &noted, &asked.cluster_uid);
    Ok(Json(answer))
}

/// Returns a challenge for an agent to sign.
#[utoipa::path(post, path = "/v1/agent/challenge", tag = "agents",
    request_body = ChallengeRequest, responses((status = 200, body = Challenge)))]
async fn challenge(
    State(state): State<RegistrationState>,
    noted: AuditNotes,
    request: Request,
) -> Result<Json<Challenge>, Status> {
    let peer = connect::peer(request.extensions());
    let AgentJson(asked) = AgentJson::<ChallengeRequest>::from_request(request, &state).await?;
    let answer = connect::challenge(&state, peer, &asked)?;
    note(&state, &noted, &asked.cluster_uid);
    Ok(Json(answer))
}

/// Issues a token for the hub's Kubernetes API to the agent of a cluster.
#[utoipa::path(post, path = "/v1/agent/hub-token", tag = "agents",
    request_body = HubTokenRequest, responses((status = 200, body = HubToken)))]
async fn hub_token(
    State(state): State<RegistrationState>,
    noted: AuditNotes,
    request: Request,
) -> Result<Response, Status> {
    let extensions = request.extensions().clone();
    let peer = connect::peer(&extensions);
    let AgentJson(asked) = AgentJson::<HubTokenRequest>::from_request(request, &state).await?;
    let issued = hub_token::issue(&state, &extensions, peer, &asked).await?;
    note(&state, &noted, &asked.cluster_uid);
    let mut response = Json(issued).into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Adds the agent's cluster to the audit record.
fn note(state: &RegistrationState, noted: &AuditNotes, uid: &ClusterUid) {
    if let Some(cluster) = state.hub.stores().clusters.by_uid(uid.as_str()) {
        noted.about(&cluster.name_any());
        noted.in_cluster(&cluster.name_any(), Some(uid.clone()));
    }
}

/// Opens an agent's tunnel: a WebSocket whose request contains the signed challenge.
#[utoipa::path(get, path = "/v1/connect", tag = "agents", responses((status = 101)))]
async fn connect(State(state): State<RegistrationState>, request: Request) -> Response {
    connect::connect(state, request).await
}

/// Returns the manifest that contains the presented registration token.
#[utoipa::path(get, path = "/v1/import/manifest", tag = "agents",
    responses((status = 200, body = String, content_type = "application/yaml")))]
async fn import_manifest(
    State(state): State<RegistrationState>,
    request: Request,
) -> Result<Response, Status> {
    state
        .rate
        .check(sender(request.extensions()), Work::Manifest)?;
    let headers = request.headers();
    let token = register::presented(headers)?;
    let text = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let text = text
        .and_then(|text| text.split_once(' '))
        .map_or("", |(_, token)| token);
    let presented = SecretString::from(text);
    let yaml = import::manifest_for(&state, token, &presented).await?;
    let mut response = yaml.expose_secret().to_owned().into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/yaml"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Creates a registration token for a cluster, and returns the token with its manifest. Requires
/// permission to update the cluster.
#[utoipa::path(post, path = "/v1/clusters/{name}/import", tag = "clusters",
    params(("name" = String, Path, description = "The cluster's name")),
    request_body = ImportRequest, responses((status = 200, body = Import)))]
async fn import_cluster(
    State(state): State<RegistrationState>,
    request: Request,
) -> Result<Response, Status> {
    let head = Head::from(&request);
    let identity = identify(&state.authenticator, head, request.extensions()).await?;
    check_token(&identity)?;
    let (mut head, body) = request.into_parts();
    let body::Name(name) = body::Name::from_request_parts(&mut head, &state).await?;
    let request = Request::from_parts(head, body);
    let body::OptionalJson(request) = body::OptionalJson::from_request(request, &state).await?;
    let request = request.unwrap_or(ImportRequest { ttl_seconds: None });
    let visibility = Visibility::of(state.hub.stores(), &identity);
    let cluster = visibility.cluster(&name)?;
    visibility.require("update", "clusters", &cluster_scope(&cluster))?;
    let import = import::import(&state, &cluster, &request).await?;
    let mut response = Json(import).into_response();
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_registrations_from_one_network_do_not_block_other_networks() {
        let rate = RegistrationRate::default();
        let peer = |n: u8| IpAddr::from([192, 0, 2, n]);
        let check = |n| rate.check(peer(n), Work::Cluster);
        let allowed = (0..1000).filter(|_| check(1).is_ok()).count();
        assert!((40..60).contains(&allowed), "{allowed}");
        assert!(check(2).is_ok());
    }

    #[test]
    fn registrations_from_one_ipv6_slash_48_prefix_use_at_most_half_of_the_limit() {
        let rate = RegistrationRate::default();
        let from = |site, n| IpAddr::from([0x2001, 0xdb8, site, n, 0, 0, 0, 1]);
        let allowed = (0..=u16::MAX).filter(|n| rate.check(from(0, *n), Work::Cluster).is_ok());
        let allowed = allowed.count();
        assert!((100..150).contains(&allowed), "{allowed}");
        assert!(rate.check(from(1, 0), Work::Cluster).is_ok());
    }

    #[test]
    fn registrations_from_many_networks_do_not_exhaust_the_limit_of_known_agents() {
        let rate = RegistrationRate::default();
        for n in 0..=u16::MAX {
            let [high, low] = n.to_be_bytes();
            let _ = rate.check(IpAddr::from([high, low, 0, 1]), Work::Manifest);
        }
        assert!(
            rate.check_all(Work::Cluster).is_ok(),
            "agents that register"
        );
        let refused = (0..=u16::MAX).filter(|n| {
            let [high, low] = n.to_be_bytes();
            let from = IpAddr::from([high, low, 0, 1]);
            rate.check(from, Work::Cluster).is_err()
        });
        assert!(refused.count() > 1000);
        assert!(rate.check_all(Work::ClusterOfKnown).is_ok());
    }
}
