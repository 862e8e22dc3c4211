//! A client of a hub that accepts a long-lived token of the agent, as Fleet's hub does.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::InvalidHeaderValue;
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use kube::client::Body;
use secrecy::{ExposeSecret as _, SecretString};

use super::HubRequestError;
use super::client::{HttpClient, HubApi, http_client};
use crate::server::Server;

/// Called after the hub has rejected the token (401).
type Rejected = Arc<dyn Fn() + Send + Sync>;

/// The connections to a hub, and the token.
#[derive(Clone)]
pub struct DirectHub {
    http: HttpClient,
    authority: String,
    /// Path of the Kubernetes API in the hub's URL, without `/` at the end.
    path: Arc<str>,
    authorization: HeaderValue,
    rejected: Rejected,
}

impl std::fmt::Debug for DirectHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectHub")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

impl DirectHub {
    /// Creates a client without connections. `path` is the path of the Kubernetes API, without `/` at the
    /// end. `rejected` is called after each response with the status 401.
    ///
    /// # Errors
    ///
    /// The token contains characters that are not valid in a header.
    pub fn new(
        server: Server,
        path: &str,
        token: &SecretString,
        rejected: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, InvalidHeaderValue> {
        let bearer = SecretString::from(format!("Bearer {}", token.expose_secret()));
        let mut authorization = HeaderValue::from_str(bearer.expose_secret())?;
        authorization.set_sensitive(true);
        Ok(Self {
            authority: server.authority(),
            http: http_client(server.for_requests()),
            path: Arc::from(path),
            authorization,
            rejected: Arc::new(rejected),
        })
    }

    /// Returns a Kubernetes client that sends its requests on these connections.
    pub fn client(self, namespace: &str) -> kube::Client {
        kube::Client::new(self, namespace.to_owned())
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Incoming>, HubRequestError> {
        let api = HubApi {
            http: &self.http,
            authority: &self.authority,
            path: &self.path,
            authorization: &self.authorization,
        };
        let response = api.send(request).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            (self.rejected)();
        }
        Ok(response)
    }
}

impl tower::Service<Request<Body>> for DirectHub {
    type Response = Response<Incoming>;
    type Error = HubRequestError;
    type Future = BoxFuture<'static, Result<Self::Response, HubRequestError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HubRequestError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.clone().answer(request).boxed()
    }
}
