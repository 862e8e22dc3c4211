//! Requests to an agent on the report lane whose response is small.

use std::time::Duration;

use bytes::Bytes;
use drover_api::agent::Lane;
use drover_api::client_error::shortened;
use drover_tunnel::SendError;
use http::header::CONTENT_TYPE;
use http::response::Parts;
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use thiserror::Error;

use super::SelectedTunnel;

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 16 * 1024;

/// The reason why an agent did not respond.
#[derive(Debug, Error)]
pub enum ReportCallError {
    /// The server cannot send the request through the tunnel.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The body of the response cannot be read.
    #[error("cannot read the agent's response: {0}")]
    Body(String),
    /// The agent did not respond in time.
    #[error("the agent did not respond within {seconds} s", seconds = TIMEOUT.as_secs())]
    Timeout,
}

/// A response of an agent.
#[derive(Debug)]
pub struct ReportAnswer {
    /// Status and headers of the response.
    pub head: Parts,
    /// Body of the response.
    pub body: Bytes,
}

impl ReportAnswer {
    /// Returns the message of a response with an error status.
    pub fn error_message(&self) -> String {
        match serde_json::from_slice::<kube::core::Status>(&self.body) {
            Ok(status) => shortened(&status.message),
            Err(_) => format!("the agent responded with status {}", self.head.status),
        }
    }
}

impl SelectedTunnel {
    /// Sends `POST` with a JSON body to the agent on the report lane.
    pub async fn post_to_agent(
        &self,
        path: &'static str,
        body: Bytes,
    ) -> Result<ReportAnswer, ReportCallError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static(path);
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        let answered = async {
            let (head, body) = self.send(Lane::Report, request).await?.into_parts();
            let body = Limited::new(body, MAX_RESPONSE).collect().await;
            let body = body.map_err(|error| ReportCallError::Body(error.to_string()))?;
            let body = body.to_bytes();
            Ok(ReportAnswer { head, body })
        };
        let answered = tokio::time::timeout(TIMEOUT, answered).await;
        answered.map_err(|_| ReportCallError::Timeout)?
    }
}
