//! Obtains a hub token: requests a challenge, and signs it with the key that the server has bound.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use drover_access::proof::hub_token_message;
use drover_api::agent::{Challenge, ChallengeRequest};
use drover_api::gitops::{HUB_TOKEN_SECONDS, HubToken, HubTokenRequest};
use http::HeaderValue;
use jiff::Timestamp;
use tracing::warn;

use super::{HubPlace, HubTokenError};
use crate::binding::ServerBinding;
use crate::connection::OTHER_KEY_BOUND;
use crate::enrollment::Enrollment;
use crate::error_chain::error_chain;
use crate::key::AgentKey;
use crate::registration::Membership;
use crate::server::{CallError, Proxy, Server};

/// Shortest lifetime that the agent assumes for a token. Kubernetes issues no token with a shorter
/// lifetime. A clock that is ahead of the hub's clock therefore does not cause frequent renewals.
const MIN_LIFETIME: Duration = Duration::from_mins(10);

/// The source of tokens: the agent's enrollment, and the route to the server.
#[derive(Debug)]
pub(super) struct TokenSource<E> {
    pub(super) enrollment: E,
    pub(super) source: Option<IpAddr>,
    pub(super) proxy: Option<Proxy>,
}

/// A token, and the server that issued it.
pub(super) struct Issued {
    pub(super) server: Server,
    pub(super) binding: Arc<ServerBinding>,
    /// Value of the `Authorization` header. The header is marked as sensitive, so that the debug output
    /// of a request does not contain the token.
    pub(super) authorization: HeaderValue,
    /// Time from the issue of the token to its expiry.
    pub(super) lifetime: Duration,
    pub(super) place: HubPlace,
}

impl<E: Enrollment> TokenSource<E> {
    /// Obtains a token with the agent's current key. Registers the key if it is not registered.
    pub(super) async fn obtain(&self, trust_record: bool) -> Result<Issued, HubTokenError> {
        let binding = Arc::new(self.enrollment.binding().await?);
        let server = Server::new(&binding)?
            .dialled_from(self.source)
            .dialled_through(self.proxy.clone());
        let enrolled = self.enrollment.enroll(&binding, &server, trust_record);
        let issued = self.with_bound_key(&server, enrolled.await?).await?;
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", issued.token.expose()))
            .map_err(|_| HubTokenError::MalformedToken)?;
        authorization.set_sensitive(true);
        Ok(Issued {
            server: server.for_requests(),
            authorization,
            lifetime: lifetime(issued.expires_at, Timestamp::now()),
            place: HubPlace {
                cluster_uid: binding.cluster_uid.clone(),
                cluster_namespace: issued.cluster_namespace,
                cluster_name: issued.cluster_name,
                namespace: issued.namespace,
                check_in: issued.check_in,
            },
            binding,
        })
    }

    /// Requests a token with the stored key that the server has bound. This is usually the current key. A
    /// crash during a key rotation can leave a different key bound.
    async fn with_bound_key(
        &self,
        server: &Server,
        member: Membership,
    ) -> Result<HubToken, HubTokenError> {
        let mut refused = match request(server, &member, &member.key).await {
            Ok(issued) => return Ok(issued),
            Err(error) => error,
        };
        for other in &member.other_keys {
            if !OTHER_KEY_BOUND.contains(&refused.reason()) {
                break;
            }
            match request(server, &member, other).await {
                Ok(issued) => {
                    // The agent tries all stored keys, so an error does not prevent the access.
                    if let Err(error) = self.enrollment.use_key(other.public()).await {
                        let error = error_chain(&error);
                        warn!(error, "failed to store which key the server has bound");
                    }
                    return Ok(issued);
                }
                Err(error) => refused = error,
            }
        }
        Err(refused.into())
    }
}

async fn request(
    server: &Server,
    member: &Membership,
    key: &AgentKey,
) -> Result<HubToken, CallError> {
    let cluster_uid = member.cluster_uid.clone();
    let request = ChallengeRequest {
        cluster_uid: cluster_uid.clone(),
    };
    let Challenge { nonce } = server.call("/v1/agent/challenge", None, &request).await?;
    let request = HubTokenRequest {
        signature: key.sign(&hub_token_message(&cluster_uid, &nonce)),
        cluster_uid,
        nonce,
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    server.call("/v1/agent/hub-token", None, &request).await
}

/// Returns the lifetime of a token. The clocks of the agent and of the hub can differ.
fn lifetime(expires_at: Timestamp, now: Timestamp) -> Duration {
    let max = Duration::from_secs(HUB_TOKEN_SECONDS.unsigned_abs());
    let left = Duration::try_from(expires_at.duration_since(now)).unwrap_or_default();
    left.clamp(MIN_LIFETIME, max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetime_of_a_token_is_bounded_if_the_clocks_differ() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (expires_at, now, expected) in [
            (3600, 0, 3600),
            (3600, 1800, 1800),
            (3600, -7200, 3600),
            (3600, 7200, 600),
        ] {
            let lifetime = lifetime(at(expires_at), at(now));
            assert_eq!(lifetime.as_secs(), expected, "{expires_at} {now}");
        }
    }
}
