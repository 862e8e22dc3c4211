//! `POST /v1/agent/register`: binds a cluster's key to its Cluster. A key can be bound only once.
//!
//! The server performs three writes. The first write claims the key (`claim`). The second write
//! binds the key with a compare-and-swap on the Cluster's status. The third write deletes the
//! token. If the server crashes after the first write, the same Cluster can register with the
//! claim. If the server crashes after the second write, the token still exists. A Cluster with a
//! bound key does not accept the token.

use drover_access::proof::{PublicKey, register_message};
use drover_access::token::{RegistrationToken, TokenHash};
use drover_api::agent::{RegisterRequest, RegisterResponse};
use drover_api::ids::ClusterUid;
use drover_api::kinds::{Cluster, ClusterRegistrationToken, Registration};
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;

use super::RegistrationState;
use super::claim::{self, Claim};
use super::decide::{Observed, Refusal, RegistrationDecision, TokenState, bound_key, decide};
use drover_http_edge::status::Status;
use drover_hub::{Hub, HubError, call};

/// Maximum number of attempts to bind the key while concurrent writes change the Cluster.
pub(super) const MAX_ATTEMPTS: usize = 8;

/// Returns the bearer token of a registration request, or `None` if the request has no credential.
pub fn presented(headers: &HeaderMap) -> Result<Option<RegistrationToken>, Status> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let malformed = || {
        Status::unauthorized(
            "send exactly one registration token as \"Authorization: Bearer droverimport_…\"",
        )
    };
    if values.next().is_some() {
        return Err(malformed());
    }
    let text = value.to_str().map_err(|_| malformed())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(malformed());
    }
    RegistrationToken::parse(token)
        .map(Some)
        .ok_or_else(malformed)
}

/// Binds the key in a registration request to the Cluster in the request.
pub async fn register(
    state: &RegistrationState,
    headers: &HeaderMap,
    request: &RegisterRequest,
) -> Result<RegisterResponse, Status> {
    let token = presented(headers)?;
    let key = PublicKey::parse(&request.public_key)
        .map_err(|error| Status::invalid("publicKey", error.to_string()))?;
    let token_id = token.as_ref().map_or("", |token| token.id());
    let message = register_message(&request.cluster_uid, &key, token_id);
    let signed = key.verify(&message, &request.signature).is_ok();
    for _ in 0..MAX_ATTEMPTS {
        let cluster = current_cluster(&state.hub, &request.cluster_uid).await?;
        let decision = decide(&Observed {
            cluster: cluster.as_ref(),
            key: &key,
            signed,
            token: token_state(&state.hub, token.as_ref(), &request.cluster_uid).await?,
            held_by: holder(&state.hub, &key, &request.cluster_uid).as_deref(),
        });
        let Some(cluster) = cluster else {
            return Err(refusal(&Refusal::NoSuchCluster));
        };
        let cluster = match decision {
            Err(refused) => return Err(refuse(state, &cluster, &refused).await),
            Ok(RegistrationDecision::AlreadyBound) => cluster,
            Ok(RegistrationDecision::Bind { token_id }) => {
                match claim::take(&state.hub, &key, &cluster).await? {
                    Claim::Ours => {}
                    Claim::Changed => continue,
                    Claim::OfOther(name) => {
                        let refused = Refusal::KeyOfOtherCluster(name);
                        return Err(refuse(state, &cluster, &refused).await);
                    }
                }
                match bind(&state.hub, cluster, &key, token_id).await? {
                    Some(bound) => bound,
                    // Another writer, for example the other replica, changed the Cluster. Retry.
                    None => continue,
                }
            }
        };
        spend_token(&state.hub, token.as_ref(), &request.cluster_uid).await;
        state.hub.stores().clusters.wait_for(&cluster).await;
        let note = format!(
            "the cluster's key is bound; agent {}",
            version(&request.agent_version)
        );
        state.notices.inform(&cluster, "Registered", &note).await;
        return Ok(RegisterResponse {
            cluster_name: cluster.name_any(),
            cluster_uid: request.cluster_uid.clone(),
        });
    }
    Err(Status::unavailable(
        "cannot register the cluster: concurrent requests change the Cluster; try again",
        1,
    ))
}

/// Returns the agent's version, truncated and limited to printable characters.
pub(super) fn version(reported: &str) -> String {
    reported
        .chars()
        .filter(char::is_ascii_graphic)
        .take(64)
        .collect()
}

/// Reads the Cluster with a UID from the hub, because the stores can be out of date.
pub(super) async fn current_cluster(
    hub: &Hub,
    uid: &ClusterUid,
) -> Result<Option<Cluster>, HubError> {
    let Some(known) = hub.stores().clusters.by_uid(uid.as_str()) else {
        return Ok(None);
    };
    let found = call("read a cluster", hub.clusters().get_opt(&known.name_any())).await?;
    Ok(found.filter(|cluster| cluster.uid().as_deref() == Some(uid.as_str())))
}

