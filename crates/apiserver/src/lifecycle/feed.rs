//! The feed of all objects and their changes.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;

use super::ObjectPath;

/// An element of the feed.
#[derive(Debug, Clone)]
pub enum Observed {
    /// The initial list starts again. State from earlier elements may be outdated.
    Restart,
    /// A new or changed object.
    Put(ObservedObject),
    /// A deleted object in its last state.
    Gone(ObservedObject),
    /// The initial list is complete.
    Synced,
}

/// The objects of one controller, by name. Contains the objects that the feed has delivered since
/// its start.
#[derive(Debug)]
pub(super) struct ObjectCache<T> {
    pub(super) all: BTreeMap<String, T>,
    /// True if the initial list is complete. Until then, an object that is not in the cache may
    /// exist.
    pub(super) complete: bool,
}

impl<T> Default for ObjectCache<T> {
    fn default() -> Self {
        Self {
            all: BTreeMap::new(),
            complete: false,
        }
    }
}

/// An observed object.
#[derive(Debug, Clone)]
pub struct ObservedObject {
    /// Resource, namespace and name.
    pub path: ObjectPath,
    /// The parsed part of the metadata.
    pub metadata: Metadata,
    /// The whole object as JSON.
    pub value: Bytes,
}

impl ObservedObject {
    /// Parses the metadata. Returns `None` if the bytes are not an object's JSON.
    pub fn parse(path: ObjectPath, value: Bytes) -> Option<Self> {
        let metadata = Metadata::read(&value)?;
        Some(Self {
            path,
            metadata,
            value,
        })
    }
}

/// The metadata fields that controllers use. The parser skips all other fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.deletionTimestamp`, RFC 3339.
    pub deletion_timestamp: Option<String>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<String>,
    /// `metadata.ownerReferences`.
    pub owner_references: Vec<OwnerReference>,
}

/// `metav1.OwnerReference`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OwnerReference {
    /// The owner's `apiVersion`.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's name.
    pub name: String,
    /// The owner's UID.
    pub uid: String,
    /// True if foreground deletion of the owner waits for this dependent.
    pub block_owner_deletion: Option<bool>,
}

#[derive(Deserialize)]
struct ObjectWithMetadata {
    #[serde(default)]
    metadata: Metadata,
}

impl Metadata {
    /// Parses the metadata from JSON text. Returns `None` if the text is not a JSON object.
    pub fn read(object: &[u8]) -> Option<Self> {
        Some(
            serde_json::from_slice::<ObjectWithMetadata>(object)
                .ok()?
                .metadata,
        )
    }

    /// Extracts the metadata of a parsed object.
    pub fn of(object: &serde_json::Value) -> Self {
        Self::deserialize(&object["metadata"]).unwrap_or_default()
    }

    /// Reports whether the deletion timestamp is set.
    pub fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Reports whether the object has this finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|own| own == finalizer)
    }
}
