//! Release records in Helm's format: Secrets that `helm list`, `helm history`, `helm rollback` and
//! `helm uninstall` read.

mod encoding;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use encoding::{MAX_RECORD_BYTES, RecordError, decode, encode};

use crate::object::Object;
use crate::renderer::{RenderedHook, RenderedObject};

/// Type of the Secrets with release records.
pub const SECRET_TYPE: &str = "helm.sh/release.v1";

/// State of a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The current release.
    Deployed,
    /// An older release.
    Superseded,
    /// A release whose deployment failed.
    Failed,
    /// The first deployment runs.
    PendingInstall,
    /// A later deployment runs.
    PendingUpgrade,
    /// A rollback runs.
    PendingRollback,
    /// The deletion runs.
    Uninstalling,
    /// The release is deleted, and its history is kept.
    Uninstalled,
    /// A state that this version does not know.
    #[default]
    #[serde(other)]
    Unknown,
}

impl Status {
    /// Returns the value of the label `status`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Deployed => "deployed",
            Self::Superseded => "superseded",
            Self::Failed => "failed",
            Self::PendingInstall => "pending-install",
            Self::PendingUpgrade => "pending-upgrade",
            Self::PendingRollback => "pending-rollback",
            Self::Uninstalling => "uninstalling",
            Self::Uninstalled => "uninstalled",
            Self::Unknown => "unknown",
        }
    }

    /// Returns true while an operation runs.
    pub const fn is_pending(self) -> bool {
        matches!(
            self,
            Self::PendingInstall | Self::PendingUpgrade | Self::PendingRollback
        )
    }
}

/// A release. The field order equals the order in Helm.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Release {
    /// Name of the release.
    pub name: String,
    /// Times, state and notes.
    pub info: Info,
    /// The chart.
    pub chart: Value,
    /// The values without the chart's defaults.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub config: Value,
    /// The objects, as a stream of documents.
    pub manifest: String,
    /// The hooks.
    #[serde(deserialize_with = "nullable")]
    pub hooks: Vec<Hook>,
    /// Revision of the release.
    pub version: u32,
    /// Namespace of the release.
    pub namespace: String,
    /// `ssa`: Helm 4 uses server-side apply for a rollback.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub apply_method: String,
}

// The manifest and the values may contain secrets.
impl std::fmt::Debug for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Release")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("version", &self.version)
            .field("status", &self.info.status)
            .finish_non_exhaustive()
    }
}

/// Times, state and notes of a release.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Info {
    /// Time of the first deployment, in RFC 3339.
    pub first_deployed: String,
    /// Time of this deployment, in RFC 3339.
    pub last_deployed: String,
    /// A text for `helm history`.
    pub description: String,
    /// State of the release.
    pub status: Status,
    /// The notes of the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

/// A hook of a release.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hook {
    /// Name of the object.
    pub name: String,
    /// Kind of the object.
    pub kind: String,
    /// Path of the template.
    pub path: String,
    /// The object.
    pub manifest: String,
    /// Events that run the hook.
    #[serde(deserialize_with = "nullable")]
    pub events: Vec<String>,
    /// The last run.
    pub last_run: LastRun,
    /// Position of the hook.
    pub weight: i32,
    /// Policies that delete the object.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub delete_policies: Vec<String>,
}

/// The last run of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastRun {
    /// State of the run, for example `Succeeded`.
    pub phase: String,
}

/// Go writes an empty list as `null`.
fn nullable<'de, T: Default + Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Writes objects as a stream of YAML documents.
///
/// The documents are JSON, which is YAML too: a text such as `yes` has the same meaning for each
/// YAML parser.
pub fn manifest(objects: &[RenderedObject]) -> String {
    use std::fmt::Write as _;
    let mut stream = String::new();
    for one in objects {
        // Writing to a text cannot fail.
        let _ = writeln!(stream, "---\n# Source: {}\n{:#}", one.path, one.object.0);
    }
    stream
}

/// Converts a rendered hook.
pub fn hook(rendered: &RenderedHook) -> Hook {
    Hook {
        name: rendered.object.name().to_owned(),
        kind: rendered.object.kind().to_owned(),
        path: rendered.path.clone(),
        manifest: format!("{:#}", rendered.object.0),
        events: rendered.events.clone(),
        last_run: LastRun::default(),
        weight: rendered.weight,
        delete_policies: rendered.delete_policies.clone(),
    }
}

/// Reads the objects of a release, and of releases that Helm or Fleet wrote.
pub fn objects(manifest: &str) -> Result<Vec<Object>, RecordError> {
    let mut options = serde_saphyr::Options::default();
    options.with_snippet = false;
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(manifest, options)
        .map_err(|_| RecordError::Manifest)?;
    let objects = documents
        .into_iter()
        .flat_map(|document| Object(document).expand());
    Ok(objects.filter(|object| !object.kind().is_empty()).collect())
}

/// Reads the hooks of a release.
pub fn hooks(hooks: &[Hook]) -> Result<Vec<RenderedHook>, RecordError> {
    let mut rendered = Vec::new();
    for hook in hooks {
        for object in objects(&hook.manifest)? {
            rendered.push(RenderedHook {
                path: hook.path.clone(),
                object,
                events: hook.events.clone(),
                weight: hook.weight,
                delete_policies: hook.delete_policies.clone(),
            });
        }
    }
    Ok(rendered)
}

/// Returns the name of the Secret of a release.
pub fn secret_name(name: &str, version: u32) -> String {
    format!("sh.helm.release.v1.{name}.v{version}")
}

/// Returns the labels of the Secret of a release.
pub fn labels(release: &Release) -> BTreeMap<String, String> {
    [
        ("name", release.name.clone()),
        ("owner", "helm".to_owned()),
        ("status", release.info.status.label().to_owned()),
        ("version", release.version.to_string()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn manifest_contains_the_objects_and_their_templates() {
        let object = Object(json!({"kind": "ConfigMap", "data": {"answer": "yes"}}));
        let written = manifest(&[RenderedObject {
            path: "web/templates/a.yaml".to_owned(),
            object: object.clone(),
        }]);
        assert!(
            written.starts_with("---\n# Source: web/templates/a.yaml\n{"),
            "{written}"
        );
        assert_eq!(objects(&written).unwrap(), [object]);
    }

    #[test]
    fn records_of_helm_with_null_lists_are_readable() {
        let text = json!({
            "name": "a", "info": {"status": "pending-upgrade", "deleted": ""}, "hooks": null,
            "version": 3, "namespace": "b", "chart": {"metadata": {"name": "c"}},
        });
        let release: Release = serde_json::from_value(text).unwrap();
        assert_eq!(
            (release.version, release.info.status),
            (3, Status::PendingUpgrade)
        );
        assert!(release.hooks.is_empty());
    }
}