/// Checks a presented token for a Cluster. The duration of the check does not depend on the result.
pub(super) async fn token_state(
    hub: &Hub,
    token: Option<&RegistrationToken>,
    cluster: &ClusterUid,
) -> Result<TokenState, HubError> {
    let Some(token) = token else {
        return Ok(TokenState::Absent);
    };
    let api = hub.registration_tokens();
    let stored = call("read a registration token", api.get_opt(token.id())).await?;
    let hash = stored
        .as_ref()
        .map_or_else(TokenHash::of_nothing, |stored| {
            TokenHash::stored(&stored.spec.hash)
        });
    let matches = token.matches(&hash);
    Ok(match stored {
        Some(stored) if matches => {
            if Timestamp::now() >= stored.spec.expires_at.0 {
                TokenState::Expired
            } else if stored.spec.cluster_uid != *cluster {
                TokenState::OtherCluster
            } else {
                TokenState::Valid {
                    id: token.id().to_owned(),
                }
            }
        }
        _ => TokenState::Invalid,
    })
}

/// Returns the name of a different Cluster to which a key is bound.
pub(super) fn holder(hub: &Hub, key: &PublicKey, uid: &ClusterUid) -> Option<String> {
    let encoded = key.encode();
    let clusters = hub.stores().clusters.all();
    let other = clusters.iter().find(|cluster| {
        bound_key(cluster) == Some(&encoded) && cluster.uid().as_deref() != Some(uid.as_str())
    });
    other.map(|cluster| cluster.name_any())
}

/// Binds the key to the Cluster. Returns `None` if the Cluster has changed since the caller read
/// the Cluster.
pub(super) async fn bind(
    hub: &Hub,
    mut cluster: Cluster,
    key: &PublicKey,
    token_id: String,
) -> Result<Option<Cluster>, HubError> {
    cluster.status.get_or_insert_default().registration = Some(Registration {
        public_key: key.encode(),
        previous_key: None,
        bound_at: Time(Timestamp::now()),
        token_id,
    });
    replace_unless_changed(hub, "bind a cluster's key", &cluster).await
}

/// Replaces the status of a Cluster. Returns `None` if the Cluster has changed since the caller read
/// the Cluster.
pub(super) async fn replace_unless_changed(
    hub: &Hub,
    operation: &'static str,
    cluster: &Cluster,
) -> Result<Option<Cluster>, HubError> {
    // The caller uses the returned Cluster. Later requests of the agent read the hub.
    let writer = hub.writer().without_wait();
    match writer.replace_status(operation, cluster).await {
        Ok(replaced) => Ok(Some(replaced)),
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Deletes the used token of a registered Cluster.
///
/// The registration succeeds even if the deletion fails. A Cluster with a bound key accepts no
/// token, and the controller deletes the token later.
async fn spend_token(hub: &Hub, token: Option<&RegistrationToken>, cluster: &ClusterUid) {
    let Some(token) = token else { return };
    if !matches!(
        token_state(hub, Some(token), cluster).await,
        Ok(TokenState::Valid { .. })
    ) {
        return;
    }
    let operation = "delete a used registration token";
    // A Cluster with a bound key accepts no token, so the response needs no wait.
    let writer = hub.writer::<ClusterRegistrationToken>().without_wait();
    let deleted = match hub.stores().registration_tokens.by_name(token.id()) {
        Some(stored) => writer.delete(operation, &stored).await,
        None => writer.delete_by_name(operation, token.id()).await,
    };
    if let Err(error) = deleted
        && !error.is_not_found()
    {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            token = token.id(),
            "failed to delete a used registration token"
        );
    }
}

/// Returns the response to a refused registration, and writes an Event on the Cluster.
async fn refuse(state: &RegistrationState, cluster: &Cluster, refused: &Refusal) -> Status {
    tracing::warn!(
        cluster = cluster.name_any(),
        reason = refused.reason(),
        "rejected the registration of an agent"
    );
    let note = format!("rejected a registration: {refused}");
    state.notices.warn(cluster, refused.reason(), &note).await;
    refusal(refused)
}

pub(super) fn refusal(refused: &Refusal) -> Status {
    let code = match refused {
        Refusal::NoSuchCluster => StatusCode::NOT_FOUND,
        Refusal::ClusterDeleted => StatusCode::GONE,
        Refusal::AlreadyRegistered | Refusal::KeyOfOtherCluster(_) => StatusCode::CONFLICT,
        Refusal::BadSignature
        | Refusal::TokenRequired
        | Refusal::TokenInvalid
        | Refusal::TokenExpired => StatusCode::UNAUTHORIZED,
        Refusal::TokenOfOtherCluster => StatusCode::FORBIDDEN,
    };
    let kubernetes = match code {
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::GONE => "Gone",
        StatusCode::CONFLICT => "Conflict",
        StatusCode::FORBIDDEN => "Forbidden",
        _ => "Unauthorized",
    };
    let message = refused.to_string();
    Status::new(code, kubernetes, &message).because("", refused.reason(), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_without_exactly_one_registration_token_is_rejected() {
        let good = format!("Bearer droverimport_{}_{}", "b".repeat(12), "2".repeat(32));
        let user = format!("Bearer drover_{}_{}", "b".repeat(12), "2".repeat(32));
        let some = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value.parse().unwrap());
            }
            presented(&headers)
                .map(|token| token.is_some())
                .map_err(|status| status.code().as_u16())
        };
        assert_eq!(some(&[]), Ok(false));
        assert_eq!(some(&[&good]), Ok(true));
        for bad in [
            &[user.as_str()][..],
            &[""],
            &["Bearer"],
            &["Bearer "],
            &["Basic x"],
            &[&good, &good],
        ] {
            assert_eq!(some(bad), Err(401), "{bad:?}");
        }
    }
}
