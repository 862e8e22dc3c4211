//! Routes of browser sessions. The token is in an HttpOnly cookie.
//!
//! The cookie authenticates only requests from the server's own pages
//! ([`drover_access::same_origin`]). Requests that change data must contain the session's CSRF
//! token.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, FromRequestParts, State};
use axum::response::{IntoResponse as _, Response};
use drover_access::credential::{self, Presented, SESSION_COOKIE};
use drover_access::same_origin::{self, Head};
use drover_access::token::UserToken;
use drover_api::ids::UserUid;
use drover_api::kinds::{Token, TokenProvider, TokenPurpose, User};
use drover_api::rest::{LoginRequest, ProviderSignOut, Secret, Session};
use http::header::SET_COOKIE;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};

use super::me::{describe, log_in};
use crate::RestState;
use drover_audit::AuditNotes;
use drover_http_edge::status::Status;
use drover_http_edge::unauthenticated::UnauthenticatedJson;
use drover_hub::Stores;
use drover_identity::caller::{AnyToken, Caller, PresentedToken};
use drover_identity::{LoginClient, tokens};

/// Attributes of the session cookie. Browsers send the cookie only to this host, only over TLS, and
/// only with requests from this site. Scripts cannot read the cookie.
const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Strict";

pub(crate) type SetCookie = [(HeaderName, HeaderValue); 1];

/// Proof that the request does not come from a page of a different origin.
#[derive(Debug)]
pub(crate) struct OwnPage;

/// The CSRF token of the session in the request.
#[derive(Debug)]
pub(crate) struct CsrfToken(Secret);

impl FromRequestParts<RestState> for OwnPage {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, _: &RestState) -> Result<Self, Status> {
        match same_origin::check_origin(Head::from(&*parts)) {
            Ok(()) => Ok(Self),
            Err(error) => Err(Status::forbidden(error.to_string())),
        }
    }
}

impl FromRequestParts<RestState> for CsrfToken {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, _: &RestState) -> Result<Self, Status> {
        let token = match credential::presented(&parts.headers) {
            Ok(Presented::Cookie(cookie)) => UserToken::parse(cookie.expose_secret()),
            _ => None,
        };
        let token = token.ok_or_else(|| {
            Status::bad_request("only browsers have a session; with a bearer token, use GET /v1/me")
        })?;
        Ok(Self(Secret::new(token.csrf_token())))
    }
}

/// Signs in a local user with a password in a browser.
#[utoipa::path(post, path = "/v1/session", tag = "me", request_body = LoginRequest,
    responses((status = 201, body = Session)))]
pub(crate) async fn sign_in(
    State(state): State<RestState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    noted: AuditNotes,
    // Prevent a login by a page of another origin, which could sign in the user as an attacker.
    _: OwnPage,
    headers: HeaderMap,
    UnauthenticatedJson(request): UnauthenticatedJson<LoginRequest>,
) -> Result<(StatusCode, SetCookie, axum::Json<Session>), Status> {
    let (secret, token) = log_in(&state, peer, &noted, request, LoginClient::Browser).await?;
    end_former(&state, state.authenticator.presented_session_id(&headers)).await;
    begin(&state, &secret, &token)
}

/// Ends the browser's former session when a new session starts. The new cookie overwrites the
/// former cookie, so the user could not sign out of the former session later.
pub(crate) async fn end_former(state: &RestState, former: Option<String>) {
    if let Some(former) = former
        && let Err(error) = tokens::delete_by_id(&state.hub, &former).await
    {
        tracing::warn!(%error, "failed to end the browser's previous session");
    }
}

/// Creates the response to a login in a browser.
pub(crate) fn begin(
    state: &RestState,
    secret: &SecretString,
    token: &Token,
) -> Result<(StatusCode, SetCookie, axum::Json<Session>), Status> {
    let user = state
        .hub
        .stores()
        .users
        .by_uid(token.spec.user_uid.as_str());
    let csrf_token = UserToken::parse(secret.expose_secret())
        .map(|token| Secret::new(token.csrf_token()))
        .ok_or_else(|| {
            Status::internal("cannot create the session: the session's token is malformed")
        })?;
    let session = view(state.hub.stores(), user.as_deref(), Some(token), csrf_token)?;
    let cookie = set_cookie(secret, token)?;
    Ok((StatusCode::CREATED, cookie, axum::Json(session)))
}

