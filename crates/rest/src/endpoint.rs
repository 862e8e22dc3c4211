//! Routes that show and change the authorized endpoint of a cluster.

use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::conditions::AUTHORIZED_ENDPOINT_READY;
use drover_api::endpoint::{OFFLINE_SECONDS, WEBHOOK_HOST, WEBHOOK_PATH, WEBHOOK_PORT};
use drover_api::kinds::{AuthorizedEndpointSpec, Cluster};
use drover_api::rest::{EndpointPatch, EndpointView};
use serde_json::{Map, Value, json};

use super::RestState;
use super::authorized_writes::AuthorizedWriter;
use drover_http_edge::body::{Json, Name};
use drover_http_edge::status::Status;
use drover_hub::visibility::{Visibility, cluster_scope};
use drover_identity::caller::Caller;

fn view(cluster: &Cluster) -> Result<EndpointView, Status> {
    let spec = cluster.spec.authorized_endpoint.clone();
    let status = cluster.status.clone().unwrap_or_default();
    let endpoint = status.authorized_endpoint.filter(|_| spec.enabled);
    let webhook = endpoint.as_ref().map(|status| &*status.webhook_certificate);
    let mut conditions = status.conditions.into_iter();
    Ok(EndpointView {
        enabled: spec.enabled,
        fqdn: spec.fqdn,
        ca_bundle: spec.ca_bundle,
        offline_seconds: spec.offline_seconds,
        condition: conditions.find(|one| one.type_ == AUTHORIZED_ENDPOINT_READY),
        webhook_config: webhook.map(webhook_config).transpose()?,
        api_servers: endpoint.map_or_else(Vec::new, |status| status.api_servers),
    })
}

/// Returns the kubeconfig with which API servers call the webhook on their node.
fn webhook_config(certificate: &str) -> Result<String, Status> {
    let server = format!("https://{WEBHOOK_HOST}:{WEBHOOK_PORT}{WEBHOOK_PATH}");
    let cluster = json!({
        "server": server, "certificate-authority-data": STANDARD.encode(certificate),
    });
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "drover", "cluster": cluster }],
        "users": [{ "name": "drover", "user": {} }],
        "contexts": [{ "name": "drover", "context": { "cluster": "drover", "user": "drover" } }],
        "current-context": "drover",
    });
    serde_saphyr::to_string(&config)
        .map_err(|_| Status::internal("cannot serialize the webhook configuration as YAML"))
}

/// Returns the state of the authorized endpoint of a cluster.
#[utoipa::path(get, path = "/v1/clusters/{name}/endpoint", tag = "clusters",
    params(("name" = String, Path, description = "The cluster's name")),
    responses((status = 200, body = EndpointView)))]
pub(super) async fn read(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
) -> Result<axum::Json<EndpointView>, Status> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    view(&*visibility.cluster(&name)?).map(axum::Json)
}

/// Changes the authorized endpoint of a cluster.
#[utoipa::path(patch, path = "/v1/clusters/{name}/endpoint", tag = "clusters",
    request_body = EndpointPatch,
    params(("name" = String, Path, description = "The cluster's name")),
    responses((status = 200, body = EndpointView)))]
pub(super) async fn patch(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
    Json(request): Json<EndpointPatch>,
) -> Result<axum::Json<EndpointView>, Status> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let cluster = visibility.cluster(&name)?;
    visibility.require("update", "clusters", &cluster_scope(&cluster))?;
    let change = change(&request)?;
    let mut requested = Cluster::clone(&cluster);
    let endpoint = &mut requested.spec.authorized_endpoint;
    *endpoint = changed(endpoint, &change)?;
    let authorized = AuthorizedWriter::<Cluster>::new(&state.hub, &caller);
    authorized.check_replace(&cluster, &requested).await?;
    // A patch without the version, because the server changes the status every few seconds.
    let patch = json!({
        "metadata": { "uid": cluster.metadata.uid },
        "spec": { "authorizedEndpoint": change },
    });
    let writer = state.hub.writer::<Cluster>().with_manager();
    let written = writer.patch("change the authorized endpoint", &name, &patch);
    view(&written.await?).map(axum::Json)
}

/// Returns the merge patch of `spec.authorizedEndpoint`, with only the fields of the request. An empty
/// text removes a value.
fn change(request: &EndpointPatch) -> Result<Map<String, Value>, Status> {
    if request
        .offline_seconds
        .is_some_and(|seconds| !OFFLINE_SECONDS.contains(&seconds))
    {
        return Err(Status::invalid(
            "offlineSeconds",
            "must be from 300 (5 minutes) to 2592000 (30 days)",
        ));
    }
    let Value::Object(mut change) = json!(request) else {
        return Ok(Map::new());
    };
    for value in change.values_mut().filter(|value| **value == "") {
        *value = Value::Null;
    }
    Ok(change)
}

/// Returns the endpoint with a merge patch applied (RFC 7396), for the check of the admission rules.
fn changed(
    spec: &AuthorizedEndpointSpec,
    change: &Map<String, Value>,
) -> Result<AuthorizedEndpointSpec, Status> {
    let mut value = json!(spec);
    for (name, new) in change {
        value[name] = new.clone();
    }
    serde_json::from_value(value).map_err(|error| Status::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::{AuthorizedEndpointStatus, ClusterSpec, ClusterStatus};

    use super::*;

    #[test]
    fn patch_contains_only_the_fields_of_the_request() {
        let request = EndpointPatch {
            enabled: None,
            fqdn: Some(String::new()),
            ca_bundle: None,
            offline_seconds: Some(300),
        };
        let expected = json!({ "fqdn": null, "offlineSeconds": 300 });
        assert_eq!(Value::Object(change(&request).unwrap()), expected);
        for seconds in [299, 2_592_001] {
            let request = EndpointPatch {
                offline_seconds: Some(seconds),
                ..request.clone()
            };
            assert!(change(&request).is_err(), "{seconds}");
        }
    }

    #[test]
    fn webhook_configuration_pins_the_certificate_and_exists_only_while_enabled() {
        let mut cluster = Cluster::new("shop", ClusterSpec::default());
        cluster.status = Some(ClusterStatus {
            authorized_endpoint: Some(AuthorizedEndpointStatus {
                webhook_certificate: "PEM".to_owned(),
                certificate_authority: String::new(),
                api_servers: Vec::new(),
            }),
            ..ClusterStatus::default()
        });
        assert_eq!(view(&cluster).unwrap().webhook_config, None);
        cluster.spec.authorized_endpoint.enabled = true;
        let text = view(&cluster).unwrap().webhook_config.unwrap();
        let config: Value = serde_saphyr::from_str(&text).unwrap();
        let found = &config["clusters"][0]["cluster"];
        assert_eq!(found["server"], "https://127.0.0.1:6440/v1/authenticate");
        assert_eq!(found["certificate-authority-data"], "UEVN");
        assert_eq!(config["users"][0]["user"], json!({}));
    }
}
