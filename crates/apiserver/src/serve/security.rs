//! The security steps of a request: authentication, impersonation, queueing and authorization.

use std::sync::Arc;

use crate::access::{
    Attributes, Bearer, Caller, Target, bearer, forbidden, with_authenticated_group,
};
use crate::serve::exchange::Exchange;
use crate::serve::limits::fair::{Priority, Slot, WatchSlot};
use crate::status::ApiError;

/// The queue slots that a request occupies.
pub(crate) enum RequestSlot {
    /// A slot for a short request. The request occupies the slot until the response.
    Running(#[expect(dead_code, reason = "held until the response is complete")] Slot),
    /// Two slots for a watch. The watch occupies the first slot until the stream starts.
    Watching(Slot, WatchSlot),
    /// A request that occupies no slot.
    Exempt,
}

/// Authenticates the request: by the request extension with a caller from this process, or by the
/// bearer token.
pub(crate) async fn authenticate(
    exchange: &mut Exchange,
    in_process: Option<Caller>,
) -> Result<(), ApiError> {
    if let Some(caller) = in_process {
        exchange.set_requestor(with_authenticated_group(caller));
        return Ok(());
    }
    let token = match bearer(&exchange.headers) {
        Bearer::Token(token) => token.to_owned(),
        Bearer::None => return Ok(()),
        Bearer::Ignored(why) => {
            exchange.warn(why);
            return Ok(());
        }
    };
    // Later code does not need the secret.
    exchange.headers.remove(http::header::AUTHORIZATION);
    let shared = Arc::clone(&exchange.shared);
    let audiences = &shared.tokens.options().audiences;
    match shared.authenticator.authenticate(&token, audiences).await {
        Ok(Some(found)) if found.audiences.is_empty() && !audiences.is_empty() => {
            Err(ApiError::unauthorized())
        }
        Ok(Some(found)) => {
            exchange.set_requestor(with_authenticated_group(found.caller));
            Ok(())
        }
        Ok(None) => Err(ApiError::unauthorized()),
        Err(error) => {
            tracing::debug!(%error, "failed to authenticate a bearer token");
            Err(ApiError::unauthorized())
        }
    }
}

/// Impersonates the user in the `Impersonate-*` headers, if the caller is authorized.
pub(crate) fn impersonate(exchange: &mut Exchange) -> Result<(), ApiError> {
    let shared = Arc::clone(&exchange.shared);
    let mut headers = std::mem::take(&mut exchange.headers);
    let outcome = shared.impersonation.impersonate(
        &mut headers,
        &attributes(exchange, &exchange.caller),
        shared.authorizer.as_ref(),
    );
    exchange.headers = headers;
    if let Some(caller) = outcome? {
        exchange.set_impersonated(caller);
    }
    Ok(())
}

/// Waits for a slot in the queue of the request's caller.
pub(crate) async fn queue(exchange: &Exchange) -> Result<RequestSlot, ApiError> {
    let path = exchange.info.path.as_str();
    let probes = ["/livez", "/readyz", "/healthz"];
    if exchange.info.resource.is_none() && probes.iter().any(|probe| path.starts_with(probe)) {
        return Ok(RequestSlot::Exempt);
    }
    let fair = &exchange.shared.fair;
    // The limit applies to the effective user, as in kube-apiserver. Otherwise all users of a proxy
    // would share one limit.
    let caller = exchange.caller.name.as_str();
    let priority = priority(&exchange.caller);
    if exchange.info.verb == "watch" {
        let watch = fair.watch(caller)?;
        return Ok(RequestSlot::Watching(
            fair.enter(caller, priority).await?,
            watch,
        ));
    }
    Ok(RequestSlot::Running(fair.enter(caller, priority).await?))
}

/// Returns the priority of a caller. Privileged callers are the embedding program's controllers.
/// All other requests depend on these controllers.
fn priority(caller: &Caller) -> Priority {
    if caller.groups.iter().any(|group| group == "system:masters") {
        Priority::Reserved
    } else {
        Priority::Usual
    }
}

/// Authorizes the request. Returns 403 if the caller lacks the permission.
pub(crate) fn authorize(exchange: &Exchange) -> Result<(), ApiError> {
    let attributes = attributes(exchange, &exchange.caller);
    let decision = exchange.shared.authorizer.authorize(&attributes);
    if decision.allowed {
        Ok(())
    } else {
        Err(forbidden(&attributes, &decision.reason))
    }
}

fn attributes<'a>(exchange: &'a Exchange, caller: &'a Caller) -> Attributes<'a> {
    let target = match &exchange.info.resource {
        None => Target::Path(&exchange.info.path),
        Some(path) => Target::Resource {
            group: &path.group,
            version: &path.version,
            resource: &path.resource,
            subresource: &path.subresource,
            namespace: &path.namespace,
            name: &path.name,
        },
    };
    Attributes {
        caller,
        verb: &exchange.info.verb,
        target,
    }
}
