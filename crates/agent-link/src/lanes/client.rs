//! A Kubernetes client that acts as a service account in the agent's namespace.

use std::sync::Arc;

use http::header::{AUTHORIZATION, HOST};
use http::{HeaderValue, Request, StatusCode};

use super::tokens::{Account, LaneTokens};
use crate::upstream::{Upstream, boxed};

/// Returns a client that sends requests to `upstream` and authenticates with the token of `account`.
pub fn lane_client(
    upstream: &Upstream,
    tokens: &Arc<LaneTokens>,
    account: impl Into<Account>,
    namespace: &str,
) -> kube::Client {
    let (upstream, tokens) = (upstream.clone(), Arc::clone(tokens));
    let account = account.into();
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (upstream, tokens) = (upstream.clone(), Arc::clone(&tokens));
        async move {
            let authorization = tokens.authorization(account).await?;
            let mut request = request.map(boxed);
            request
                .headers_mut()
                .insert(AUTHORIZATION, authorization.clone());
            let host = HeaderValue::from_str(upstream.authority().as_str())?;
            request.headers_mut().insert(HOST, host);
            let response = upstream.send(request).await?;
            if response.status() == StatusCode::UNAUTHORIZED {
                tokens.discard(account, &authorization);
            }
            Ok::<_, drover_tunnel::BoxError>(response)
        }
    });
    kube::Client::new(service, namespace)
}
