//! The HTTP client of the hub: adds the token to each request, and sends the request to the server.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;

use super::HubRequestError;
use super::connector::Connector;
use super::session::{Session, Sessions};
use crate::enrollment::Enrollment;
use crate::server::Server;

/// Path of the hub's Kubernetes API on the server.
const HUB_PATH: &str = "/k8s/clusters/local";
/// Timeout from a request to the head of its response. The body has no timeout, because the response to a
/// watch stays open.
const HEAD_TIMEOUT: Duration = Duration::from_mins(1);
/// HTTP/2 pings while a request is open: interval, and timeout of the response.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));
/// Time after which an unused connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);
/// Maximum number of unused HTTP/1.1 connections.
const MAX_IDLE: usize = 2;
/// HTTP/2 flow-control windows of a stream and of the connection, in bytes. The windows limit the memory
/// for responses that the agent does not read.
const WINDOWS: (u32, u32) = (128 * 1024, 512 * 1024);

/// The connections to one server.
pub(super) type HttpClient = legacy::Client<Connector, Body>;

/// Creates a client without connections.
pub(super) fn http_client(server: Server) -> HttpClient {
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE)
        .http2_initial_stream_window_size(WINDOWS.0)
        .http2_initial_connection_window_size(WINDOWS.1)
        .http2_keep_alive_interval(PING.0)
        .http2_keep_alive_timeout(PING.1)
        .build(Connector(server))
}

/// The service under the Kubernetes client.
pub(super) struct HubService<E> {
    sessions: Arc<Sessions<E>>,
}

impl<E> HubService<E> {
    pub(super) fn new(sessions: Arc<Sessions<E>>) -> Self {
        Self { sessions }
    }
}

impl<E: Enrollment + 'static> tower::Service<Request<Body>> for HubService<E> {
    type Response = Response<Incoming>;
    type Error = HubRequestError;
    type Future = BoxFuture<'static, Result<Self::Response, HubRequestError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HubRequestError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let sessions = Arc::clone(&self.sessions);
        async move { answer(&sessions, request).await }.boxed()
    }
}

/// Sends a request. If the hub rejects the token, sends the request once more with a new token.
async fn answer<E: Enrollment + 'static>(
    sessions: &Arc<Sessions<E>>,
    request: Request<Body>,
) -> Result<Response<Incoming>, HubRequestError> {
    let (head, body) = request.into_parts();
    let copy = body.try_clone();
    let session = sessions.session().await?;
    let first = Request::from_parts(head.clone(), body);
    let response = match send(&session, first).await {
        Ok(response) => response,
        Err(error) => {
            // The server may have moved to a different address.
            sessions.check_binding_soon(&session);
            return Err(error);
        }
    };
    let Some(copy) = copy.filter(|_| response.status() == StatusCode::UNAUTHORIZED) else {
        return Ok(response);
    };
    let Some(renewed) = sessions.replace_rejected(&session).await? else {
        return Ok(response);
    };
    drop(response);
    send(&renewed, Request::from_parts(head, copy)).await
}

async fn send(
    session: &Session,
    request: Request<Body>,
) -> Result<Response<Incoming>, HubRequestError> {
    let api = HubApi {
        http: &session.http,
        authority: &session.binding.authority(),
        path: HUB_PATH,
        authorization: &session.authorization,
    };
    api.send(request).await
}

/// The Kubernetes API of a hub, with a token.
pub(super) struct HubApi<'a> {
    pub(super) http: &'a HttpClient,
    pub(super) authority: &'a str,
    /// Path of the API, without `/` at the end.
    pub(super) path: &'a str,
    pub(super) authorization: &'a HeaderValue,
}

impl HubApi<'_> {
    /// Sends a request with the token, and waits for the head of its response.
    pub(super) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, HubRequestError> {
        *request.uri_mut() = self.url(request.uri()).map_err(HubRequestError::Url)?;
        let authorization = self.authorization.clone();
        request.headers_mut().insert(AUTHORIZATION, authorization);
        let sending = self.http.request(request);
        let response = tokio::time::timeout(HEAD_TIMEOUT, sending).await;
        let response = response.map_err(|_| HubRequestError::TimedOut(HEAD_TIMEOUT))?;
        response.map_err(HubRequestError::Send)
    }

    /// Returns the URL of a request on the hub.
    fn url(&self, uri: &Uri) -> Result<Uri, http::Error> {
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        Uri::builder()
            .scheme(Scheme::HTTPS)
            .authority(self.authority)
            .path_and_query(format!("{}{path}", self.path))
            .build()
    }
}
