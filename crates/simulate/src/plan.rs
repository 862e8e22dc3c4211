//! The initial state of a simulated cluster: nodes and sample workloads.

mod workloads;

use serde_json::{Value, json};

use crate::annotations::FAIL;

/// A node in the plan of a simulated cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlan {
    /// Name of the node. Starts with `simulated-`.
    pub name: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// Memory in GiB.
    pub memory_gib: u32,
    /// True if the node belongs to the control plane. Only pods that tolerate its taint run on the
    /// node.
    pub control_plane: bool,
    /// True if the kubelet of the node sends no heartbeats.
    pub silent: bool,
}

/// The nodes and initial objects of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// A description of the cluster for users.
    pub description: String,
    /// The nodes.
    pub nodes: Vec<NodePlan>,
    /// Objects that the first start creates in this order. Later starts do not recreate deleted
    /// objects.
    pub objects: Vec<Value>,
}

/// The Kubernetes version that `/version` reports.
pub const VERSION: &str = "v1.36.3+simulated";

/// Number of allocatable pods of a node.
const PODS: u32 = 110;

impl Plan {
    /// Returns a plan with this number of nodes and without workloads.
    pub fn empty(nodes: u32) -> Self {
        Self {
            description: "simulated: empty".to_owned(),
            nodes: (1..=nodes).map(|number| worker(number, 4, 16)).collect(),
            objects: Vec::new(),
        }
    }

    /// Returns the plan of a cluster in the demonstration. Cluster 0 is small, cluster 1 is large,
    /// and cluster 2 has failing workloads. The number of each further cluster determines its plan.
    pub fn demo(number: u32) -> Self {
        match number {
            0 => Self::small(),
            1 => Self::large(),
            2 => Self::troubled(),
            number => Self::generated(number),
        }
    }

    fn small() -> Self {
        let mut objects = workloads::system();
        objects.extend(workloads::shop(1));
        Self {
            description: "simulated: small and healthy".to_owned(),
            nodes: nodes(0, 2, 4, 16),
            objects,
        }
    }

    fn large() -> Self {
        let mut objects = workloads::system();
        objects.extend(workloads::shop(8));
        objects.extend(workloads::analytics(6));
        objects.extend(workloads::platform(5));
        Self {
            description: "simulated: large and healthy".to_owned(),
            nodes: nodes(3, 12, 16, 64),
            objects,
        }
    }

    fn troubled() -> Self {
        let mut nodes = nodes(1, 3, 4, 16);
        if let Some(last) = nodes.last_mut() {
            last.silent = true;
        }
        let mut objects = workloads::system();
        objects.extend(workloads::shop(2));
        objects.extend(workloads::troubles());
        Self {
            description: "simulated: failing workloads and a node that is not ready".to_owned(),
            nodes,
            objects,
        }
    }

    fn generated(number: u32) -> Self {
        let mut seed = Seed(number);
        let workers = 1 + seed.below(5);
        let (cpus, memory) = [(2, 8), (4, 16), (8, 32)][seed.index(3)];
        let mut objects = workloads::system();
        objects.extend(workloads::shop(1 + seed.below(2)));
        if seed.below(3) == 0 {
            objects.extend(workloads::platform(1));
        }
        let mut nodes = nodes(0, workers, cpus, memory);
        // One of eight clusters has failures.
        let troubled = seed.below(8) == 0;
        if troubled && let Some(last) = nodes.last_mut() {
            last.silent = workers > 1;
            objects.extend(workloads::troubles());
        }
        let health = if troubled { "with troubles" } else { "healthy" };
        Self {
            description: format!("simulated: {workers} workers, {health}"),
            nodes,
            objects,
        }
    }
}

fn nodes(control_planes: u32, workers: u32, cpus: u32, memory_gib: u32) -> Vec<NodePlan> {
    let control_planes = (1..=control_planes).map(|number| NodePlan {
        name: format!("simulated-control-plane-{number}"),
        cpus: 4,
        memory_gib: 8,
        control_plane: true,
        silent: false,
    });
    let workers = (1..=workers).map(|number| worker(number, cpus, memory_gib));
    control_planes.chain(workers).collect()
}

