//! The plan of a drain: the handling of each pod of the node.

use serde_json::Value;

use crate::action::{Change, budgets_of};
use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::messages::t;
use crate::object::{Object, is_finished, read};
use crate::shell::word;
use crate::url::segment;

/// The handling of a pod during a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodClass {
    /// The pod is evicted, and its controller creates a new pod on another node.
    Evicted,
    /// The pod has finished.
    Finished,
    /// The pod has an `emptyDir` volume. The eviction deletes the data.
    EmptyDir,
    /// The pod has no controller. No controller creates the pod again.
    Unmanaged,
    /// The pod belongs to a DaemonSet, which ignores cordons. The pod stays.
    DaemonSet,
    /// The kubelet runs the pod from a file. The pod stays.
    Mirror,
}

impl PodClass {
    /// All classes, in the order of the dialog.
    pub const ALL: [Self; 6] = [
        Self::Evicted,
        Self::Finished,
        Self::EmptyDir,
        Self::Unmanaged,
        Self::DaemonSet,
        Self::Mirror,
    ];

    /// Returns the name of the class and the handling of its pods.
    pub fn words(self) -> &'static str {
        match self {
            Self::Evicted => t().drain.evicted(),
            Self::Finished => t().drain.finished(),
            Self::EmptyDir => t().drain.empty_dir(),
            Self::Unmanaged => t().drain.unmanaged(),
            Self::DaemonSet => t().drain.daemon_set(),
            Self::Mirror => t().drain.mirror(),
        }
    }

    fn of(pod: &Object) -> Self {
        let value = pod.value();
        let mirror = value.pointer("/metadata/annotations/kubernetes.io~1config.mirror");
        let owners = read::list(value, "/metadata/ownerReferences");
        let mut controllers = owners.iter().filter(|it| read::is_true(it, "/controller"));
        let controller = controllers.next().and_then(|it| read::text(it, "/kind"));
        let volumes = read::list(value, "/spec/volumes");
        if mirror.is_some() {
            Self::Mirror
        } else if is_finished(pod) {
            Self::Finished
        } else if controller == Some("DaemonSet") {
            Self::DaemonSet
        } else if controller.is_none() {
            Self::Unmanaged
        } else if volumes.iter().any(|it| it.get("emptyDir").is_some()) {
            Self::EmptyDir
        } else {
            Self::Evicted
        }
    }
}

/// The confirmations of a drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrainOptions {
    /// True to evict pods without a controller, such as `kubectl drain --force`.
    pub force: bool,
    /// True to evict pods with `emptyDir` volumes, such as `--delete-emptydir-data`.
    pub delete_empty_dir: bool,
}

/// A pod of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainPod {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub name: String,
    /// The UID of the pod. The drain ignores new pods with the same name.
    pub uid: String,
    /// The handling of the pod.
    pub class: PodClass,
    /// The PodDisruptionBudgets that select the pod and allow no disruption now.
    pub budgets: Vec<String>,
    has_empty_dir: bool,
}

impl DrainPod {
    fn of(pod: &Object, budgets: &[Value]) -> Self {
        let namespace = pod.namespace().unwrap_or_default();
        let is_here = |it: &&Value| read::text(it, "/metadata/namespace") == Some(namespace);
        let here: Vec<_> = budgets.iter().filter(is_here).cloned().collect();
        let class = PodClass::of(pod);
        // Kubernetes deletes finished pods regardless of budgets.
        let counts = !matches!(
            class,
            PodClass::Finished | PodClass::DaemonSet | PodClass::Mirror
        );
        let volumes = read::list(pod.value(), "/spec/volumes");
        Self {
            namespace: namespace.to_owned(),
            name: pod.name().to_owned(),
            uid: pod.uid().to_owned(),
            class,
            budgets: if counts {
                budgets_of(pod, &serde_json::json!({"items": here}))
            } else {
                Vec::new()
            },
            has_empty_dir: volumes.iter().any(|it| it.get("emptyDir").is_some()),
        }
    }

