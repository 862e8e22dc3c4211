//! Accepts WebSockets of browsers over HTTP/1.1 (RFC 6455) and HTTP/2 (RFC 8441).
//!
//! The handler must authenticate the request first. The check of the session cookie requires the
//! `Origin` of the server for each upgrade, so pages of other origins cannot open a WebSocket.

use std::time::Duration;

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use drover_tunnel::ws;
use http::{Method, StatusCode};
use hyper::ext::Protocol;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::status::Status;

/// Maximum time between the response and the upgrade of the connection.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(10);

/// An open WebSocket of a browser.
pub type WebSocket = WebSocketStream<TokioIo<Upgraded>>;

/// Responds to the handshake of a WebSocket, and calls `serve` with the open WebSocket in a new
/// task. `config` limits the size of messages and buffers.
pub fn accept<F>(
    mut request: Request,
    config: WebSocketConfig,
    serve: impl FnOnce(WebSocket) -> F + Send + 'static,
) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let upgrade = hyper::upgrade::on(&mut request);
    let response = match handshake(&request) {
        Ok(response) => response,
        Err(status) => return status.into_response(),
    };
    tokio::spawn(async move {
        if let Some(socket) = open(upgrade, config).await {
            serve(socket).await;
        }
    });
    response
}

fn handshake(request: &Request) -> Result<Response, Status> {
    if request.method() == Method::CONNECT {
        let protocol = request.extensions().get::<Protocol>();
        if protocol.is_some_and(|protocol| protocol.as_str() == "websocket") {
            return Ok(StatusCode::OK.into_response());
        }
        return Err(Status::bad_request(
            "this route requires a WebSocket: send the header \":protocol: websocket\"",
        ));
    }
    let switch = ws::accept_response(request);
    let switch = switch.map_err(|error| Status::bad_request(error.to_string()))?;
    Ok(switch.map(|()| axum::body::Body::empty()))
}

async fn open(upgrade: OnUpgrade, config: WebSocketConfig) -> Option<WebSocket> {
    let upgraded = tokio::time::timeout(UPGRADE_TIMEOUT, upgrade).await;
    // Without an upgrade, the client closed its connection before the response.
    let upgraded = upgraded.ok()?.ok()?;
    let stream = TokioIo::new(upgraded);
    Some(WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await)
}