fn worker(number: u32, cpus: u32, memory_gib: u32) -> NodePlan {
    NodePlan {
        name: format!("simulated-worker-{number}"),
        cpus,
        memory_gib,
        control_plane: false,
        silent: false,
    }
}

impl NodePlan {
    /// Returns the Node object without its status.
    pub(crate) fn node(&self) -> Value {
        let mut labels = json!({
            "kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64", "simulate.drover.dev/simulated": "true",
        });
        let mut taints = json!([]);
        if self.control_plane {
            labels["node-role.kubernetes.io/control-plane"] = "".into();
            taints = json!([
                {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]);
        } else {
            labels["node-role.kubernetes.io/worker"] = "".into();
        }
        let mut annotations = json!({});
        if self.silent {
            annotations[FAIL] = "NotReady".into();
        }
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": self.name, "labels": labels, "annotations": annotations},
            "spec": {"taints": taints, "providerID": format!("simulated://{}", self.name)},
        })
    }

    /// Returns the status of the Node object.
    pub(crate) fn status(&self) -> Value {
        let amounts = |cpu_millis: u32, memory_mib: u32| {
            json!({
                "cpu": format!("{cpu_millis}m"), "memory": format!("{memory_mib}Mi"),
                "pods": PODS.to_string(), "ephemeral-storage": "100Gi",
            })
        };
        let (cpu, memory) = (self.cpus * 1000, self.memory_gib * 1024);
        json!({
            "capacity": amounts(cpu, memory),
            "allocatable": amounts(cpu - 200, memory - 512),
            "addresses": [
                {"type": "InternalIP", "address": crate::decide::host_address(&self.name)},
                {"type": "Hostname", "address": self.name},
            ],
            "nodeInfo": {
                "kubeletVersion": VERSION, "kubeProxyVersion": "", "osImage": "simulated",
                "kernelVersion": "simulated", "containerRuntimeVersion": "simulated://0",
                "operatingSystem": "linux", "architecture": "amd64", "machineID": "",
                "systemUUID": "", "bootID": "",
            },
        })
    }
}

/// A deterministic generator of pseudo-random numbers (xorshift).
struct Seed(u32);

impl Seed {
    fn next(&mut self) -> u32 {
        let mut x = self.0.wrapping_mul(0x9e37_79b9) | 1;
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.0 = x;
        x
    }

    fn below(&mut self, bound: u32) -> u32 {
        (self.next() >> 8) % bound
    }

    fn index(&mut self, bound: u32) -> usize {
        usize::try_from(self.below(bound)).expect("a u32 fits into a usize")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn demo_clusters_are_deterministic_and_differ_from_each_other() {
        let seen: BTreeSet<String> = (0..40)
            .map(|number| {
                assert_eq!(Plan::demo(number), Plan::demo(number));
                format!("{:?}", Plan::demo(number))
            })
            .collect();
        assert!(seen.len() > 12, "{}", seen.len());
    }

    #[test]
    fn node_names_start_with_simulated_and_only_failing_clusters_have_unreachable_nodes() {
        for number in 0..40 {
            let plan = Plan::demo(number);
            assert!(
                plan.nodes
                    .iter()
                    .all(|node| node.name.starts_with("simulated-"))
            );
            let silent = plan.nodes.iter().any(|node| node.silent);
            if number < 3 {
                assert_eq!(silent, number == 2, "{number}");
            }
            assert!(
                plan.nodes
                    .iter()
                    .any(|node| !node.silent && !node.control_plane)
            );
        }
    }

    #[test]
    fn generated_clusters_have_different_sizes_and_few_have_failures() {
        let plans: Vec<Plan> = (3..103).map(Plan::demo).collect();
        let sizes: BTreeSet<usize> = plans.iter().map(|plan| plan.nodes.len()).collect();
        assert!(sizes.len() >= 4, "{sizes:?}");
        let troubled = plans
            .iter()
            .filter(|plan| plan.description.contains("troubles"));
        assert!((4..30).contains(&troubled.count()));
    }
}
