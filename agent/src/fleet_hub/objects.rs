//! The objects in the agent's namespace with which the agent registers at a hub, in Fleet's format.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::group::{FLEET_AGENT, FLEET_BOOTSTRAP_SECRET};
use drover_kubeconfig::{Authorization, HttpsUrl, parse};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::{Client, ResourceExt as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::error::FleetHubError;

/// Timeout of a request to the cluster.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Namespace of the credentials on a hub whose registration values do not name it.
const SYSTEM_NAMESPACE: &str = "cattle-fleet-clusters-system";
const BOOTSTRAP: &str = "Secret fleet-agent-bootstrap";
const CREDENTIAL: &str = "Secret fleet-agent";

/// The address of a hub, and a token for it.
#[derive(Clone, Debug)]
pub(super) struct HubLogin {
    pub(super) url: HttpsUrl,
    /// CA certificates in PEM. Empty for the public authorities.
    pub(super) authorities: String,
    pub(super) token: SecretString,
}

/// A registration token with its values.
#[derive(Debug)]
pub(super) struct Bootstrap {
    pub(super) login: HubLogin,
    pub(super) token_name: String,
    /// Namespace of the registration requests.
    pub(super) cluster_namespace: String,
    /// Namespace of the credentials.
    pub(super) system_namespace: String,
    uid: Option<String>,
}

/// The credential of a registered agent.
#[derive(Debug)]
pub(super) struct Credential {
    pub(super) login: HubLogin,
    /// Namespace of the bundle deployments.
    pub(super) deployment_namespace: String,
    pub(super) cluster_namespace: String,
    pub(super) cluster_name: String,
}

/// The agent's configuration. All entries are optional.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AgentConfig {
    /// ID of the cluster on the hub.
    #[serde(rename = "clientID")]
    pub(super) client_id: String,
    /// Labels of the cluster on the hub.
    pub(super) labels: Option<BTreeMap<String, String>>,
}

/// The objects in the agent's namespace.
pub(super) struct Objects {
    secrets: Api<Secret>,
    config_maps: Api<ConfigMap>,
    namespaces: Api<Namespace>,
}

impl Objects {
    /// `own` has the agent's own account. `deployer` can read the namespace `kube-system`.
    pub(super) fn new(own: Client, deployer: Client, namespace: &str) -> Self {
        Self {
            secrets: Api::namespaced(own.clone(), namespace),
            config_maps: Api::namespaced(own, namespace),
            namespaces: Api::all(deployer),
        }
    }

    pub(super) async fn bootstrap(&self) -> Result<Option<Bootstrap>, FleetHubError> {
        let reading = self.secrets.get_opt(FLEET_BOOTSTRAP_SECRET);
        let secret = call("read the Secret fleet-agent-bootstrap", reading).await?;
        secret.map(|secret| Bootstrap::read(&secret)).transpose()
    }

    /// Deletes the registration token, unless another one was applied in the meantime.
    pub(super) async fn delete_bootstrap(&self, used: &Bootstrap) -> Result<(), FleetHubError> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: used.uid.clone(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let deleting = self.secrets.delete(FLEET_BOOTSTRAP_SECRET, &params);
        match call("delete the Secret fleet-agent-bootstrap", deleting).await {
            Err(FleetHubError::Cluster { source, .. }) if is_code(&source, &[404, 409]) => Ok(()),
            deleted => deleted.map(|_| ()),
        }
    }

    pub(super) async fn credential(&self) -> Result<Option<Credential>, FleetHubError> {
        let reading = self.secrets.get_opt(FLEET_AGENT);
        let secret = call("read the Secret fleet-agent", reading).await?;
        secret.map(|secret| Credential::read(&secret)).transpose()
    }

    /// Creates or replaces the Secret with the credential.
    pub(super) async fn store(&self, credential: &Credential) -> Result<(), FleetHubError> {
        let mut secret = credential.secret();
        let (operation, params) = ("write the Secret fleet-agent", PostParams::default());
        match call(operation, self.secrets.create(&params, &secret)).await {
            Err(FleetHubError::Cluster { source, .. }) if is_code(&source, &[409]) => {}
            created => return created.map(|_| ()),
        }
        let present = call("read the Secret fleet-agent", self.secrets.get(FLEET_AGENT)).await?;
        secret.metadata.resource_version = present.resource_version();
        // The type of a Secret cannot change.
        secret.type_ = present.type_;
        let replacing = self.secrets.replace(FLEET_AGENT, &params, &secret);
        call(operation, replacing).await.map(|_| ())
    }

    /// Returns the configuration. The default client ID is the UID of the namespace `kube-system`.
    pub(super) async fn config(&self) -> Result<AgentConfig, FleetHubError> {
        let reading = self.config_maps.get_opt(FLEET_AGENT);
        let found = call("read the ConfigMap fleet-agent", reading).await?;
        let text = found.and_then(|map| map.data?.remove("config"));
        let mut config: AgentConfig = match text.filter(|text| !text.trim().is_empty()) {
            Some(text) => serde_json::from_str(&text).map_err(|error| FleetHubError::Invalid {
                object: "ConfigMap fleet-agent",
                entry: "config",
                reason: error.to_string(),
            })?,
            None => AgentConfig::default(),
        };
        if config.client_id.is_empty() {
            let reading = self.namespaces.get("kube-system");
            let operation = "read the UID of the namespace kube-system";
            config.client_id = call(operation, reading).await?.uid().unwrap_or_default();
        }
        Ok(config)
    }
}

