//! Routes that administer identity providers. Responses never contain secrets.

use std::time::Duration;

use axum::extract::State;
use drover_api::group::PROVIDER_SECRET_LABEL;
use drover_api::kinds::{AuthProvider, AuthProviderSpec, SecretKey};
use drover_api::rest::{
    AuthProviderCreate, AuthProviderUpdate, AuthProviderView, List, ProviderTest,
    ProviderTestResult, Secret,
};
use http::StatusCode;
use jiff::Timestamp;
use kube::{Api, Resource as _, ResourceExt as _};
use secrecy::SecretString;
use serde_json::Value;

use crate::RestState;
use crate::caller::OnHub;
use crate::page::PageQuery;
use crate::spec;
use drover_audit::AuditNotes;
use drover_entropy::random;
use drover_http_edge::body::{Json, Name, OptionalJson, Query};
use drover_http_edge::status::Status;
use drover_hub::secret::{Data, secret};
use drover_hub::visibility::created_at;
use drover_hub::{HubError, call};
use drover_identity::caller::Administrator;
use drover_identity::providers::configured::{UseError, secret_of};
use drover_identity::providers::connection_test;

/// Timeout of a connection test.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum number of attempts to write a provider. An attempt fails if a different client changes
/// the provider at the same time.
const MAX_ATTEMPTS: usize = 5;
/// Key of the provider's secret in `data` of the Secret that the server creates.
const KEY: &str = "secret";
/// Fields of the spec that refer to a Secret. The REST API rejects these fields in requests, and
/// omits these fields in responses.
const SECRET_FIELDS: [(&str, &str); 3] = [
    ("oidc", "clientSecret"),
    ("github", "clientSecret"),
    ("ldap", "bindPassword"),
];

fn view(provider: &AuthProvider) -> AuthProviderView {
    let status = provider.status.clone().unwrap_or_default();
    let mut spec =
        serde_json::to_value(&provider.spec).expect("a stored spec can be serialized as JSON");
    for (protocol, field) in SECRET_FIELDS {
        if let Some(settings) = spec.get_mut(protocol).and_then(Value::as_object_mut) {
            settings.remove(field);
        }
    }
    AuthProviderView {
        name: provider.name_any(),
        uid: provider.uid().unwrap_or_default(),
        spec,
        has_secret: secret_of(&provider.spec).is_some(),
        resource_version: provider.resource_version().unwrap_or_default(),
        created_at: created_at(provider),
        last_answer_at: status.last_answer_at.map(|time| time.0),
        conditions: status.conditions,
    }
}

/// Lists all identity providers.
#[utoipa::path(get, path = "/v1/auth-providers", tag = "providers", params(PageQuery),
    responses((status = 200, body = List<AuthProviderView>)))]
pub(crate) async fn list(
    State(state): State<RestState>,
    _caller: OnHub<AuthProvider>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<AuthProviderView>>, Status> {
    query
        .of(&state.hub.stores().auth_providers, |_| true, view)
        .map(axum::Json)
}

/// Returns an identity provider.
#[utoipa::path(get, path = "/v1/auth-providers/{name}", tag = "providers",
    params(("name" = String, Path, description = "The provider's name")),
    responses((status = 200, body = AuthProviderView)))]
pub(crate) async fn read(
    State(state): State<RestState>,
    _caller: OnHub<AuthProvider>,
    Name(name): Name,
) -> Result<axum::Json<AuthProviderView>, Status> {
    find(&state, &name).map(|provider| axum::Json(view(&provider)))
}

/// Creates an identity provider, and stores its secret on the hub.
#[utoipa::path(post, path = "/v1/auth-providers", tag = "providers",
    request_body = AuthProviderCreate, responses((status = 201, body = AuthProviderView)))]
