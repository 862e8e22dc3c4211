//! The feed of all objects and their changes, and the parts of them that controllers look at.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;

use super::ObjectPath;

/// One step of the feed.
#[derive(Debug, Clone)]
pub enum Observed {
    /// All objects follow from the beginning; what was known may be out of date.
    Restart,
    /// An object is there, new or changed.
    Put(Seen),
    /// An object is gone; this was its last state.
    Gone(Seen),
    /// All objects that there are have been shown since the last restart.
    Synced,
}

/// What a controller has seen of the objects that it knows by name, since the feed started.
#[derive(Debug)]
pub(super) struct Known<T> {
    pub(super) all: BTreeMap<String, T>,
    /// Whether nothing is missing; before that, nothing may be decided from what is not there.
    pub(super) complete: bool,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self {
            all: BTreeMap::new(),
            complete: false,
        }
    }
}

/// An object that was observed.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Where it is.
    pub path: ObjectPath,
    /// The parts that most controllers look at.
    pub metadata: Metadata,
    /// The whole object, as JSON.
    pub value: Bytes,
}

impl Seen {
    /// Reads an object's metadata; `None` if the bytes are not an object's JSON.
    pub fn parse(path: ObjectPath, value: Bytes) -> Option<Self> {
        let metadata = Metadata::read(&value)?;
        Some(Self {
            path,
            metadata,
            value,
        })
    }
}

/// What an object says about itself; the rest is skipped, not built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    /// Who it is.
    pub uid: String,
    /// When its deletion began, RFC 3339.
    pub deletion_timestamp: Option<String>,
    /// What must happen before it is gone.
    pub finalizers: Vec<String>,
    /// Whose it is.
    pub owner_references: Vec<OwnerReference>,
}

/// `metav1.OwnerReference`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OwnerReference {
    /// The owner's.
    pub api_version: String,
    /// The owner's.
    pub kind: String,
    /// The owner's.
    pub name: String,
    /// The owner's.
    pub uid: String,
    /// Whether the owner, deleted in the foreground, waits for this dependent.
    pub block_owner_deletion: Option<bool>,
}

#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    metadata: Metadata,
}

impl Metadata {
    /// The metadata in an object's JSON; `None` if it is not an object's.
    pub fn read(object: &[u8]) -> Option<Self> {
        Some(serde_json::from_slice::<Whole>(object).ok()?.metadata)
    }

    /// The metadata of an object that was read whole.
    pub fn of(object: &serde_json::Value) -> Self {
        Self::deserialize(&object["metadata"]).unwrap_or_default()
    }

    /// Whether its deletion began.
    pub fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Whether it has this finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|own| own == finalizer)
    }
}
