//! Axum extractors for the caller of a route.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use drover_access::identity::Identity;
use drover_access::same_origin::Head;
use drover_api::kinds::{Token, TokenPurpose};
use drover_http_edge::listen::ConnectionSlot;
use drover_http_edge::status::Status;
use http::Extensions;
use http::request::Parts;
use kube::ResourceExt as _;

use super::Authenticator;
use drover_audit::{AuditCaller, AuditNotes};

/// A user with a valid token of any purpose. The token can be limited to a password change.
#[derive(Debug)]
pub struct AnyToken(pub Identity);

/// The token of the request. The token may have expired.
#[derive(Debug)]
pub struct PresentedToken(pub Arc<Token>);

/// A user with a token that is not limited to one cluster or one purpose.
#[derive(Debug)]
pub struct Caller(pub Identity);

/// A user who is an administrator.
#[derive(Debug)]
pub struct Administrator(pub Identity);

impl<S> FromRequestParts<S> for AnyToken
where
    Authenticator: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Status> {
        let head = Head::from(&*parts);
        let identity = identify(&Authenticator::from_ref(state), head, &parts.extensions).await?;
        Ok(Self(identity))
    }
}

impl<S> FromRequestParts<S> for PresentedToken
where
    Authenticator: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Status> {
        let token = Authenticator::from_ref(state)
            .presented_token(Head::from(&*parts))
            .await?;
        AuditNotes::of(&parts.extensions).who(AuditCaller {
            name: token.spec.user_name.as_str().into(),
            uid: token.spec.user_uid.as_str().into(),
            token: Some(token.name_any().into()),
            acting_as: None,
        });
        Ok(Self(token))
    }
}

impl<S> FromRequestParts<S> for Caller
where
    Authenticator: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Status> {
        let AnyToken(identity) = AnyToken::from_request_parts(parts, state).await?;
        check_token(&identity)?;
        Ok(Self(identity))
    }
}

impl<S> FromRequestParts<S> for Administrator
where
    Authenticator: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Status> {
        let AnyToken(identity) = AnyToken::from_request_parts(parts, state).await?;
        check_administrator(&identity)?;
        Ok(Self(identity))
    }
}

/// Identifies the caller, and records the caller for the audit log.
pub async fn identify(
    authenticator: &Authenticator,
    head: Head<'_>,
    extensions: &Extensions,
) -> Result<Identity, Status> {
    let identity = authenticator.identify(head).await?;
    AuditNotes::of(extensions).who(AuditCaller::from(&identity));
    if let Some(slot) = extensions.get::<ConnectionSlot>() {
        slot.authenticated();
    }
    Ok(identity)
}

/// Returns an error with status 403 unless the caller is an administrator with a token for this
/// API.
pub fn check_administrator(identity: &Identity) -> Result<(), Status> {
    check_token(identity)?;
    if identity.administrator {
        Ok(())
    } else {
        Err(Status::forbidden(
            "this operation requires an administrator; ask an administrator",
        ))
    }
}

/// Returns an error with status 403 if the token is limited to a cluster or a purpose.
pub fn check_token(identity: &Identity) -> Result<(), Status> {
    let token = &identity.token;
    if token.cluster.is_some() {
        return Err(Status::forbidden(
            "this token is limited to one cluster; use a token of \"drover login\"",
        ));
    }
    match token.purpose {
        TokenPurpose::Session | TokenPurpose::Browser | TokenPurpose::Api => Ok(()),
        TokenPurpose::PasswordChange => Err(Status::forbidden(
            "this token is valid only for setting a new password: run \"drover login\" again or \
             POST /v1/me/password",
        )),
        TokenPurpose::Kubeconfig | TokenPurpose::Credential => Err(Status::forbidden(
            "this token is valid only for requests to clusters; use a token of \"drover login\"",
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
    fn caller_with_token_scoped_to_a_cluster_is_rejected_by_the_rest_api() {
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
            let result = check_token(&identity);
            assert_eq!(result.is_ok(), allowed, "{purpose:?} {cluster:?}");
        }
    }
}
