//! Verifies the tokens of node agents for the server.
//!
//! A node agent proves its node with the service account token of its pod. The kubelet requests the
//! token, so that the token names the pod's node. The API server reviews the token.

use std::sync::Arc;
use std::time::Duration;

use drover_agent_link::lanes::{LaneHandler, TunnelContext, status_response};
use drover_agent_link::upstream::{Body, boxed};
use drover_api::agent::{
    ENDORSE_PATH, EndorseRequest, Endorsement, NODE_TOKEN_AUDIENCE, NodeClass,
};
use drover_api::client_error::ClientError;
use drover_api::group::NODE_AGENT_NAMESPACE;
use futures::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use k8s_openapi::api::authentication::v1::{
    TokenReview, TokenReviewSpec, TokenReviewStatus, UserInfo,
};
use kube::api::{Api, PostParams};
use thiserror::Error;

/// Maximum size of a request, in bytes.
const MAX_REQUEST: usize = 16 * 1024;
/// Timeout of reading a request, and of a review.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Keys of the extra values with which the API server names the node of a token.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const NODE_UID: &str = "authentication.kubernetes.io/node-uid";

/// The reason why the agent does not endorse a node agent.
#[derive(Debug, Error)]
enum EndorseError {
    /// The request is not an [`EndorseRequest`].
    #[error("the request is not the JSON of a token: {0}")]
    Malformed(String),
    /// The API server did not review the token.
    #[error("cannot review the token: {0}")]
    Review(#[source] ClientError),
    /// The API server did not review the token in time.
    #[error("the API server did not review the token within {seconds} s", seconds = TIMEOUT.as_secs())]
    Timeout,
    /// The API server does not accept the token.
    #[error("the token is not valid")]
    Invalid,
    /// The token is not the token of a node agent.
    #[error("the token is not the token of a node agent")]
    OtherAccount,
    /// The API server does not name the node of the token.
    #[error(
        "the API server does not name the node of the token; Kubernetes 1.30 or newer is required"
    )]
    NoNode,
}

impl EndorseError {
    const fn code(&self) -> StatusCode {
        match self {
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Review(_) | Self::Timeout => StatusCode::SERVICE_UNAVAILABLE,
            Self::Invalid | Self::OtherAccount | Self::NoNode => StatusCode::UNAUTHORIZED,
        }
    }
}

/// The verifier of node agents' tokens. Clones share the client.
#[derive(Clone)]
pub(crate) struct Endorser {
    reviews: Api<TokenReview>,
}

impl std::fmt::Debug for Endorser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Endorser")
    }
}

impl Endorser {
    /// Creates a verifier. `client` uses the report lane's service account.
    pub(crate) fn new(client: kube::Client) -> Self {
        Self {
            reviews: Api::all(client),
        }
    }

    async fn endorse(&self, request: Request<Incoming>) -> Result<Endorsement, EndorseError> {
        let body = Limited::new(request.into_body(), MAX_REQUEST).collect();
        let body = tokio::time::timeout(TIMEOUT, body).await;
        let body = body.map_err(|_| EndorseError::Malformed("timeout".to_owned()))?;
        let body = body.map_err(|error| EndorseError::Malformed(error.to_string()))?;
        // The error does not contain the body, because the body contains a token.
        let EndorseRequest { token } = serde_json::from_slice(&body.to_bytes())
            .map_err(|_| EndorseError::Malformed("unexpected fields".to_owned()))?;
        let review = TokenReview {
            spec: TokenReviewSpec {
                audiences: Some(vec![NODE_TOKEN_AUDIENCE.to_owned()]),
                token,
            },
            ..Default::default()
        };
        let params = PostParams::default();
        let reviewed = tokio::time::timeout(TIMEOUT, self.reviews.create(&params, &review));
        let reviewed = reviewed.await.map_err(|_| EndorseError::Timeout)?;
        let reviewed = reviewed.map_err(|error| EndorseError::Review(error.into()))?;
        endorsement(reviewed.status.unwrap_or_default())
    }
}

/// Returns the node that a review names. Returns an error if the token is not the token of a node
/// agent's pod with the audience [`NODE_TOKEN_AUDIENCE`].
fn endorsement(status: TokenReviewStatus) -> Result<Endorsement, EndorseError> {
    // Without this check, an API server that does not support audiences would accept a token for
    // itself.
    let ours = |audience: &String| audience == NODE_TOKEN_AUDIENCE;
    let audiences = status.audiences.unwrap_or_default();
    if status.authenticated != Some(true) || !audiences.iter().any(ours) {
        return Err(EndorseError::Invalid);
    }
    let user = status.user.unwrap_or_default();
    let class = class(user.username.as_deref().unwrap_or_default());
    let class = class.ok_or(EndorseError::OtherAccount)?;
    let (node, node_uid) = (single(&user, NODE_NAME), single(&user, NODE_UID));
    let (Some(node), Some(node_uid)) = (node, node_uid) else {
        return Err(EndorseError::NoNode);
    };
    Ok(Endorsement {
        node,
        node_uid,
        class,
    })
}

