//! IDs and names that equal Fleet's byte for byte.

mod content;
pub mod go_json;
mod names;
mod parts;
mod proof;
mod values;

pub use content::{
    BASE64_GZIP, ContentError, Manifest, content_id, decode_resource, encode_resource, sha256_hex,
};
pub use names::{
    bundle_name, cluster_name, cluster_namespace, credential_secret_name, key_hash, release_name,
    safe_concat_name, short_hash, shorten,
};
pub use parts::{Separated, content_objects, part_names, separate_files, whole_name};
pub use proof::{is_registration_proof, registration_proof};
pub use values::{
    BundleValues, BundleValuesError, DeploymentValues, add_bundle_values, bundle_values,
    clear_bundle_values, clear_deployment_values, deployment_values,
};

use drover_api::fleet::BundleDeploymentOptions;

/// Returns the ID of a deployment: the content's ID and a hash of the options.
///
/// The hash excludes `diff` and `correctDrift`, because these options do not change what the agent
/// deploys.
#[must_use]
pub fn deployment_id(content_id: &str, options: &BundleDeploymentOptions) -> String {
    let mut options = options.clone();
    options.diff = None;
    options.correct_drift = None;
    if let Some(values) = options.helm.as_mut().and_then(|helm| helm.values.as_mut()) {
        go_json::numbers_as_floats(values);
    }
    let mut json = go_json::to_string(&options);
    json.push('\n');
    format!("{content_id}:{}", sha256_hex(json.as_bytes()))
}

#[cfg(test)]
mod tests;
