//! The objects of an owner that are in the cluster.

use kube::Resource;

use crate::error::{ApplyError, Failure};
pub use crate::limits::MAX_OBJECTS;

/// The listed objects of one kind.
#[derive(Clone, Debug)]
pub struct Inventory<K> {
    /// At least [`MAX_OBJECTS`] objects if the list is not complete.
    pub objects: Vec<K>,
    /// Whether the list has every object.
    pub complete: bool,
}

impl<K: Resource<DynamicType = ()>> Inventory<K> {
    /// The failure of a list that is not complete.
    pub fn too_many(&self) -> Option<Failure> {
        (!self.complete).then(|| {
            Failure::in_cluster(ApplyError::TooMany {
                kind: K::kind(&()).into_owned(),
            })
        })
    }
}
