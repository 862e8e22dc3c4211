//! The REST API under `/v1`.
//!
//! Each route is declared once. [`Routes`] builds the router, the OpenAPI document and the list of
//! required permissions from these declarations. The handler's extractor (`caller`) enforces the
//! permission.

mod access;
mod accounts;
mod audit;
mod authorized_writes;
mod caller;
mod clusters;
mod document;
mod endpoint;
mod key_rotation;
mod kubeconfig;
mod page;
mod projects;
pub mod routes;
mod server;
mod settings;
mod sign_in;
mod spec;
pub mod telemetry;

use std::sync::Arc;

use axum::Router;
use axum::middleware::map_response;
use utoipa::OpenApi as _;
use utoipa_axum::routes;

use self::access::{explain, global_members, global_roles, members, roles};
use self::accounts::{identities, people, preferences, tokens, users, views};
use self::sign_in::{auth_providers, device, me, providers, session};

pub use self::access::explain::cluster_bindings::ClusterQueryLimiter;
pub use self::accounts::people::Lookups;
use drover_agent_gateway::tunnels::Tunnels;
use drover_audit::Reader;
use drover_http_edge::caching::without_cache;
use drover_http_edge::routes::{Right, Routes};
use drover_hub::Hub;
use drover_hub::settings::Settings;
use drover_identity::{
    Authenticator, DeviceLogins, PasswordLogins, ProviderLogins, ProviderLogouts, Refresher,
    SignInSources,
};

/// The state that all handlers share. Clones are cheap.
#[derive(Clone, Debug)]
pub struct RestState {
    /// The hub.
    pub hub: Hub,
    /// Authenticates the callers of routes.
    pub authenticator: Authenticator,
    /// Login of local users with a password.
    pub logins: PasswordLogins,
    /// Login with identity providers.
    pub provider_logins: ProviderLogins,
    /// Network addresses from which users sign in.
    pub sign_in_sources: SignInSources,
    /// Sign-out at identity providers.
    pub provider_logouts: ProviderLogouts,
    /// Refreshes users' identities from identity providers.
    pub refresher: Refresher,
    /// Pending device logins.
    pub devices: DeviceLogins,
    /// Tunnels to clusters.
    pub tunnels: Tunnels,
    /// Concurrency limit of queries for RBAC objects in clusters.
    pub cluster_queries: ClusterQueryLimiter,
    /// Rate limit of user searches.
    pub lookups: Lookups,
    /// Reader of the audit log.
    pub audit: Reader,
    /// Settings of the server that are in effect.
    pub settings: Settings,
    /// CA certificates in PEM for clients of the server. `None` if clients use public CAs.
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

/// Declares the routes of the REST API. Excludes the routes of agents and telemetry.
fn declared() -> Routes<RestState> {
    Routes::default()
        .add(Right::Anyone, routes!(me::login))
        .add(Right::AnyToken, routes!(me::logout))
        .add(Right::AnyToken, routes!(me::me))
        .add(Right::Anyone, routes!(session::sign_in))
        .add(Right::AnyToken, routes!(session::read, session::sign_out))
        .add(Right::User, routes!(session::sign_out_everywhere))
        .add(Right::Role, routes!(auth_providers::list))
        .add(Right::Administrator, routes!(auth_providers::create))
        .add(Right::Role, routes!(auth_providers::read))
        .add(
            Right::Administrator,
            routes!(auth_providers::update, auth_providers::delete),
        )
        .add(Right::Administrator, routes!(auth_providers::test))
        .add(Right::Anyone, routes!(providers::list))
        .add(Right::Anyone, routes!(providers::sign_in))
        // The provider's response and the browser's cookie authenticate the user.
        .add(Right::Anyone, routes!(providers::callback))
        .add(Right::Anyone, routes!(device::begin))
        // The request contains a code that only the program that started the login has.
        .add(Right::Anyone, routes!(device::fetch))
        .add(Right::User, routes!(device::look))
        .add(Right::User, routes!(device::confirm))
        .add(Right::AnyToken, routes!(me::change_password))
        .add(
            Right::User,
            routes!(preferences::read, preferences::replace),
        )
        .add(Right::User, routes!(views::list, views::create))
        .add(Right::User, routes!(views::update, views::delete))
        .add(Right::User, routes!(tokens::list, tokens::create))
        .add(Right::User, routes!(tokens::delete))
        .add(Right::Role, routes!(users::list, users::create))
        .add(
            Right::Role,
            routes!(users::read, users::patch, users::delete),
        )
        .add(Right::Role, routes!(users::reset_password))
        .add(Right::Administrator, routes!(users::revoke_tokens))
        .add(Right::Role, routes!(users::refresh))
        .add(Right::Administrator, routes!(identities::link))
        .add(Right::Administrator, routes!(identities::unlink))
        .add(Right::User, routes!(clusters::list))
        .add(Right::Role, routes!(clusters::create))
        .add(Right::User, routes!(clusters::read, clusters::delete))
        .add(Right::User, routes!(endpoint::read, endpoint::patch))
        .add(Right::User, routes!(key_rotation::request))
        .add(
            Right::User,
            routes!(members::list_of_cluster, members::add_to_cluster),
        )
        .add(Right::User, routes!(members::remove_from_cluster))
        .add(Right::User, routes!(roles::list))
        .add(Right::Role, routes!(roles::create))
        .add(Right::User, routes!(roles::read))
        .add(Right::Role, routes!(roles::update, roles::delete))
        .add(
            Right::Role,
            routes!(global_roles::list, global_roles::create),
        )
        .add(
            Right::Role,
            routes!(
                global_roles::read,
                global_roles::update,
                global_roles::delete
            ),
        )
        .add(
            Right::Role,
            routes!(global_members::list, global_members::add),
        )
        .add(Right::Role, routes!(global_members::remove))
        .add(Right::User, routes!(projects::list, projects::create))
        .add(
            Right::User,
            routes!(projects::read, projects::patch, projects::delete),
        )
        .add(
            Right::User,
            routes!(members::list_of_project, members::add_to_project),
        )
        .add(Right::User, routes!(members::remove_from_project))
        .add(Right::User, routes!(explain::explain))
        .add(Right::User, routes!(people::find))
        .add(Right::User, routes!(kubeconfig::create))
        .add(Right::Role, routes!(settings::list))
        // The handler requires an administrator for a setting that affects security.
        .add(Right::Role, routes!(settings::update))
        .add(Right::Administrator, routes!(audit::list))
        .add(Right::Anyone, routes!(server::version))
        .add_undocumented(Right::Anyone, "/v1/openapi.json", server::openapi)
}

/// Returns the OpenAPI document of all routes under `/v1`.
pub fn document() -> serde_json::Value {
    let mut document = Document::openapi();
    let mut list = Vec::new();
    for (routes, operations) in routes::parts() {
        list.extend(routes);
        document.merge(operations);
    }
    document::complete(serde_json::json!(document), &list)
}

/// Creates the router of all routes under `/v1`, without registration and telemetry.
pub fn router(state: RestState) -> Router {
    declared()
        .into_router()
        .layer(map_response(without_cache))
        .with_state(state)
}
