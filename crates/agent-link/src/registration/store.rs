//! The agent's own objects in its cluster: key, registration token and binding.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drover_access::proof::PublicKey;
use drover_api::client_error::ClientError;
use drover_api::group::TUNNEL_NODES;
use drover_api::ids::ClusterUid;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams, PostParams};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use serde_json::{Value, json};
use thiserror::Error;
use tracing::warn;

use crate::binding::{BINDING_CONFIG_MAP, BindingError, ServerBinding};
use crate::key::{AgentKey, KeyError, StoredKeys};

/// Name of the Secret with the cluster's key and its registration. The agent creates the Secret.
pub const KEY_SECRET: &str = "drover-agent-key";
/// Name of the Secret with the registration token. The manifest creates the Secret. The agent
/// deletes the token from the Secret after the registration.
pub const REGISTRATION_SECRET: &str = "drover-agent-registration";

/// Keys in the data of the Secrets [`KEY_SECRET`] and [`REGISTRATION_SECRET`].
mod data {
    /// Key in [`KEY_SECRET`](super::KEY_SECRET). The value is the agent's private key, in PKCS#8.
    pub(super) const KEY: &str = "key.pkcs8";
    /// Key in [`KEY_SECRET`](super::KEY_SECRET). The value is the private key that replaces the
    /// agent's key after the server has bound it.
    pub(super) const NEXT_KEY: &str = "next-key.pkcs8";
    /// Key in [`KEY_SECRET`](super::KEY_SECRET). The value is the private key that was replaced. The
    /// agent needs it after the restore of a backup of the hub.
    pub(super) const PREVIOUS_KEY: &str = "previous-key.pkcs8";
    /// Key in [`KEY_SECRET`](super::KEY_SECRET). The value is the UID of the Cluster to which the
    /// agent's key is bound.
    pub(super) const CLUSTER_UID: &str = "cluster-uid";
    /// Key in [`KEY_SECRET`](super::KEY_SECRET). The value is the name of the Cluster to which the
    /// agent's key is bound.
    pub(super) const CLUSTER_NAME: &str = "cluster-name";
    /// Key in [`REGISTRATION_SECRET`](super::REGISTRATION_SECRET). The value is the registration
    /// token.
    pub(super) const TOKEN: &str = "token";
    /// Key in the ConfigMap [`TUNNEL_NODES`](drover_api::group::TUNNEL_NODES). The value is the names
    /// of nodes, separated by white space.
    pub(super) const NODES: &str = "nodes";
}

/// Annotation in which `kubectl apply` stores a copy of the object, including the token.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Timeout of a call to the API server.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A call to the cluster's API failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The API server returned an error.
    #[error("cannot {operation} in the agent's namespace: {source}")]
    Api {
        /// The failed operation, as a verb and an object.
        operation: &'static str,
        /// Error of the API server.
        #[source]
        source: ClientError,
    },
    /// The API server did not respond in time.
    #[error(
        "cannot {operation} in the agent's namespace: no response within {seconds} s",
        seconds = TIMEOUT.as_secs()
    )]
    Timeout {
        /// The operation that timed out, as a verb and an object.
        operation: &'static str,
    },
    /// An object lacks a required key.
    #[error("{object} has no {key}; apply the manifest of \"drover cluster import\" again")]
    Missing {
        /// Kind and name of the object.
        object: &'static str,
        /// Key in the object's data.
        key: &'static str,
    },
    /// The agent cannot generate a key.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The reason why the agent cannot read its binding.
#[derive(Debug, Error)]
pub enum ReadBindingError {
    /// A call to the cluster's API failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The binding in the ConfigMap is not valid.
    #[error(transparent)]
    Binding(#[from] BindingError),
}

/// The record of a completed registration in the agent's Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationRecord {
    /// UID of the Cluster that the key is bound to.
    pub cluster_uid: ClusterUid,
    /// Name of the Cluster that the key is bound to.
    pub cluster_name: String,
}

