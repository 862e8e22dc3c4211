//! The JSON documents between this library and the renderer.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::cache::RequestDigest;
use crate::object::Object;
use crate::source::Files;

/// Version and APIs of the cluster, and the chart or kustomization to render.
#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderRequest {
    /// Files of the bundle.
    #[serde(serialize_with = "encode_files")]
    pub files: Files,
    /// Folder of the chart.
    pub chart: Option<String>,
    /// Folder of the kustomization.
    pub kustomize: Option<String>,
    /// Values for the chart.
    pub values: Map<String, Value>,
    /// Name of the release.
    pub release_name: String,
    /// Namespace of the release.
    pub namespace: String,
    /// Revision of the release.
    pub revision: u32,
    /// True if a release exists.
    pub is_upgrade: bool,
    /// Version of Kubernetes.
    pub kube_version: String,
    /// API versions, and API versions with kinds.
    pub api_versions: Vec<String>,
    /// True to enable the template function `getHostByName`.
    pub enable_dns: bool,
    /// True to accept values that violate the schema of the chart.
    pub skip_schema_validation: bool,
    /// Annotations that the chart gets in the release record.
    pub chart_annotations: BTreeMap<String, String>,
}

// Files and values may contain secrets.
impl std::fmt::Debug for RenderRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RenderRequest")
            .field("release_name", &self.release_name)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl RenderRequest {
    pub(super) fn digest(&self) -> RequestDigest {
        // The serialization of texts, numbers and maps with text keys cannot fail.
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut out = RequestDigest::default();
        out.copy_from_slice(digest(&SHA256, &json).as_ref());
        out
    }
}

fn encode_files<S: Serializer>(files: &Files, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        files
            .iter()
            .map(|(name, content)| (name, STANDARD.encode(content))),
    )
}

/// A call of the template function `lookup`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LookupRequest {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object. Empty for all namespaces.
    #[serde(default)]
    pub namespace: String,
    /// Name of the object. Empty for a list.
    #[serde(default)]
    pub name: String,
}

/// A rendered object.
#[derive(Clone, Debug, Deserialize)]
pub struct RenderedObject {
    /// Path of the template.
    pub path: String,
    /// The object.
    pub object: Object,
}

/// A rendered hook.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderedHook {
    /// Path of the template.
    pub path: String,
    /// The object.
    pub object: Object,
    /// Events that run the hook, for example `pre-install`.
    pub events: Vec<String>,
    /// Position of the hook. Hooks with a low weight run first.
    pub weight: i32,
    /// Policies that delete the object of the hook.
    pub delete_policies: Vec<String>,
}

/// The result of a rendering.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rendered {
    /// The objects in Helm's order.
    pub manifests: Vec<RenderedObject>,
    /// The hooks.
    pub hooks: Vec<RenderedHook>,
    /// The objects in the folders `crds/` of the chart.
    pub crds: Vec<RenderedObject>,
    /// The notes of the chart.
    #[serde(default)]
    pub notes: String,
    /// The chart in the format of release records.
    pub chart: Option<Value>,
    /// True if the result depends on objects of the cluster.
    #[serde(default)]
    pub used_lookup: bool,
    /// Size of the result, in bytes.
    #[serde(skip)]
    pub size: usize,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request<'a> {
    pub(super) timeout_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) render: Option<&'a RenderRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch: Option<Patch<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Patch<'a> {
    pub(super) object: &'a Value,
    pub(super) patch: &'a Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response {
    pub(super) error: String,
    /// True if the process ends after the response.
    pub(super) exiting: bool,
    pub(super) rendered: Option<Rendered>,
    pub(super) patched: Option<Value>,
    pub(super) lookup: Option<LookupRequest>,
}

#[derive(Debug, Serialize)]
pub(super) struct Found {
    pub(super) object: Value,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) error: String,
}
