//! Resources of nodes and requests of pods in integer units: CPU in millicores, memory in bytes.

use std::collections::BTreeMap;

use drover_quantity::Quantity;
use k8s_openapi::api::core::v1::{Node, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as KubeQuantity;

/// The unit in which a quantity is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// Thousandths of a unit, for CPU.
    Milli,
    Whole,
}

/// An amount of resources: CPU in millicores, memory in bytes, and number of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    pub(crate) cpu_millis: i64,
    pub(crate) memory_bytes: i64,
    pub(crate) pods: i64,
}

impl Amounts {
    /// Returns the allocatable resources of a node.
    pub(crate) fn allocatable(node: &Node) -> Self {
        let status = node.status.as_ref();
        let all = status.and_then(|status| status.allocatable.as_ref());
        let Some(all) = all else {
            return Self::default();
        };
        Self {
            cpu_millis: read(all, "cpu", Unit::Milli),
            memory_bytes: read(all, "memory", Unit::Whole),
            pods: read(all, "pods", Unit::Whole),
        }
    }

    fn requested(resources: Option<&ResourceRequirements>) -> Self {
        let requests = resources.and_then(|resources| resources.requests.as_ref());
        requests.map_or_else(Self::default, |all| Self {
            cpu_millis: read(all, "cpu", Unit::Milli),
            memory_bytes: read(all, "memory", Unit::Whole),
            pods: 0,
        })
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.cpu_millis = self.cpu_millis.saturating_add(other.cpu_millis);
        self.memory_bytes = self.memory_bytes.saturating_add(other.memory_bytes);
        self.pods = self.pods.saturating_add(other.pods);
    }

    pub(super) fn take(&mut self, other: &Self) {
        self.cpu_millis = self.cpu_millis.saturating_sub(other.cpu_millis);
        self.memory_bytes = self.memory_bytes.saturating_sub(other.memory_bytes);
        self.pods = self.pods.saturating_sub(other.pods);
    }

    fn raise_to(&mut self, other: &Self) {
        self.cpu_millis = self.cpu_millis.max(other.cpu_millis);
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
    }

    /// Returns the insufficient resources in the wording of the scheduler's messages.
    pub(super) fn lacks(&self, needs: &Self) -> Vec<String> {
        let short = [
            (
                needs.cpu_millis > 0 && self.cpu_millis < needs.cpu_millis,
                "Insufficient cpu",
            ),
            (
                needs.memory_bytes > 0 && self.memory_bytes < needs.memory_bytes,
                "Insufficient memory",
            ),
            (self.pods < needs.pods, "Too many pods"),
        ];
        let short = short.into_iter().filter(|(short, _)| *short);
        short.map(|(_, reason)| reason.to_owned()).collect()
    }

    /// Returns the free fraction of a node in thousandths: the minimum of the free fractions of CPU
    /// and memory.
    pub(super) fn score(&self, whole: &Self) -> i64 {
        let share = |remaining: i64, whole: i64| remaining.saturating_mul(1000) / whole.max(1);
        share(self.cpu_millis, whole.cpu_millis)
            .min(share(self.memory_bytes, whole.memory_bytes))
            .min(share(self.pods, whole.pods))
    }
}

/// Returns the resource requests of a pod. For each resource, returns the larger value: the sum of
/// the containers' requests, or the largest request of an init container.
pub(crate) fn requests(pod: &Pod) -> Amounts {
    let mut together = Amounts {
        pods: 1,
        ..Amounts::default()
    };
    let Some(spec) = &pod.spec else {
        return together;
    };
    let mut first = Amounts::default();
    for container in spec.init_containers.iter().flatten() {
        let needs = Amounts::requested(container.resources.as_ref());
        if container.restart_policy.as_deref() == Some("Always") {
            together.add(&needs);
        } else {
            first.raise_to(&needs);
        }
    }
    for container in &spec.containers {
        together.add(&Amounts::requested(container.resources.as_ref()));
    }
    together.raise_to(&first);
    together
}

fn read(all: &BTreeMap<String, KubeQuantity>, name: &str, unit: Unit) -> i64 {
    all.get(name)
        .and_then(|quantity| units(&quantity.0, unit))
        .unwrap_or(0)
}

/// Parses a quantity in thousandths or whole units, rounded up. Negative quantities become 0.
pub(crate) fn units(text: &str, unit: Unit) -> Option<i64> {
    let quantity = Quantity::parse(text).ok()?;
    let amount = match unit {
        Unit::Milli => quantity.milli(),
        Unit::Whole => quantity.value(),
    };
    Some(i64::try_from(amount.max(0)).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_of_pod_requests_are_parsed_in_milli_and_whole_units() {
        for (text, unit, expected) in [
            ("100m", Unit::Milli, Some(100)),
            ("2", Unit::Milli, Some(2000)),
            ("0.1", Unit::Milli, Some(100)),
            ("1500u", Unit::Milli, Some(2)),
            ("64Mi", Unit::Whole, Some(64 << 20)),
            ("1G", Unit::Whole, Some(1_000_000_000)),
            ("1e3", Unit::Whole, Some(1000)),
            ("", Unit::Whole, None),
            ("many", Unit::Whole, None),
            ("-5", Unit::Whole, Some(0)),
        ] {
            assert_eq!(units(text, unit), expected, "{text}");
        }
    }
}
