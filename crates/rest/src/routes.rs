//! The list of all routes of the server with their required rights.

use std::borrow::Cow;

use drover_agent_gateway::registration;
use drover_http_edge::routes::{Right, Route};
use http::Method;

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

/// All routes of the server.
pub fn all() -> Vec<Route> {
    let mut all = crate::declared().into_list();
    all.extend(telemetry::declared().into_list());
    all.extend(registration::declared().into_list());
    all.extend(OTHER_ROUTES);
    all
}
