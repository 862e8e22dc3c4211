//! The three routes of smart HTTP.

use axum::RequestExt as _;
use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use drover_audit::AuditNotes;
use drover_http_edge::networks;
use drover_http_edge::status::Status;
use drover_hub::Hub;
use drover_identity::Authenticator;
use http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, StatusCode};

use crate::access;
use crate::backend::{Backend, GitRequest, Limits, Service, Step};
use crate::name::RepositoryName;
use crate::repositories::Repositories;

/// The challenge that makes git ask for a user name and password (RFC 7617).
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"Drover\"");

/// The state of the git routes. Clones share the state.
#[derive(Clone, Debug)]
pub struct GitHosting {
    hub: Hub,
    authenticator: Authenticator,
    backend: Option<Backend>,
}

impl GitHosting {
    /// Creates the state. Without repositories, each authorized request receives status 404.
    pub fn new(
        hub: Hub,
        authenticator: Authenticator,
        repositories: Option<Repositories>,
        limits: Limits,
    ) -> Self {
        let backend = repositories.map(|repositories| Backend::new(repositories, limits));
        Self {
            hub,
            authenticator,
            backend,
        }
    }
}

/// Returns the routes of smart HTTP. Other paths under `/git/` do not exist, so the old protocol of
/// git without a service cannot read files of a repository.
pub fn router(state: GitHosting) -> Router {
    Router::new()
        .route("/git/{repo}/info/refs", get(refs))
        .route("/git/{repo}/git-upload-pack", post(upload_pack))
        .route("/git/{repo}/git-receive-pack", post(receive_pack))
        .with_state(state)
}

async fn refs(State(state): State<GitHosting>, request: Request) -> Response {
    state.serve(request, None).await
}

async fn upload_pack(State(state): State<GitHosting>, request: Request) -> Response {
    state.serve(request, Some(Service::UploadPack)).await
}

async fn receive_pack(State(state): State<GitHosting>, request: Request) -> Response {
    state.serve(request, Some(Service::ReceivePack)).await
}

impl GitHosting {
    /// Serves a request. The service of `info/refs` is in the query.
    async fn serve(&self, mut request: Request, transfer: Option<Service>) -> Response {
        let segment = segment(&mut request).await;
        let (head, body) = request.into_parts();
        // Boxed to keep the future of the router small.
        let served = Box::pin(self.checked(head, body, segment, transfer)).await;
        let mut response = served.unwrap_or_else(Status::into_response);
        if response.status() == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, CHALLENGE);
        }
        let caching = response.headers_mut().entry(CACHE_CONTROL);
        caching.or_insert(HeaderValue::from_static("no-store"));
        response
    }

    /// Runs all checks in a fixed order, and then git.
    async fn checked(
        &self,
        mut head: Parts,
        body: Body,
        segment: Option<String>,
        transfer: Option<Service>,
    ) -> Result<Response, Status> {
        // 1. Authentication.
        let principal = access::authenticate(&self.authenticator, &mut head).await?;
        // 2. The name of the repository and the service.
        let segment = segment.ok_or_else(invalid_segment)?;
        let name = RepositoryName::from_segment(&segment)
            .map_err(|error| Status::bad_request(error.to_string()))?;
        let (service, step) = match transfer {
            Some(service) => (service, Step::Transfer),
            None => (service_of_query(&head)?, Step::Refs),
        };
        // 3. Authorization. The error does not reveal whether the repository exists.
        access::authorize(&self.hub, &principal, &name, service).await?;
        // 4. The repository exists.
        let backend = self.backend.as_ref().ok_or_else(no_repositories)?;
        if !backend.repositories().contains(&name) {
            return Err(Status::not_found("GitRepository", name.as_str()));
        }
        AuditNotes::of(&head.extensions).about(name.as_str());
        backend
            .serve(GitRequest {
                repository: &name,
                service,
                step,
                caller: &access::caller_name(&principal),
                from: networks::sender(&head.extensions),
                headers: &head.headers,
                body,
            })
            .await
    }
}

/// Returns the percent-decoded segment with the name of the repository.
async fn segment(request: &mut Request) -> Option<String> {
    let parameters = request.extract_parts::<RawPathParams>().await.ok()?;
    let (_, value) = parameters.iter().next()?;
    Some(value.to_owned())
}

/// Returns the service in the query of `info/refs`. Clients of the old protocol send no service.
fn service_of_query(head: &Parts) -> Result<Service, Status> {
    let query = head.uri.query().unwrap_or_default();
    let name = query.strip_prefix("service=");
    name.and_then(Service::parse).ok_or_else(|| {
        Status::bad_request(
            "the query is not \"service=git-upload-pack\" or \"service=git-receive-pack\": use git \
             1.6.6 or newer",
        )
    })
}

fn invalid_segment() -> Status {
    Status::bad_request("the name in the path is not percent-encoded UTF-8")
}

fn no_repositories() -> Status {
    Status::new(
        StatusCode::NOT_FOUND,
        "NotFound",
        "this server hosts no git repositories, because its hub is external: use a different git \
         server",
    )
}
