//! Routes of device logins: a user confirms the login of a program in a browser.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, State};
use drover_api::rest::{DeviceAnswer, DeviceCode, DevicePoll, DeviceView, IssuedToken, Secret};
use http::StatusCode;
use jiff::Timestamp;
use kube::ResourceExt as _;
use secrecy::{ExposeSecret as _, SecretString};

use crate::RestState;
use crate::accounts::tokens::view;
use drover_audit::AuditCaller;
use drover_audit::AuditNotes;
use drover_http_edge::body::Name;
use drover_http_edge::status::Status;
use drover_http_edge::unauthenticated::UnauthenticatedJson;
use drover_identity::caller::Caller;
use drover_identity::device::{INTERVAL_SECONDS, LOGIN_TTL};

/// Starts a device login for a program, for example the Drover CLI.
#[utoipa::path(post, path = "/v1/device", tag = "me",
    responses((status = 201, body = DeviceCode)))]
pub(crate) async fn begin(
    State(state): State<RestState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
) -> Result<(StatusCode, axum::Json<DeviceCode>), Status> {
    let codes = state.devices.begin(peer.ip(), Timestamp::now())?;
    let code = DeviceCode {
        device_code: Secret::new(codes.device.expose_secret()),
        user_code: codes.user,
        // The URL does not contain the code, so that the user must read the code from the program.
        verification_url: format!("{}/device", state.settings.server_url()),
        expires_in_seconds: u32::try_from(LOGIN_TTL.as_secs()).unwrap_or(u32::MAX),
        interval_seconds: INTERVAL_SECONDS,
    };
    Ok((StatusCode::CREATED, axum::Json(code)))
}

/// Returns the token of a confirmed device login. Only one response contains the token.
#[utoipa::path(post, path = "/v1/device/token", tag = "me", request_body = DevicePoll,
    responses((status = 200, body = DeviceAnswer)))]
pub(crate) async fn fetch(
    State(state): State<RestState>,
    noted: AuditNotes,
    UnauthenticatedJson(request): UnauthenticatedJson<DevicePoll>,
) -> Result<axum::Json<DeviceAnswer>, Status> {
    state.hub.stores().health().check()?;
    let device = SecretString::from(request.device_code.expose());
    let fetched = state.devices.fetch(&device, Timestamp::now()).await?;
    let issued = fetched.map(|(secret, token)| {
        noted.about(&token.name_any());
        noted.who(AuditCaller {
            name: token.spec.user_name.as_str().into(),
            uid: token.spec.user_uid.as_str().into(),
            token: Some(token.name_any().into()),
            acting_as: None,
        });
        IssuedToken {
            token: Secret::new(secret.expose_secret()),
            metadata: view(&token),
        }
    });
    Ok(axum::Json(DeviceAnswer { issued }))
}

/// Returns a pending device login. The browser shows the login to the user before the confirmation.
#[utoipa::path(get, path = "/v1/device/{code}", tag = "me",
    params(("code" = String, Path, description = "The code that the program displays")),
    responses((status = 200, body = DeviceView)))]
pub(crate) async fn look(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(code): Name,
) -> Result<axum::Json<DeviceView>, Status> {
    let (user_code, shown) = state.devices.find(&code, &caller, Timestamp::now())?;
    Ok(axum::Json(DeviceView {
        user_code,
        source: shown.source.to_string(),
        requested_at: shown.requested_at,
        expires_at: shown.requested_at + LOGIN_TTL,
    }))
}

/// Confirms a device login. The program then receives a token of the caller.
#[utoipa::path(post, path = "/v1/device/{code}/confirm", tag = "me",
    params(("code" = String, Path, description = "The code that the program displays")),
    responses((status = 204)))]
pub(crate) async fn confirm(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(code): Name,
) -> Result<StatusCode, Status> {
    state.devices.confirm(&code, &caller, Timestamp::now())?;
    Ok(StatusCode::NO_CONTENT)
}
