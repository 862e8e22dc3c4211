//! Who calls a route, as its handler demands.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequestParts, MatchedPath};
use drover_access::grants::Place;
use drover_access::identity::Identity;
use http::Method;
use http::request::Parts;
use kube::Resource;

use super::RestState;
use drover_http_edge::status::Status;
use drover_hub::visibility::Visibility;
use drover_identity::Authenticator;
use drover_identity::caller::Caller;

/// A person whose roles on the hub let them make clusters.
#[derive(Debug)]
pub(crate) struct Importer(pub Identity);

/// A person whose roles on the hub let them do to objects of a kind what the method does.
#[derive(Debug)]
pub(crate) struct OnHub<K> {
    /// The person.
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
        Visibility::of(state.hub.stores(), &identity).require("create", "clusters", &Place::Hub)?;
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
            // A POST below an object, such as a new password, changes that object.
            Method::POST if below => "update",
            Method::POST => "create",
            Method::PUT | Method::PATCH => "update",
            Method::DELETE => "delete",
            _ if one => "get",
            _ => "list",
        };
        Visibility::of(state.hub.stores(), &caller).require(verb, &K::plural(&()), &Place::Hub)?;
        let kind = PhantomData;
        Ok(Self { caller, kind })
    }
}
