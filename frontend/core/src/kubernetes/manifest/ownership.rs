//! The field managers of an object (`metadata.managedFields`), and the manager of each line of the
//! manifest.

mod fields;
mod lines;

use jiff::Timestamp;
use serde_json::Value;

use crate::object::read;
use fields::Fields;

/// The maximum number of managers. An object has rarely more than 10 managers.
const MAX_MANAGERS: usize = 50;

/// A manager of fields of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    /// The name of the manager, such as `kubectl-client-side-apply`.
    pub name: String,
    /// The operation, `Apply` or `Update`.
    pub operation: String,
    /// The subresource, such as `status`.
    pub subresource: Option<String>,
    /// The time of the last change of a field by the manager.
    pub changed: Option<Timestamp>,
    fields: Fields,
}

/// The field managers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ownership {
    /// The managers, in the order of the object.
    pub managers: Vec<Manager>,
}

impl Ownership {
    /// Parses the managers of an object. The function ignores malformed entries, because the
    /// entries come from the cluster and can have any content.
    pub fn of(object: &Value) -> Self {
        let entries = read::list(object, "/metadata/managedFields").iter();
        let managers = entries.filter_map(|entry| {
            Some(Manager {
                name: read::owned(entry, "/manager")?,
                operation: read::owned(entry, "/operation").unwrap_or_default(),
                subresource: read::owned(entry, "/subresource"),
                changed: read::time(entry, "/time"),
                fields: Fields::parse(entry.get("fieldsV1")?)?,
            })
        });
        Self {
            managers: managers.take(MAX_MANAGERS).collect(),
        }
    }

    /// Returns the indexes of the managers of each line of a manifest in YAML. The text has the
    /// format of API servers, and `object` is the value of the text.
    pub fn of_lines(&self, yaml: &str, object: &Value) -> Vec<Vec<usize>> {
        let paths = lines::paths(yaml);
        let owners = paths.iter().map(|path| {
            let managers = self.managers.iter().enumerate();
            let owners = managers.filter(|(_, manager)| manager.fields.own(path, object));
            owners.map(|(index, _)| index).collect()
        });
        owners.collect()
    }
}

#[cfg(test)]
mod tests;
