//! Requests to clusters with the credential of a page.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::Response;
use drover_proxy::{AccessKey, Proxy};
use drover_rows::protocol::ListProblem;
use drover_rows::table::truncated;
use futures::future::BoxFuture;
use http::header::{ACCEPT, AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderValue, Request};
use http_body_util::{BodyExt as _, Limited};
use serde_json::Value;

/// The format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A `Table` of `meta.k8s.io`.
    Table,
    /// The objects.
    Json,
}

impl Format {
    /// Returns the media type.
    const fn accept(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Table => "application/json;as=Table;v=v1;g=meta.k8s.io",
            Self::Json => "application/json",
        })
    }
}

/// Maximum length of the message of a problem in bytes.
const MAX_MESSAGE: usize = 1024;
/// Maximum size of an error response in bytes.
const MAX_ERROR: usize = 64 << 10;

/// The credential of a page: the headers that authenticate the page, and its network address.
pub(crate) struct Credential {
    headers: HeaderMap,
    from: Option<ConnectInfo<SocketAddr>>,
}

impl Credential {
    /// Returns the credential of an authenticated request.
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let mut headers = HeaderMap::new();
        for name in [AUTHORIZATION, COOKIE] {
            for value in request.headers().get_all(&name) {
                headers.append(name.clone(), value.clone());
            }
        }
        Self {
            headers,
            from: request.extensions().get().copied(),
        }
    }

    /// Returns the session cookie.
    #[cfg(test)]
    pub(crate) fn session(&self) -> String {
        let cookie = self.headers.get(COOKIE).map(HeaderValue::to_str);
        cookie.and_then(Result::ok).unwrap_or_default().to_owned()
    }

    /// Creates a GET request with the credential. The request has no `Origin`, because the server
    /// has checked the origin of the page's WebSocket.
    fn request(&self, path: &str, format: Format) -> Result<Request<Body>, http::Error> {
        let mut request = Request::get(path).body(Body::empty())?;
        request.headers_mut().clone_from(&self.headers);
        request.headers_mut().insert(ACCEPT, format.accept());
        if let Some(from) = self.from {
            request.extensions_mut().insert(from);
        }
        Ok(request)
    }
}

/// The clusters of the server.
pub(crate) trait Clusters: Send + Sync + 'static {
    /// Returns the identity of a page in the cluster of a path.
    fn identity<'a>(
        &'a self,
        credential: &'a Credential,
        path: &'a str,
    ) -> BoxFuture<'a, Result<AccessKey, ListProblem>>;

    /// Sends a GET request to the cluster of a path. Returns the response if its status is 200.
    fn get<'a>(
        &'a self,
        credential: &'a Credential,
        path: &'a str,
        format: Format,
    ) -> BoxFuture<'a, Result<Body, ListProblem>>;
}

impl Clusters for Arc<Proxy> {
    fn identity<'a>(
        &'a self,
        credential: &'a Credential,
        path: &'a str,
    ) -> BoxFuture<'a, Result<AccessKey, ListProblem>> {
        Box::pin(async move {
            let request = credential
                .request(path, Format::Json)
                .map_err(|_| bad_path())?;
            let (head, _) = request.into_parts();
            let key = self.access_key(&head).await;
            key.map_err(|status| problem(status.code().as_u16(), status.reason(), status.message()))
        })
    }

    fn get<'a>(
        &'a self,
        credential: &'a Credential,
        path: &'a str,
        format: Format,
    ) -> BoxFuture<'a, Result<Body, ListProblem>> {
        Box::pin(async move {
            let request = credential.request(path, format).map_err(|_| bad_path())?;
            let response = self.serve(request).await;
            if response.status() == http::StatusCode::OK {
                return Ok(response.into_body());
            }
            Err(problem_of(response).await)
        })
    }
}

fn bad_path() -> ListProblem {
    problem(400, "BadRequest", "the kind or the namespace is invalid")
}

/// Creates the problem of a list.
pub(crate) fn problem(code: u16, reason: &str, message: impl Into<String>) -> ListProblem {
    ListProblem {
        code,
        reason: reason.to_owned(),
        message: message.into(),
    }
}

/// Reads the `metav1.Status` of an error response.
async fn problem_of(response: Response) -> ListProblem {
    let code = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_ERROR)
        .collect()
        .await;
    let bytes = body
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let status: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |key: &str| status[key].as_str().unwrap_or_default().to_owned();
    let message = match text("message") {
        message if message.is_empty() => format!("the cluster responded with status {code}"),
        message => message,
    };
    problem(code, &text("reason"), truncated(message, MAX_MESSAGE))
}
