//! Every route of the server and who may call it.
//!
//! The table decides nothing: handlers do. A test compares it with the routers and calls every
//! route without the right it demands, so that a route cannot be added unnoticed.

use http::Method;

/// What a route demands of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Nothing.
    Anyone,
    /// An agent's own proof: a registration token or a signature.
    Agent,
    /// Any token that is valid, for whatever it was made.
    AnyToken,
    /// A person's token that is not limited to one cluster or purpose.
    Person,
    /// Such a token of somebody whose roles on the hub allow it; what is about one object is hidden
    /// from those who have no role there instead.
    Role,
    /// Such a token of an administrator.
    Administrator,
    /// A permit for the cluster that the path names.
    Permit,
}

/// One method on one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method; of a route that takes all, the one that tests use.
    pub method: Method,
    /// The path in axum's form.
    pub path: &'static str,
    /// What it demands.
    pub right: Right,
}

const fn route(method: Method, path: &'static str, right: Right) -> Route {
    Route {
        method,
        path,
        right,
    }
}

/// Every route, by path.
pub const ROUTES: &[Route] = &[
    route(Method::GET, "/", Right::Anyone),
    route(Method::GET, "/assets/{name}", Right::Anyone),
    // The hub proves nothing about itself; the path's last part is what only it was told.
    route(Method::POST, "/hub/admission/{name}", Right::Anyone),
    route(Method::GET, "/k8s/clusters/{*rest}", Right::Permit),
    route(Method::GET, "/livez", Right::Anyone),
    route(Method::GET, "/metrics", Right::Administrator),
    route(Method::GET, "/readyz", Right::Anyone),
    route(Method::GET, "/v1/access/explain", Right::Person),
    route(Method::GET, "/v1/access/people", Right::Person),
    route(Method::POST, "/v1/agent/challenge", Right::Agent),
    route(Method::POST, "/v1/agent/register", Right::Agent),
    route(Method::GET, "/v1/audit", Right::Administrator),
    route(Method::GET, "/v1/auth-providers", Right::Role),
    route(Method::POST, "/v1/auth-providers", Right::Administrator),
    route(
        Method::DELETE,
        "/v1/auth-providers/{name}",
        Right::Administrator,
    ),
    route(Method::GET, "/v1/auth-providers/{name}", Right::Role),
    route(
        Method::PUT,
        "/v1/auth-providers/{name}",
        Right::Administrator,
    ),
    route(Method::GET, "/v1/clusters", Right::Person),
    route(Method::POST, "/v1/clusters", Right::Role),
    route(Method::DELETE, "/v1/clusters/{name}", Right::Person),
    route(Method::GET, "/v1/clusters/{name}", Right::Person),
    route(Method::POST, "/v1/clusters/{name}/import", Right::Person),
    route(Method::GET, "/v1/clusters/{name}/members", Right::Person),
    route(Method::POST, "/v1/clusters/{name}/members", Right::Person),
    route(
        Method::DELETE,
        "/v1/clusters/{name}/members/{id}",
        Right::Person,
    ),
    route(Method::GET, "/v1/connect", Right::Agent),
    route(Method::GET, "/v1/import/manifest", Right::Agent),
    route(Method::POST, "/v1/device", Right::Anyone),
    // What it takes is a code that only the program has that began.
    route(Method::POST, "/v1/device/token", Right::Anyone),
    route(Method::GET, "/v1/device/{code}", Right::Person),
    route(Method::POST, "/v1/device/{code}/confirm", Right::Person),
    route(Method::GET, "/v1/global-members", Right::Role),
    route(Method::POST, "/v1/global-members", Right::Role),
    route(Method::DELETE, "/v1/global-members/{id}", Right::Role),
    route(Method::GET, "/v1/global-roles", Right::Role),
    route(Method::POST, "/v1/global-roles", Right::Role),
    route(Method::DELETE, "/v1/global-roles/{name}", Right::Role),
    route(Method::GET, "/v1/global-roles/{name}", Right::Role),
    route(Method::PUT, "/v1/global-roles/{name}", Right::Role),
    route(Method::POST, "/v1/kubeconfig", Right::Person),
    route(Method::GET, "/v1/log-filter", Right::Administrator),
    route(Method::PUT, "/v1/log-filter", Right::Administrator),
    route(Method::POST, "/v1/login", Right::Anyone),
    route(Method::POST, "/v1/logout", Right::AnyToken),
    route(Method::GET, "/v1/me", Right::AnyToken),
    route(Method::POST, "/v1/me/password", Right::AnyToken),
    route(Method::GET, "/v1/openapi.json", Right::Anyone),
    route(Method::GET, "/v1/projects", Right::Person),
    route(Method::POST, "/v1/projects", Right::Person),
    route(Method::DELETE, "/v1/projects/{name}", Right::Person),
    route(Method::GET, "/v1/projects/{name}", Right::Person),
    route(Method::PATCH, "/v1/projects/{name}", Right::Person),
    route(Method::GET, "/v1/projects/{name}/members", Right::Person),
    route(Method::POST, "/v1/projects/{name}/members", Right::Person),
    route(
        Method::DELETE,
        "/v1/projects/{name}/members/{id}",
        Right::Person,
    ),
    route(Method::GET, "/v1/providers", Right::Anyone),
    // A provider's answer, and the cookie of the browser that began, decide who that is.
    route(Method::GET, "/v1/providers/{name}/callback", Right::Anyone),
    route(Method::POST, "/v1/providers/{name}/sign-in", Right::Anyone),
    route(
        Method::POST,
        "/v1/providers/{name}/test",
        Right::Administrator,
    ),
    route(Method::GET, "/v1/roles", Right::Person),
    route(Method::POST, "/v1/roles", Right::Role),
    route(Method::DELETE, "/v1/roles/{name}", Right::Role),
    route(Method::GET, "/v1/roles/{name}", Right::Person),
    route(Method::PUT, "/v1/roles/{name}", Right::Role),
    route(Method::DELETE, "/v1/session", Right::AnyToken),
    route(Method::GET, "/v1/session", Right::AnyToken),
    route(Method::POST, "/v1/session", Right::Anyone),
    route(Method::DELETE, "/v1/sessions", Right::Person),
    route(Method::GET, "/v1/settings", Right::Role),
    // Settings that affect security are for administrators: the handler decides.
    route(Method::PUT, "/v1/settings/{name}", Right::Role),
    route(Method::GET, "/v1/tokens", Right::Person),
    route(Method::POST, "/v1/tokens", Right::Person),
    route(Method::DELETE, "/v1/tokens/{id}", Right::Person),
    route(Method::GET, "/v1/users", Right::Role),
    route(Method::POST, "/v1/users", Right::Role),
    route(Method::DELETE, "/v1/users/{name}", Right::Role),
    route(Method::GET, "/v1/users/{name}", Right::Role),
    route(Method::PATCH, "/v1/users/{name}", Right::Role),
    route(
        Method::POST,
        "/v1/users/{name}/identities",
        Right::Administrator,
    ),
    route(
        Method::DELETE,
        "/v1/users/{name}/identities/{id}",
        Right::Administrator,
    ),
    route(Method::POST, "/v1/users/{name}/password", Right::Role),
    route(Method::POST, "/v1/users/{name}/refresh", Right::Role),
    route(
        Method::DELETE,
        "/v1/users/{name}/tokens",
        Right::Administrator,
    ),
    route(Method::GET, "/v1/version", Right::Anyone),
];