pub(crate) async fn create(
    State(state): State<RestState>,
    _caller: Administrator,
    noted: AuditNotes,
    Json(request): Json<AuthProviderCreate>,
) -> Result<(StatusCode, axum::Json<AuthProviderView>), Status> {
    let own = new_key(&request.name, request.secret.as_ref())?;
    let spec = spec_of(&request.spec, own.as_ref().map(|(key, _)| key))?;
    let provider = AuthProvider::new(&request.name, spec);
    // The server waits for the store last, so that the provider is on the hub with its Secret first.
    let writer = state.hub.writer().without_wait();
    let created = writer
        .create("create an identity provider", &provider)
        .await;
    let created = created.map_err(|error| match error.code() {
        Some(409) => Status::already_exists("AuthProvider", &request.name),
        _ => error.into(),
    })?;
    noted.about(&request.name);
    if let Some((key, secret)) = &own
        && let Err(error) = store_secret(&state, &created, key, secret).await
    {
        // Delete the provider, because it is unusable without its secret.
        if let Err(error) = remove(&state, &created).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                provider.name = request.name,
                "failed to delete an identity provider whose Secret cannot be created"
            );
        }
        return Err(error.into());
    }
    state.hub.stores().auth_providers.wait_for(&created).await;
    Ok((StatusCode::CREATED, axum::Json(view(&created))))
}

/// Replaces the spec of an identity provider. A request without a secret keeps the stored secret.
#[utoipa::path(put, path = "/v1/auth-providers/{name}", tag = "providers",
    params(("name" = String, Path, description = "The provider's name")),
    request_body = AuthProviderUpdate, responses((status = 200, body = AuthProviderView)))]
pub(crate) async fn update(
    State(state): State<RestState>,
    _caller: Administrator,
    Name(name): Name,
    Json(request): Json<AuthProviderUpdate>,
) -> Result<axum::Json<AuthProviderView>, Status> {
    let former = find(&state, &name)?;
    let new = new_key(&name, request.secret.as_ref())?;
    let current_key = secret_of(&former.spec).map(|(_, key)| key);
    let spec = spec_of(
        &request.spec,
        new.as_ref().map(|(key, _)| key).or(current_key),
    )?;
    // Store the new secret beside the former secret. If the change is refused, the stored spec
    // still refers to the former secret.
    if let Some((key, secret)) = &new {
        store_secret(&state, &former, key, secret).await?;
    }
    let version = request.resource_version.as_deref();
    let replaced = replace(&state, &former, spec, version).await;
    if let Some((key, _)) = &new {
        let unused = match &replaced {
            Ok(replaced) => secret_of(&replaced.before).map(|(_, key)| key),
            Err(_) => Some(key),
        };
        delete_unused_secret(&state, &former, unused).await;
    }
    let changed = replaced?.after;
    state.hub.stores().auth_providers.wait_for(&changed).await;
    Ok(axum::Json(view(&changed)))
}

/// The result of replacing a provider's spec: the former spec and the updated object.
struct Replaced {
    before: AuthProviderSpec,
    after: AuthProvider,
}

/// Replaces the spec of a provider. Returns a conflict if `version` is present and is not the
/// current resource version.
async fn replace(
    state: &RestState,
    former: &AuthProvider,
    spec: AuthProviderSpec,
    version: Option<&str>,
) -> Result<Replaced, HubError> {
    let api: Api<AuthProvider> = Api::all(state.hub.client());
    let writer = state.hub.writer().without_wait();
    let name = former.name_any();
    let mut attempts = 1;
    loop {
        let mut provider = call("read an identity provider", api.get(&name)).await?;
        // The hub returns a conflict if the provider was deleted and created again.
        provider.metadata.uid = former.uid();
        let before = std::mem::replace(&mut provider.spec, spec.clone());
        if let Some(version) = version {
            provider.metadata.resource_version = Some(version.to_owned());
        }
        let replacing = writer.replace("change an identity provider", &provider);
        match replacing.await {
            // Retry, because the server updates the status often.
            Err(error) if error.is_conflict() && version.is_none() && attempts < MAX_ATTEMPTS => {
                attempts += 1;
            }
            answer => return answer.map(|after| Replaced { before, after }),
        }
    }
}

/// Deletes an identity provider. Dependent sessions and tokens end within seconds.
#[utoipa::path(delete, path = "/v1/auth-providers/{name}", tag = "providers",
    params(("name" = String, Path, description = "The provider's name")),
    responses((status = 204)))]
