//! CustomResourceDefinitions: the resources that they define, what is wrong with them, and the
//! rules (CEL) that their objects keep.

pub mod cel;
mod names;
mod schemas;
mod structural;
mod validation;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::builtin;
use crate::resource::{Column, GroupVersion, Origin, Resource, ScalePaths, Scope};
use crate::schema::look::{field, flag, list, text, texts};
use crate::schema::{Definition, Node, Reader, Shape};
pub use names::{Names, accept};
pub(crate) use validation::{validate, validate_update};

/// Why a CRD's object cannot be turned into resources; validation lets none such be stored.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The schema of a version is not one.
    #[error("schema of version {version}")]
    Schema {
        /// Which one.
        version: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// The resources of a CRD's served versions, with the names that were accepted.
///
/// # Errors
/// See [`ReadError`].
pub fn resources(crd: &Value) -> Result<Vec<Resource>, ReadError> {
    let spec = field(crd, "spec");
    list(spec, "versions")
        .iter()
        .filter(|version| flag(version, "served"))
        .map(|version| resource(crd, spec, version))
        .collect()
}

/// The storage version's name.
pub fn storage_version(crd: &Value) -> Option<&str> {
    list(field(crd, "spec"), "versions")
        .iter()
        .find(|version| flag(version, "storage"))
        .map(|version| text(version, "name"))
}

fn resource(crd: &Value, spec: &Value, version: &Value) -> Result<Resource, ReadError> {
    // Names that were once accepted are served even while changed ones are in conflict.
    let accepted = field(field(crd, "status"), "acceptedNames");
    let names = match text(accepted, "plural") {
        "" => field(spec, "names"),
        _ => accepted,
    };
    let owned = |name: &str| text(names, name).to_owned();
    let subresources = field(version, "subresources");
    Ok(Resource {
        group_version: GroupVersion {
            group: text(spec, "group").to_owned(),
            version: text(version, "name").to_owned(),
        },
        kind: owned("kind"),
        list_kind: match text(names, "listKind") {
            "" => format!("{}List", text(names, "kind")),
            list => list.to_owned(),
        },
        plural: owned("plural"),
        singular: match text(names, "singular") {
            "" => text(names, "kind").to_lowercase(),
            singular => singular.to_owned(),
        },
        short_names: texts(names, "shortNames").map(str::to_owned).collect(),
        categories: texts(names, "categories").map(str::to_owned).collect(),
        scope: match text(spec, "scope") {
            "Cluster" => Scope::Cluster,
            _ => Scope::Namespaced,
        },
        origin: Origin::Custom,
        // In the order of apiextensions' discovery.
        verbs: vec![
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ],
        status: subresources.get("status").is_some(),
        scale: subresources.get("scale").map(scale),
        storage: flag(version, "storage"),
        schema: Arc::new(schema(version)?),
        columns: columns(version),
        selectable: list(version, "selectableFields")
            .iter()
            .map(|selectable| {
                text(selectable, "jsonPath")
                    .trim_start_matches('.')
                    .to_owned()
            })
            .collect(),
    })
}

fn scale(scale: &Value) -> ScalePaths {
    ScalePaths {
        spec_replicas: text(scale, "specReplicasPath").to_owned(),
        status_replicas: text(scale, "statusReplicasPath").to_owned(),
        label_selector: Some(text(scale, "labelSelectorPath").to_owned())
            .filter(|path| !path.is_empty()),
    }
}

fn columns(version: &Value) -> Vec<Column> {
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

/// The version's schema as served: its own, with what every object has.
fn schema(version: &Value) -> Result<Node, ReadError> {
    let written = field(field(version, "schema"), "openAPIV3Schema");
    let mut node = read(written).map_err(|source| ReadError::Schema {
        version: text(version, "name").to_owned(),
        source,
    })?;
    if let Shape::Object { properties, .. } = &mut node.shape {
        let own = properties.remove("metadata");
        properties.insert("metadata".to_owned(), metadata(own.as_deref()));
        for name in ["apiVersion", "kind"] {
            properties.entry(name.to_owned()).or_insert_with(|| {
                Arc::new(Node {
                    shape: Shape::String {
                        format: String::new(),
                    },
                    ..Node::default()
                })
            });
        }
    }
    node.cel = cel::Rules::compile(&node).map(Arc::new);
    Ok(node)
}

/// Reads a schema as it stands in a CRD.
pub(crate) fn read(written: &Value) -> Result<Node, serde_json::Error> {
    let definition: Definition = serde_json::from_value(written.clone())?;
    let mut node = Reader::alone().node(&definition);
    if matches!(node.shape, Shape::Any) && !node.preserve_unknown {
        node.shape = Shape::Object {
            properties: BTreeMap::new(),
            additional: None,
            required: Vec::new(),
            atomic: false,
        };
    }
    Ok(node)
}

/// ObjectMeta, with the bounds that a CRD may set on names.
fn metadata(own: Option<&Node>) -> Arc<Node> {
    let published = builtin::object_meta();
    let bounds: Vec<(&str, _)> = ["name", "generateName"]
        .into_iter()
        .filter_map(|name| Some((name, own?.field(name)?.limits.clone()?)))
        .collect();
    if bounds.is_empty() {
        return published;
    }
    let mut node = (*published).clone();
    if let Shape::Object { properties, .. } = &mut node.shape {
        for (name, limits) in bounds {
            if let Some(field) = properties.get_mut(name) {
                Arc::make_mut(field).limits = Some(limits);
            }
        }
    }
    Arc::new(node)
}