/// Returns the class of the node agents with a user name.
fn class(username: &str) -> Option<NodeClass> {
    let mut classes = NodeClass::ALL.into_iter();
    classes.find(|class| {
        let account = class.service_account();
        username == format!("system:serviceaccount:{NODE_AGENT_NAMESPACE}:{account}")
    })
}

/// Returns the value of an extra with exactly one value.
fn single(user: &UserInfo, key: &str) -> Option<String> {
    match user.extra.as_ref()?.get(key)?.as_slice() {
        [value] if !value.is_empty() => Some(value.clone()),
        _ => None,
    }
}

/// The handler of the agent's report lane.
#[derive(Debug)]
pub(crate) struct ReportLane {
    /// The handler of report streams.
    pub(crate) reports: Arc<dyn LaneHandler>,
    /// The verifier of node agents.
    pub(crate) endorser: Endorser,
}

impl LaneHandler for ReportLane {
    fn handle(
        &self,
        tunnel: &TunnelContext,
        request: Request<Incoming>,
    ) -> BoxFuture<'static, Response<Body>> {
        if request.uri().path() != ENDORSE_PATH {
            return self.reports.handle(tunnel, request);
        }
        let endorser = self.endorser.clone();
        Box::pin(async move { response(endorser.endorse(request).await) })
    }
}

fn response(endorsed: Result<Endorsement, EndorseError>) -> Response<Body> {
    match endorsed {
        Ok(endorsement) => {
            let json = serde_json::to_vec(&endorsement).expect("an endorsement is valid JSON");
            let mut response = Response::new(boxed(Full::from(json)));
            let content = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, content);
            response
        }
        Err(error) => {
            tracing::info!(
                error = &error as &dyn std::error::Error,
                "did not endorse a node agent"
            );
            status_response(error.code(), "NodeAgentNotEndorsed", &error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn review(username: &str, extra: &[(&str, &[&str])]) -> TokenReviewStatus {
        let extra = extra.iter().map(|(key, values)| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            ((*key).to_owned(), values)
        });
        TokenReviewStatus {
            audiences: Some(vec![NODE_TOKEN_AUDIENCE.to_owned()]),
            authenticated: Some(true),
            user: Some(UserInfo {
                username: Some(username.to_owned()),
                extra: Some(extra.collect::<BTreeMap<_, _>>()),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    const WORKER: &str = "system:serviceaccount:drover-node-agent:drover-node-agent-worker";
    const NODE: [(&str, &[&str]); 2] = [(NODE_NAME, &["worker-1"]), (NODE_UID, &["uid-1"])];

    #[test]
    fn review_of_a_node_agents_token_names_node_and_class() {
        let expected = Endorsement {
            node: "worker-1".to_owned(),
            node_uid: "uid-1".to_owned(),
            class: NodeClass::Worker,
        };
        assert_eq!(endorsement(review(WORKER, &NODE)).unwrap(), expected);
        let control_plane = WORKER.replace("worker", "control-plane");
        let endorsed = endorsement(review(&control_plane, &NODE)).unwrap();
        assert_eq!(endorsed.class, NodeClass::ControlPlane);
    }

    #[test]
    fn tokens_that_do_not_prove_a_node_agents_node_are_refused() {
        let invalid = TokenReviewStatus {
            authenticated: Some(false),
            ..review(WORKER, &NODE)
        };
        let other_audience = TokenReviewStatus {
            audiences: Some(vec!["https://kubernetes.default.svc".to_owned()]),
            ..review(WORKER, &NODE)
        };
        let no_audience = TokenReviewStatus {
            audiences: None,
            ..review(WORKER, &NODE)
        };
        for status in [invalid, other_audience, no_audience] {
            let refused = endorsement(status);
            assert!(matches!(refused, Err(EndorseError::Invalid)), "{refused:?}");
        }
        for account in [
            "system:serviceaccount:default:drover-node-agent-worker",
            "system:serviceaccount:drover-node-agent:drover-node-agent-worker2",
            "system:serviceaccount:drover-agent:drover-agent",
            "drover-node-agent-worker",
            "",
        ] {
            let refused = endorsement(review(account, &NODE));
            assert!(
                matches!(refused, Err(EndorseError::OtherAccount)),
                "{account}"
            );
        }
        let [name, uid] = NODE;
        for extra in [
            vec![],
            vec![name],
            vec![uid],
            vec![(NODE_NAME, &["a", "b"][..]), uid],
            vec![(NODE_NAME, &[""][..]), uid],
        ] {
            let refused = endorsement(review(WORKER, &extra));
            assert!(matches!(refused, Err(EndorseError::NoNode)), "{extra:?}");
        }
    }
}