    /// Reports whether the pod stays on the node.
    pub const fn stays(&self) -> bool {
        matches!(self.class, PodClass::DaemonSet | PodClass::Mirror)
    }

    /// Reports whether the drain needs a confirmation because of the pod.
    fn needs(&self, options: DrainOptions) -> bool {
        match self.class {
            PodClass::Unmanaged => {
                !options.force || (self.has_empty_dir && !options.delete_empty_dir)
            }
            PodClass::EmptyDir => !options.delete_empty_dir,
            _ => false,
        }
    }

    /// Returns the pod as the object of kubectl commands.
    pub fn target(&self, cluster: &str) -> KubectlObject {
        KubectlObject {
            cluster: cluster.to_owned(),
            kind: Kind::PODS,
            namespace: Some(self.namespace.clone()),
            name: self.name.clone(),
        }
    }

    /// Returns the request that evicts the pod.
    pub fn eviction(&self, cluster: &str) -> crate::action::ChangeRequest {
        let pod = serde_json::json!({"metadata": {"uid": self.uid}});
        Change::Evict.request(&self.target(cluster), &Object::from(pod))
    }
}

/// The plan of a drain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainPlan {
    /// The pods of the node, sorted by class, namespace and name.
    pub pods: Vec<DrainPod>,
}

impl DrainPlan {
    /// Returns the pods of a class.
    pub fn of_class(&self, class: PodClass) -> impl Iterator<Item = &DrainPod> {
        self.pods.iter().filter(move |pod| pod.class == class)
    }

    /// Reports whether the plan contains a pod with an `emptyDir` volume that leaves the node.
    pub fn has_empty_dir(&self) -> bool {
        let leaves = |pod: &DrainPod| {
            pod.has_empty_dir && matches!(pod.class, PodClass::EmptyDir | PodClass::Unmanaged)
        };
        self.pods.iter().any(leaves)
    }

    /// Reports whether the user must confirm more options.
    pub fn needs_confirmation(&self, options: DrainOptions) -> bool {
        self.pods.iter().any(|pod| pod.needs(options))
    }

    /// Returns the pods that the drain evicts.
    pub fn evictions(&self) -> Vec<DrainPod> {
        let leaving = self.pods.iter().filter(|pod| !pod.stays());
        leaving.cloned().collect()
    }

    /// Returns the names of the PodDisruptionBudgets that block evictions now.
    pub fn blocking_budgets(&self) -> Vec<String> {
        let of_pod = |pod: &DrainPod| {
            let namespace = pod.namespace.clone();
            let budgets = pod.budgets.clone().into_iter();
            budgets.map(move |budget| format!("{namespace}/{budget}"))
        };
        let mut names: Vec<_> = self.pods.iter().flat_map(of_pod).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Plans the drain of a node. `budgets` is the list of all PodDisruptionBudgets.
pub fn drain_plan(pods: &[Object], budgets: &Value) -> DrainPlan {
    let items = read::list(budgets, "/items");
    let mut planned: Vec<_> = pods.iter().map(|pod| DrainPod::of(pod, items)).collect();
    planned.sort_by(|one, other| {
        let key = |pod: &DrainPod| (pod.class, pod.namespace.clone(), pod.name.clone());
        key(one).cmp(&key(other))
    });
    DrainPlan { pods: planned }
}

/// Returns the API path of all PodDisruptionBudgets of a cluster.
pub fn budget_list_path(cluster: &str) -> String {
    let cluster = segment(cluster);
    format!("/k8s/clusters/{cluster}/apis/policy/v1/poddisruptionbudgets")
}

impl DrainOptions {
    /// Returns the equivalent `kubectl drain` command.
    pub fn command(self, node: &KubectlObject) -> String {
        let mut line = format!(
            "{} drain {} --ignore-daemonsets",
            node.start(),
            word(&node.name)
        );
        if self.delete_empty_dir {
            line.push_str(" --delete-emptydir-data");
        }
        if self.force {
            line.push_str(" --force");
        }
        line
    }
}
