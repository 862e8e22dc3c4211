//! Conversion of subresources and printer columns.

use serde_json::Value;

use crate::json::{field, list, text};
use crate::resource::{Column, ScalePaths};

pub(super) fn scale(scale: &Value) -> ScalePaths {
    ScalePaths {
        spec_replicas: text(scale, "specReplicasPath").to_owned(),
        status_replicas: text(scale, "statusReplicasPath").to_owned(),
        label_selector: Some(text(scale, "labelSelectorPath").to_owned())
            .filter(|path| !path.is_empty()),
    }
}

pub(super) fn columns(version: &Value) -> Vec<Column> {
    list(version, "additionalPrinterColumns")
        .iter()
        .map(|column| Column {
            name: text(column, "name").to_owned(),
            kind: text(column, "type").to_owned(),
            format: text(column, "format").to_owned(),
            description: text(column, "description").to_owned(),
            priority: field(column, "priority")
                .as_i64()
                .and_then(|priority| i32::try_from(priority).ok())
                .unwrap_or_default(),
            path: Some(text(column, "jsonPath").to_owned()),
        })
        .collect()
}
