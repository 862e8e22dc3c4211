//! Extractors that reject a caller without the required permission.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequestParts, MatchedPath};
use drover_access::grants::Scope;
use drover_access::identity::Identity;
use http::Method;
use http::request::Parts;
use kube::Resource;

use super::RestState;
use drover_http_edge::status::Status;
use drover_hub::visibility::Visibility;
use drover_identity::Authenticator;
use drover_identity::caller::Caller;

/// A caller with a global role that allows the creation of clusters.
#[derive(Debug)]
pub(crate) struct Importer(pub Identity);

/// A caller with a global role that allows the verb of the request for objects of the kind `K`. The
/// HTTP method determines the verb, for example `create` for POST.
#[derive(Debug)]
pub(crate) struct OnHub<K> {
    /// The caller's user and token.
    pub caller: Identity,
    kind: PhantomData<fn() -> K>,
}

impl FromRef<RestState> for Authenticator {
    fn from_ref(state: &RestState) -> Self {
        state.authenticator.clone()
    }
}

impl FromRequestParts<RestState> for Importer {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &RestState) -> Result<Self, Status> {
        let Caller(identity) = Caller::from_request_parts(parts, state).await?;
        Visibility::of(state.hub.stores(), &identity).require("create", "clusters", &Scope::Hub)?;
        Ok(Self(identity))
    }
}

impl<K: Resource<DynamicType = ()>> FromRequestParts<RestState> for OnHub<K> {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &RestState) -> Result<Self, Status> {
        let Caller(caller) = Caller::from_request_parts(parts, state).await?;
        let route = parts.extensions.get::<MatchedPath>();
        let below = route.is_some_and(|route| route.as_str().contains('{'));
        let one = route.is_some_and(|route| route.as_str().ends_with('}'));
        let verb = match parts.method {
            // A POST to a path below an object, for example a new password, updates the object.
            Method::POST if below => "update",
            Method::POST => "create",
            Method::PUT | Method::PATCH => "update",
            Method::DELETE => "delete",
            _ if one => "get",
            _ => "list",
        };
        Visibility::of(state.hub.stores(), &caller).require(verb, &K::plural(&()), &Scope::Hub)?;
        let kind = PhantomData;
        Ok(Self { caller, kind })
    }
}
