//! The list of all routes of the server with their required permissions.

use std::borrow::Cow;

use drover_agent_gateway::registration;
use drover_http_edge::routes::{Right, Route};
use http::Method;
use utoipa::openapi::OpenApi;

use crate::telemetry;

/// Routes outside the REST API. The handlers are in the UI, in the hub's admission, in the GitOps
/// controllers, in the git hosting and in the proxy.
const OTHER_ROUTES: [Route; 8] = [
    other(Method::GET, "/", Right::Anyone),
    other(Method::GET, "/assets/{name}", Right::Anyone),
    // The last segment of the path is a secret that only the hub has.
    other(Method::POST, "/hub/admission/{name}", Right::Anyone),
    // A Secret of a GitRepo can require a signature.
    other(Method::POST, "/webhooks/git", Right::Anyone),
    // Global roles of a user, or ClusterRoles of a service account of the hub.
    other(Method::GET, "/git/{repo}/info/refs", Right::Role),
    other(Method::POST, "/git/{repo}/git-upload-pack", Right::Role),
    other(Method::POST, "/git/{repo}/git-receive-pack", Right::Role),
    other(Method::GET, "/k8s/clusters/{*rest}", Right::Permit),
];

const fn other(method: Method, path: &'static str, right: Right) -> Route {
    Route {
        method,
        path: Cow::Borrowed(path),
        right,
    }
}

/// Returns the routes and the OpenAPI operations of each module of the REST API.
pub(crate) fn parts() -> [(Vec<Route>, OpenApi); 7] {
    [
        crate::declared().into_parts(),
        registration::declared().into_parts(),
        telemetry::declared().into_parts(),
        drover_row_service::declared().into_parts(),
        drover_terminals::declared().into_parts(),
        drover_port_forwards::declared().into_parts(),
        drover_history::declared().into_parts(),
    ]
}

/// Returns all routes of the server.
pub fn all() -> Vec<Route> {
    let routes = parts().into_iter().flat_map(|(routes, _)| routes);
    routes.chain(OTHER_ROUTES).collect()
}
