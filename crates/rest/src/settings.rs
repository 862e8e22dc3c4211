//! Routes that list and change the server's settings.

use axum::extract::State;
use drover_access::grants::Scope;
use drover_access::identity::Identity;
use drover_access::setting::Setting;
use drover_api::kinds::{self, SettingSpec};
use drover_api::rest::{List, SettingUpdate, SettingView};
use serde_json::json;

use super::RestState;
use super::authorized_writes::AuthorizedWriter;
use super::caller::OnHub;
use drover_http_edge::body::{Json, Name};
use drover_http_edge::status::Status;
use drover_hub::HubError;
use drover_hub::settings::Settings;
use drover_hub::visibility::Visibility;

/// Returns the reason why the caller cannot change the setting. Returns `None` if the caller can
/// change the setting. The hub's admission applies the same rule.
fn read_only(visibility: &Visibility, setting: Setting) -> Option<String> {
    if setting.needs_administrator() {
        let may = visibility.grants().administers(visibility.rights_holder());
        let reason = "this setting affects security: only administrators can change it";
        return (!may).then(|| reason.to_owned());
    }
    let missing = visibility.require("update", "settings", &Scope::Hub).err();
    missing.map(|status| status.message().to_owned())
}

fn view(state: &RestState, visibility: &Visibility, setting: Setting) -> SettingView {
    let value = state.settings.configured(setting);
    SettingView {
        name: setting.name().to_owned(),
        description: setting.description().to_owned(),
        in_effect: state.settings.in_effect(setting),
        default: state.settings.default_value(setting),
        problem: Settings::check(setting, &value)
            .err()
            .or_else(|| state.settings.override_reason(setting).map(str::to_owned)),
        read_only: read_only(visibility, setting),
        value,
    }
}

/// Lists all settings.
#[utoipa::path(get, path = "/v1/settings", tag = "settings",
    responses((status = 200, body = List<SettingView>)))]
pub(super) async fn list(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<kinds::Setting>,
) -> axum::Json<List<SettingView>> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let items = Setting::ALL
        .into_iter()
        .map(|setting| view(&state, &visibility, setting))
        .collect();
    axum::Json(List {
        items,
        continue_token: None,
    })
}

/// Changes the value of a setting. An empty value restores the default.
#[utoipa::path(put, path = "/v1/settings/{name}", tag = "settings", request_body = SettingUpdate,
    params(("name" = String, Path, description = "The setting's name")),
    responses((status = 200, body = SettingView)))]
pub(super) async fn update(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<kinds::Setting>,
    Name(name): Name,
    Json(request): Json<SettingUpdate>,
) -> Result<axum::Json<SettingView>, Status> {
    let setting = Setting::parse(&name).ok_or_else(|| Status::not_found("Setting", &name))?;
    let visibility = Visibility::of(state.hub.stores(), &caller);
    if let Some(reason) = read_only(&visibility, setting) {
        return Err(Status::forbidden(reason));
    }
    Settings::check(setting, &request.value).map_err(|error| Status::invalid("value", error))?;
    check(&state, &caller, setting, &request.value).await?;
    write(&state, setting, &request.value).await?;
    Ok(axum::Json(view(&state, &visibility, setting)))
}

/// Checks the caller's change of a setting against the admission rules.
async fn check(
    state: &RestState,
    caller: &Identity,
    setting: Setting,
    value: &str,
) -> Result<(), Status> {
    let settings = &state.hub.stores().settings;
    let writer = AuthorizedWriter::<kinds::Setting>::new(&state.hub, caller);
    let value = value.to_owned();
    if let Some(old) = settings.by_name(setting.name()) {
        let mut changed = kinds::Setting::clone(&old);
        changed.spec.value = value;
        writer.check_replace(&old, &changed).await
    } else {
        let new = kinds::Setting::new(setting.name(), SettingSpec { value });
        writer.check_create(&new).await
    }
}

async fn write(state: &RestState, setting: Setting, value: &str) -> Result<(), HubError> {
    let patch = json!({ "spec": { "value": value } });
    let writer = state.hub.writer::<kinds::Setting>().with_manager();
    let written = writer.patch("change a setting", setting.name(), &patch);
    match written.await {
        // The Setting object with the default value was deleted: create it again.
        Err(error) if error.is_not_found() => {
            let spec = SettingSpec {
                value: value.to_owned(),
            };
            let object = kinds::Setting::new(setting.name(), spec);
            let writer = state.hub.writer();
            writer.create("create a setting", &object).await.map(drop)
        }
        other => other.map(drop),
    }
}
