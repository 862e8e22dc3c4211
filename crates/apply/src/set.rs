//! Applies the changes of several kinds in order.

use std::borrow::Cow;
use std::fmt::Debug;

use futures::future::BoxFuture;
use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::compare::Comparable;
use crate::diff::Diff;
use crate::error::Failure;
use crate::objects::Objects;
use crate::order::{Step, steps};

/// The changes of one kind.
pub trait KindChanges: Send + Sync {
    /// Returns the name of the kind. The name determines the order of the changes.
    fn kind(&self) -> Cow<'static, str>;

    /// Deletes the objects that are not desired.
    fn prune(&self) -> BoxFuture<'_, Vec<Failure>>;

    /// Creates the missing objects and replaces the objects that differ.
    fn write(&self) -> BoxFuture<'_, Vec<Failure>>;
}

/// A diff of one kind and the client that applies the diff.
#[derive(Debug)]
pub struct Changes<'a, K> {
    /// The client for the objects of the kind.
    pub objects: &'a Objects<K>,
    /// Changes of the objects.
    pub diff: &'a Diff<K>,
}

impl<K> KindChanges for Changes<'_, K>
where
    K: Comparable
        + Resource<DynamicType = ()>
        + Serialize
        + DeserializeOwned
        + Debug
        + Send
        + Sync
        + 'static,
{
    fn kind(&self) -> Cow<'static, str> {
        K::kind(&())
    }

    fn prune(&self) -> BoxFuture<'_, Vec<Failure>> {
        Box::pin(self.objects.prune(self.diff))
    }

    fn write(&self) -> BoxFuture<'_, Vec<Failure>> {
        Box::pin(self.objects.write(self.diff))
    }
}

/// Applies the changes in the order of [`steps`]. A failure does not stop the other changes.
pub async fn apply(changes: &[&dyn KindChanges]) -> Vec<Failure> {
    let kinds: Vec<_> = changes.iter().map(|changes| changes.kind()).collect();
    let kinds: Vec<&str> = kinds.iter().map(AsRef::as_ref).collect();
    let mut failures = Vec::new();
    for step in steps(&kinds) {
        failures.extend(match step {
            Step::Prune(kind) => changes[kind].prune().await,
            Step::Write(kind) => changes[kind].write().await,
        });
    }
    failures
}
