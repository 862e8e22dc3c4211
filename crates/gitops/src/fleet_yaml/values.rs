//! Files with Helm values.

use drover_api::fleet::{Bundle, HelmOptions};
use serde_json::{Value, json};

use super::error::ReadError;
use super::tree::{Tree, join};
use crate::targeting::merge_values;
use crate::yaml;

/// Maximum number of values files of a bundle and its targets.
pub(super) const MAX_VALUES_FILES: usize = 200;
/// Maximum size of a values file in bytes.
const MAX_VALUES_BYTES: usize = 1 << 20;

/// Merges the values files of a chart over its values.
pub(super) fn merge_values_files(
    tree: &Tree,
    folder: &str,
    helm: &mut HelmOptions,
) -> Result<(), ReadError> {
    let mut values = helm.values.clone().unwrap_or_else(|| json!({}));
    for file in &helm.values_files {
        let failed = |reason: String| ReadError::Values {
            file: file.clone(),
            folder: folder.to_owned(),
            reason,
        };
        let path = join(folder, file)?;
        let data = tree
            .file(&path)
            .ok_or_else(|| failed("the file does not exist".to_owned()))?;
        if data.len() > MAX_VALUES_BYTES {
            return Err(failed(format!(
                "the file has more than {MAX_VALUES_BYTES} bytes"
            )));
        }
        let text = std::str::from_utf8(data).map_err(|error| failed(error.to_string()))?;
        let map = yaml::object(text).map_err(|error| failed(error.to_string()))?;
        merge_values(&mut values, &Value::Object(map));
    }
    let has_values = values.as_object().is_some_and(|map| !map.is_empty());
    if !helm.values_files.is_empty() && has_values {
        helm.values = Some(values);
    }
    Ok(())
}

/// Returns the paths of the values files of a bundle and its targets.
pub(super) fn values_files(bundle: &Bundle) -> impl Iterator<Item = &String> {
    let targets = bundle.spec.targets.iter().map(|target| &target.options);
    let helm = targets
        .chain([&bundle.spec.options])
        .filter_map(|it| it.helm.as_ref());
    helm.flat_map(|helm| &helm.values_files)
}
