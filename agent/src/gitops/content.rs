//! The files and values of bundle deployments on the hub.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use drover_api::client_error::ClientError;
use drover_api::fleet::{BundleDeployment, BundleResource, Content};
use drover_deploy::object::Object;
use drover_gitops::ids::{ContentError, Manifest, content_id, sha256_hex};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use thiserror::Error;

/// Timeout of a request to the hub.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of an uncompressed content, in bytes.
const MAX_CONTENT: u64 = 256 << 20;
/// Number of contents in memory. Many bundle deployments of a rollout have different contents.
const CACHED: usize = 4;
/// Maximum size of a content in memory, in bytes.
const MAX_CACHED: usize = 1 << 20;

/// The reason why the files or values cannot be read.
#[derive(Debug, Error)]
pub(super) enum ContentReadError {
    #[error("cannot read {object} from the hub")]
    Hub { object: String, source: ClientError },
    #[error("the hub did not return {object} within {seconds} s", seconds = TIMEOUT.as_secs())]
    Timeout { object: String },
    #[error("the Content {name} on the hub is not valid")]
    Invalid { name: String, source: ContentError },
    #[error("the Content {0} on the hub contains other data than its name states")]
    OtherContent(String),
    #[error("the Content {0} on the hub is empty")]
    Empty(String),
    #[error("the deployment ID {0:?} names no Content")]
    NoContent(String),
    #[error("the Secret {0} with the Helm values has a different hash than the bundle deployment")]
    OtherValues(String),
    #[error("downstreamResources: the kind {0:?} is not supported; use Secret or ConfigMap")]
    Kind(String),
    #[error("the Secret {name} with the Helm values is not valid")]
    Values {
        name: String,
        source: serde_json::Error,
    },
}

/// The files of one content.
pub(super) type Files = Arc<Vec<BundleResource>>;

/// Reads contents, and keeps a few.
pub(super) struct Contents {
    client: Client,
    cached: Mutex<VecDeque<(String, Files)>>,
}

impl Contents {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            cached: Mutex::default(),
        }
    }

    /// Returns the files of a bundle deployment.
    pub(super) async fn files(&self, deployment_id: &str) -> Result<Files, ContentReadError> {
        let (name, _) = deployment_id
            .split_once(':')
            .ok_or_else(|| ContentReadError::NoContent(deployment_id.to_owned()))?;
        if let Some((_, files)) = self.cached.lock().iter().find(|(known, _)| known == name) {
            return Ok(Arc::clone(files));
        }
        let contents = Api::<Content>::all(self.client.clone());
        let content = call(format!("the Content {name}"), contents.get(name)).await?;
        let data = content
            .content
            .ok_or_else(|| ContentReadError::Empty(name.to_owned()))?;
        let manifest = Manifest::decompress(&data.0, &content.sha256_sum, MAX_CONTENT);
        let manifest = manifest.map_err(|source| ContentReadError::Invalid {
            name: name.to_owned(),
            source,
        })?;
        let sum = match content.sha256_sum.as_str() {
            "" => manifest.sha256(),
            sum => sum.to_owned(),
        };
        if content_id(&sum) != name {
            return Err(ContentReadError::OtherContent(name.to_owned()));
        }
        let files = Arc::new(manifest.resources);
        if data.0.len() <= MAX_CACHED {
            let mut cached = self.cached.lock();
            cached.push_front((name.to_owned(), Arc::clone(&files)));
            cached.truncate(CACHED);
        }
        Ok(files)
    }

    /// Returns the Helm values of a bundle deployment, if it has values.
    pub(super) async fn values(
        &self,
        deployment: &BundleDeployment,
    ) -> Result<Option<Map<String, Value>>, ContentReadError> {
        if deployment.spec.values_hash.is_empty() {
            return Ok(None);
        }
        let (namespace, name) = (
            deployment.namespace().unwrap_or_default(),
            deployment.name_any(),
        );
        let secrets = Api::<Secret>::namespaced(self.client.clone(), &namespace);
        let secret = call(format!("the Secret {name}"), secrets.get(&name)).await?;
        let data = secret.data.unwrap_or_default();
        let entry = |key: &str| {
            data.get(key)
                .map(|bytes| bytes.0.as_slice())
                .unwrap_or_default()
        };
        let (values, staged) = (entry("values"), entry("stagedValues"));
        if sha256_hex(&[values, staged].concat()) != deployment.spec.values_hash {
            return Err(ContentReadError::OtherValues(name));
        }
        if values.is_empty() {
            return Ok(None);
        }
        let values = serde_json::from_slice(values);
        values
            .map(Some)
            .map_err(|source| ContentReadError::Values { name, source })
    }

    /// Returns the Secrets and ConfigMaps that a bundle deployment copies to the cluster. The server writes
    /// them before the bundle deployment.
    pub(super) async fn copies(
        &self,
        deployment: &BundleDeployment,
    ) -> Result<Vec<Object>, ContentReadError> {
        let namespace = deployment.namespace().unwrap_or_default();
        let mut copies = Vec::new();
        for requested in &deployment.spec.options.downstream_resources {
            let (name, kind) = (&requested.name, requested.kind.to_ascii_lowercase());
            let resource = match kind.as_str() {
                "secret" => ApiResource::erase::<Secret>(&()),
                "configmap" => ApiResource::erase::<ConfigMap>(&()),
                _ => return Err(ContentReadError::Kind(requested.kind.clone())),
            };
            let (client, kind) = (self.client.clone(), &resource.kind);
            let api = Api::<DynamicObject>::namespaced_with(client, &namespace, &resource);
            let found = call(format!("the {kind} {name}"), api.get(name)).await?;
            let field = |name: &str| found.data.get(name);
            copies.push(Object(json!({
                "apiVersion": "v1", "kind": kind, "metadata": { "name": name },
                "type": field("type"), "data": field("data"), "binaryData": field("binaryData"),
            })));
        }
        Ok(copies)
    }
}

/// Sends a request to the hub with a timeout.
pub(super) async fn call<T>(
    object: String,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ContentReadError> {
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(ContentReadError::Hub {
            object,
            source: source.into(),
        }),
        Err(_) => Err(ContentReadError::Timeout { object }),
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;
    use serde_json::json;

    use super::*;

    /// Returns a client of a hub with one Content, under any name.
    fn hub(manifest: &Manifest) -> Client {
        let data = k8s_openapi::ByteString(manifest.compress().unwrap());
        let sum = manifest.sha256();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let name = request.uri().path().rsplit('/').next().unwrap_or_default();
            let content = json!({
                "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Content", "metadata": { "name": name },
                "content": data, "sha256sum": sum,
            });
            let body = Full::new(bytes::Bytes::from(content.to_string()));
            async move { Ok::<_, std::convert::Infallible>(http::Response::new(body)) }
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn content_under_another_name_is_rejected() {
        let manifest = Manifest {
            resources: vec![BundleResource {
                name: "a.yaml".to_owned(),
                ..BundleResource::default()
            }],
        };
        let contents = Contents::new(hub(&manifest));
        let files = contents.files(&format!("{}:1", manifest.id())).await;
        assert_eq!(files.unwrap().len(), 1);
        let error = contents.files("s-other:1").await.unwrap_err();
        assert!(
            matches!(error, ContentReadError::OtherContent(_)),
            "{error}"
        );
    }
}
