//! The agent's own objects in its cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use drover_api::client_error::ClientError;
use drover_api::ids::ClusterUid;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams, PostParams};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use serde_json::json;
use thiserror::Error;

use crate::key::KeyError;

/// Name of the agent's Deployment.
pub const DEPLOYMENT: &str = "drover-agent";
/// Secret with the cluster's key and what was registered with it; made by the agent.
pub const KEY_SECRET: &str = "drover-agent-key";
/// Secret with the registration token; made by the manifest, emptied by the agent.
pub const REGISTRATION_SECRET: &str = "drover-agent-registration";
/// ConfigMap with the server's URL and CA and the Cluster's UID; made by the manifest.
pub const BINDING_CONFIG_MAP: &str = "drover-agent-server";
/// ConfigMap in which each replica says how it is connected.
pub const STATUS_CONFIG_MAP: &str = "drover-agent-status";

/// Keys inside the objects.
pub mod data {
    /// In [`KEY_SECRET`](super::KEY_SECRET): PKCS#8.
    pub const KEY: &str = "key.pkcs8";
    /// In [`KEY_SECRET`](super::KEY_SECRET): UID of the Cluster that the key is bound to.
    pub const CLUSTER_UID: &str = "cluster-uid";
    /// In [`KEY_SECRET`](super::KEY_SECRET): that Cluster's name.
    pub const CLUSTER_NAME: &str = "cluster-name";
    /// In [`REGISTRATION_SECRET`](super::REGISTRATION_SECRET).
    pub const TOKEN: &str = "token";
    /// In [`BINDING_CONFIG_MAP`](super::BINDING_CONFIG_MAP): `https://host:port`.
    pub const SERVER_URL: &str = "server-url";
    /// In [`BINDING_CONFIG_MAP`](super::BINDING_CONFIG_MAP): PEM, the only roots trusted.
    pub const SERVER_CA: &str = "server-ca.crt";
}

/// Annotation in which `kubectl apply` keeps a copy of what it applied: the token too.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Most time for one call.
const TIMEOUT: Duration = Duration::from_secs(15);

/// What the cluster's own API did not do.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A call failed.
    #[error("cannot {what} in the agent's namespace: {source}")]
    Api {
        /// What was tried.
        what: &'static str,
        /// What the API server said.
        #[source]
        source: ClientError,
    },
    /// A call took too long.
    #[error("cannot {what} in the agent's namespace: no answer within {} s", TIMEOUT.as_secs())]
    Timeout {
        /// What was tried.
        what: &'static str,
    },
    /// An object lacks a key.
    #[error("{object} has no {key}; apply the manifest of \"drover cluster import\" again")]
    Missing {
        /// Kind and name.
        object: &'static str,
        /// Key inside it.
        key: &'static str,
    },
    /// No key could be made.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// What an earlier registration left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// UID of the Cluster that the key is bound to.
    pub cluster_uid: ClusterUid,
    /// Its name.
    pub cluster_name: String,
}

/// The agent's namespace.
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
    /// Speaks as the agent's own service account.
    pub fn new(client: kube::Client, namespace: &str) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), namespace),
            config_maps: Api::namespaced(client, namespace),
        }
    }

    /// The stored key, or `make`'s if there is none: whoever creates first wins, others read.
    pub async fn key_or_create(
        &self,
        make: impl Fn() -> Result<SecretSlice<u8>, KeyError>,
    ) -> Result<(SecretSlice<u8>, Option<Memory>), StoreError> {
        let reading = "read Secret drover-agent-key";
        let secret = match call(reading, self.secrets.get_opt(KEY_SECRET)).await? {
            Some(found) => found,
            None => match self.create_key(&make()?).await? {
                Some(created) => created,
                None => call(reading, self.secrets.get(KEY_SECRET)).await?,
            },
        };
        let mut data = secret.data.unwrap_or_default();
        let key = data.remove(data::KEY).ok_or(StoreError::Missing {
            object: "Secret drover-agent-key",
            key: data::KEY,
        })?;
        Ok((SecretSlice::from(key.0), memory(&data)))
    }

    /// `None` when another replica was first.
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
        let what = "create Secret drover-agent-key";
        let params = PostParams::default();
        match call(what, self.secrets.create(&params, &secret)).await {
            Ok(created) => Ok(Some(created)),
            Err(StoreError::Api { source, .. }) if is_conflict(&source) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Writes down that the key is registered.
    pub async fn remember(&self, memory: &Memory) -> Result<(), StoreError> {
        let patch = json!({"stringData": {
            data::CLUSTER_UID: memory.cluster_uid.as_str(),
            data::CLUSTER_NAME: memory.cluster_name,
        }});
        self.patch_secret(
            "write the registration into Secret drover-agent-key",
            KEY_SECRET,
            &patch,
        )
        .await
    }

    /// The registration token; `None` when it was used up.
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

    /// Empties the registration Secret, with the copy that `kubectl apply` keeps on it.
    pub async fn forget_registration_token(&self) -> Result<(), StoreError> {
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

    /// A ConfigMap's contents; empty when there is none.
    pub async fn config(
        &self,
        what: &'static str,
        name: &str,
    ) -> Result<BTreeMap<String, String>, StoreError> {
        let found = call(what, self.config_maps.get_opt(name)).await?;
        Ok(found.and_then(|map| map.data).unwrap_or_default())
    }

    /// Sets keys of the status ConfigMap and removes those that are `None`.
    pub async fn write_status(
        &self,
        entries: &BTreeMap<String, Option<String>>,
    ) -> Result<(), StoreError> {
        let what = "write ConfigMap drover-agent-status";
        let patch = Patch::Merge(json!({"data": entries}));
        let params = PatchParams::default();
        match call(
            what,
            self.config_maps.patch(STATUS_CONFIG_MAP, &params, &patch),
        )
        .await
        {
            Ok(_) => return Ok(()),
            Err(StoreError::Api { source, .. }) if is_missing(&source) => {}
            Err(other) => return Err(other),
        }
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(STATUS_CONFIG_MAP.to_owned()),
                ..Default::default()
            },
            data: Some(
                entries
                    .iter()
                    .filter_map(|(k, v)| Some((k.clone(), v.clone()?)))
                    .collect(),
            ),
            ..Default::default()
        };
        call(what, self.config_maps.create(&PostParams::default(), &map))
            .await
            .map(|_| ())
    }

    async fn patch_secret(
        &self,
        what: &'static str,
        name: &str,
        patch: &serde_json::Value,
    ) -> Result<(), StoreError> {
        let params = PatchParams::default();
        call(
            what,
            self.secrets.patch(name, &params, &Patch::Merge(patch)),
        )
        .await
        .map(|_| ())
    }
}

fn memory(data: &BTreeMap<String, ByteString>) -> Option<Memory> {
    let text = |key| String::from_utf8(data.get(key).map(|b: &ByteString| b.0.clone())?).ok();
    Some(Memory {
        cluster_uid: ClusterUid::new(text(data::CLUSTER_UID)?),
        cluster_name: text(data::CLUSTER_NAME)?,
    })
}

async fn call<T>(
    what: &'static str,
    asked: impl Future<Output = kube::Result<T>>,
) -> Result<T, StoreError> {
    tokio::time::timeout(TIMEOUT, asked)
        .await
        .map_err(|_| StoreError::Timeout { what })?
        .map_err(|source| StoreError::Api {
            what,
            source: source.into(),
        })
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
