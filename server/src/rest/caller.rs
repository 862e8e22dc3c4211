//! Who calls a route, as its handler demands.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath};
use drover_access::grants::Place;
use drover_access::identity::Identity;
use drover_access::same_origin::Head;
use drover_api::kinds::{Token, TokenPurpose};
use http::Method;
use http::request::Parts;
use kube::{Resource, ResourceExt as _};

use super::RestState;
use super::audited::{Noted, identify};
use crate::audit::Person;
use drover_http_edge::status::Status;
use drover_hub::visibility::Sight;

/// Anybody with a valid token, one that only allows a password change included.
#[derive(Debug)]
pub struct AnyToken(pub Identity);

/// A token whose secret the request shows, whatever it is worth still.
#[derive(Debug)]
pub struct Held(pub Arc<Token>);

/// A person, by a token that is not limited to one cluster or one purpose.
#[derive(Debug)]
pub struct Caller(pub Identity);

/// A person whose roles on the hub let them make clusters.
#[derive(Debug)]
pub struct Importer(pub Identity);

/// A person whose roles on the hub let them do to objects of a kind what the method does.
#[derive(Debug)]
pub struct OnHub<K> {
    /// The person.
    pub caller: Identity,
    kind: PhantomData<fn() -> K>,
}

/// A person who may do everything.
#[derive(Debug)]
pub struct Administrator(pub Identity);

impl FromRequestParts<RestState> for AnyToken {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &RestState) -> Result<Self, Status> {
        let head = Head::from(&*parts);
        let identity = identify(&state.authenticator, head, &parts.extensions).await?;
        Ok(Self(identity))
    }
}

impl FromRequestParts<RestState> for Held {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &RestState) -> Result<Self, Status> {
        let token = state.authenticator.held(Head::from(&*parts)).await?;
        Noted::of(&parts.extensions).who(Person {
            name: token.spec.user_name.as_str().into(),
            uid: token.spec.user_uid.as_str().into(),
            token: Some(token.name_any().into()),
            acting_as: None,
        });
        Ok(Self(token))
    }
}

impl FromRequestParts<RestState> for Caller {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &RestState) -> Result<Self, Status> {
        let AnyToken(identity) = AnyToken::from_request_parts(parts, state).await?;
        check_token(&identity)?;
        Ok(Self(identity))
    }
}

impl FromRequestParts<RestState> for Importer {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &RestState) -> Result<Self, Status> {
        let Caller(identity) = Caller::from_request_parts(parts, state).await?;
        Sight::of(state.hub.stores(), &identity).must("create", "clusters", &Place::Hub)?;
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
        Sight::of(state.hub.stores(), &caller).must(verb, &K::plural(&()), &Place::Hub)?;
        let kind = PhantomData;
        Ok(Self { caller, kind })
    }
}

impl FromRequestParts<RestState> for Administrator {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &RestState) -> Result<Self, Status> {
        let AnyToken(identity) = AnyToken::from_request_parts(parts, state).await?;
        check_administrator(&identity)?;
        Ok(Self(identity))
    }
}

/// Refuses all but administrators, by a token that is good for this API.
pub(crate) fn check_administrator(identity: &Identity) -> Result<(), Status> {
    check_token(identity)?;
    if identity.administrator {
        Ok(())
    } else {
        Err(Status::forbidden(
            "only an administrator may do this; ask one",
        ))
    }
}

/// Refuses tokens that were handed out for something narrower than this API.
pub(crate) fn check_token(identity: &Identity) -> Result<(), Status> {
    let token = &identity.token;
    if token.cluster.is_some() {
        return Err(Status::forbidden(
            "this token works on one cluster only and nowhere else; use your login",
        ));
    }
    match token.purpose {
        TokenPurpose::Session | TokenPurpose::Browser | TokenPurpose::Api => Ok(()),
        TokenPurpose::PasswordChange => Err(Status::forbidden(
            "set a new password first: run \"drover login\" again or POST /v1/me/password",
        )),
        TokenPurpose::Kubeconfig | TokenPurpose::Credential => Err(Status::forbidden(
            "this token was made for kubectl and works on clusters only; use your login",
        )),
    }
}

#[cfg(test)]
mod tests {
    use drover_access::identity::TokenLimits;
    use drover_api::ids::{ClusterUid, UserUid};
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_token_handed_out_for_a_cluster_opens_nothing_else() {
        use TokenPurpose::{Api, Browser, Credential, Kubeconfig, PasswordChange, Session};
        for (purpose, cluster, allowed) in [
            (Session, None, true),
            (Browser, None, true),
            (Api, None, true),
            (Api, Some("c"), false),
            (Session, Some("c"), false),
            (Kubeconfig, None, false),
            (Kubeconfig, Some("c"), false),
            (Credential, None, false),
            (PasswordChange, None, false),
        ] {
            let identity = Identity {
                user_uid: UserUid::new("u"),
                user_name: "ann".to_owned(),
                display_name: None,
                administrator: true,
                groups: Vec::new(),
                token: TokenLimits {
                    id: "t".to_owned(),
                    purpose,
                    cluster: cluster.map(ClusterUid::new),
                    provider: None,
                    expires_at: Timestamp::MAX,
                },
            };
            let verdict = check_token(&identity);
            assert_eq!(verdict.is_ok(), allowed, "{purpose:?} {cluster:?}");
        }
    }
}
