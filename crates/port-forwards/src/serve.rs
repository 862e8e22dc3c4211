//! Serves the host names of port forwards.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use drover_http_edge::listen::ConnectionSlot;
use drover_proxy::UpgradeRequest;
use drover_proxy::in_process::ConnectError;
use http::header::{HOST, LOCATION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SET_COOKIE};
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, StatusCode, Uri, request};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;

use crate::connection::Connection;
use crate::forward::Forward;
use crate::page::{cross_origin, no_access, no_response, no_ticket, page};
use crate::pool::{ForwardedBody, Lease, Slots};
use crate::state::PortForwards;
use crate::{cookies, headers, same_origin};

/// Path that exchanges a ticket for a cookie.
pub(crate) const TICKET_PATH: &str = "/.drover/open";
/// Query parameter with the ticket.
pub(crate) const TICKET_PARAMETER: &str = "ticket=";
/// Maximum time between the response and the upgrade of both connections.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why the pod did not respond.
enum RelayError {
    /// The connection to the pod cannot be opened.
    Connect(ConnectError),
    /// The connection to the pod ended without a response. Contains the reason of the cluster.
    Broken(hyper::Error, Option<String>),
}

impl PortForwards {
    /// Serves a request for a host below the forward domain. `label` is the first label of the host,
    /// if the label is valid.
    pub async fn serve(&self, label: Option<&str>, request: Request) -> Response {
        let Some(forward) = label.and_then(|label| self.registry.by_label(label)) else {
            return no_access();
        };
        if request.uri().path() == TICKET_PATH {
            return self.open(&forward, &request);
        }
        if !has_cookie(&forward, &request) {
            return no_access();
        }
        if !self.is_permitted(&forward) {
            self.registry.remove(&forward);
            return no_access();
        }
        if let Some(slot) = request.extensions().get::<ConnectionSlot>() {
            slot.authenticated();
        }
        let (mut head, body) = request.into_parts();
        let Some(host) = host(&head) else {
            return page(StatusCode::BAD_REQUEST, "The request has no valid host.");
        };
        let is_connect = head.method == Method::CONNECT;
        let upgrade = UpgradeRequest::take(&mut head);
        if is_connect && upgrade.is_none() {
            return page(
                StatusCode::METHOD_NOT_ALLOWED,
                "The method CONNECT is only for WebSockets.",
            );
        }
        let text = host.to_str().unwrap_or_default();
        if !same_origin::is_permitted(&head, text, upgrade.is_some()) {
            return cross_origin();
        }
        forward.traffic.used();
        let request = outgoing(head, body, &host, upgrade.as_ref());
        self.relay(&forward, request, upgrade.map(|it| (it, is_connect)), text)
            .await
    }

    /// Exchanges the ticket for the cookie, and redirects to the start page.
    fn open(&self, forward: &Forward, request: &Request) -> Response {
        let ticket = request.uri().query();
        let ticket = ticket.and_then(|query| query.strip_prefix(TICKET_PARAMETER));
        let ticket =
            ticket.filter(|_| *request.method() == Method::GET && self.is_permitted(forward));
        let cookie = ticket.and_then(|ticket| forward.redeem(ticket));
        // A browser that repeats the request already has the cookie.
        if cookie.is_none() && !has_cookie(forward, request) {
            return no_ticket();
        }
        let mut response = page(StatusCode::SEE_OTHER, "The port forward is open.");
        let headers = response.headers_mut();
        headers.insert(LOCATION, HeaderValue::from_static("/"));
        if let Some(cookie) = cookie.and_then(cookies::set) {
            headers.insert(SET_COOKIE, cookie);
        }
        response
    }

    /// Sends a request to the pod and returns the response.
    async fn relay(
        &self,
        forward: &Arc<Forward>,
        request: http::Request<Body>,
        upgrade: Option<(UpgradeRequest, bool)>,
        host: &str,
    ) -> Response {
        let Some(slots) = self.slots(forward).await else {
            return page(
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many requests wait for responses of the pod. Try again.",
            );
        };
        let (mut response, connection) = match self.send(forward, request).await {
            Ok(sent) => sent,
            Err(error) => return refusal(forward, error),
        };
        headers::to_browser(response.headers_mut(), host);
        let is_switch = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        match (upgrade, is_switch) {
            (Some((upgrade, is_connect)), true) => {
                if is_connect {
                    response.headers_mut().remove(SEC_WEBSOCKET_ACCEPT);
                }
                switch(forward, response, upgrade, (connection, slots))
            }
            (None, true) => {
                let reason = "The program changed the protocol without a request.";
                let (pod, port) = (&forward.target.pod, forward.target.port);
                no_response(StatusCode::BAD_GATEWAY, pod, port, reason)
            }
            (_, false) => {
                let pool = Arc::clone(&forward.pool);
                let lease = Lease {
                    connection,
                    pool,
                    slots,
                };
                response.map(|body| Body::new(ForwardedBody::new(body, lease)))
            }
        }
    }

