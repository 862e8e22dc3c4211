//! The files and values of bundle deployments on the hub.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use drover_api::client_error::ClientError;
use drover_api::fleet::{BundleDeployment, BundleResource, Content};
use drover_deploy::object::Object;
use drover_gitops::ids::{ContentError, Manifest, content_id, part_names, sha256_hex};
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
    #[error(
        "spec.ociContents: this agent reads no files from OCI registries; remove the Secret with the \
         registry from the GitRepo, so that the hub stores the files"
    )]
    Registry,
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
    pub(super) async fn files(
        &self,
        deployment: &BundleDeployment,
    ) -> Result<Files, ContentReadError> {
        if deployment.spec.oci_contents {
            return Err(ContentReadError::Registry);
        }
        let id = &deployment.spec.deployment_id;
        let (name, _) = id
            .split_once(':')
            .ok_or_else(|| ContentReadError::NoContent(id.clone()))?;
        if let Some((_, files)) = self.cached.lock().iter().find(|(known, _)| known == name) {
            return Ok(Arc::clone(files));
        }
        let contents = Api::<Content>::all(self.client.clone());
        let content = call(format!("the Content {name}"), contents.get(name)).await?;
        let invalid = |source| ContentReadError::Invalid {
            name: name.to_owned(),
            source,
        };
        let parts = part_names(&content).map_err(invalid)?;
        let data = if parts.is_empty() {
            data_of(&content)?
        } else {
            read_parts(&contents, &parts).await?
        };
        let manifest = Manifest::decompress(&data, &content.sha256_sum, MAX_CONTENT);
        let manifest = manifest.map_err(invalid)?;
        let sum = match content.sha256_sum.as_str() {
            "" => manifest.sha256(),
            sum => sum.to_owned(),
        };
        if content_id(&sum) != name {
            return Err(ContentReadError::OtherContent(name.to_owned()));
        }
        let files = Arc::new(manifest.resources);
        if data.len() <= MAX_CACHED {
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

/// Reads the parts of a large Content, and returns their data.
async fn read_parts(
    contents: &Api<Content>,
    parts: &[String],
) -> Result<Vec<u8>, ContentReadError> {
    let mut data = Vec::new();
    for part in parts {
        let part = call(format!("the Content {part}"), contents.get(part)).await?;
        data.extend(data_of(&part)?);
    }
    Ok(data)
}

fn data_of(content: &Content) -> Result<Vec<u8>, ContentReadError> {
    let data = content.content.clone().filter(|data| !data.0.is_empty());
    data.map(|data| data.0)
        .ok_or_else(|| ContentReadError::Empty(content.name_any()))
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
    use drover_gitops::ids::content_objects;
    use http_body_util::Full;

    use super::*;

    /// Returns a client of a hub. Each name that is not in `objects` is another name of the last object.
    fn hub(objects: Vec<Content>) -> Client {
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let name = request.uri().path().rsplit('/').next().unwrap_or_default();
            let found = objects.iter().find(|object| object.name_any() == name);
            let mut object = found.or_else(|| objects.last()).cloned().unwrap();
            object.metadata.name = Some(name.to_owned());
            let body = serde_json::to_vec(&object).unwrap();
            async move {
                let body = Full::new(bytes::Bytes::from(body));
                Ok::<_, std::convert::Infallible>(http::Response::new(body))
            }
        });
        Client::new(service, "default")
    }

    fn manifest(content: String) -> Manifest {
        Manifest {
            resources: vec![BundleResource {
                name: "a.yaml".to_owned(),
                content,
                ..BundleResource::default()
            }],
        }
    }

    fn objects(manifest: &Manifest) -> Vec<Content> {
        content_objects(&manifest.sha256(), manifest).unwrap()
    }

    fn deployment(content: &str) -> BundleDeployment {
        let mut deployment = BundleDeployment::default();
        deployment.spec.deployment_id = format!("{content}:1");
        deployment
    }

    #[tokio::test]
    async fn content_under_another_name_is_rejected() {
        let manifest = manifest(String::new());
        let contents = Contents::new(hub(objects(&manifest)));
        let files = contents.files(&deployment(&manifest.id())).await;
        assert_eq!(*files.unwrap(), manifest.resources);
        let error = contents.files(&deployment("s-other")).await.unwrap_err();
        assert!(
            matches!(error, ContentReadError::OtherContent(_)),
            "{error}"
        );
    }

    #[tokio::test]
    async fn files_of_a_large_content_are_read_from_its_parts() {
        // The hashes of numbers are not compressible.
        let hashes = (0..60_000_u32).map(|number| sha256_hex(&number.to_le_bytes()));
        let manifest = manifest(hashes.collect());
        let mut objects = objects(&manifest);
        assert!(objects.len() > 2);
        let contents = Contents::new(hub(objects.clone()));
        let files = contents.files(&deployment(&manifest.id())).await;
        assert_eq!(*files.unwrap(), manifest.resources);
        // A part with the data of another part is rejected.
        objects[1].content = objects[0].content.clone();
        let contents = Contents::new(hub(objects));
        let error = contents.files(&deployment(&manifest.id())).await;
        let error = error.unwrap_err();
        assert!(matches!(error, ContentReadError::Invalid { .. }), "{error}");
    }
}
