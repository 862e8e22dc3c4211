//! Requests to the Kubernetes API of a cluster: bounded bodies, streams, and WebSockets.

use std::convert::Infallible;
use std::time::Duration;

use http_body_util::BodyExt as _;
use kube::client::Body;
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::{CallError, Client};

/// A request to the server.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The method of the request.
    pub(crate) method: Method,
    /// The unescaped segments of the path.
    pub(crate) path: Vec<String>,
    /// The query parameters.
    pub(crate) query: Vec<(&'static str, String)>,
    /// The header `Accept`.
    pub(crate) accept: &'static str,
    /// The content type and the bytes of the body.
    pub(crate) body: Option<(&'static str, Vec<u8>)>,
}

impl Client {
    /// Sends a request and parses the JSON body of the response.
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, call: &Call) -> Result<T, CallError> {
        let request = self.prepared(call).timeout(self.timeout);
        let response = request.send().await.map_err(|e| self.request_error(&e))?;
        self.read(self.body(response).await?)
    }

    /// Sends a request and returns the body as a stream. The timeout of a request applies to the
    /// headers of the response. `idle` limits the time between two chunks of the body.
    pub(crate) async fn open(
        &self,
        call: &Call,
        idle: Option<Duration>,
    ) -> Result<ResponseStream, CallError> {
        let sent = timeout(self.timeout, self.prepared(call).send()).await;
        let response = sent
            .map_err(|_| self.timed_out())?
            .map_err(|error| self.request_error(&error))?;
        if !response.status().is_success() {
            let body = timeout(self.timeout, self.body(response)).await;
            let error = body.map_err(|_| self.timed_out())?.err();
            return Err(error.unwrap_or_else(|| self.timed_out()));
        }
        Ok(ResponseStream {
            response,
            client: self.clone(),
            idle,
        })
    }

    fn prepared(&self, call: &Call) -> reqwest::RequestBuilder {
        let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
        let mut url = self.url(&path);
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        let request = self.request(call.method.clone(), url);
        let request = request.header(ACCEPT, call.accept);
        match &call.body {
            Some((kind, body)) => request.header(CONTENT_TYPE, *kind).body(body.clone()),
            None => request,
        }
    }

    fn timed_out(&self) -> CallError {
        CallError::Timeout {
            server: self.server.to_string(),
        }
    }
}

/// The body of a response that can continue without an end, such as a watch.
#[derive(Debug)]
pub(crate) struct ResponseStream {
    response: reqwest::Response,
    client: Client,
    idle: Option<Duration>,
}

impl ResponseStream {
    /// Returns the next bytes of the body. Returns `None` at the end of the body.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, CallError> {
        let chunk = self.response.chunk();
        let chunk = match self.idle {
            None => chunk.await,
            Some(idle) => timeout(idle, chunk).await.map_err(|_| CallError::Stalled {
                server: self.client.server.to_string(),
                seconds: idle.as_secs(),
            })?,
        };
        let chunk = chunk.map_err(|error| self.client.request_error(&error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}

/// Creates clients of kube for WebSockets (`exec`, `port-forward`). These clients use the
/// connection settings, the token and the trusted certificate authorities of a [`Client`].
#[derive(Clone, Debug)]
pub(crate) struct WebSockets(Client);

impl From<Client> for WebSockets {
    fn from(client: Client) -> Self {
        Self(client)
    }
}

/// The error of a request that kube sends.
#[derive(Debug, thiserror::Error)]
enum TransportError {
    #[error("cannot read the body of the request: {0}")]
    Body(#[source] kube::Error),
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<Infallible> for TransportError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl WebSockets {
    /// Returns a kube client for the API below a path of the server.
    pub(crate) fn client(&self, base: &[&str], namespace: &str) -> kube::Client {
        let (client, base) = (self.0.clone(), self.0.url(base));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (client, mut url) = (client.clone(), base.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.map_err(TransportError::Body)?;
                // kube has escaped the path.
                url.set_path(&format!("{}{}", url.path(), head.uri.path()));
                url.set_query(head.uri.query());
                let request = client
                    .request(head.method, url)
                    .headers(head.headers)
                    .body(body.to_bytes());
                // Without a limit, a server that does not respond to the upgrade would block.
                let response = timeout(client.timeout, request.send()).await;
                let response = response
                    .map_err(|_| client.timed_out())?
                    .map_err(|error| client.request_error(&error))?;
                Ok::<_, TransportError>(http::Response::<reqwest::Body>::from(response))
            }
        });
        kube::Client::new(service, namespace)
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use http_body_util::{BodyStream, StreamBody};

    use super::*;
    use crate::trust::Trust;

    #[tokio::test(start_paused = true)]
    async fn response_that_stops_is_an_error_after_the_idle_time() {
        drover_tls::install_provider();
        let server = "https://drover.example.com".parse().unwrap();
        let minute = Duration::from_mins(1);
        let client = Client::new(server, &Trust::SystemRoots, None, minute).unwrap();
        let first = BodyStream::new("a line".to_owned());
        let frames = first.chain(futures::stream::pending());
        let body = reqwest::Body::wrap(StreamBody::new(frames));
        let mut stream = ResponseStream {
            response: http::Response::new(body).into(),
            client,
            idle: Some(minute),
        };
        assert_eq!(stream.chunk().await.unwrap().unwrap(), b"a line");
        let error = stream.chunk().await.unwrap_err();
        assert!(matches!(error, CallError::Stalled { seconds: 60, .. }));
        assert!(error.is_transient() && error.to_string().contains("no data arrived for 60 s"));
    }
}
