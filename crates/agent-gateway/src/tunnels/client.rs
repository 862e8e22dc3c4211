//! A Kubernetes client through the tunnels, for the server's controllers.
//!
//! The client buffers responses from a cluster whose agent may be hostile. Therefore this module
//! limits the size of each response. The module also truncates error messages of the cluster before
//! they are written to conditions, events and logs.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use drover_api::agent::Lane;
use drover_api::client_error::shortened;
use drover_api::ids::ClusterUid;
use drover_tunnel::BoxError;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Either, Full, Limited};
use kube::client::Body;
use kube::core::Status;
use tower::Service;

use super::{TunnelSendError, Tunnels};

/// Maximum size of a buffered response, in bytes. The largest object that Drover stores in a
/// cluster has about 100 KiB. A list page has sixteen objects.
pub const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Maximum size of a buffered error response, in bytes.
const ERROR_BYTES: usize = 64 * 1024;

/// The transport of the Kubernetes client. Each request uses the tunnel with the best health at the
/// time of the request.
#[derive(Clone)]
pub(super) struct TunnelService {
    pub(super) tunnels: Tunnels,
    pub(super) cluster: ClusterUid,
    pub(super) lane: Lane,
}

type Bounded = Either<Limited<drover_tunnel::tunnel::Body>, Full<Bytes>>;

impl Service<Request<Body>> for TunnelService {
    type Response = Response<Bounded>;
    type Error = TunnelSendError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let answer = this.tunnels.send(&this.cluster, this.lane, request).await?;
            Ok(bounded(answer).await)
        })
    }
}

async fn bounded(answer: Response<drover_tunnel::tunnel::Body>) -> Response<Bounded> {
    let status = answer.status();
    let (mut head, body) = answer.into_parts();
    if !status.is_client_error() && !status.is_server_error() {
        return Response::from_parts(head, Either::Left(Limited::new(body, ANSWER_BYTES)));
    }
    head.headers.remove(CONTENT_LENGTH);
    head.headers.remove(CONTENT_ENCODING);
    let text = match Limited::new(body, ERROR_BYTES).collect().await {
        Ok(read) => error_text(&read.to_bytes()),
        Err(error) => unread(&error).into(),
    };
    Response::from_parts(head, Either::Right(Full::new(text)))
}

fn unread(error: &BoxError) -> &'static str {
    if error.is::<http_body_util::LengthLimitError>() {
        "the cluster returned an error larger than 64 KiB"
    } else {
        "the cluster's error response ended early"
    }
}

/// Truncates the message in an error response. Preserves the format of a `metav1.Status`.
fn error_text(body: &[u8]) -> Bytes {
    if let Ok(mut status) = serde_json::from_slice::<Status>(body) {
        status.message = shortened(&status.message);
        status.reason = shortened(&status.reason);
        (status.metadata, status.details) = (None, None);
        if let Ok(json) = serde_json::to_vec(&status) {
            return json.into();
        }
    }
    shortened(&String::from_utf8_lossy(body)).into()
}

#[cfg(test)]
mod tests {
    use drover_api::client_error::MAX_ERROR_BYTES;

    use super::*;

    #[test]
    fn error_messages_of_a_cluster_are_truncated() {
        let long = "ä\n".repeat(10_000);
        assert!(shortened(&long).len() <= MAX_ERROR_BYTES);
        assert!(shortened(&long).ends_with('…') && !shortened(&long).contains('\n'));
        assert_eq!(shortened("no such thing"), "no such thing");
        let status = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
            "reason": "NotFound", "message": long, "details": {"name": long},
        });
        let short: Status =
            serde_json::from_slice(&error_text(status.to_string().as_bytes())).unwrap();
        assert_eq!((short.code, &*short.reason), (404, "NotFound"));
        assert!(short.message.len() <= MAX_ERROR_BYTES && short.details.is_none());
        assert!(error_text(long.as_bytes()).len() <= MAX_ERROR_BYTES);
    }
}
