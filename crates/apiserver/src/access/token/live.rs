//! Checks that the objects in a token's claims still exist.

use jiff::Timestamp;
use serde_json::Value;

use super::LEEWAY_SECONDS;
use super::claims::{Claims, NameAndUid};
use crate::access::Objects;
use crate::access::authenticate::AuthenticateError;
use crate::status::ApiError;

const INVALIDATED: &str = "service account token has been invalidated";

/// Checks that the service account and the bound object exist with the UIDs in the claims.
pub(super) async fn check(
    objects: &dyn Objects,
    claims: &Claims,
    now: Timestamp,
) -> Result<(), AuthenticateError> {
    let subject = &claims.subject;
    let namespace = subject.namespace.as_str();
    check_account(objects, namespace, &subject.serviceaccount, now).await?;
    if let Some(secret) = subject.secret() {
        let claim = "service account secret ref claim";
        check_bound(objects, "secret", claim, namespace, secret, now).await?;
    }
    if let Some(pod) = subject.pod() {
        let claim = "service account pod ref claim";
        return check_bound(objects, "pod", claim, namespace, pod, now).await;
    }
    // With a bound pod, the node claim is informational.
    if let Some(node) = &subject.node {
        let claim = "service account node ref claim";
        check_bound(objects, "node", claim, "", node, now).await?;
    }
    Ok(())
}

async fn check_account(
    objects: &dyn Objects,
    namespace: &str,
    account: &NameAndUid,
    now: Timestamp,
) -> Result<(), AuthenticateError> {
    let resource = "serviceaccounts";
    let live = objects
        .find("", resource, namespace, &account.name)
        .await
        .map_err(|error| AuthenticateError(error.message))?
        .ok_or_else(|| {
            AuthenticateError(ApiError::not_found("", resource, &account.name).message)
        })?;
    let uid = uid_of(&live);
    if uid != account.uid {
        let claim = &account.uid;
        let text = format!("service account UID ({uid}) does not match claim ({claim})");
        return Err(AuthenticateError(text));
    }
    if is_gone(&live, now) {
        let name = &account.name;
        let text = format!("service account {namespace}/{name} has been deleted");
        return Err(AuthenticateError(text));
    }
    Ok(())
}

async fn check_bound(
    objects: &dyn Objects,
    singular: &str,
    claim: &str,
    namespace: &str,
    bound: &NameAndUid,
    now: Timestamp,
) -> Result<(), AuthenticateError> {
    let invalidated = || AuthenticateError(INVALIDATED.to_owned());
    let live = objects
        .find("", &format!("{singular}s"), namespace, &bound.name)
        .await
        .map_err(|error| AuthenticateError(error.message))?
        .ok_or_else(invalidated)?;
    let uid = uid_of(&live);
    if uid != bound.uid {
        let text = format!(
            "{singular} UID ({uid}) does not match {claim} ({})",
            bound.uid
        );
        return Err(AuthenticateError(text));
    }
    if is_gone(&live, now) {
        return Err(invalidated());
    }
    Ok(())
}

fn uid_of(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Reports whether the time since the object's deletion timestamp exceeds the tolerated clock skew.
fn is_gone(object: &Value, now: Timestamp) -> bool {
    object["metadata"]["deletionTimestamp"]
        .as_str()
        .and_then(|text| text.parse::<Timestamp>().ok())
        .is_some_and(|deleted| deleted.as_second() < now.as_second() - LEEWAY_SECONDS)
}
