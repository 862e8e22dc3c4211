//! The list of all routes of the server with their required permissions.

use std::borrow::Cow;

use drover_agent_gateway::registration;
use drover_http_edge::routes::{Right, Route};
use http::Method;
use utoipa::openapi::OpenApi;

use crate::telemetry;

/// Routes that are not part of the REST API. The UI, the hub's admission and the proxy register
/// their handlers.
const OTHER_ROUTES: [Route; 4] = [
    other(Method::GET, "/", Right::Anyone),
    other(Method::GET, "/assets/{name}", Right::Anyone),
    // The last segment of the path is a secret that only the hub has.
    other(Method::POST, "/hub/admission/{name}", Right::Anyone),
    other(Method::GET, "/k8s/clusters/{*rest}", Right::Permit),
];

const fn other(method: Method, path: &'static str, right: Right) -> Route {
    Route {
        method,
        path: Cow::Borrowed(path),
        right,
    }
}

/// The routes and the OpenAPI operations of each part of the REST API.
pub(crate) fn parts() -> [(Vec<Route>, OpenApi); 3] {
    [
        crate::declared().into_parts(),
        registration::declared().into_parts(),
        telemetry::declared().into_parts(),
    ]
}

/// All routes of the server.
pub fn all() -> Vec<Route> {
    let routes = parts().into_iter().flat_map(|(routes, _)| routes);
    routes.chain(OTHER_ROUTES).collect()
}
