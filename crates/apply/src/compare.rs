//! Compares the content of two objects of the same kind.

mod quota;
mod rbac;

use kube::ResourceExt;

pub use rbac::{SubjectKey, subject_keys};

/// A kind whose objects can be compared.
pub trait Comparable: ResourceExt + Clone {
    /// Returns true if both objects have the same content, ignoring metadata.
    fn same_content(&self, other: &Self) -> bool;

    /// Returns true if an update can change this object into `other`. If not, the object must be
    /// deleted and created again.
    fn can_become(&self, other: &Self) -> bool;
}
