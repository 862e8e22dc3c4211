//! Routes for login, logout, and the caller's own user.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, State};
use drover_access::names::UserName;
use drover_api::kinds::{Token, User};
use drover_api::rest::{IssuedToken, LoginRequest, Me, PasswordChange, Secret};
use http::StatusCode;
use kube::ResourceExt as _;
use secrecy::{ExposeSecret as _, SecretString};

use crate::RestState;
use crate::accounts::tokens::view;
use drover_audit::AuditCaller;
use drover_audit::AuditNotes;
use drover_http_edge::body::Json;
use drover_http_edge::status::Status;
use drover_http_edge::unauthenticated::UnauthenticatedJson;
use drover_hub::Stores;
use drover_hub::visibility::Visibility;
use drover_identity::caller::{AnyToken, PresentedToken};
use drover_identity::{LoginClient, tokens};

/// Logs in a local user with a password.
#[utoipa::path(post, path = "/v1/login", tag = "me", request_body = LoginRequest,
    responses((status = 201, body = IssuedToken)))]
pub(crate) async fn login(
    State(state): State<RestState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    noted: AuditNotes,
    UnauthenticatedJson(request): UnauthenticatedJson<LoginRequest>,
) -> Result<(StatusCode, axum::Json<IssuedToken>), Status> {
    let (secret, token) = log_in(&state, peer, &noted, request, LoginClient::Program).await?;
    let issued = IssuedToken {
        token: Secret::new(secret.expose_secret()),
        metadata: view(&token),
    };
    Ok((StatusCode::CREATED, axum::Json(issued)))
}

/// Logs in a local user with a password, and adds the user to the audit record.
pub(crate) async fn log_in(
    state: &RestState,
    peer: SocketAddr,
    noted: &AuditNotes,
    request: LoginRequest,
    by: LoginClient,
) -> Result<(SecretString, Token), Status> {
    state.hub.stores().health().check()?;
    // Record only existing names, because the name can be a password that was entered in the wrong
    // field.
    if let Some(user) = state.hub.stores().users.by_name(&request.username) {
        noted.about(&user.name_any());
    }
    let password = SecretString::from(request.password.expose());
    let (secret, token) = state
        .logins
        .login(&request.username, password, peer.ip(), by)
        .await?;
    signed_in(state, peer, noted, &token);
    Ok((secret, token))
}

/// Adds the user of a login to the audit record. Also records the network address of the login.
pub(crate) fn signed_in(state: &RestState, peer: SocketAddr, noted: &AuditNotes, token: &Token) {
    noted.who(AuditCaller {
        name: token.spec.user_name.as_str().into(),
        uid: token.spec.user_uid.as_str().into(),
        token: Some(token.name_any().into()),
        acting_as: None,
    });
    state
        .sign_in_sources
        .record(&token.spec.user_uid, peer.ip());
}

/// Deletes the token in the request. The token can be expired or revoked.
#[utoipa::path(post, path = "/v1/logout", tag = "me", responses((status = 204)))]
pub(crate) async fn logout(
    State(state): State<RestState>,
    PresentedToken(token): PresentedToken,
) -> Result<StatusCode, Status> {
    tokens::delete(&state.hub, &token).await?;
    state
        .provider_logouts
        .revoke_provider_tokens(&token.spec.user_uid);
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the user of the token in the request.
#[utoipa::path(get, path = "/v1/me", tag = "me", responses((status = 200, body = Me)))]
pub(crate) async fn me(
    State(state): State<RestState>,
    AnyToken(caller): AnyToken,
) -> Result<axum::Json<Me>, Status> {
    let stores = state.hub.stores();
    let user = stores.users.by_uid(caller.user_uid.as_str());
    let token = stores.tokens.by_name(&caller.token.id);
    Ok(axum::Json(describe(
        stores,
        user.as_deref(),
        token.as_deref(),
    )?))
}

/// Reads the user and the token of the request from the stores, and returns their description.
pub(crate) fn describe(
    stores: &Stores,
    user: Option<&User>,
    token: Option<&Token>,
) -> Result<Me, Status> {
    let (Some(user), Some(token)) = (user, token) else {
        return Err(Status::unavailable(
            "the server has not loaded the new token yet; try again",
            1,
        ));
    };
    Ok(Me {
        kubernetes_user: UserName::of(&token.spec.user_uid).to_string(),
        username: user.name_any(),
        display_name: user.spec.display_name.clone(),
        administrator: user.spec.administrator,
        must_change_password: user.spec.must_change_password,
        token: view(token),
        rights: Visibility::of_user(stores, user).caller_rights(),
    })
}

/// Changes the caller's password. The caller's other sessions end.
#[utoipa::path(post, path = "/v1/me/password", tag = "me", request_body = PasswordChange,
    responses((status = 204)))]
pub(crate) async fn change_password(
    State(state): State<RestState>,
    AnyToken(caller): AnyToken,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Json(request): Json<PasswordChange>,
) -> Result<StatusCode, Status> {
    if caller.token.cluster.is_some() {
        return Err(Status::forbidden(
            "this token is limited to one cluster; use a token of \"drover login\"",
        ));
    }
    let current = SecretString::from(request.current.expose());
    let new = SecretString::from(request.new.expose());
    state
        .logins
        .change_password(&caller, current, new, peer.ip())
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
