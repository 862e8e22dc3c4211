//! Helm values, which Fleet stores in Secrets beside the objects.

use std::collections::BTreeMap;

use drover_api::fleet::{Bundle, BundleDeploymentOptions, HelmOptions};
use k8s_openapi::ByteString;
use serde_json::Value;
use thiserror::Error;

use super::go_json;
use super::sha256_hex;

/// The Helm values of a bundle.
///
/// The type implements no `Debug`, because values can contain passwords.
pub struct BundleValues {
    /// Hash of `data`, for `spec.valuesHash`. Empty if the bundle has no values.
    pub hash: String,
    /// Data of the Secret: `values.yaml`, and an entry for each target with values.
    pub data: BTreeMap<String, ByteString>,
}

/// The Helm values of a bundle deployment.
///
/// The type implements no `Debug`, because values can contain passwords.
pub struct DeploymentValues {
    /// Hash of the values, for `spec.valuesHash`. Empty if the deployment has no values.
    pub hash: String,
    /// Entry `values` of the Secret.
    pub values: Vec<u8>,
    /// Entry `stagedValues` of the Secret.
    pub staged_values: Vec<u8>,
}

impl DeploymentValues {
    /// Replaces the values of the current options, and keeps the staged values.
    #[must_use]
    pub fn with_current(self, values: Vec<u8>) -> Self {
        let hash = values_hash(&values, &self.staged_values);
        Self {
            hash,
            values,
            staged_values: self.staged_values,
        }
    }
}

/// Returns the Helm values of a bundle and of its targets. Targets must have names.
#[must_use]
pub fn bundle_values(bundle: &Bundle) -> BundleValues {
    let mut data = BTreeMap::new();
    if let Some(json) = json(bundle.spec.options.helm.as_ref()) {
        data.insert("values.yaml".to_owned(), ByteString(json));
    }
    for target in &bundle.spec.targets {
        if let Some(json) = json(target.options.helm.as_ref()) {
            data.insert(target.name.clone(), ByteString(json));
        }
    }
    let hash = if data.is_empty() {
        String::new()
    } else {
        sha256_hex(go_json::to_string(&data).as_bytes())
    };
    BundleValues { hash, data }
}

/// An entry of the Secret with the Helm values of a bundle that cannot be parsed.
#[derive(Debug, Error)]
#[error("the entry {entry} of the Secret with the Helm values is not JSON")]
pub struct BundleValuesError {
    entry: String,
    source: serde_json::Error,
}

/// Adds the Helm values of a bundle and of its targets, from the data of [`BundleValues`].
///
/// # Errors
///
/// An entry is not JSON.
pub fn add_bundle_values(
    bundle: &mut Bundle,
    data: BTreeMap<String, ByteString>,
) -> Result<(), BundleValuesError> {
    for (entry, bytes) in data {
        let values: Value = match serde_json::from_slice(&bytes.0) {
            Ok(values) => values,
            Err(source) => return Err(BundleValuesError { entry, source }),
        };
        if entry == "values.yaml" {
            bundle.spec.options.helm.get_or_insert_default().values = Some(values);
            continue;
        }
        let mut targets = bundle.spec.targets.iter_mut();
        if let Some(target) = targets.find(|target| target.name == entry) {
            target.options.helm.get_or_insert_default().values = Some(values);
        }
    }
    Ok(())
}

/// Removes the Helm values from a bundle.
pub fn clear_bundle_values(bundle: &mut Bundle) {
    let targets = bundle.spec.targets.iter_mut();
    let options = targets.map(|target| &mut target.options);
    for options in options.chain([&mut bundle.spec.options]) {
        if let Some(helm) = &mut options.helm {
            helm.values = None;
            helm.values_files = Vec::new();
        }
    }
}

/// Returns the Helm values of a deployment's options and staged options.
#[must_use]
pub fn deployment_values(
    options: &BundleDeploymentOptions,
    staged: &BundleDeploymentOptions,
) -> DeploymentValues {
    let values = json(options.helm.as_ref()).unwrap_or_default();
    let staged_values = json(staged.helm.as_ref()).unwrap_or_default();
    DeploymentValues {
        hash: values_hash(&values, &staged_values),
        values,
        staged_values,
    }
}

fn values_hash(values: &[u8], staged_values: &[u8]) -> String {
    if values.is_empty() && staged_values.is_empty() {
        return String::new();
    }
    sha256_hex(&[values, staged_values].concat())
}

/// Removes the Helm values from options.
pub fn clear_deployment_values(options: &mut BundleDeploymentOptions) {
    if let Some(helm) = &mut options.helm {
        helm.values = None;
    }
}

/// Returns the JSON of values, or nothing if there are no values.
fn json(helm: Option<&HelmOptions>) -> Option<Vec<u8>> {
    let mut values = helm?.values.clone()?;
    if values.is_null() || values.as_object().is_some_and(serde_json::Map::is_empty) {
        return None;
    }
    go_json::numbers_as_floats(&mut values);
    Some(go_json::to_string::<Value>(&values).into_bytes())
}
