//! Kubernetes objects and their presentation.

mod condition;
mod container;
mod crash;
mod event;
mod exit;
mod facts;
mod job;
mod node;
mod overview;
mod pod;
pub(crate) mod read;
mod related;
mod relation;
pub mod secret;
mod workload;

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

pub use condition::Condition;
pub use container::{Container, Lifecycle, Probe, Role, containers, life};
pub use crash::{Crash, crashes};
pub use event::events;
pub use exit::meaning;
pub use facts::{ListedSections, listed_sections};
pub use overview::{Fact, FactTable, FactValue, ObjectState, Overview, Section, SectionContent};
pub use pod::{PodLine, is_finished};
pub(crate) use related::selector;
pub use related::{Related, pods_with_labels, pods_with_name, related};
pub(crate) use relation::pod_spec_pointer;
pub use relation::{CandidateList, Candidates, RelationLine, candidates, references, runs_pods};

use crate::kind::Kind;
use crate::messages::t;

/// A Kubernetes object as JSON. Any field can be missing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Value")]
pub struct Object(Arc<Value>);

impl From<Value> for Object {
    fn from(value: Value) -> Self {
        Self(Arc::new(value))
    }
}

impl Object {
    /// Returns the JSON of the object.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Returns `metadata.name`; empty if missing.
    pub fn name(&self) -> &str {
        read::text(&self.0, "/metadata/name").unwrap_or_default()
    }

    /// Returns `metadata.namespace`. Returns `None` for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        read::text(&self.0, "/metadata/namespace")
    }

    /// Returns `metadata.uid`; empty if missing.
    pub fn uid(&self) -> &str {
        read::text(&self.0, "/metadata/uid").unwrap_or_default()
    }

    /// Returns `metadata.resourceVersion`; empty if missing.
    pub fn version(&self) -> &str {
        read::text(&self.0, "/metadata/resourceVersion").unwrap_or_default()
    }

    /// Returns `metadata.creationTimestamp`.
    pub fn created(&self) -> Option<Timestamp> {
        read::time(&self.0, "/metadata/creationTimestamp")
    }

    /// Returns `metadata.deletionTimestamp`.
    pub fn leaving(&self) -> Option<Timestamp> {
        read::time(&self.0, "/metadata/deletionTimestamp")
    }

    /// Returns the name of the node that runs a pod.
    pub fn node_name(&self) -> Option<&str> {
        read::text(&self.0, "/spec/nodeName")
    }

    /// Returns the labels, sorted by key.
    pub fn labels(&self) -> Vec<(String, String)> {
        self.map("/metadata/labels")
    }

    /// Returns the annotations, sorted by key.
    pub fn annotations(&self) -> Vec<(String, String)> {
        self.map("/metadata/annotations")
    }

    fn map(&self, pointer: &str) -> Vec<(String, String)> {
        let entries = read::entries(&self.0, pointer).into_iter();
        entries
            .map(|(key, value)| (key.to_owned(), value.into_owned()))
            .collect()
    }

    /// Returns the owners of the object. For pods of a Deployment, the owner is the Deployment.
    pub fn owners(&self) -> Vec<Reference> {
        let owners = read::list(&self.0, "/metadata/ownerReferences").iter();
        owners.filter_map(|owner| self.owner(owner)).collect()
    }

    fn owner(&self, owner: &Value) -> Option<Reference> {
        let (kind, name) = (read::text(owner, "/kind")?, read::text(owner, "/name")?);
        let api_version = read::text(owner, "/apiVersion").unwrap_or_default();
        // The Deployment controller appends the value of this label to the names of ReplicaSets.
        let hash = read::at(&self.0, "/metadata/labels").get("pod-template-hash");
        let deployment = hash
            .and_then(Value::as_str)
            .filter(|_| kind == "ReplicaSet")
            .and_then(|hash| name.strip_suffix(hash)?.strip_suffix('-'));
        if let Some(deployment) = deployment {
            let target = Reference::to("apps/v1", "Deployment", self.namespace(), deployment);
            return Some(Reference {
                words: t().workloads.deployment_by_replica_set(deployment, name),
                ..target
            });
        }
        Some(Reference::to(api_version, kind, self.namespace(), name))
    }

    /// Reports whether an object with this UID owns the object.
    pub fn is_owned_by(&self, uid: &str) -> bool {
        let mut owners = read::list(&self.0, "/metadata/ownerReferences").iter();
        owners.any(|owner| read::text(owner, "/uid") == Some(uid))
    }
}

/// A reference to an object: the displayed text and the location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The text of the reference: kind and name.
    pub words: String,
    /// The location of the object; `None` if its kind has no screen.
    pub target: Option<Target>,
}

/// The location of an object in its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The kind of the object.
    pub kind: Kind,
    /// The namespace; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
}

impl Target {
    /// Creates the location of an object. Cluster-scoped objects have no namespace.
    pub(crate) fn of(kind: Kind, namespace: Option<&str>, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.filter(|_| kind.namespaced).map(str::to_owned),
            name: name.to_owned(),
        }
    }

    /// Returns the URL path of the screen of the object.
    pub fn screen(&self, cluster: &str) -> String {
        self.kind
            .object_screen(cluster, self.namespace.as_deref(), &self.name)
    }
}

impl Reference {
    /// Creates a reference with the name as its text.
    pub(crate) fn named(kind: Kind, namespace: Option<&str>, name: &str) -> Self {
        Self {
            words: name.to_owned(),
            target: Some(Target::of(kind, namespace, name)),
        }
    }

    /// Creates a reference from the kind and the name.
    pub(crate) fn to(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        let target = Kind::named(api_version, kind);
        let target = target.map(|kind| Target::of(kind, namespace, name));
        Self {
            words: format!("{kind} {name}"),
            target,
        }
    }
}

#[cfg(test)]
mod tests;
