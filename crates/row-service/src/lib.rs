//! The row service: lists of objects of many clusters in one WebSocket.
//!
//! *Owns* the rows of the lists that open pages show. It lists and watches Tables of clusters as
//! the user of the page, sorts and filters rows, and sends only the rows of visible windows. *Never*
//! sends a request without the credential of a page, and never shows rows to a user with another
//! identity in the cluster.
//!
//! A *source* is one list of one cluster: a kind in one namespace or in all namespaces. Pages of
//! users with the same identity in the cluster share a source. The server checks the credential of
//! each page every two seconds, and removes a source from a page whose access has ended.

mod budget;
mod clusters;
#[cfg(test)]
mod hostile;
mod lines;
mod open_pages;
mod page_access;
mod pool;
mod reflect;
mod requests;
mod session;
mod source;
mod subscription;
#[cfg(test)]
mod testing;
mod usage;

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::response::Response;
use drover_history::HistoryStore;
use drover_http_edge::routes::{Right, Routes};
use drover_http_edge::status::Status;
use drover_http_edge::websocket;
use drover_identity::Authenticator;
use drover_identity::caller::Caller;
use drover_proxy::Proxy;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_util::sync::CancellationToken;
use utoipa_axum::routes;

use self::clusters::Credential;
use self::open_pages::OpenPages;
use self::pool::Pool;

/// Maximum size of a message of a page in bytes.
const MAX_MESSAGE: usize = 256 << 10;

/// The state of the row service. Clones share the state.
#[derive(Clone)]
pub struct RowService {
    pool: Pool,
    pages: OpenPages,
    authenticator: Authenticator,
    stop: CancellationToken,
}

impl std::fmt::Debug for RowService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowService").finish_non_exhaustive()
    }
}

impl RowService {
    /// Creates the row service. `memory` is the maximum size of all rows in bytes. `history` receives
    /// the objects of kinds with a history.
    pub fn new(
        proxy: Arc<Proxy>,
        authenticator: Authenticator,
        memory: usize,
        history: HistoryStore,
        stop: CancellationToken,
    ) -> Self {
        Self {
            pool: Pool::new(proxy, memory, history, stop.clone()),
            pages: OpenPages::default(),
            authenticator,
            stop,
        }
    }

    /// Ends sources without pages, until the server stops.
    pub async fn run(self) {
        let sweeping = self.pool.run();
        self.stop.run_until_cancelled(sweeping).await;
    }
}

impl FromRef<RowService> for Authenticator {
    fn from_ref(service: &RowService) -> Self {
        service.authenticator.clone()
    }
}

/// Declares the route of the row service.
pub fn declared() -> Routes<RowService> {
    Routes::default().add_web_socket(Right::User, routes!(open), open)
}

/// Returns the router of the row service.
pub fn router(service: RowService) -> Router {
    declared().into_router().with_state(service)
}

/// Opens the WebSocket of a page for lists of objects. Messages are JSON texts: `subscribe`, `view`
/// and `unsubscribe` from the client, and `update`, `refused`, `alive` and `ended` from the server.
#[utoipa::path(get, path = "/v1/rows", tag = "rows",
    responses((status = 101, description = "The connection is a WebSocket.")))]
async fn open(
    State(service): State<RowService>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Status> {
    let page = service.pages.open(&caller.user_uid).ok_or_else(|| {
        Status::too_many_requests("you have too many open pages; close other pages", 10)
    })?;
    let credential = Arc::new(Credential::of(&request));
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
    Ok(websocket::accept(request, config, async move |socket| {
        session::serve(service.pool, credential, service.stop, socket).await;
        drop(page);
    }))
}
