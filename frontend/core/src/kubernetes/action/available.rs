//! The actions that an object supports in its current state.

use serde_json::Value;

use crate::kind::Kind;
use crate::messages::t;
use crate::object::Object;
use crate::object::read;

/// An action on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Changes the number of replicas.
    Scale,
    /// Replaces all pods of the workload.
    Restart,
    /// Changes the image of a container.
    SetImage,
    /// Applies the pod template of an earlier revision.
    RollBack,
    /// Pauses the rollout of a Deployment.
    Pause,
    /// Resumes the rollout of a Deployment.
    Resume,
    /// Suspends a CronJob or a Job.
    Suspend,
    /// Resumes a suspended CronJob or Job.
    Unsuspend,
    /// Creates a Job from a CronJob.
    Trigger,
    /// Evicts a pod through the Eviction API.
    Evict,
    /// Adds an ephemeral container to a pod.
    Debug,
    /// Forwards a port of a pod or Service to a host name for the browser.
    Forward,
    /// Saves a file or folder of a container on the user's computer.
    Download,
    /// Writes files of the user's computer to a folder of a container.
    Upload,
    /// Marks a node as unschedulable.
    Cordon,
    /// Marks a node as schedulable.
    Uncordon,
    /// Evicts all pods of a node.
    Drain,
    /// Changes the taints of a node.
    Taints,
    /// Changes the labels.
    Labels,
    /// Deletes the object.
    Delete,
}

impl Action {
    /// Returns the label of the menu item: a verb.
    pub fn words(self) -> &'static str {
        match self {
            Self::Scale => t().actions.scale_menu(),
            Self::Restart => t().actions.restart_menu(),
            Self::SetImage => t().actions.set_image_menu(),
            Self::RollBack => t().actions.roll_back_menu(),
            Self::Pause => t().actions.pause_menu(),
            Self::Resume => t().actions.resume_menu(),
            Self::Suspend => t().actions.suspend_menu(),
            Self::Unsuspend => t().actions.unsuspend_menu(),
            Self::Trigger => t().actions.trigger_menu(),
            Self::Evict => t().actions.evict_menu(),
            Self::Debug => t().actions.debug_menu(),
            Self::Forward => t().forwards.menu(),
            Self::Download => t().transfer.download_menu(),
            Self::Upload => t().transfer.upload_menu(),
            Self::Cordon => t().actions.cordon_menu(),
            Self::Uncordon => t().actions.uncordon_menu(),
            Self::Drain => t().actions.drain_menu(),
            Self::Taints => t().actions.taints_menu(),
            Self::Labels => t().actions.labels_menu(),
            Self::Delete => t().buttons.delete_menu(),
        }
    }
}

/// Returns the actions that an object supports, in the order of the menu.
pub fn available(kind: Kind, object: &Object) -> Vec<Action> {
    let value = object.value();
    let mut actions = match kind.name {
        "Deployment" => deployment(value),
        "StatefulSet" => vec![
            Action::Scale,
            Action::Restart,
            Action::SetImage,
            Action::RollBack,
        ],
        "DaemonSet" => vec![Action::Restart, Action::SetImage, Action::RollBack],
        "ReplicaSet" | "ReplicationController" => vec![Action::Scale],
        "CronJob" => vec![Action::Trigger, suspension(value), Action::SetImage],
        "Job" if !is_finished_job(value) => vec![suspension(value)],
        "Pod" => pod(object),
        "Service" if !read::list(value, "/spec/ports").is_empty() => vec![Action::Forward],
        "Node" => vec![
            if read::is_true(value, "/spec/unschedulable") {
                Action::Uncordon
            } else {
                Action::Cordon
            },
            Action::Drain,
            Action::Taints,
        ],
        // Kubernetes creates and deletes events.
        "Event" => return Vec::new(),
        _ => Vec::new(),
    };
    actions.extend([Action::Labels, Action::Delete]);
    actions
}

/// Returns the action that the page shows as a button if the user has the permission. The menu
/// contains the other actions.
pub fn main_action(kind: Kind, actions: &[Action]) -> Option<Action> {
    let has_main = matches!(
        kind.name,
        "Deployment"
            | "StatefulSet"
            | "DaemonSet"
            | "ReplicaSet"
            | "ReplicationController"
            | "CronJob"
            | "Node"
    );
    actions.first().copied().filter(|_| has_main)
}

fn deployment(value: &Value) -> Vec<Action> {
    // The Deployment controller rejects restarts and rollbacks of a paused Deployment only through
    // kubectl, but a change of the template has no effect until the rollout is resumed.
    if read::is_true(value, "/spec/paused") {
        return vec![Action::Scale, Action::Resume, Action::SetImage];
    }
    vec![
        Action::Scale,
        Action::Restart,
        Action::SetImage,
        Action::RollBack,
        Action::Pause,
    ]
}

fn suspension(value: &Value) -> Action {
    if read::is_true(value, "/spec/suspend") {
        Action::Unsuspend
    } else {
        Action::Suspend
    }
}

fn is_finished_job(value: &Value) -> bool {
    let mut conditions = read::list(value, "/status/conditions").iter();
    conditions.any(|condition| {
        let kind = read::text(condition, "/type");
        matches!(kind, Some("Complete" | "Failed"))
            && read::text(condition, "/status") == Some("True")
    })
}

fn pod(object: &Object) -> Vec<Action> {
    let value = object.value();
    // The kubelet ignores the Eviction API for mirror pods.
    let is_mirror = value
        .pointer("/metadata/annotations/kubernetes.io~1config.mirror")
        .is_some();
    let phase = read::text(value, "/status/phase");
    let is_finished = matches!(phase, Some("Succeeded" | "Failed"));
    if is_mirror || object.leaving().is_some() {
        return Vec::new();
    }
    if is_finished {
        return vec![Action::Evict];
    }
    vec![
        Action::Forward,
        Action::Download,
        Action::Upload,
        Action::Debug,
        Action::Evict,
    ]
}
