//! The file fleet.yaml.

use std::collections::BTreeMap;

use drover_api::fleet::{
    BundleDeploymentOptions, BundleRef, BundleSpec, BundleTarget, GitTarget, ImageScanSpec,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::states::State;
use crate::yaml;

/// A fleet.yaml that is not valid.
#[derive(Debug, Error)]
pub enum FleetYamlError {
    /// The file is not UTF-8.
    #[error("the file is not UTF-8 text")]
    NotText,
    /// The file is not YAML.
    #[error("the file is not valid YAML: {0}")]
    Yaml(#[from] yaml::YamlError),
    /// A field has a wrong value.
    #[error("{field}: {reason}")]
    Field {
        /// Path of the field.
        field: String,
        /// The reason.
        reason: String,
    },
}

/// The options in a fleet.yaml.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetYaml {
    /// Name of the bundle. Empty for a name from the path.
    pub name: String,
    /// Labels of the bundle.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the bundle.
    pub annotations: BTreeMap<String, String>,
    /// The bundle.
    pub spec: BundleSpec,
    /// Options for some of the clusters.
    pub target_customizations: Vec<BundleTarget>,
    /// Image scans.
    pub image_scans: Vec<ImageScanSpec>,
    /// Targets in place of the targets of the GitRepo.
    pub override_targets: Option<Vec<GitTarget>>,
}

impl FleetYaml {
    /// Parses a fleet.yaml. Unknown fields are ignored, as in Fleet.
    ///
    /// # Errors
    ///
    /// The file is not YAML, or a field has a wrong value.
    pub fn parse(data: &[u8]) -> Result<Self, FleetYamlError> {
        let text = std::str::from_utf8(data).map_err(|_| FleetYamlError::NotText)?;
        let mut map = yaml::object(text)?;
        // Errors in the inlined options name no field after `flatten`, so the options are read first.
        let _: BundleDeploymentOptions = whole("", &map)?;
        check_values("", &map)?;
        let targets = targets(&mut map, "targets")?;
        let target_customizations = self::targets(&mut map, "targetCustomizations")?;
        let mut spec: BundleSpec = whole("", &map)?;
        spec.targets = targets;
        for (index, bundle) in spec.depends_on.iter().enumerate() {
            check_dependency(index, bundle)?;
        }
        let name: String = field(&map, "name")?;
        check_name(&name)?;
        Ok(Self {
            name,
            labels: field(&map, "labels")?,
            annotations: field(&map, "annotations")?,
            spec,
            target_customizations,
            image_scans: field(&map, "imageScans")?,
            override_targets: field(&map, "overrideTargets")?,
        })
    }
}

/// Reads a type from a whole object.
fn whole<T: DeserializeOwned>(prefix: &str, map: &Map<String, Value>) -> Result<T, FleetYamlError> {
    decode(prefix, &Value::Object(map.clone()))
}

/// Reads a field. A missing field and `null` are the default value.
pub(super) fn field<T: DeserializeOwned + Default>(
    map: &Map<String, Value>,
    name: &str,
) -> Result<T, FleetYamlError> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => decode(name, value),
    }
}

fn decode<T: DeserializeOwned>(prefix: &str, value: &Value) -> Result<T, FleetYamlError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { "" } else { path.as_str() };
        let dot = if prefix.is_empty() || path.is_empty() || path.starts_with('[') {
            ""
        } else {
            "."
        };
        let field = format!("{prefix}{dot}{path}");
        let field = if field.is_empty() {
            "fleet.yaml".to_owned()
        } else {
            field
        };
        FleetYamlError::Field {
            field,
            reason: error.into_inner().to_string(),
        }
    })
}

/// Removes a list of targets from the document and reads it.
pub(super) fn targets(
    map: &mut Map<String, Value>,
    list: &str,
) -> Result<Vec<BundleTarget>, FleetYamlError> {
    let items: Vec<Value> = field(map, list)?;
    map.remove(list);
    let read = |(index, item): (usize, &Value)| {
        let prefix = format!("{list}[{index}]");
        let _: BundleDeploymentOptions = decode(&prefix, item)?;
        if let Some(map) = item.as_object() {
            check_values(&prefix, map)?;
        }
        decode(&prefix, item)
    };
    items.iter().enumerate().map(read).collect()
}

/// Checks that `helm.values` is an object.
fn check_values(prefix: &str, map: &Map<String, Value>) -> Result<(), FleetYamlError> {
    let values = map.get("helm").and_then(|helm| helm.get("values"));
    if values.is_none_or(|values| values.is_object() || values.is_null()) {
        return Ok(());
    }
    let dot = if prefix.is_empty() { "" } else { "." };
    Err(FleetYamlError::Field {
        field: format!("{prefix}{dot}helm.values"),
        reason: "the values must be an object with keys".to_owned(),
    })
}

fn check_dependency(index: usize, bundle: &BundleRef) -> Result<(), FleetYamlError> {
    if bundle.name.is_empty() && bundle.selector.is_none() {
        return Err(FleetYamlError::Field {
            field: format!("dependsOn[{index}]"),
            reason: "set name or selector".to_owned(),
        });
    }
    for (position, state) in bundle.accepted_states.iter().enumerate() {
        if State::parse(state).is_none() {
            let names: Vec<&str> = State::ALL.iter().map(|state| state.name()).collect();
            return Err(FleetYamlError::Field {
                field: format!("dependsOn[{index}].acceptedStates[{position}]"),
                reason: format!("the state {state:?} is unknown: use {}", names.join(", ")),
            });
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), FleetYamlError> {
    let is_allowed = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.'
    };
    let is_end = |byte: Option<u8>| byte.is_none_or(|byte| byte != b'-' && byte != b'.');
    let is_valid = name.len() <= 253
        && name.bytes().all(is_allowed)
        && is_end(name.bytes().next())
        && is_end(name.bytes().last());
    if is_valid {
        return Ok(());
    }
    Err(FleetYamlError::Field {
        field: "name".to_owned(),
        reason: format!(
            "{name:?} is not a valid name: use at most 253 lower-case letters, digits, \"-\" and \".\""
        ),
    })
}
