//! The usage of CPU and memory by pods and nodes (`metrics.k8s.io/v1beta1`).

use std::collections::HashMap;

use drover_quantity::Quantity;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::names::{Key, MAX_NAME};

/// The maximum amount. Larger amounts of a cluster are not plausible.
const MAX_AMOUNT: u64 = 1 << 60;

/// Amounts of CPU and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// CPU in millicores.
    pub cpu: u64,
    /// Memory in bytes.
    pub memory: u64,
}

/// A resource with a usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// CPU.
    Cpu,
    /// Memory.
    Memory,
}

impl Amounts {
    /// Reports whether both amounts are 0.
    pub const fn is_zero(&self) -> bool {
        self.cpu == 0 && self.memory == 0
    }

    /// Returns the amount of a resource.
    pub const fn of(self, resource: Resource) -> u64 {
        match resource {
            Resource::Cpu => self.cpu,
            Resource::Memory => self.memory,
        }
    }

    /// Adds amounts. The result is at most the maximum amount of a cluster.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: u64, b: u64| a.saturating_add(b).min(MAX_AMOUNT);
        Self {
            cpu: sum(self.cpu, other.cpu),
            memory: sum(self.memory, other.memory),
        }
    }
}

/// Amounts of CPU and memory as quantities, in requests, in the capacity of nodes and in metrics.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Quantities {
    cpu: Option<String>,
    memory: Option<String>,
}

impl Quantities {
    /// Converts the quantities. Missing, negative and malformed quantities are 0.
    pub(crate) fn amounts(&self) -> Amounts {
        let parse = |text: &Option<String>| Quantity::parse(text.as_deref()?).ok();
        let limited = |amount: i128| u64::try_from(amount.clamp(0, MAX_AMOUNT.into())).unwrap_or(0);
        Amounts {
            cpu: parse(&self.cpu).map_or(0, |cpu| limited(cpu.milli())),
            memory: parse(&self.memory).map_or(0, |memory| limited(memory.value())),
        }
    }
}

/// Maximum number of objects with a usage in one list.
const MAX_OBJECTS: usize = 200_000;

#[derive(Deserialize)]
struct MetricsList {
    items: Option<UsageMap>,
}

/// The usage by object. The items of a list are not stored, because they are larger.
#[derive(Default)]
struct UsageMap(HashMap<Key, Amounts>);

impl<'de> Deserialize<'de> for UsageMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(UsageVisitor)
    }
}

struct UsageVisitor;

impl<'de> Visitor<'de> for UsageVisitor {
    type Value = UsageMap;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a list of metrics")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<UsageMap, A::Error> {
        let mut usage = HashMap::new();
        while let Some(item) = items.next_element::<Metrics>()? {
            let Metadata { name, namespace } = &item.metadata;
            if name.is_empty() || name.len() > MAX_NAME || namespace.len() > MAX_NAME {
                continue;
            }
            let amounts = item.amounts();
            usage.insert((item.metadata.namespace, item.metadata.name), amounts);
            if usage.len() > MAX_OBJECTS {
                let message = format!("the list has more than {MAX_OBJECTS} objects");
                return Err(A::Error::custom(message));
            }
        }
        Ok(UsageMap(usage))
    }
}

/// A `PodMetrics` or a `NodeMetrics`.
#[derive(Deserialize)]
struct Metrics {
    #[serde(default)]
    metadata: Metadata,
    /// The usage of a node.
    usage: Option<Quantities>,
    /// The usage of the containers of a pod.
    #[serde(default)]
    containers: Vec<ContainerMetrics>,
}

impl Metrics {
    fn amounts(&self) -> Amounts {
        let containers = self.containers.iter().map(|it| it.usage.amounts());
        let node = self.usage.as_ref().map(Quantities::amounts);
        let all = containers.chain(node);
        all.fold(Amounts::default(), Amounts::plus)
    }
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: Box<str>,
    #[serde(default)]
    namespace: Box<str>,
}

#[derive(Deserialize)]
struct ContainerMetrics {
    #[serde(default)]
    usage: Quantities,
}

/// The response is not a list of metrics.
#[derive(Debug, thiserror::Error)]
#[error("the response is not a list of metrics.k8s.io")]
pub struct UsageError(#[from] serde_json::Error);

/// Parses a list of `PodMetrics` or `NodeMetrics`.
pub fn read(body: &[u8]) -> Result<HashMap<Key, Amounts>, UsageError> {
    let list: MetricsList = serde_json::from_slice(body)?;
    Ok(list.items.unwrap_or_default().0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(item: &str) -> Amounts {
        let list = format!(r#"{{"items":[{item}]}}"#);
        *read(list.as_bytes()).unwrap().values().next().unwrap()
    }

    #[test]
    fn usage_of_a_pod_is_the_sum_of_its_containers() {
        let list = r#"{"kind":"PodMetricsList","items":[{"metadata":{"name":"web","namespace":"shop"},
            "timestamp":"2026-01-01T00:00:00Z","window":"30s","containers":[
            {"name":"a","usage":{"cpu":"1500000n","memory":"1Mi"}},
            {"name":"b","usage":{"cpu":"250m","memory":"512Ki"}}]}]}"#;
        let usage = read(list.as_bytes()).unwrap();
        let key: Key = ("shop".into(), "web".into());
        let expected = Amounts {
            cpu: 252,
            memory: 1_572_864,
        };
        assert_eq!(usage.get(&key), Some(&expected));
        let node = one(r#"{"metadata":{"name":"a"},"usage":{"cpu":"2","memory":"1Gi"}}"#);
        assert_eq!((node.cpu, node.memory), (2_000, 1 << 30));
    }

    #[test]
    fn implausible_usage_of_a_cluster_is_limited() {
        let huge =
            one(r#"{"metadata":{"name":"a"},"usage":{"cpu":"9999999999E","memory":"-5Gi"}}"#);
        assert_eq!((huge.cpu, huge.memory), (1 << 60, 0));
        let malformed = one(r#"{"metadata":{"name":"a"},"usage":{"cpu":"much"}}"#);
        assert_eq!(malformed, Amounts::default());
        let container = r#"{"usage":{"cpu":"999999999999999999"}}"#;
        let many = vec![container; 100].join(",");
        assert_eq!(
            one(&format!(
                r#"{{"metadata":{{"name":"a"}},"containers":[{many}]}}"#
            ))
            .cpu,
            1 << 60
        );
        assert!(read(b"[]").is_err() && read(b"{\"items\":[{\"usage\":7}]}").is_err());
    }

    #[test]
    fn objects_without_a_valid_name_use_no_memory() {
        let long = "a".repeat(MAX_NAME + 1);
        let list = format!(r#"{{"items":[{{}},{{"metadata":{{"name":"{long}"}}}}]}}"#);
        assert_eq!(read(list.as_bytes()).unwrap().len(), 0);
        let many = (0..=MAX_OBJECTS).map(|it| format!(r#"{{"metadata":{{"name":"{it}"}}}}"#));
        let list = format!(r#"{{"items":[{}]}}"#, many.collect::<Vec<_>>().join(","));
        assert!(read(list.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_quantities_do_not_panic(cpu in "\\PC{0,12}|[0-9]{1,40}[EPTGMkmun]?i?") {
            let item = serde_json::json!({"items": [{"usage": {"cpu": cpu, "memory": cpu}}]});
            read(item.to_string().as_bytes()).unwrap();
        }
    }
}
