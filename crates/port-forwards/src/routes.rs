//! The routes under `/v1/port-forwards`.

use axum::extract::{FromRef, State};
use axum::response::{IntoResponse as _, Response};
use drover_access::identity::Identity;
use drover_api::rest::{
    List, PortForwardCreate, PortForwardCreated, PortForwardView, PortRef, Secret,
};
use drover_audit::AuditNotes;
use drover_entropy::NoRandomness;
use drover_http_edge::body::{Json, Name};
use drover_http_edge::routes::{Right, Routes};
use drover_http_edge::status::Status;
use drover_identity::Authenticator;
use drover_identity::caller::Caller;
use drover_proxy::in_process::{self, ConnectError, Credentials};
use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};
use k8s_openapi::api::core::v1::{Pod, Service};
use serde::de::DeserializeOwned;
use utoipa_axum::routes;

use crate::forward::{Forward, Owner, new_label};
use crate::serve::{TICKET_PARAMETER, TICKET_PATH};
use crate::state::PortForwards;
use crate::target::{self, NotFound, PodList, Requested, Selected, Target};

/// Maximum size of an object or a list of the cluster, in bytes.
const MAX_OBJECTS: usize = 8 * 1024 * 1024;

impl FromRef<PortForwards> for Authenticator {
    fn from_ref(forwards: &PortForwards) -> Self {
        forwards.authenticator.clone()
    }
}

/// Declares the routes of port forwards.
pub fn declared() -> Routes<PortForwards> {
    Routes::default()
        .add(Right::User, routes!(list, create))
        .add(Right::User, routes!(close))
}

/// Returns the router with the routes of [`declared`].
pub fn router(forwards: PortForwards) -> axum::Router {
    declared().into_router().with_state(forwards)
}

/// Lists the port forwards of the caller.
#[utoipa::path(get, path = "/v1/port-forwards", tag = "port forwards",
    responses((status = 200, body = List<PortForwardView>)))]
async fn list(
    State(forwards): State<PortForwards>,
    Caller(caller): Caller,
) -> axum::Json<List<PortForwardView>> {
    let own = forwards.registry.of(&caller.user_uid);
    axum::Json(List {
        items: own.iter().map(|forward| forward.view()).collect(),
        continue_token: None,
    })
}

/// Forwards a port of a pod to a host name for the browser. Requires the permission to create
/// `pods/portforward` in the cluster. The port forward ends when the caller's token ends, after 15
/// minutes without a request, or after 12 hours.
#[utoipa::path(post, path = "/v1/port-forwards", tag = "port forwards",
    request_body = PortForwardCreate, responses((status = 201, body = PortForwardCreated)))]
async fn create(
    State(forwards): State<PortForwards>,
    Caller(caller): Caller,
    credentials: Credentials,
    noted: AuditNotes,
    Json(request): Json<PortForwardCreate>,
) -> Result<Response, Status> {
    let Some(domain) = forwards.domain.clone() else {
        return Err(not_configured());
    };
    let requested = Requested::parse(request)
        .map_err(|error| Status::invalid(error.field(), error.to_string()))?;
    noted.in_cluster(&requested.cluster, None);
    let target = match find(&forwards, requested, &credentials).await {
        Ok(target) => target,
        Err(FindError::Cluster(error)) => return Ok(error.into_response()),
        Err(FindError::NotFound(error)) => return Err(not_found(&error)),
    };
    let id = new_label().map_err(no_randomness)?;
    let port = credentials.host().and_then(port_of);
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let origin = format!("https://{host}{port}", host = domain.host(&id));
    noted.about(&id);
    let created = Forward::new(id, owner(&caller), target, origin, credentials);
    let (forward, ticket) = created.map_err(no_randomness)?;
    let added = forwards.registry.add(&forward);
    added.map_err(|error| Status::too_many_requests(error.to_string(), 10))?;
    // The first connection shows whether the caller has the permission.
    match forwards.connect(&forward).await {
        Ok(connection) => forward.pool.put(connection),
        Err(error) => {
            forwards.registry.remove(&forward);
            return Ok(error.into_response());
        }
    }
    let open_url = format!(
        "{origin}{TICKET_PATH}?{TICKET_PARAMETER}{ticket}",
        origin = forward.origin,
        ticket = ticket.expose()
    );
    let created = PortForwardCreated {
        forward: forward.view(),
        open_url: Secret::new(open_url),
    };
    let mut response = (StatusCode::CREATED, axum::Json(created)).into_response();
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    Ok(response)
}

