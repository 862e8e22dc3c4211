//! The REST API under `/v1`: people, tokens, clusters and settings.
//!
//! Routes and the OpenAPI document come from one place, the `#[utoipa::path]` on each handler.
//! Who may call a route is the handler's extractor ([`caller`]); [`crate::routes`] lists it.

mod access;
mod accounts;
mod audit;
mod caller;
mod clusters;
mod document;
mod kubeconfig;
mod page;
mod projects;
pub mod routes;
mod server;
mod settings;
mod sign_in;
mod spec;
pub mod telemetry;
mod written;

use std::sync::Arc;

use axum::Router;
use http::HeaderValue;
use http::header::CACHE_CONTROL;
use tower_http::set_header::SetResponseHeaderLayer;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::access::{explain, global_members, global_roles, members, roles};
use self::accounts::{identities, people, tokens, users};
use self::sign_in::{auth_providers, device, me, providers, session};

pub use self::access::explain::beside::Asking;
pub use self::accounts::people::Lookups;
use drover_agent_gateway::registration;
use drover_agent_gateway::tunnels::Tunnels;
use drover_audit::Reader;
use drover_hub::Hub;
use drover_hub::settings::Settings;
use drover_identity::{
    Authenticator, Devices, Logins, Refresher, SignInSources, SignIns, SignOuts,
};

/// What the handlers stand on; cheap to clone.
#[derive(Clone, Debug)]
pub struct RestState {
    /// The hub.
    pub hub: Hub,
    /// Who asks.
    pub authenticator: Authenticator,
    /// Log-in.
    pub logins: Logins,
    /// Signing in with identity providers.
    pub sign_ins: SignIns,
    /// Networks from which users sign in.
    pub sign_in_sources: SignInSources,
    /// Signing out at identity providers.
    pub sign_outs: SignOuts,
    /// Asking identity providers about people.
    pub refresher: Refresher,
    /// Log-ins that wait to be confirmed.
    pub devices: Devices,
    /// The way to clusters, for what only they can tell.
    pub tunnels: Tunnels,
    /// Room for asking clusters what only they can tell.
    pub asking: Asking,
    /// How often people look others up.
    pub lookups: Lookups,
    /// The audit log, read back.
    pub audit: Reader,
    /// Settings in effect.
    pub settings: Settings,
    /// Certificates that people's tools shall trust, PEM; `None` if any public root will do.
    pub trust: Option<Arc<str>>,
}

#[derive(utoipa::OpenApi)]
#[openapi(info(
    title = "Drover",
    description = "People, tokens, clusters and settings of a Drover server. Every error is a \
                   Kubernetes metav1.Status.",
    license(name = "Apache-2.0", identifier = "Apache-2.0")
))]
struct Document;

/// The routes and their document; a router with every route of this module and no other.
fn documented() -> OpenApiRouter<RestState> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(me::login))
        .routes(routes!(me::logout))
        .routes(routes!(me::me))
        .routes(routes!(session::sign_in, session::read, session::sign_out))
        .routes(routes!(session::sign_out_everywhere))
        .routes(routes!(auth_providers::list, auth_providers::create))
        .routes(routes!(
            auth_providers::read,
            auth_providers::update,
            auth_providers::delete
        ))
        .routes(routes!(auth_providers::test))
        .routes(routes!(providers::list))
        .routes(routes!(providers::sign_in))
        .routes(routes!(providers::callback))
        .routes(routes!(device::begin))
        .routes(routes!(device::fetch))
        .routes(routes!(device::look))
        .routes(routes!(device::confirm))
        .routes(routes!(me::change_password))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::delete))
        .routes(routes!(users::list, users::create))
        .routes(routes!(users::read, users::patch, users::delete))
        .routes(routes!(users::reset_password))
        .routes(routes!(users::revoke_tokens))
        .routes(routes!(users::refresh))
        .routes(routes!(identities::link))
        .routes(routes!(identities::unlink))
        .routes(routes!(clusters::list, clusters::create))
        .routes(routes!(clusters::read, clusters::delete))
        .routes(routes!(members::list_of_cluster, members::add_to_cluster))
        .routes(routes!(members::remove_from_cluster))
        .routes(routes!(roles::list, roles::create))
        .routes(routes!(roles::read, roles::update, roles::delete))
        .routes(routes!(global_roles::list, global_roles::create))
        .routes(routes!(
            global_roles::read,
            global_roles::update,
            global_roles::delete
        ))
        .routes(routes!(global_members::list, global_members::add))
        .routes(routes!(global_members::remove))
        .routes(routes!(projects::list, projects::create))
        .routes(routes!(projects::read, projects::patch, projects::delete))
        .routes(routes!(members::list_of_project, members::add_to_project))
        .routes(routes!(members::remove_from_project))
        .routes(routes!(explain::explain))
        .routes(routes!(people::find))
        .routes(routes!(kubeconfig::create))
        .routes(routes!(settings::list))
        .routes(routes!(settings::update))
        .routes(routes!(audit::list))
        .routes(routes!(server::version))
}

/// The OpenAPI document of everything under `/v1`, whichever module answers it.
pub fn document() -> serde_json::Value {
    let document = documented()
        .into_openapi()
        .merge_from(registration::documented().into_openapi())
        .merge_from(telemetry::documented().into_openapi());
    document::complete(serde_json::to_value(document).unwrap_or_default())
}

/// All routes of this module.
pub fn router(state: RestState) -> Router {
    let (router, _) = documented().split_for_parts();
    router
        .route("/v1/openapi.json", server::openapi(&document()))
        .layer(SetResponseHeaderLayer::overriding(
            CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .with_state(state)
}
