//! The texts of changes: button, consequences and success message.

use super::{Cascade, Change};
use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::messages::t;

impl Change {
    /// Returns the label of the button: a verb.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Scale(_) => t().actions.scale(),
            Self::Restart(_) => t().actions.restart(),
            Self::SetImage { .. } => t().actions.set_image(),
            Self::RollBack(_) | Self::RestoreTemplate { .. } => t().actions.roll_back(),
            Self::Paused(true) => t().actions.pause(),
            Self::Paused(false) => t().actions.resume(),
            Self::Suspended(true) => t().actions.suspend(),
            Self::Suspended(false) => t().actions.unsuspend(),
            Self::Trigger(_) => t().actions.trigger(),
            Self::Evict => t().actions.evict(),
            Self::Debug { .. } => t().actions.debug(),
            Self::Cordoned(true) => t().actions.cordon(),
            Self::Cordoned(false) => t().actions.uncordon(),
            Self::Taints(_) => t().actions.save_taints(),
            Self::Labels(_) => t().actions.save_labels(),
            Self::Delete(_) => t().buttons.delete(),
        }
    }

    /// Returns the consequences of a change that needs only a confirmation.
    pub fn effect(&self) -> &'static str {
        match self {
            Self::Restart(_) => t().actions.restart_effect(),
            Self::Paused(true) => t().actions.pause_effect(),
            Self::Paused(false) => t().actions.resume_effect(),
            Self::Suspended(true) => t().actions.suspend_effect(),
            Self::Suspended(false) => t().actions.unsuspend_effect(),
            Self::Trigger(_) => t().actions.trigger_effect(),
            Self::Evict => t().actions.evict_effect(),
            Self::Debug { .. } => t().actions.debug_effect(),
            Self::Cordoned(true) => t().actions.cordon_effect(),
            Self::Cordoned(false) => t().actions.uncordon_effect(),
            Self::Taints(_) => t().actions.taints_effect(),
            Self::Delete(_) => t().actions.delete_effect(),
            Self::Scale(_)
            | Self::SetImage { .. }
            | Self::RollBack(_)
            | Self::RestoreTemplate { .. }
            | Self::Labels(_) => "",
        }
    }

    /// Returns the message after the change.
    pub fn done(&self, target: &KubectlObject) -> String {
        let name = target.name.as_str();
        match self {
            Self::Scale(replicas) => t().actions.scaled(name, *replicas),
            Self::Restart(_) => t().actions.restarted(name),
            Self::SetImage {
                container, image, ..
            } => t().actions.set_image_done(container, image),
            Self::RollBack(revision) => t().actions.rolled_back(name, revision.number),
            Self::RestoreTemplate { .. } => t().actions.restored(name),
            Self::Paused(true) => t().actions.paused(name),
            Self::Paused(false) => t().actions.resumed(name),
            Self::Suspended(true) => t().actions.suspended(name),
            Self::Suspended(false) => t().actions.unsuspended(name),
            Self::Trigger(job) => t().actions.triggered(job),
            Self::Evict => t().actions.evicted(name),
            Self::Debug { name, .. } => t().actions.debug_added(name),
            Self::Cordoned(true) => t().actions.cordoned(name),
            Self::Cordoned(false) => t().actions.uncordoned(name),
            Self::Taints(_) => t().actions.taints_saved(name),
            Self::Labels(_) => t().actions.labels_saved(name),
            Self::Delete(_) => t().actions.deleting(target.kind.name, name),
        }
    }
}

impl Cascade {
    /// Returns the text of the option.
    pub fn words(self) -> &'static str {
        match self {
            Self::Background => t().actions.cascade_background(),
            Self::Foreground => t().actions.cascade_foreground(),
            Self::Orphan => t().actions.cascade_orphan(),
        }
    }

    /// Returns all options with their keys and texts.
    pub fn options() -> Vec<(String, String)> {
        let options = Self::ALL.map(|it| (it.key().to_owned(), it.words().to_owned()));
        options.to_vec()
    }
}

/// Returns the consequences of the deletion of an object whose name the user must type. Returns
/// `None` for kinds whose deletion other objects survive.
pub fn deletion_danger(kind: Kind) -> Option<String> {
    let is_dangerous = matches!(
        kind.name,
        "Namespace"
            | "Node"
            | "CustomResourceDefinition"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "StatefulSet"
            | "Secret"
    );
    is_dangerous.then(|| t().actions.delete_dangerous(kind.name))
}
