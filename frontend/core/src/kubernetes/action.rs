//! Actions on Kubernetes objects: the available actions, their requests and their commands.

mod access;
mod autoscaler;
mod available;
mod bulk;
mod change;
mod command;
mod eviction;
pub mod forward;
mod pairs;
mod problem;
mod request;
mod revision;
mod template;
pub mod transfer;
mod undo;
mod words;

pub use access::Access;
pub use autoscaler::{autoscaler_of, autoscalers_path};
pub use available::{Action, available, main_action};
pub use bulk::{
    BulkChange, BulkRights, ObjectKey, PlannedObject, PlannedRequest, ReadObject, Step,
    bulk_actions, bulk_confirmation, bulk_plan, change_without_parameters,
};
pub use change::{Cascade, Change};
pub use eviction::{budgets_of, budgets_path};
pub use pairs::{
    InvalidPair, Taint, labels_of_text, labels_text, pairs_of_text, taints_of_text, taints_text,
};
pub use problem::explain_problem;
pub use request::ChangeRequest;
pub use revision::{Revision, RevisionSource, revision_source, revisions, template_text};
pub use template::{TemplateContainer, template_containers};
pub use words::deletion_danger;

#[cfg(test)]
mod tests;
