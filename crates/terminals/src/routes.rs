//! The routes under `/v1/terminals`.

use std::sync::Arc;

use axum::extract::{FromRef, Request, State};
use axum::response::{IntoResponse as _, Response};
use drover_access::identity::Identity;
use drover_api::rest::{List, TerminalCreate, TerminalView};
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::routes::{Right, Routes};
use drover_http_edge::status::Status;
use drover_identity::Authenticator;
use drover_identity::caller::Caller;
use drover_proxy::Proxy;
use drover_proxy::in_process::{self, Credentials};
use http::StatusCode;
use serde::Deserialize;
use utoipa_axum::routes;

use crate::registry::{KEEP_ENDED, Registry};
use crate::session::{Owner, Session};
use crate::target;
use crate::{attach, channel};

/// The terminals of the server. Clones share the terminals.
#[derive(Clone)]
pub struct Terminals {
    proxy: Arc<Proxy>,
    authenticator: Authenticator,
    registry: Registry,
}

impl Terminals {
    /// Creates the state of the routes. Terminals connect to containers through the proxy.
    pub fn new(proxy: Arc<Proxy>, authenticator: Authenticator) -> Self {
        Self {
            proxy,
            authenticator,
            registry: Registry::default(),
        }
    }

    fn find(&self, id: &str, caller: &Identity) -> Result<Arc<Session>, Status> {
        let found = self.registry.get(id, &owner(caller));
        found.ok_or_else(|| Status::not_found("Terminal", id))
    }
}

impl FromRef<Terminals> for Authenticator {
    fn from_ref(terminals: &Terminals) -> Self {
        terminals.authenticator.clone()
    }
}

/// Declares the routes of terminals.
pub fn declared() -> Routes<Terminals> {
    Routes::default()
        .add(Right::User, routes!(list, create))
        .add(Right::User, routes!(close))
        .add_web_socket(Right::User, routes!(stream), stream)
}

/// Returns the router with the routes of [`declared`].
pub fn router(terminals: Terminals) -> axum::Router {
    declared().into_router().with_state(terminals)
}

fn owner(caller: &Identity) -> Owner {
    Owner {
        user: caller.user_uid.clone(),
        token: caller.token.id.clone(),
    }
}

/// Lists the terminals that the caller's token opened.
#[utoipa::path(get, path = "/v1/terminals", tag = "terminals",
    responses((status = 200, body = List<TerminalView>)))]
async fn list(
    State(terminals): State<Terminals>,
    Caller(caller): Caller,
) -> axum::Json<List<TerminalView>> {
    let own = terminals.registry.of(&owner(&caller));
    axum::Json(List {
        items: own.iter().map(|session| session.view()).collect(),
        continue_token: None,
    })
}

/// Opens a terminal in a container. Requires the permission to create `pods/exec` or `pods/attach`
/// in the cluster. The WebSocket `GET /v1/terminals/{id}/stream` connects to the terminal.
#[utoipa::path(post, path = "/v1/terminals", tag = "terminals", request_body = TerminalCreate,
    responses((status = 201, body = TerminalView)))]
async fn create(
    State(terminals): State<Terminals>,
    Caller(caller): Caller,
    credentials: Credentials,
    noted: AuditNotes,
    Json(request): Json<TerminalCreate>,
) -> Result<Response, Status> {
    let path = target::path(&request)
        .map_err(|error| Status::invalid(error.field(), error.to_string()))?;
    let random: [u8; 16] =
        drover_entropy::random().map_err(|error| Status::internal(error.to_string()))?;
    let id = format!("{:032x}", u128::from_be_bytes(random));
    let cluster = request.cluster.clone();
    let (session, input) = Session::new(id, owner(&caller), request);
    let registered = terminals.registry.add(Arc::clone(&session));
    let registered =
        registered.map_err(|error| Status::too_many_requests(error.to_string(), 10))?;
    let proxy = Arc::clone(&terminals.proxy);
    let opening = in_process::open_websocket(proxy, &path, channel::PROTOCOLS, credentials);
    let upstream = match Box::pin(opening).await {
        Ok(upstream) => upstream,
        Err(error) => return Ok(error.into_response()),
    };
    noted.about(&session.id);
    noted.in_cluster(&cluster, None);
    let view = session.view();
    tokio::spawn(async move {
        session.run(upstream, input).await;
        // The registry keeps the ended terminal.
        drop(session);
        tokio::time::sleep(KEEP_ENDED).await;
        drop(registered);
    });
    Ok((StatusCode::CREATED, axum::Json(view)).into_response())
}

/// Closes a terminal. The command receives a hangup.
#[utoipa::path(delete, path = "/v1/terminals/{name}", tag = "terminals",
    params(("name" = String, Path, description = "The terminal's ID")),
    responses((status = 204)))]
async fn close(
    State(terminals): State<Terminals>,
    Caller(caller): Caller,
    Name(id): Name,
) -> Result<StatusCode, Status> {
    terminals.find(&id, &caller)?.close();
    Ok(StatusCode::NO_CONTENT)
}

/// Query parameters of a connection to a terminal.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StreamQuery {
    /// Number of output bytes that the browser has received.
    #[serde(default)]
    received: u64,
}

/// Connects a WebSocket to a terminal. Binary messages contain input and output. Text messages are
/// JSON: `attached`, `alive`, `inputDiscarded`, `replaced` and `ended` from the server, and
/// `resize`, `ack` and `alive` from the client. The server sends output that the client has not
/// acknowledged only up to a limit.
#[utoipa::path(get, path = "/v1/terminals/{name}/stream", tag = "terminals",
    params(("name" = String, Path, description = "The terminal's ID"), StreamQuery),
    responses((status = 101, description = "The connection is a WebSocket.")))]
async fn stream(
    State(terminals): State<Terminals>,
    Caller(caller): Caller,
    Name(id): Name,
    Query(query): Query<StreamQuery>,
    request: Request,
) -> Result<Response, Status> {
    let session = terminals.find(&id, &caller)?;
    Ok(attach::accept(request, session, query.received))
}