/// The entries of a Secret.
pub(super) struct Entries<'a> {
    object: &'static str,
    data: Option<&'a BTreeMap<String, ByteString>>,
}

impl<'a> Entries<'a> {
    pub(super) fn of(object: &'static str, secret: &'a Secret) -> Self {
        Self {
            object,
            data: secret.data.as_ref(),
        }
    }

    /// Returns an entry without white space at its ends. Empty if the entry is missing.
    fn text(&self, entry: &'static str) -> Result<String, FleetHubError> {
        let bytes = self.data.and_then(|data| data.get(entry));
        let bytes = bytes.map(|bytes| bytes.0.clone()).unwrap_or_default();
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| self.invalid(entry, "it is not UTF-8 text"))?;
        Ok(text.trim().to_owned())
    }

    pub(super) fn required(&self, entry: &'static str) -> Result<String, FleetHubError> {
        let text = self.text(entry)?;
        if text.is_empty() {
            return Err(self.invalid(entry, "it is empty"));
        }
        Ok(text)
    }

    fn invalid(&self, entry: &'static str, reason: &str) -> FleetHubError {
        FleetHubError::Invalid {
            object: self.object,
            entry,
            reason: reason.to_owned(),
        }
    }
}

impl Bootstrap {
    fn read(secret: &Secret) -> Result<Self, FleetHubError> {
        let entries = Entries::of(BOOTSTRAP, secret);
        let url = HttpsUrl::parse(&entries.required("apiServerURL")?);
        let system_namespace = entries.text("systemRegistrationNamespace")?;
        Ok(Self {
            login: HubLogin {
                url: url.map_err(|error| entries.invalid("apiServerURL", &error.to_string()))?,
                authorities: entries.text("apiServerCA")?,
                token: SecretString::from(entries.required("token")?),
            },
            token_name: entries.text("tokenName")?,
            cluster_namespace: entries.required("clusterNamespace")?,
            system_namespace: if system_namespace.is_empty() {
                SYSTEM_NAMESPACE.to_owned()
            } else {
                system_namespace
            },
            uid: secret.uid(),
        })
    }
}

impl Credential {
    fn read(secret: &Secret) -> Result<Self, FleetHubError> {
        let entries = Entries::of(CREDENTIAL, secret);
        let kubeconfig = entries.required("kubeconfig")?;
        let access = parse(kubeconfig.as_bytes())
            .map_err(|error| entries.invalid("kubeconfig", &error.to_string()))?;
        let Some(Authorization::Token(token)) = access.authorization else {
            return Err(entries.invalid("kubeconfig", "the user has no token"));
        };
        Ok(Self {
            login: HubLogin {
                url: access.server,
                authorities: access.authorities_pem,
                token,
            },
            deployment_namespace: entries.required("deploymentNamespace")?,
            cluster_namespace: entries.required("clusterNamespace")?,
            cluster_name: entries.required("clusterName")?,
        })
    }

    /// Returns the credential if a new registration token belongs to the same hub and namespace, and whether the
    /// credential has changed. The hub can have another certificate authority.
    pub(super) fn current(mut self, bootstrap: Option<&Bootstrap>) -> Option<(Self, bool)> {
        let Some(bootstrap) = bootstrap else {
            return Some((self, false));
        };
        let is_same = bootstrap.login.url == self.login.url
            && bootstrap.cluster_namespace == self.cluster_namespace;
        let authorities = &bootstrap.login.authorities;
        let is_changed = self.login.authorities.trim() != authorities;
        if is_changed {
            self.login.authorities.clone_from(authorities);
        }
        is_same.then_some((self, is_changed))
    }

    /// Returns the Secret in the format of Fleet's agent.
    fn secret(&self) -> Secret {
        let login = &self.login;
        let authority =
            (!login.authorities.is_empty()).then(|| STANDARD.encode(&login.authorities));
        // JSON is YAML.
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "default",
            "clusters": [{ "name": "default", "cluster": {
                "server": login.url.to_string(), "certificate-authority-data": authority,
            }}],
            "users": [{ "name": "default", "user": { "token": login.token.expose_secret() } }],
            "contexts": [{ "name": "default", "context": {
                "cluster": "default", "user": "default", "namespace": self.deployment_namespace,
            }}],
        });
        let data = [
            ("kubeconfig", kubeconfig.to_string()),
            ("deploymentNamespace", self.deployment_namespace.clone()),
            ("clusterNamespace", self.cluster_namespace.clone()),
            ("clusterName", self.cluster_name.clone()),
        ];
        let data = data.map(|(key, text)| (key.to_owned(), ByteString(text.into_bytes())));
        Secret {
            metadata: ObjectMeta {
                name: Some(FLEET_AGENT.to_owned()),
                ..ObjectMeta::default()
            },
            data: Some(data.into()),
            ..Secret::default()
        }
    }
}

/// Sends a request to the cluster with a timeout.
async fn call<T>(
    operation: &'static str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, FleetHubError> {
    let after = TIMEOUT;
    match tokio::time::timeout(after, request).await {
        Ok(response) => response.map_err(|source| FleetHubError::Cluster {
            operation,
            source: source.into(),
        }),
        Err(_) => Err(FleetHubError::TimedOut { operation, after }),
    }
}

fn is_code(error: &kube::Error, codes: &[u16]) -> bool {
    matches!(error, kube::Error::Api(status) if codes.contains(&status.code))
}

#[cfg(test)]
mod tests;
