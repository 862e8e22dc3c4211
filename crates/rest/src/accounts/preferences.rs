//! Routes for the preferences of the caller.

use axum::extract::State;
use drover_access::identity::Identity;
use drover_api::kinds::{UserPreferences, UserPreferencesSpec};
use drover_api::rest::Preferences;
use kube::Resource as _;

use crate::RestState;
use crate::authorized_writes::AuthorizedWriter;
use drover_http_edge::body::Json;
use drover_http_edge::status::Status;
use drover_identity::caller::Caller;

fn view(stored: &UserPreferences) -> Preferences {
    let spec = &stored.spec;
    Preferences {
        row_height: spec.row_height,
        theme: spec.theme,
        language: spec.language,
        single_keys: spec.single_keys,
    }
}

/// Returns the caller's preferences for the web UI.
#[utoipa::path(get, path = "/v1/preferences", tag = "me",
    responses((status = 200, body = Preferences)))]
pub(crate) async fn read(
    State(state): State<RestState>,
    Caller(caller): Caller,
) -> axum::Json<Preferences> {
    let stored = &state.hub.stores().user_preferences;
    let stored = stored.by_name(caller.user_uid.as_str());
    axum::Json(stored.map(|stored| view(&stored)).unwrap_or_default())
}

/// Replaces the caller's preferences for the web UI. An absent field removes the stored value.
#[utoipa::path(put, path = "/v1/preferences", tag = "me", request_body = Preferences,
    responses((status = 200, body = Preferences)))]
pub(crate) async fn replace(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Json(request): Json<Preferences>,
) -> Result<axum::Json<Preferences>, Status> {
    let stored = &state.hub.stores().user_preferences;
    let stored = stored.by_name(caller.user_uid.as_str());
    let known = stored.as_ref().map(|stored| view(stored));
    if known.unwrap_or_default() == request {
        return Ok(axum::Json(request));
    }
    let object = object(&state, &caller, request)?;
    let writer = AuthorizedWriter::<UserPreferences>::new(&state.hub, &caller);
    let written = match stored {
        None => writer.create(&object, &object).await?,
        Some(old) => {
            let mut changed = UserPreferences::clone(&old);
            changed.spec = object.spec;
            writer.replace(&old, &changed).await?
        }
    };
    Ok(axum::Json(view(&written)))
}

/// Returns the object with the caller's preferences. Kubernetes deletes the object with the user.
fn object(
    state: &RestState,
    caller: &Identity,
    preferences: Preferences,
) -> Result<UserPreferences, Status> {
    let user = state.hub.stores().users.by_uid(caller.user_uid.as_str());
    let user = user.ok_or_else(|| Status::not_found("User", &caller.user_name))?;
    let spec = UserPreferencesSpec {
        user_name: caller.user_name.clone(),
        user_uid: caller.user_uid.clone(),
        row_height: preferences.row_height,
        theme: preferences.theme,
        language: preferences.language,
        single_keys: preferences.single_keys,
    };
    let mut object = UserPreferences::new(caller.user_uid.as_str(), spec);
    object.metadata.owner_references = user.owner_ref(&()).map(|owner| vec![owner]);
    Ok(object)
}
