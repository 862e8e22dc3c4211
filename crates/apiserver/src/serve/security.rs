//! The steps of the security order.

use std::sync::Arc;

use crate::access::{
    Attributes, Bearer, Caller, Target, bearer, forbidden, with_authenticated_group,
};
use crate::serve::exchange::Exchange;
use crate::serve::limits::fair::{Seat, Standing, WatchSeat};
use crate::status::ApiError;

/// A request's place among those that run.
pub(crate) enum Place {
    /// It is short, and frees its place with its answer.
    Running(#[expect(dead_code, reason = "held until the answer is made")] Seat),
    /// It is a watch; the first place is held until the stream begins.
    Watching(Seat, WatchSeat),
    /// It is answered whatever else runs.
    Exempt,
}

/// Finds out who asks: a caller of this process, or whoever the bearer token belongs to.
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
    // Nothing behind this needs the secret.
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
            tracing::debug!(%error, "a token was refused");
            Err(ApiError::unauthorized())
        }
    }
}

/// Lets the request run as someone else, if it asks for that and the caller may.
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

/// Waits for the caller's turn.
pub(crate) async fn queue(exchange: &Exchange) -> Result<Place, ApiError> {
    let path = exchange.info.path.as_str();
    let probes = ["/livez", "/readyz", "/healthz"];
    if exchange.info.resource.is_none() && probes.iter().any(|probe| path.starts_with(probe)) {
        return Ok(Place::Exempt);
    }
    let fair = &exchange.shared.fair;
    // As kube-apiserver counts: whoever is acted as, or all that one proxy carries would be one.
    let caller = exchange.caller.name.as_str();
    let standing = standing(&exchange.caller);
    if exchange.info.verb == "watch" {
        let watch = fair.watch(caller)?;
        return Ok(Place::Watching(fair.enter(caller, standing).await?, watch));
    }
    Ok(Place::Running(fair.enter(caller, standing).await?))
}

/// Who may do everything is who everything stands on: the embedding program's own controllers.
fn standing(caller: &Caller) -> Standing {
    if caller.groups.iter().any(|group| group == "system:masters") {
        Standing::Reserved
    } else {
        Standing::Usual
    }
}

/// Asks whether the caller may.
pub(crate) fn authorize(exchange: &Exchange) -> Result<(), ApiError> {
    let attributes = attributes(exchange, &exchange.caller);
    let verdict = exchange.shared.authorizer.authorize(&attributes);
    if verdict.allowed {
        Ok(())
    } else {
        Err(forbidden(&attributes, &verdict.reason))
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
