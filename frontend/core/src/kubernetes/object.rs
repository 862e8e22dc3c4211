//! Objects of a cluster and their presentation.

mod condition;
mod container;
mod crash;
mod event;
mod exit;
mod job;
mod node;
mod overview;
mod pod;
pub(crate) mod read;
mod related;
mod workload;

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

pub use condition::Condition;
pub use container::{Container, Life, Probe, Role, containers, life};
pub use crash::{Crash, crashes};
pub use event::events;
pub use exit::meaning;
pub use overview::{Fact, Overview, Section, Verdict, Worth};
pub use pod::{PodLine, is_over};
pub use related::{Related, related};

use crate::kind::Kind;
use crate::messages::t;

/// An object. No field except JSON syntax is required.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Value")]
pub struct Object(Arc<Value>);

impl From<Value> for Object {
    fn from(value: Value) -> Self {
        Self(Arc::new(value))
    }
}

impl Object {
    /// The JSON of the server.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Its name.
    pub fn name(&self) -> &str {
        read::text(&self.0, "/metadata/name").unwrap_or_default()
    }

    /// The namespace; none if cluster-scoped.
    pub fn namespace(&self) -> Option<&str> {
        read::text(&self.0, "/metadata/namespace")
    }

    /// The UID.
    pub fn uid(&self) -> &str {
        read::text(&self.0, "/metadata/uid").unwrap_or_default()
    }

    /// The resource version.
    pub fn version(&self) -> &str {
        read::text(&self.0, "/metadata/resourceVersion").unwrap_or_default()
    }

    /// The creation time.
    pub fn created(&self) -> Option<Timestamp> {
        read::time(&self.0, "/metadata/creationTimestamp")
    }

    /// The deletion timestamp.
    pub fn leaving(&self) -> Option<Timestamp> {
        read::time(&self.0, "/metadata/deletionTimestamp")
    }

    /// The node of a pod.
    pub fn node_name(&self) -> Option<&str> {
        read::text(&self.0, "/spec/nodeName")
    }

    /// Its labels.
    pub fn labels(&self) -> Vec<(String, String)> {
        self.map("/metadata/labels")
    }

    /// Its annotations.
    pub fn annotations(&self) -> Vec<(String, String)> {
        self.map("/metadata/annotations")
    }

    fn map(&self, pointer: &str) -> Vec<(String, String)> {
        let entries = read::entries(&self.0, pointer).into_iter();
        entries
            .map(|(key, value)| (key.to_owned(), value.into_owned()))
            .collect()
    }

    /// Its owners.
    pub fn owners(&self) -> Vec<Reference> {
        let owners = read::list(&self.0, "/metadata/ownerReferences").iter();
        owners.filter_map(|owner| self.owner(owner)).collect()
    }

    fn owner(&self, owner: &Value) -> Option<Reference> {
        let (kind, name) = (read::text(owner, "/kind")?, read::text(owner, "/name")?);
        let api_version = read::text(owner, "/apiVersion").unwrap_or_default();
        // The Deployment controller names ReplicaSets by this label.
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

    /// Whether an object of this UID owns it.
    pub fn is_owned_by(&self, uid: &str) -> bool {
        let mut owners = read::list(&self.0, "/metadata/ownerReferences").iter();
        owners.any(|owner| read::text(owner, "/uid") == Some(uid))
    }
}

/// Another object, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The text.
    pub words: String,
    /// The target; none if the kind has no screen.
    pub target: Option<Target>,
}

/// The location of an object in its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its kind.
    pub kind: Kind,
    /// The namespace; none if cluster-scoped.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Target {
    /// The address of its screen.
    pub fn screen(&self, cluster: &str) -> String {
        self.kind
            .object_screen(cluster, self.namespace.as_deref(), &self.name)
    }
}

impl Reference {
    /// A reference by kind and name.
    pub(crate) fn to(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        let target = Kind::named(api_version, kind).map(|kind| Target {
            kind,
            namespace: namespace.filter(|_| kind.namespaced).map(str::to_owned),
            name: name.to_owned(),
        });
        Self {
            words: format!("{kind} {name}"),
            target,
        }
    }
}

#[cfg(test)]
mod tests;
