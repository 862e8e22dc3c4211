//! A found object in the output.

use std::collections::BTreeMap;

use drover_rows::Row;
use drover_rows::search::SearchedKind;
use jiff::Timestamp;
use serde::Serialize;

use crate::output::Listed;
use crate::table::{DASH, age, one_line};

/// A found object.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct FoundObject {
    cluster: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    kind: &'static str,
    name: String,
    /// The status, or the ready replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<Timestamp>,
    labels: BTreeMap<String, String>,
    images: Vec<String>,
}

impl FoundObject {
    pub(super) fn new(kind: SearchedKind, row: &Row) -> Self {
        let state = row.cell_of("status").or_else(|| row.cell_of("ready"));
        let images = row.cell_of("images").unwrap_or_default().split(',');
        let labels = row.labels();
        Self {
            cluster: row.cluster.to_string(),
            namespace: row.namespace().map(str::to_owned),
            kind: kind.singular,
            name: row.name().to_owned(),
            state: state.map(str::to_owned),
            created: row.created,
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            images: images
                .filter(|image| !image.is_empty() && *image != "<none>")
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Returns the line of the format `name`.
    pub(super) fn line(&self) -> String {
        // A newline in a name would add a line with the name of another object.
        let (cluster, name) = (one_line(&self.cluster), one_line(&self.name));
        format!("{cluster}:{kind}/{name}\n", kind = self.kind)
    }
}

impl Listed for FoundObject {
    const HEADINGS: &'static [&'static str] =
        &["CLUSTER", "NAMESPACE", "KIND", "NAME", "STATE", "AGE"];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| DASH.to_owned());
        let created = self.created.map(|created| age(created, now));
        vec![
            self.cluster.clone(),
            or_dash(&self.namespace),
            self.kind.to_owned(),
            self.name.clone(),
            or_dash(&self.state),
            or_dash(&created),
        ]
    }
}