pub(crate) async fn delete(
    State(state): State<RestState>,
    _caller: Administrator,
    Name(name): Name,
) -> Result<StatusCode, Status> {
    let provider = find(&state, &name)?;
    remove(&state, &provider).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes the provider if its UID is `uid`.
async fn remove(state: &RestState, provider: &AuthProvider) -> Result<(), HubError> {
    let writer = state.hub.writer();
    writer.delete("delete an identity provider", provider).await
}

/// Runs a connection test of an enabled or disabled identity provider.
#[utoipa::path(post, path = "/v1/providers/{name}/test", tag = "providers",
    params(("name" = String, Path, description = "The provider's name")),
    request_body = Option<ProviderTest>, responses((status = 200, body = ProviderTestResult)))]
pub(crate) async fn test(
    State(state): State<RestState>,
    _caller: Administrator,
    Name(name): Name,
    OptionalJson(request): OptionalJson<ProviderTest>,
) -> Result<axum::Json<ProviderTestResult>, Status> {
    let provider = find(&state, &name)?;
    let request = request.unwrap_or_default();
    let password = request
        .password
        .map(|secret| SecretString::from(secret.expose()));
    let login = match (&request.login, &password) {
        (Some(login), Some(password)) => Some((login.as_str(), password)),
        (None, None) => None,
        (None, Some(_)) => return Err(Status::invalid("login", "is required with a password")),
        (Some(_), None) => return Err(Status::invalid("password", "is missing")),
    };
    let configured = state
        .provider_logins
        .providers()
        .configured(&provider)
        .await;
    let configured = configured.map_err(|error| match error {
        // The response contains the configuration error, because only administrators run tests.
        UseError::Provider(error) => Status::invalid("spec", connection_test::reasons(&error)),
        UseError::NoSuch(name) => Status::not_found("AuthProvider", &name),
        UseError::Hub(error) => error.into(),
    })?;
    let back = state.provider_logins.callback_url(&name);
    let back = back.map_err(|error| Status::conflict(connection_test::reasons(&error)))?;
    let trying = connection_test::run(&configured, &back, login, Timestamp::now());
    let tried = tokio::time::timeout(TEST_TIMEOUT, Box::pin(trying)).await;
    let tried = tried.map_err(|_| {
        let seconds = TEST_TIMEOUT.as_secs();
        Status::timeout(format!("the provider did not respond within {seconds} s"))
    })?;
    Ok(axum::Json(tried.into()))
}

fn find(state: &RestState, name: &str) -> Result<std::sync::Arc<AuthProvider>, Status> {
    let provider = state.hub.stores().auth_providers.by_name(name);
    provider.ok_or_else(|| Status::not_found("AuthProvider", name))
}

/// Returns the name prefix of the Secrets that the server creates for a provider.
fn secret_prefix(provider: &str) -> String {
    format!("auth-provider-{provider}-")
}

/// Reports whether the server created a Secret with this name for this provider. Checks the length
/// of the random suffix, because the name of a provider can be a prefix of a different provider's
/// name.
fn is_own_secret(name: &str, provider: &str) -> bool {
    let drawn = name.strip_prefix(&secret_prefix(provider));
    drawn.is_some_and(|drawn| drawn.len() == 16 && !drawn.contains('-'))
}

/// Returns the name and key of the Secret that will store a secret from a request.
fn new_key<'a>(
    provider: &str,
    sent: Option<&'a Secret>,
) -> Result<Option<(SecretKey, &'a Secret)>, Status> {
    let Some(sent) = sent else {
        return Ok(None);
    };
    let drawn = random().map_err(|error| Status::internal(error.to_string()))?;
    let drawn = u64::from_be_bytes(drawn);
    let key = SecretKey {
        name: format!("{}{drawn:016x}", secret_prefix(provider)),
        key: KEY.to_owned(),
    };
    Ok(Some((key, sent)))
}