/// The agent's objects in its namespace.
#[derive(Clone)]
pub struct Store {
    secrets: Api<Secret>,
    config_maps: Api<ConfigMap>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

impl Store {
    /// Creates a store. `client` uses the agent's own service account.
    pub fn new(client: kube::Client, namespace: &str) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), namespace),
            config_maps: Api::namespaced(client, namespace),
        }
    }

    /// Returns the stored keys. If the Secret has no key, generates and stores a key. If replicas
    /// start concurrently, the first replica creates the Secret and the other replicas read it.
    pub async fn keys_or_create(
        &self,
    ) -> Result<(StoredKeys, Option<RegistrationRecord>), StoreError> {
        let reading = "read Secret drover-agent-key";
        let secret = match call(reading, self.secrets.get_opt(KEY_SECRET)).await? {
            Some(found) => found,
            None => match self.create_key(&AgentKey::generate()?).await? {
                Some(created) => created,
                None => call(reading, self.secrets.get(KEY_SECRET)).await?,
            },
        };
        let data = secret.data.unwrap_or_default();
        let mut others = Vec::new();
        for name in [data::NEXT_KEY, data::PREVIOUS_KEY] {
            match stored_key(&data, name) {
                Ok(key) => others.push(Arc::new(key)),
                Err(StoreError::Missing { .. }) => {}
                // The current key can be valid.
                Err(error) => warn!(%error, key = name, "ignored a key in Secret drover-agent-key"),
            }
        }
        let current = Arc::new(stored_key(&data, data::KEY)?);
        Ok((StoredKeys { current, others }, recorded(&data)))
    }

    /// Returns the key that replaces the current key. Generates and stores the key if there is none. A
    /// second request returns the same key, because the server can have bound it after the first
    /// request.
    pub async fn next_key(&self) -> Result<AgentKey, StoreError> {
        let secret = self.read_keys().await?;
        let data = secret.data.unwrap_or_default();
        if let Ok(next) = stored_key(&data, data::NEXT_KEY) {
            return Ok(next);
        }
        let next = AgentKey::generate()?;
        let stored = ByteString(next.expose_secret().to_vec());
        let changed = json!({ data::NEXT_KEY: stored });
        let version = secret.metadata.resource_version;
        self.replace_keys(version.as_deref(), &changed).await?;
        Ok(AgentKey::from_pkcs8(&next)?)
    }

    /// Makes the stored key `public` the current key, and keeps the previous key. Does nothing if the
    /// other replica has done this already.
    pub async fn use_key(&self, public: &PublicKey) -> Result<(), StoreError> {
        let secret = self.read_keys().await?;
        let data = secret.data.unwrap_or_default();
        let is_public = |name| stored_key(&data, name).is_ok_and(|key| key.public() == public);
        let mut others = [data::NEXT_KEY, data::PREVIOUS_KEY].into_iter();
        let Some(name) = others
            .find(|name| is_public(name))
            .filter(|_| !is_public(data::KEY))
        else {
            return Ok(());
        };
        let mut changed = json!({
            data::KEY: data.get(name),
            data::PREVIOUS_KEY: data.get(data::KEY),
        });
        if name == data::NEXT_KEY {
            changed[name] = Value::Null;
        }
        let version = secret.metadata.resource_version;
        self.replace_keys(version.as_deref(), &changed).await
    }

    async fn read_keys(&self) -> Result<Secret, StoreError> {
        call("read Secret drover-agent-key", self.secrets.get(KEY_SECRET)).await
    }

    /// Changes keys in the Secret. Returns an error if the Secret has a different version, because the
    /// other replica can change the keys concurrently.
    async fn replace_keys(&self, version: Option<&str>, data: &Value) -> Result<(), StoreError> {
        let patch = json!({ "metadata": { "resourceVersion": version }, "data": data });
        let operation = "write a key into Secret drover-agent-key";
        self.patch_secret(operation, KEY_SECRET, &patch).await
    }

    /// Stores a generated key. Returns `None` if a concurrent replica created the Secret first.
    async fn create_key(&self, key: &SecretSlice<u8>) -> Result<Option<Secret>, StoreError> {
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(KEY_SECRET.to_owned()),
                ..Default::default()
            },
            data: Some(BTreeMap::from([(
                data::KEY.to_owned(),
                ByteString(key.expose_secret().to_vec()),
            )])),
            type_: Some("management.drover.dev/cluster-key".to_owned()),
            ..Default::default()
        };
        let operation = "create Secret drover-agent-key";
        let params = PostParams::default();
        match call(operation, self.secrets.create(&params, &secret)).await {
            Ok(created) => Ok(Some(created)),
            Err(StoreError::Api { source, .. }) if is_conflict(&source) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Records in the Secret that the server has bound the key.
    pub async fn record(&self, record: &RegistrationRecord) -> Result<(), StoreError> {
        let patch = json!({"stringData": {
            data::CLUSTER_UID: record.cluster_uid.as_str(),
            data::CLUSTER_NAME: record.cluster_name,
        }});
        self.patch_secret(
            "write the registration into Secret drover-agent-key",
            KEY_SECRET,
            &patch,
        )
        .await
    }

    /// Returns the registration token, or `None` if the token was already used.
    pub async fn registration_token(&self) -> Result<Option<SecretString>, StoreError> {
        let reading = "read Secret drover-agent-registration";
        let secret = call(reading, self.secrets.get_opt(REGISTRATION_SECRET)).await?;
        Ok(secret
            .and_then(|secret| secret.data?.remove(data::TOKEN))
            .and_then(|token| String::from_utf8(token.0).ok())
            .map(|token| token.trim().to_owned())
            .filter(|token| !token.is_empty())
            .map(SecretString::from))
    }

    /// Empties the registration Secret and removes the copy that `kubectl apply` stored in its
    /// annotation.
    pub async fn delete_registration_token(&self) -> Result<(), StoreError> {
        let reading = "read Secret drover-agent-registration";
        let Some(secret) = call(reading, self.secrets.get_opt(REGISTRATION_SECRET)).await? else {
            return Ok(());
        };
        let copied = secret
            .metadata
            .annotations
            .is_some_and(|all| all.contains_key(LAST_APPLIED));
        if secret.data.is_none_or(|data| data.is_empty()) && !copied {
            return Ok(());
        }
        let patch = json!({"data": null, "metadata": {"annotations": {LAST_APPLIED: null}}});
        self.patch_secret(
            "empty Secret drover-agent-registration",
            REGISTRATION_SECRET,
            &patch,
        )
        .await
    }

    /// Reads and parses the binding of the manifest.
    pub async fn binding(&self) -> Result<ServerBinding, ReadBindingError> {
        let reading = "read ConfigMap drover-agent-server";
        let found = call(reading, self.config_maps.get_opt(BINDING_CONFIG_MAP)).await?;
        let data = found.and_then(|map| map.data).unwrap_or_default();
        Ok(ServerBinding::read(&data)?)
    }

    /// Returns the names of the nodes that the server has selected for tunnels of node agents.
    pub async fn tunnel_nodes(&self) -> Result<BTreeSet<String>, StoreError> {
        let reading = "read ConfigMap drover-agent-tunnel-nodes";
        let found = call(reading, self.config_maps.get_opt(TUNNEL_NODES)).await?;
        let names = found.and_then(|map| map.data?.remove(data::NODES));
        let names = names.unwrap_or_default();
        Ok(names.split_whitespace().map(str::to_owned).collect())
    }

    async fn patch_secret(
        &self,
        operation: &'static str,
        name: &str,
        patch: &Value,
    ) -> Result<(), StoreError> {
        let params = PatchParams::default();
        call(
            operation,
            self.secrets.patch(name, &params, &Patch::Merge(patch)),
        )
        .await
        .map(|_| ())
    }
}

fn stored_key(
    data: &BTreeMap<String, ByteString>,
    key: &'static str,
) -> Result<AgentKey, StoreError> {
    let object = "Secret drover-agent-key";
    let stored = data.get(key).ok_or(StoreError::Missing { object, key })?;
    Ok(AgentKey::from_pkcs8(&SecretSlice::from(stored.0.clone()))?)
}

fn recorded(data: &BTreeMap<String, ByteString>) -> Option<RegistrationRecord> {
    let text = |key| String::from_utf8(data.get(key).map(|b: &ByteString| b.0.clone())?).ok();
    Some(RegistrationRecord {
        cluster_uid: ClusterUid::new(text(data::CLUSTER_UID)?),
        cluster_name: text(data::CLUSTER_NAME)?,
    })
}

async fn call<T>(
    operation: &'static str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, StoreError> {
    tokio::time::timeout(TIMEOUT, request)
        .await
        .map_err(|_| StoreError::Timeout { operation })?
        .map_err(|source| StoreError::Api {
            operation,
            source: source.into(),
        })
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}
