//! The listed objects of one owner and one kind in a cluster.

use kube::Resource;

use crate::error::{ApplyError, Failure};
pub use crate::limits::MAX_OBJECTS;

/// The listed objects of one kind.
#[derive(Clone, Debug)]
pub struct Inventory<K> {
    /// The objects in the list. At least [`MAX_OBJECTS`] objects if the list is not complete.
    pub objects: Vec<K>,
    /// True if the list contains every object of the owner.
    pub complete: bool,
}

impl<K: Resource<DynamicType = ()>> Inventory<K> {
    /// Returns a failure if the list is not complete.
    pub fn too_many(&self) -> Option<Failure> {
        (!self.complete).then(|| {
            Failure::in_cluster(ApplyError::TooMany {
                kind: K::kind(&()).into_owned(),
            })
        })
    }
}
