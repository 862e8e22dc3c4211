//! An object of a cluster, as its API server gives it, and what people read in it.

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

/// An object. Nothing is taken for granted but that it is JSON.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Value")]
pub struct Object(Arc<Value>);

impl From<Value> for Object {
    fn from(value: Value) -> Self {
        Self(Arc::new(value))
    }
}

impl Object {
    /// All that the server said.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Its name.
    pub fn name(&self) -> &str {
        read::text(&self.0, "/metadata/name").unwrap_or_default()
    }

    /// Its namespace, if it is in one.
    pub fn namespace(&self) -> Option<&str> {
        read::text(&self.0, "/metadata/namespace")
    }

    /// What tells it from one that had its name before.
    pub fn uid(&self) -> &str {
        read::text(&self.0, "/metadata/uid").unwrap_or_default()
    }

    /// Another one after each change.
    pub fn version(&self) -> &str {
        read::text(&self.0, "/metadata/resourceVersion").unwrap_or_default()
    }

    /// When it was made.
    pub fn created(&self) -> Option<Timestamp> {
        read::time(&self.0, "/metadata/creationTimestamp")
    }

    /// When it was asked to go, if it is going.
    pub fn leaving(&self) -> Option<Timestamp> {
        read::time(&self.0, "/metadata/deletionTimestamp")
    }

    /// The node that a pod is assigned to.
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

    /// What it belongs to.
    pub fn owners(&self) -> Vec<Reference> {
        let owners = read::list(&self.0, "/metadata/ownerReferences").iter();
        owners.filter_map(|owner| self.owner(owner)).collect()
    }

    fn owner(&self, owner: &Value) -> Option<Reference> {
        let (kind, name) = (read::text(owner, "/kind")?, read::text(owner, "/name")?);
        let api_version = read::text(owner, "/apiVersion").unwrap_or_default();
        // The label is the Deployment controller's; it names its ReplicaSets by it.
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
    /// What to call it.
    pub words: String,
    /// Where it is; none when this page has no screen for its kind.
    pub target: Option<Target>,
}

/// An object's place in its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace, if it is in one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Target {
    /// The page's path of it.
    pub fn screen(&self, cluster: &str) -> String {
        self.kind
            .object_screen(cluster, self.namespace.as_deref(), &self.name)
    }
}

impl Reference {
    /// Names an object by its kind.
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