/// Stores a provider's secret. The hub deletes the Secret together with the provider.
async fn store_secret(
    state: &RestState,
    provider: &AuthProvider,
    key: &SecretKey,
    text: &Secret,
) -> Result<(), HubError> {
    let name = provider.name_any();
    let data = Data::from([(key.key.clone(), text.expose().as_bytes().to_vec())]);
    let mut secret_object = secret(&key.name, "Opaque", data);
    secret_object
        .labels_mut()
        .insert(PROVIDER_SECRET_LABEL.to_owned(), name);
    secret_object.metadata.owner_references = provider.owner_ref(&()).map(|owner| vec![owner]);
    let writer = state.hub.secret_writer();
    let created = writer.create("store a provider's secret", &secret_object);
    created.await.map(drop)
}

/// Deletes a Secret that the server created, if no spec refers to the Secret. If the deletion
/// fails, the hub deletes the Secret together with the provider.
async fn delete_unused_secret(state: &RestState, provider: &AuthProvider, key: Option<&SecretKey>) {
    let name = provider.name_any();
    let Some(key) = key.filter(|key| is_own_secret(&key.name, &name)) else {
        return;
    };
    let writer = state.hub.secret_writer();
    let deleting = writer.delete_by_name("delete a provider's former secret", &key.name);
    match deleting.await {
        Err(error) if !error.is_not_found() => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                provider.name = name,
                "failed to delete the previous Secret of an identity provider"
            );
        }
        _ => {}
    }
}

/// Parses the provider spec of a request. The function sets the Secret reference of the spec to
/// `key`.
fn spec_of(sent: &Value, key: Option<&SecretKey>) -> Result<AuthProviderSpec, Status> {
    let mut complete = sent.clone();
    for (protocol, field) in SECRET_FIELDS {
        let Some(settings) = complete.get_mut(protocol).and_then(Value::as_object_mut) else {
            continue;
        };
        if settings.contains_key(field) {
            return Err(Status::invalid(
                &format!("spec.{protocol}.{field}"),
                "cannot be set, because the server selects the Secret: omit this field, and send \
                 the secret in the field \"secret\"",
            ));
        }
        match key {
            Some(key) => {
                let key = serde_json::to_value(key).unwrap_or_default();
                settings.insert(field.to_owned(), key);
            }
            None if protocol == "oidc" => {}
            None => {
                return Err(Status::invalid(
                    "secret",
                    format!("is required for {protocol}"),
                ));
            }
        }
    }
    spec::read(&complete)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_of_new_auth_provider_has_a_unique_name() {
        let sent = Secret::new("of the client");
        let new = || new_key("corp", Some(&sent)).unwrap().unwrap().0.name;
        assert_ne!(new(), new());
        assert!(is_own_secret(&new(), "corp"));
        let another = new_key("corp-x", Some(&sent)).unwrap().unwrap().0.name;
        assert!(!is_own_secret(&another, "corp"));
        assert!(new_key("corp", None).unwrap().is_none());
    }

    #[test]
    fn auth_provider_spec_with_secret_reference_or_unknown_field_is_rejected() {
        let sent = Secret::new("of the client");
        let (own, _) = new_key("corp", Some(&sent)).unwrap().unwrap();
        let key = || Some(&own);
        let oidc = json!({ "issuer": "https://id.example", "clientId": "drover" });
        let parsed = spec_of(&json!({ "oidc": oidc, "enabled": true }), key()).unwrap();
        assert_eq!(secret_of(&parsed).unwrap().1, &own);
        let public = spec_of(&json!({ "oidc": oidc }), None).unwrap();
        assert!(secret_of(&public).is_none());
        let github = json!({ "github": { "clientId": "x" } });
        assert!(spec_of(&github, key()).is_ok());
        let mut stolen = oidc.clone();
        stolen["clientSecret"] = json!({ "name": "challenge-key", "key": "key" });
        for (sent, field) in [
            (json!({ "oidc": stolen }), "spec.oidc.clientSecret"),
            (json!({ "oidc": oidc, "enable": true }), "spec.enable"),
            (json!({ "oidc": { "issuer": "x" } }), "clientId"),
            (json!({ "oidc": oidc, "enabled": "yes" }), "spec.enabled"),
        ] {
            let refused = spec_of(&sent, key()).unwrap_err();
            assert_eq!(refused.code(), 422);
            assert!(refused.message().contains(field), "{field}: {refused}");
        }
        assert!(
            spec_of(&github, None)
                .unwrap_err()
                .message()
                .contains("secret")
        );
    }
}
