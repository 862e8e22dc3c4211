//! The kinds that a simulation reads and writes.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ApiResource;

use super::{Objects, World};

/// A kind that the simulation reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Node of core/v1.
    Node,
    /// Pod of core/v1.
    Pod,
    /// Service of core/v1.
    Service,
    /// DaemonSet of apps/v1.
    DaemonSet,
    /// Deployment of apps/v1.
    Deployment,
    /// ReplicaSet of apps/v1.
    ReplicaSet,
    /// StatefulSet of apps/v1.
    StatefulSet,
    /// Job of batch/v1.
    Job,
    /// EndpointSlice of discovery.k8s.io/v1.
    EndpointSlice,
}

/// A type of objects that [`World`] stores.
pub trait SimulatedKind:
    kube::Resource<DynamicType = ()>
    + Clone
    + std::fmt::Debug
    + serde::de::DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// The kind of the objects.
    const KIND: Kind;

    /// Returns the objects of this type in a world.
    fn objects(world: &mut World) -> &mut Objects<Self>;
}

macro_rules! simulated_kinds {
    ($($kind:ident in $field:ident),* $(,)?) => {
        $(impl SimulatedKind for $kind {
            const KIND: Kind = Kind::$kind;

            fn objects(world: &mut World) -> &mut Objects<Self> {
                &mut world.$field
            }
        })*

        impl Kind {
            /// Returns the API resource of the kind.
            pub fn resource(self) -> ApiResource {
                match self {
                    $(Self::$kind => ApiResource::erase::<$kind>(&()),)*
                }
            }

            /// Stores an object that the simulation wrote.
            pub(crate) fn apply_written(
                self,
                world: &mut World,
                object: serde_json::Value,
            ) -> Result<(), serde_json::Error> {
                match self {
                    $(Self::$kind => world.$field.record_written(serde_json::from_value(object)?),)*
                }
                Ok(())
            }

            /// Removes an object that the simulation deleted.
            pub(crate) fn apply_deleted(self, world: &mut World, namespace: &str, name: &str, uid: &str) {
                match self {
                    $(Self::$kind => world.$field.record_deleted(namespace, name, uid),)*
                }
            }
        }
    };
}

simulated_kinds!(
    DaemonSet in daemon_sets,
    Deployment in deployments,
    EndpointSlice in endpoint_slices,
    Job in jobs,
    Node in nodes,
    Pod in pods,
    ReplicaSet in replica_sets,
    Service in services,
    StatefulSet in stateful_sets,
);
