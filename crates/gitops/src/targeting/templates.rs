//! Helm values with labels of clusters and with templates.

use std::collections::BTreeMap;

use drover_api::fleet::BundleDeploymentOptions;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::clusters::{ClusterFacts, is_exported};
use super::yaml_text;
use crate::yaml;

/// Prefix of values that are replaced by the value of a cluster's label.
const LABEL_PREFIX: &str = "global.fleet.clusterLabels.";
/// Maximum depth of values.
const MAX_DEPTH: usize = 50;

/// An engine for Go templates with the delimiters `${` and `}`.
pub trait Templates {
    /// Renders a template. A missing key is an error.
    ///
    /// # Errors
    ///
    /// The template is not valid, or exceeds a limit.
    fn render(&self, text: &str, data: &Value) -> Result<String, String>;
}

/// Helm values that cannot be rendered.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TemplateError {
    /// The values are nested too deeply.
    #[error("helm.values has more than {MAX_DEPTH} levels")]
    TooDeep,
    /// The engine failed.
    #[error("{place}: {reason}")]
    Render {
        /// Name of the option.
        place: String,
        /// Message of the engine.
        reason: String,
    },
    /// The rendered text is not valid.
    #[error("{place} renders to text that is not valid YAML: {reason}")]
    Yaml {
        /// Name of the option.
        place: String,
        /// The reason.
        reason: String,
    },
}

/// Replaces labels and templates in the Helm values of a deployment.
///
/// Clusters without labels receive the values without replacement, as in Fleet.
pub(super) fn render_values(
    options: &mut BundleDeploymentOptions,
    cluster: &ClusterFacts<'_>,
    templates: &dyn Templates,
) -> Result<(), TemplateError> {
    let labels = template_labels(cluster.labels);
    if labels.is_empty() {
        return Ok(());
    }
    let Some(helm) = &mut options.helm else {
        options.helm = Some(drover_api::fleet::HelmOptions::default());
        return Ok(());
    };
    let values = helm.values.get_or_insert_with(|| json!({}));
    if values.is_null() {
        *values = json!({});
    }
    let is_empty = values.as_object().is_some_and(Map::is_empty);
    if is_empty && helm.template_values.is_empty() {
        return Ok(());
    }
    replace_labels(values, &labels, 0)?;
    if helm.disable_pre_process {
        return Ok(());
    }
    let annotations: BTreeMap<&String, &String> = cluster
        .annotations
        .iter()
        .filter(|(key, _)| is_exported(key))
        .collect();
    let data = json!({
        "ClusterNamespace": cluster.namespace,
        "ClusterName": cluster.name,
        "ClusterLabels": labels,
        "ClusterAnnotations": annotations,
        "ClusterValues": cluster.template_values.cloned().unwrap_or_else(|| json!({})),
    });
    *values = render("helm.values", &yaml_text::write(values), &data, templates)?;
    if !values.is_object() {
        *values = json!({});
    }
    for (key, text) in &helm.template_values {
        let place = format!("helm.templateValues.{key}");
        let value = render(&place, text, &data, templates)?;
        if let Some(values) = values.as_object_mut() {
            values.insert(key.clone(), value);
        }
    }
    Ok(())
}

/// Returns the labels that templates can use.
fn template_labels(labels: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let is_used = |key: &str| {
        is_exported(key)
            || key.starts_with("fleet.cattle.io/")
            || key.starts_with("management.cattle.io/")
    };
    let labels = labels.iter().filter(|(key, _)| is_used(key));
    labels
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect()
}

fn replace_labels(
    value: &mut Value,
    labels: &BTreeMap<&str, &str>,
    depth: usize,
) -> Result<(), TemplateError> {
    if depth > MAX_DEPTH {
        return Err(TemplateError::TooDeep);
    }
    let Value::Object(map) = value else {
        return Ok(());
    };
    for value in map.values_mut() {
        match value {
            Value::String(text) => {
                if let Some(label) = text.strip_prefix(LABEL_PREFIX) {
                    *text = labels.get(label).copied().unwrap_or_default().to_owned();
                }
            }
            Value::Object(_) => replace_labels(value, labels, depth + 1)?,
            Value::Array(items) => {
                for item in items {
                    replace_labels(item, labels, depth + 1)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    Ok(())
}

fn render(
    place: &str,
    text: &str,
    data: &Value,
    templates: &dyn Templates,
) -> Result<Value, TemplateError> {
    let place = || place.to_owned();
    // Text without a delimiter renders to itself.
    let rendered = if text.contains("${") {
        templates
            .render(text, data)
            .map_err(|reason| TemplateError::Render {
                place: place(),
                reason,
            })?
    } else {
        text.to_owned()
    };
    yaml::value(&rendered).map_err(|error| TemplateError::Yaml {
        place: place(),
        reason: error.to_string(),
    })
}
