//! `metadata.managedFields`: the fields that each manager owns.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::fields::FieldsError;
use super::set::Set;
use super::value::quote;

/// The type of write that set the owned fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Create, update, and patches other than apply.
    Update,
}

impl Operation {
    /// Returns the value of the field `operation`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The identity of a manager. A manager that applies has one identity for all versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManagerId {
    /// The field `manager`.
    pub manager: String,
    /// The field `operation`.
    pub operation: Operation,
    /// The API version of an updater. `None` for a manager that applies.
    pub api_version: Option<String>,
    /// The field `subresource`. Empty for the object itself.
    pub subresource: String,
}

impl ManagerId {
    pub(super) fn new(
        manager: &str,
        operation: Operation,
        api_version: &str,
        subresource: &str,
    ) -> Self {
        let manager = if manager.is_empty() {
            "unknown"
        } else {
            manager
        };
        Self {
            manager: manager.to_owned(),
            operation,
            api_version: (operation == Operation::Update).then(|| api_version.to_owned()),
            subresource: subresource.to_owned(),
        }
    }

    /// Returns the text that kube-apiserver uses as map key and as the last sort criterion.
    pub(super) fn sort_key(&self) -> String {
        let mut fields = Vec::with_capacity(4);
        let mut field = |name: &str, text: &str| {
            if !text.is_empty() {
                fields.push(format!("{}:{}", quote(name), quote(text)));
            }
        };
        field("manager", &self.manager);
        field("operation", self.operation.as_str());
        field("apiVersion", self.api_version.as_deref().unwrap_or(""));
        field("subresource", &self.subresource);
        format!("{{{}}}", fields.join(","))
    }
}

impl fmt::Display for ManagerId {
    /// Formats the manager as in conflict messages: `"kubectl" with subresource "status" using
    /// apps/v1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quote(&self.manager))?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {}", quote(&self.subresource))?;
        }
        match &self.api_version {
            Some(version) => write!(f, " using {version}"),
            None => Ok(()),
        }
    }
}

/// The fields that a manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// The version of the field paths.
    pub api_version: String,
    /// The owned fields.
    pub set: Set,
    /// The time of the last change.
    pub time: Option<Timestamp>,
}

/// The managers of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Managers(pub(super) BTreeMap<ManagerId, Owned>);

/// The reason why `metadata.managedFields` cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManagersError {
    /// The value is not a list of entries.
    #[error("managedFields is not a list of entries")]
    NotEntries,
    /// An entry has an unknown `operation`.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// An entry has no `apiVersion`.
    #[error("apiVersion must not be empty")]
    NoVersion,
    /// The entry at this index has no `fieldsType`.
    #[error("missing fieldsType in managed fields entry {index}", index = .0)]
    NoFieldsType(usize),
    /// An entry has an unknown `fieldsType`.
    #[error("invalid fieldsType {} in managed fields entry {index}", quote(.fields_type))]
    FieldsType {
        /// The unknown value of `fieldsType`.
        fields_type: String,
        /// The index of the entry.
        index: usize,
    },
    /// The `fieldsV1` of an entry cannot be parsed.
    #[error("error decoding set: {cause}", cause = .0)]
    Fields(#[from] FieldsError),
    /// The `time` of the entry at this index is not RFC 3339.
    #[error("time of managed fields entry {index} is not RFC 3339", index = .0)]
    Time(usize),
}

/// Maximum number of updaters for which `managedFields` contains separate entries.
const MAX_UPDATERS: usize = 10;

/// The manager that owns the merged fields of the oldest updaters.
const MERGED_UPDATERS: &str = "ancient-changes";

