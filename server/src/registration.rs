//! How clusters become members and connect.
//!
//! *Owns* the manifest, the binding of a cluster's key to its Cluster's UID, and the proof of
//! that key at every connect. *Never* holds a credential of a cluster: a key proves, it does not
//! authorise.

pub mod challenge;
pub mod connect;
pub mod decide;
pub mod import;
pub mod manifest;
pub mod notice;
pub mod pin;
pub mod register;

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{FromRequest as _, Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use drover_api::agent::{Challenge, ChallengeRequest, RegisterRequest, RegisterResponse};
use drover_api::rest::{Import, ImportRequest};
use governor::{DefaultDirectRateLimiter, Quota};
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::challenge::Challenges;
use self::connect::ChallengeRate;
use self::notice::Notices;
use crate::hub::Hub;
use crate::identity::Authenticator;
use crate::rest::body;
use crate::rest::caller::check_administrator;
use crate::settings::Settings;
use crate::status::Status;
use crate::tunnels::Tunnels;

/// Requests of agents that make the hub work: at once, and then each second.
const BURST: NonZeroU32 = NonZeroU32::new(200).expect("200 is not zero");
const PER_SECOND: NonZeroU32 = NonZeroU32::new(50).expect("50 is not zero");

/// Says the pin of the certificate that is shown at present.
pub type Pin = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// What registration stands on; cheap to clone.
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
    rate: Arc<DefaultDirectRateLimiter>,
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
    /// `trust` is the authority, PEM, that agents shall trust; `pin` the shown key's.
    pub fn new(
        hub: Hub,
        settings: Settings,
        authenticator: Authenticator,
        tunnels: Tunnels,
        trust: Option<Arc<str>>,
        pin: Pin,
    ) -> Self {
        Self {
            notices: Arc::new(Notices::new(&hub)),
            hub,
            settings,
            authenticator,
            tunnels,
            trust,
            pin,
            challenges: Arc::default(),
            challenge_rate: Arc::default(),
            rate: Arc::new(DefaultDirectRateLimiter::direct(
                Quota::per_second(PER_SECOND).allow_burst(BURST),
            )),
        }
    }

    /// Refuses when agents make the hub work too hard.
    fn slow_down(&self) -> Result<(), Status> {
        let busy = || Status::too_many_requests("too many agents register at once", 2);
        self.rate.check().map_err(|_| busy())
    }
}

/// The routes of this module and their part of the OpenAPI document.
pub(crate) fn documented() -> OpenApiRouter<RegistrationState> {
    OpenApiRouter::new()
        .routes(routes!(register))
        .routes(routes!(challenge))
        .routes(routes!(connect))
        .routes(routes!(import_manifest))
        .routes(routes!(import_cluster))
}

/// The routes of this module.
pub fn router(state: RegistrationState) -> Router {
    documented().split_for_parts().0.with_state(state)
}

/// Binds a cluster's key to its Cluster; a registration token is the credential.
#[utoipa::path(post, path = "/v1/agent/register", tag = "agents",
    request_body = RegisterRequest, responses((status = 200, body = RegisterResponse)))]
async fn register(
    State(state): State<RegistrationState>,
    headers: HeaderMap,
    body::Json(request): body::Json<RegisterRequest>,
) -> Result<Json<RegisterResponse>, Status> {
    register::register(&state, &headers, &request)
        .await
        .map(Json)
}

/// A value for an agent to sign.
#[utoipa::path(post, path = "/v1/agent/challenge", tag = "agents",
    request_body = ChallengeRequest, responses((status = 200, body = Challenge)))]
async fn challenge(
    State(state): State<RegistrationState>,
    request: Request,
) -> Result<Json<Challenge>, Status> {
    let (head, body) = request.into_parts();
    let peer = connect::peer(&head);
    let request = Request::from_parts(head, body);
    let body::Json(asked) = body::Json::from_request(request, &state).await?;
    connect::challenge(&state, peer, &asked).map(Json)
}

/// Opens an agent's tunnel: a WebSocket, with the challenge signed.
#[utoipa::path(get, path = "/v1/connect", tag = "agents", responses((status = 101)))]
async fn connect(State(state): State<RegistrationState>, request: Request) -> Response {
    connect::connect(state, request).await
}

/// The manifest that holds the presented registration token.
#[utoipa::path(get, path = "/v1/import/manifest", tag = "agents",
    responses((status = 200, body = String, content_type = "application/yaml")))]
async fn import_manifest(
    State(state): State<RegistrationState>,
    headers: HeaderMap,
) -> Result<Response, Status> {
    let token = register::presented(&headers)?;
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

/// A registration token for a cluster, and the manifest that holds it.
#[utoipa::path(post, path = "/v1/clusters/{name}/import", tag = "clusters",
    params(("name" = String, Path, description = "The cluster's name")),
    request_body = ImportRequest, responses((status = 200, body = Import)))]
async fn import_cluster(
    State(state): State<RegistrationState>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Status> {
    let identity = state.authenticator.identify(request.headers()).await?;
    check_administrator(&identity)?;
    let body::OptionalJson(request) = body::OptionalJson::from_request(request, &state).await?;
    let request = request.unwrap_or(ImportRequest { ttl_seconds: None });
    let cluster = state.hub.stores().clusters.by_name(&name);
    let cluster = cluster.ok_or_else(|| Status::not_found("Cluster", &name))?;
    let import = import::import(&state, &cluster, &request).await?;
    let mut response = Json(import).into_response();
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
