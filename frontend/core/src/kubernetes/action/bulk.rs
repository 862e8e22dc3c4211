//! Actions on several objects: the objects, the permissions, the plan and the confirmation.

mod key;
mod plan;
mod rights;

pub use key::ObjectKey;
pub use plan::{BulkChange, PlannedObject, PlannedRequest, ReadObject, Step, bulk_plan};
pub use rights::BulkRights;

use super::{Action, Cascade, Change, deletion_danger};
use crate::kind::Kind;

/// The number of objects above which a deletion needs a typed confirmation.
const MAX_UNCONFIRMED: usize = 5;

/// Returns the actions on several objects of a kind, in the order of the page.
pub fn bulk_actions(kind: Kind) -> Vec<Action> {
    let mut actions = match kind.name {
        "Deployment" | "StatefulSet" => vec![Action::Scale, Action::Restart],
        "DaemonSet" => vec![Action::Restart],
        "ReplicaSet" | "ReplicationController" => vec![Action::Scale],
        "CronJob" | "Job" => vec![Action::Suspend, Action::Unsuspend],
        "Pod" => vec![Action::Evict],
        "Node" => vec![Action::Cordon, Action::Uncordon],
        // Kubernetes creates and deletes events.
        "Event" => return Vec::new(),
        _ => Vec::new(),
    };
    actions.extend([Action::Labels, Action::Delete]);
    actions
}

/// Returns the text that the user must type before an action on `count` objects.
pub fn bulk_confirmation(kind: Kind, change: &BulkChange, count: usize) -> Option<String> {
    let deletes = matches!(change, BulkChange::Same(Change::Delete(_)));
    let is_dangerous = count > MAX_UNCONFIRMED || deletion_danger(kind).is_some();
    (deletes && is_dangerous).then(|| count.to_string())
}

/// Returns the change of an action without parameters.
pub fn change_without_parameters(action: Action, now: jiff::Timestamp) -> Option<Change> {
    Some(match action {
        Action::Restart => Change::Restart(now),
        Action::Pause => Change::Paused(true),
        Action::Resume => Change::Paused(false),
        Action::Suspend => Change::Suspended(true),
        Action::Unsuspend => Change::Suspended(false),
        Action::Cordon => Change::Cordoned(true),
        Action::Uncordon => Change::Cordoned(false),
        Action::Evict => Change::Evict,
        Action::Delete => Change::Delete(Cascade::default()),
        Action::Scale
        | Action::SetImage
        | Action::RollBack
        | Action::Trigger
        | Action::Debug
        | Action::Forward
        | Action::Download
        | Action::Upload
        | Action::Drain
        | Action::Taints
        | Action::Labels => return None,
    })
}

#[cfg(test)]
mod tests;