    /// Sends a request on an idle connection, or on a new connection. Repeats only requests of which
    /// no byte was sent.
    async fn send(
        &self,
        forward: &Forward,
        mut request: http::Request<Body>,
    ) -> Result<(http::Response<Incoming>, Connection), RelayError> {
        while let Some(mut connection) = forward.pool.take().await {
            match connection.sender.try_send_request(request).await {
                Ok(response) => return Ok((response, connection)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(broken(error.into_error(), &connection)),
                },
            }
        }
        let connected = self.connect(forward).await;
        let mut connection = connected.map_err(RelayError::Connect)?;
        match connection.sender.send_request(request).await {
            Ok(response) => Ok((response, connection)),
            Err(error) => Err(broken(error, &connection)),
        }
    }
}

fn has_cookie(forward: &Forward, request: &Request) -> bool {
    cookies::presented(request.headers()).is_some_and(|cookie| forward.admits(cookie))
}

fn broken(error: hyper::Error, connection: &Connection) -> RelayError {
    RelayError::Broken(error, connection.failure.reason().map(str::to_owned))
}

/// Returns the requested host with its port. All hosts of the request are equal, see
/// [`crate::destination`].
fn host(head: &request::Parts) -> Option<HeaderValue> {
    match head.uri.authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
        None => head.headers.get(HOST).cloned(),
    }
}

/// Returns the request for the pod.
fn outgoing(
    mut head: request::Parts,
    body: Body,
    host: &HeaderValue,
    upgrade: Option<&UpgradeRequest>,
) -> http::Request<Body> {
    let client = head.extensions.get::<ConnectInfo<SocketAddr>>();
    let client = client.map(|ConnectInfo(address)| address.ip());
    headers::to_pod(&mut head.headers, host, client);
    if let Some(upgrade) = upgrade {
        upgrade.set_headers(&mut head.headers);
        // A WebSocket over HTTP/2 has no key (RFC 8441).
        if !head.headers.contains_key(SEC_WEBSOCKET_KEY)
            && let Ok(key) = HeaderValue::from_str(&generate_key())
        {
            head.headers.insert(SEC_WEBSOCKET_KEY, key);
        }
    }
    let path = head.uri.into_parts().path_and_query;
    let mut request = http::Request::new(body);
    *request.method_mut() = head.method;
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    *request.headers_mut() = head.headers;
    request
}

/// Connects the browser with the pod after both have changed the protocol.
fn switch(
    forward: &Arc<Forward>,
    mut response: http::Response<Incoming>,
    upgrade: UpgradeRequest,
    in_use: (Connection, Slots),
) -> Response {
    let pod = hyper::upgrade::on(&mut response);
    let accepted = upgrade.accept_response(std::mem::take(response.headers_mut()));
    let traffic = Arc::clone(&forward.traffic);
    let client = upgrade.client;
    tokio::spawn(async move {
        let upgraded = timeout(UPGRADE_TIMEOUT, async { tokio::try_join!(client, pod) }).await;
        let Ok(Ok((client, pod))) = upgraded else {
            return;
        };
        let (mut client, mut pod) = (TokioIo::new(client), TokioIo::new(pod));
        tokio::select! {
            () = traffic.closed() => {}
            // An error ends the connection for both sides.
            _ = tokio::io::copy_bidirectional(&mut client, &mut pod) => {}
        }
        drop(in_use);
    });
    accepted
}

fn refusal(forward: &Forward, error: RelayError) -> Response {
    if forward.has_ended() {
        return no_access();
    }
    let (status, reason) = match error {
        RelayError::Connect(ConnectError::Refused(StatusCode::UNAUTHORIZED, _)) => {
            forward.close();
            return no_access();
        }
        RelayError::Connect(error @ ConnectError::Timeout) => {
            (StatusCode::GATEWAY_TIMEOUT, error.message())
        }
        RelayError::Connect(error) => (StatusCode::BAD_GATEWAY, error.message()),
        RelayError::Broken(_, Some(reason)) => (StatusCode::BAD_GATEWAY, reason),
        RelayError::Broken(error, None) => {
            tracing::debug!(%error, "a pod did not respond to a forwarded request");
            let reason = "The connection ended without a valid HTTP response.".to_owned();
            (StatusCode::BAD_GATEWAY, reason)
        }
    };
    no_response(status, &forward.target.pod, forward.target.port, &reason)
}

#[cfg(test)]
mod tests;