/// Stops a port forward. The server closes all its connections.
#[utoipa::path(delete, path = "/v1/port-forwards/{name}", tag = "port forwards",
    params(("name" = String, Path, description = "The ID of the port forward")),
    responses((status = 204)))]
async fn close(
    State(forwards): State<PortForwards>,
    Caller(caller): Caller,
    Name(id): Name,
) -> Result<StatusCode, Status> {
    let found = forwards.registry.get(&id, &caller.user_uid);
    let forward = found.ok_or_else(|| Status::not_found("PortForward", &id))?;
    forwards.registry.remove(&forward);
    Ok(StatusCode::NO_CONTENT)
}

fn owner(caller: &Identity) -> Owner {
    Owner {
        user: caller.user_uid.clone(),
        token: caller.token.id.clone(),
        token_expires_at: caller.token.expires_at,
    }
}

/// The error of the search for the pod.
enum FindError {
    Cluster(ConnectError),
    NotFound(NotFound),
}

impl From<NotFound> for FindError {
    fn from(error: NotFound) -> Self {
        Self::NotFound(error)
    }
}

/// Finds the pod and the number of the port with the permissions of the caller.
async fn find(
    forwards: &PortForwards,
    requested: Requested,
    credentials: &Credentials,
) -> Result<Target, FindError> {
    let (pod, service, port) = match (&requested.selected, &requested.port) {
        (Selected::Pod(pod), PortRef::Number(number)) => (pod.clone(), None, *number),
        (Selected::Pod(name), PortRef::Name(port)) => {
            let pod: Pod = get(forwards, &requested.path("pods", name), credentials).await?;
            (name.clone(), None, target::named_port(port, &pod)?)
        }
        (Selected::Service(name), port) => {
            let path = requested.path("services", name);
            let service: Service = get(forwards, &path, credentials).await?;
            let path = requested.pods_path(&target::selector(&service)?);
            let pods: PodList = get(forwards, &path, credentials).await?;
            let pod = pods.best()?;
            let port = target::service_port(port, &service, &pod)?;
            // The name comes from the cluster, and becomes a part of a path.
            let pod = pod.metadata.name.filter(|name| target::is_name(name));
            let pod = pod.ok_or(NotFound::Invalid)?;
            (pod, Some(name.clone()), port)
        }
    };
    let target = Target {
        cluster: requested.cluster,
        namespace: requested.namespace,
        pod,
        service,
        port,
    };
    Ok(target)
}

async fn get<T: DeserializeOwned>(
    forwards: &PortForwards,
    path: &str,
    credentials: &Credentials,
) -> Result<T, FindError> {
    let getting = in_process::get(&forwards.proxy, path, credentials, MAX_OBJECTS);
    let body = Box::pin(getting).await.map_err(FindError::Cluster)?;
    serde_json::from_slice(&body).map_err(|_| FindError::NotFound(NotFound::Invalid))
}

fn not_found(error: &NotFound) -> Status {
    let (code, reason) = match error {
        NotFound::Invalid => (StatusCode::BAD_GATEWAY, "BadGateway"),
        NotFound::Selector | NotFound::Pod => (StatusCode::CONFLICT, "NoPod"),
        NotFound::ServicePort(_) | NotFound::PodPort(_) => {
            return Status::invalid("port", error.to_string());
        }
    };
    Status::new(code, reason, error.to_string())
}

fn not_configured() -> Status {
    Status::new(
        StatusCode::NOT_IMPLEMENTED,
        "NotConfigured",
        "the server has no host names for port forwards: ask an administrator to set \
         --forward-domain, or use \"drover port-forward\"",
    )
}

fn no_randomness(error: NoRandomness) -> Status {
    Status::internal(error.to_string())
}

/// Returns the port of a host, if the host has a port.
fn port_of(host: &str) -> Option<u16> {
    host.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_of_the_server_is_the_port_of_the_port_forward() {
        for (host, port) in [
            ("drover.example:8443", Some(8443)),
            ("[::1]:8443", Some(8443)),
            ("drover.example", None),
            ("[::1]", None),
            ("[fd00::8443]", None),
        ] {
            assert_eq!(port_of(host), port, "{host}");
        }
    }
}
