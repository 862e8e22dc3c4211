//! The fields of objects that rows need in addition to the cells of the Table.

mod event;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) use self::event::EventFields;
use self::event::WireEvent;
use crate::note::{NodeSpec, NodeStatus, Note, notes};
use crate::texts::truncated;
use crate::usage::{Amounts, Quantities};

/// Maximum length of the names of all images of a pod in bytes.
const MAX_IMAGES: usize = 1024;

/// The part of the objects that a Table contains next to the cells. Complete objects are larger, so
/// that only kinds whose cells lack important fields contain them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Include {
    /// The metadata.
    #[default]
    Metadata,
    /// Complete Pods, for their images.
    Pods,
    /// Complete Nodes, for their taints and conditions.
    Nodes,
    /// Complete Events, because the cells contain only relative times.
    Events,
    /// Complete objects for the caller of the reader. The rows contain only the metadata.
    Objects,
}

impl Include {
    /// Returns the part that the rows of a kind need.
    pub fn of(api_version: &str, plural: &str) -> Self {
        match (api_version, plural) {
            ("v1", "pods") => Self::Pods,
            ("v1", "nodes") => Self::Nodes,
            ("v1", "events") => Self::Events,
            _ => Self::Metadata,
        }
    }

    /// Returns the query parameter of a request for a Table.
    pub const fn parameter(self) -> (&'static str, &'static str) {
        let value = match self {
            Self::Metadata => "Metadata",
            Self::Pods | Self::Nodes | Self::Events | Self::Objects => "Object",
        };
        ("includeObject", value)
    }
}

/// The fields of the metadata that a row needs.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) resource_version: Option<String>,
    #[serde(default, deserialize_with = "valid")]
    pub(crate) creation_timestamp: Option<Timestamp>,
    pub(crate) labels: Option<BTreeMap<String, String>>,
}

/// Reads a value. An invalid value is `None`, because one object must not hide the other objects of
/// its list: API servers accept negative counts and times after the year 9999.
fn valid<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// The fields of an object that a row needs.
#[derive(Default)]
pub(crate) struct ObjectFields {
    pub(crate) metadata: Metadata,
    /// The notes about a node.
    pub(crate) notes: Vec<Note>,
    /// The images of a pod, separated by commas.
    pub(crate) images: Option<String>,
    /// The requested amounts of a pod, or the allocatable amounts of a node.
    pub(crate) reserved: Amounts,
    /// The exact values of an event.
    pub(crate) event: Option<EventFields>,
}

#[derive(Default, Deserialize)]
struct WireObject {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct WireNode {
    #[serde(default)]
    metadata: Metadata,
    spec: Option<NodeSpec>,
    status: Option<NodeStatus>,
}

#[derive(Deserialize)]
struct WirePod {
    #[serde(default)]
    metadata: Metadata,
    spec: Option<PodSpec>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    #[serde(default)]
    init_containers: Option<Vec<Container>>,
    #[serde(default)]
    containers: Option<Vec<Container>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    #[serde(default)]
    image: String,
    #[serde(default)]
    resources: Option<Resources>,
    /// `Always` for a sidecar, which is an init container.
    #[serde(default)]
    restart_policy: Option<String>,
}

impl Container {
    fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

#[derive(Default, Deserialize)]
struct Resources {
    #[serde(default)]
    requests: Option<Quantities>,
}

impl ObjectFields {
    /// Parses the object next to the cells of a row.
    pub(crate) fn read(object: &RawValue, include: Include) -> Result<Self, serde_json::Error> {
        let text = object.get();
        Ok(match include {
            Include::Metadata | Include::Objects => Self {
                metadata: serde_json::from_str::<WireObject>(text)?.metadata,
                ..Self::default()
            },
            Include::Nodes => {
                let node: WireNode = serde_json::from_str(text)?;
                let allocatable = node.status.as_ref().map(NodeStatus::allocatable);
                Self {
                    reserved: allocatable.unwrap_or_default(),
                    metadata: node.metadata,
                    notes: notes(node.spec, node.status),
                    ..Self::default()
                }
            }
            Include::Events => {
                let event: WireEvent = serde_json::from_str(text)?;
                Self {
                    event: Some(event.fields()),
                    metadata: event.metadata,
                    ..Self::default()
                }
            }
            Include::Pods => {
                let pod: WirePod = serde_json::from_str(text)?;
                let spec = pod.spec.unwrap_or_default();
                Self {
                    metadata: pod.metadata,
                    images: Some(spec.images()),
                    reserved: spec.requests(),
                    ..Self::default()
                }
            }
        })
    }
}

impl PodSpec {
    /// Returns the images without repetitions, in the order of the containers.
    fn images(&self) -> String {
        let lists = [&self.containers, &self.init_containers].into_iter();
        let containers = lists.flatten().flatten();
        let mut images: Vec<&str> = Vec::new();
        let mut bytes = 0;
        for image in containers.map(|container| container.image.as_str()) {
            if !image.is_empty() && bytes < MAX_IMAGES && !images.contains(&image) {
                bytes += image.len();
                images.push(image);
            }
        }
        truncated(images.join(","), MAX_IMAGES)
    }

    /// Returns the sum of the requests of all containers and sidecars.
    fn requests(&self) -> Amounts {
        let initial = self.init_containers.iter().flatten();
        let sidecars = initial.filter(|container| container.is_sidecar());
        let containers = self.containers.iter().flatten().chain(sidecars);
        let resources = containers.filter_map(|container| container.resources.as_ref());
        let requests = resources.filter_map(|resources| resources.requests.as_ref());
        let amounts = requests.map(Quantities::amounts);
        amounts.fold(Amounts::default(), Amounts::plus)
    }
}
