//! Compares the content of two objects of a kind.

mod quota;
mod rbac;

use kube::ResourceExt;

pub use rbac::{SubjectKey, subject_keys};

/// A kind whose objects can be compared.
pub trait Comparable: ResourceExt + Clone {
    /// Whether the content, without metadata, has the same meaning.
    fn same_content(&self, other: &Self) -> bool;

    /// Whether an update can change this object into the other; otherwise it must be deleted first.
    fn can_become(&self, other: &Self) -> bool;
}
