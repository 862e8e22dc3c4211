//! The rotation of the agent's key. The server requests a new key through a tunnel that the current key
//! has authenticated, binds the new key, and asks the agent to use it.
//!
//! The agent stores the new key before the server binds it. The new key becomes the current key only
//! after the server has accepted it, so that the bound key is always one of the stored keys.

use std::sync::Arc;

use bytes::Bytes;
use drover_access::proof::{PublicKey, next_key_message};
use drover_api::agent::{NEXT_KEY_PATH, NextKey, UseKeyRequest};
use futures::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty, Full, Limited};
use hyper::body::Incoming;
use thiserror::Error;
use tokio::sync::{Mutex, watch};
use tracing::{info, warn};

use crate::enrollment::Enrollment;
use crate::error_chain::error_chain;
use crate::lanes::{LaneHandler, TunnelContext, status_response};
use crate::registration::{Membership, RegistrationError};
use crate::upstream::{Body, boxed};

/// Maximum size of a request, in bytes.
const MAX_REQUEST: usize = 1024;

/// The reason why the agent cannot respond to a request for its key.
#[derive(Debug, Error)]
enum RotationError {
    #[error("the body of the request is not a public key: {0}")]
    Malformed(String),
    #[error(transparent)]
    Store(#[from] RegistrationError),
}

impl RotationError {
    const fn code(&self) -> StatusCode {
        match self {
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// The state of the key rotation, which all tunnels of the agent share.
#[derive(Debug)]
pub(crate) struct KeyRotation<E> {
    pub(crate) enrollment: E,
    /// Serializes the creation of new keys.
    creating: Mutex<()>,
    /// The key that the server has asked the agent to use, until a tunnel uses the key.
    target: watch::Sender<Option<PublicKey>>,
}

impl<E: Enrollment> KeyRotation<E> {
    pub(crate) fn new(enrollment: E) -> Self {
        Self {
            enrollment,
            creating: Mutex::default(),
            target: watch::Sender::new(None),
        }
    }

    /// Waits until the server has asked the agent to use a key other than `key`. Returns the requested
    /// key.
    pub(crate) async fn requested_instead_of(&self, key: &PublicKey) -> PublicKey {
        let is_other = |target: &Option<PublicKey>| target.as_ref().is_some_and(|it| it != key);
        let mut targets = self.target.subscribe();
        let target = targets.wait_for(is_other).await;
        let target = target.ok().and_then(|target| target.clone());
        // The sender of `self` exists, and `is_other` requires a key.
        target.expect("the watched value is a key")
    }

    /// Clears the requested key after a tunnel with the key has opened.
    pub(crate) fn finish(&self) {
        self.target.send_replace(None);
    }

    async fn next(&self, member: &Membership) -> Result<NextKey, RotationError> {
        let _creating = self.creating.lock().await;
        let next = self.enrollment.next_key().await?;
        let current = member.key.public();
        let message = next_key_message(&member.cluster_uid, current, next.public());
        Ok(NextKey {
            public_key: next.public().encode(),
            signature: next.sign(&message),
        })
    }

    async fn use_key(&self, request: Request<Incoming>) -> Result<(), RotationError> {
        let body = Limited::new(request.into_body(), MAX_REQUEST).collect();
        let body = body.await;
        let body = body.map_err(|error| RotationError::Malformed(error.to_string()))?;
        let UseKeyRequest { public_key } = serde_json::from_slice(&body.to_bytes())
            .map_err(|error| RotationError::Malformed(error.to_string()))?;
        let key = PublicKey::parse(&public_key)
            .map_err(|error| RotationError::Malformed(error.to_string()))?;
        info!(
            public_key,
            "the server bound the agent's new key; opening a tunnel with the key"
        );
        self.target.send_replace(Some(key));
        Ok(())
    }
}

/// The handler of requests for the key of one tunnel's agent.
#[derive(Debug)]
pub(crate) struct TunnelKeys<E> {
    pub(crate) rotation: Arc<KeyRotation<E>>,
    /// The key that authenticated the tunnel.
    pub(crate) member: Arc<Membership>,
}

impl<E: Enrollment + std::fmt::Debug + 'static> LaneHandler for TunnelKeys<E> {
    fn handle(
        &self,
        _: &TunnelContext,
        request: Request<Incoming>,
    ) -> BoxFuture<'static, Response<Body>> {
        let (rotation, member) = (Arc::clone(&self.rotation), Arc::clone(&self.member));
        Box::pin(async move {
            if request.uri().path() == NEXT_KEY_PATH {
                let next = rotation.next(&member).await;
                next.map_or_else(|error| refused(&error), |next| json(&next))
            } else {
                let requested = rotation.use_key(request).await;
                let done = |()| Response::new(boxed(Empty::<Bytes>::new()));
                requested.map_or_else(|error| refused(&error), done)
            }
        })
    }
}

fn json(next: &NextKey) -> Response<Body> {
    let json = serde_json::to_vec(next).expect("a public key can be serialized as JSON");
    let mut response = Response::new(boxed(Full::from(json)));
    let content = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, content);
    response
}

fn refused(error: &RotationError) -> Response<Body> {
    let message = error_chain(error);
    warn!(error = message, "refused a request for the agent's key");
    status_response(error.code(), "KeyNotReplaced", &message)
}