impl Managers {
    /// Parses the managers of an object.
    pub fn of(object: &Value) -> Result<Self, ManagersError> {
        let entries = match &object["metadata"]["managedFields"] {
            Value::Null => return Ok(Self::default()),
            Value::Array(entries) => entries,
            _ => return Err(ManagersError::NotEntries),
        };
        let mut managers = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let (id, owned) = read_entry(index, entry)?;
            managers.insert(id, owned);
        }
        Ok(Self(managers))
    }

    /// Reports whether the object has no field managers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over all managers with their fields.
    pub fn iter(&self) -> impl Iterator<Item = (&ManagerId, &Owned)> {
        self.0.iter()
    }

    /// Replaces `metadata.managedFields`.
    pub fn write(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else {
            return;
        };
        if self.0.is_empty() {
            if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                metadata.remove("managedFields");
            }
            return;
        }
        let metadata = object
            .entry("metadata")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(metadata) = metadata {
            metadata.insert("managedFields".to_owned(), self.to_value());
        }
    }

    /// Returns the list of entries. Entries of server-side apply come first. Entries of the same
    /// operation are sorted by time, name, version and subresource.
    pub fn to_value(&self) -> Value {
        let mut entries: Vec<(&ManagerId, &Owned)> = self.0.iter().collect();
        entries.sort_by_key(|(id, owned)| {
            (
                id.operation,
                seconds(owned.time),
                &id.manager,
                &owned.api_version,
                &id.subresource,
            )
        });
        entries.into_iter().map(write_entry).collect()
    }

    /// Merges the oldest updaters until their number is within the limit.
    pub(super) fn cap(&mut self) {
        let mut updaters: Vec<ManagerId> = self
            .0
            .keys()
            .filter(|id| id.operation == Operation::Update)
            .cloned()
            .collect();
        let mut remaining = updaters.len();
        if remaining <= MAX_UPDATERS {
            return;
        }
        updaters.sort_by_cached_key(|id| (seconds(self.0[id].time), id.sort_key()));
        let mut first_of_version: BTreeMap<String, ManagerId> = BTreeMap::new();
        for id in updaters {
            if remaining <= MAX_UPDATERS {
                break;
            }
            let version = self.0[&id].api_version.clone();
            let Some(first) = first_of_version.get(&version) else {
                first_of_version.insert(version, id);
                continue;
            };
            let bucket = ManagerId::new(MERGED_UPDATERS, Operation::Update, &version, "");
            if !self.0.contains_key(&bucket)
                && let Some(owned) = self.0.remove(first)
            {
                self.0.insert(bucket.clone(), owned);
            }
            let merged = self.0.get(&id).cloned();
            if let (Some(merged), Some(owned)) = (merged, self.0.get_mut(&bucket)) {
                owned.set.absorb(&merged.set);
                owned.time = merged.time;
                owned.api_version = merged.api_version;
                // The merged manager itself may be the oldest, as in kube-apiserver.
                self.0.remove(&id);
                remaining -= 1;
            }
        }
    }
}

fn seconds(time: Option<Timestamp>) -> i64 {
    time.map_or(0, Timestamp::as_second)
}

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field].as_str().unwrap_or("")
}

fn read_entry(index: usize, entry: &Value) -> Result<(ManagerId, Owned), ManagersError> {
    if !entry.is_object() {
        return Err(ManagersError::NotEntries);
    }
    let operation = match text(entry, "operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(ManagersError::Operation),
    };
    let api_version = text(entry, "apiVersion");
    if api_version.is_empty() {
        return Err(ManagersError::NoVersion);
    }
    match text(entry, "fieldsType") {
        "FieldsV1" => {}
        "" => return Err(ManagersError::NoFieldsType(index)),
        fields_type => {
            return Err(ManagersError::FieldsType {
                fields_type: fields_type.to_owned(),
                index,
            });
        }
    }
    let time = match &entry["time"] {
        Value::Null => None,
        Value::String(time) => Some(time.parse().map_err(|_| ManagersError::Time(index))?),
        _ => return Err(ManagersError::Time(index)),
    };
    let set = match &entry["fieldsV1"] {
        Value::Null => Set::default(),
        fields => Set::from_fields(fields)?,
    };
    let id = ManagerId {
        manager: text(entry, "manager").to_owned(),
        operation,
        api_version: (operation == Operation::Update).then(|| api_version.to_owned()),
        subresource: text(entry, "subresource").to_owned(),
    };
    let owned = Owned {
        api_version: api_version.to_owned(),
        set,
        time,
    };
    Ok((id, owned))
}

fn write_entry((id, owned): (&ManagerId, &Owned)) -> Value {
    let mut entry = json!({
        "operation": id.operation.as_str(),
        "apiVersion": owned.api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": owned.set.to_fields(),
    });
    if !id.manager.is_empty() {
        entry["manager"] = id.manager.as_str().into();
    }
    if !id.subresource.is_empty() {
        entry["subresource"] = id.subresource.as_str().into();
    }
    if let Some(time) = owned.time {
        entry["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
    }
    entry
}