/// Returns the session that the browser's cookie identifies.
#[utoipa::path(get, path = "/v1/session", tag = "me", responses((status = 200, body = Session)))]
pub(crate) async fn read(
    State(state): State<RestState>,
    AnyToken(caller): AnyToken,
    CsrfToken(csrf_token): CsrfToken,
) -> Result<axum::Json<Session>, Status> {
    let stores = state.hub.stores();
    let user = stores.users.by_uid(caller.user_uid.as_str());
    let token = stores.tokens.by_name(&caller.token.id);
    let session = view(stores, user.as_deref(), token.as_deref(), csrf_token)?;
    Ok(axum::Json(session))
}

/// Ends the browser's session and deletes its cookie. The session can be expired or revoked.
///
/// The response has a body if the browser must also sign out at the identity provider.
#[utoipa::path(delete, path = "/v1/session", tag = "me",
    responses((status = 200, body = ProviderSignOut), (status = 204)))]
pub(crate) async fn sign_out(
    State(state): State<RestState>,
    presented: Result<PresentedToken, Status>,
) -> Result<Response, Response> {
    let ended = match presented {
        Ok(PresentedToken(token)) => tokens::delete(&state.hub, &token)
            .await
            .map_err(Status::from)
            .map(|()| token),
        Err(status) => Err(status),
    };
    let token = ended.map_err(|status| {
        // Keep the cookie if a page of another origin sent the request.
        if status.code() == StatusCode::FORBIDDEN {
            status.into_response()
        } else {
            (deleted_cookie(), status).into_response()
        }
    })?;
    let spec = &token.spec;
    // Sign out at the provider only for a valid session, because the response contains data of the
    // provider.
    let browsers = spec.purpose == TokenPurpose::Browser;
    let live = browsers && state.authenticator.is_live(&token, Timestamp::now());
    let on = spec.provider.as_ref().filter(|_| live);
    Ok(leave(&state, &spec.user_uid, on).await)
}

/// Creates the response to a sign-out request.
async fn leave(state: &RestState, user: &UserUid, on: Option<&TokenProvider>) -> Response {
    state.provider_logouts.revoke_provider_tokens(user);
    let form = match on {
        Some(on) => state.provider_logouts.form(user, on).await,
        None => None,
    };
    let Some(form) = form else {
        return (StatusCode::NO_CONTENT, deleted_cookie()).into_response();
    };
    let field =
        |(name, value): (&str, SecretString)| (name.to_owned(), Secret::new(value.expose_secret()));
    let onward = ProviderSignOut {
        provider: form.provider,
        url: form.url.into(),
        fields: form.fields.map(field).into(),
    };
    (deleted_cookie(), axum::Json(onward)).into_response()
}

/// Ends all sessions of the caller in browsers and programs, and the kubectl tokens that these
/// sessions created.
///
/// Tokens that can outlive a session remain valid. The response is the same as for `DELETE
/// /v1/session`.
#[utoipa::path(delete, path = "/v1/sessions", tag = "me",
    responses((status = 200, body = ProviderSignOut), (status = 204)))]
pub(crate) async fn sign_out_everywhere(
    State(state): State<RestState>,
    Caller(caller): Caller,
) -> Result<Response, Status> {
    tokens::revoke_sessions(&state.hub, &caller.user_uid, None).await?;
    let browser = caller.token.purpose == TokenPurpose::Browser;
    let on = caller.token.provider.as_ref().filter(|_| browser);
    Ok(leave(&state, &caller.user_uid, on).await)
}

fn view(
    stores: &Stores,
    user: Option<&User>,
    token: Option<&Token>,
    csrf_token: Secret,
) -> Result<Session, Status> {
    let me = describe(stores, user, token)?;
    Ok(Session {
        expires_at: me.token.expires_at,
        me,
        csrf_token,
        idle_seconds: token.and_then(|token| token.spec.idle_seconds),
    })
}

/// Creates the session cookie, which expires together with the token.
pub(crate) fn set_cookie(secret: &SecretString, token: &Token) -> Result<SetCookie, Status> {
    let remaining = token.spec.expires_at.0.duration_since(Timestamp::now());
    let seconds = remaining.as_secs().max(0);
    let secret = secret.expose_secret();
    let text = format!("{SESSION_COOKIE}={secret}; {ATTRIBUTES}; Max-Age={seconds}");
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| Status::internal("cannot create the session cookie"))?;
    value.set_sensitive(true);
    Ok([(SET_COOKIE, value)])
}

fn deleted_cookie() -> SetCookie {
    let text = format!("{SESSION_COOKIE}=; {ATTRIBUTES}; Max-Age=0");
    let value = HeaderValue::try_from(text).expect("visible ASCII");
    [(SET_COOKIE, value)]
}
