//! The kinds that a simulation reads and writes.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ApiResource;

use super::{Objects, World};

/// A kind that is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// core/v1
    Node,
    /// core/v1
    Pod,
    /// core/v1
    Service,
    /// apps/v1
    DaemonSet,
    /// apps/v1
    Deployment,
    /// apps/v1
    ReplicaSet,
    /// apps/v1
    StatefulSet,
    /// batch/v1
    Job,
    /// discovery.k8s.io/v1
    EndpointSlice,
}

/// A kind that the world holds.
pub trait Known:
    kube::Resource<DynamicType = ()>
    + Clone
    + std::fmt::Debug
    + serde::de::DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// Which one.
    const KIND: Kind;

    /// Where the world keeps it.
    fn objects(world: &mut World) -> &mut Objects<Self>;
}

macro_rules! known {
    ($($kind:ident in $field:ident),* $(,)?) => {
        $(impl Known for $kind {
            const KIND: Kind = Kind::$kind;

            fn objects(world: &mut World) -> &mut Objects<Self> {
                &mut world.$field
            }
        })*

        impl Kind {
            /// How the API calls it.
            pub fn resource(self) -> ApiResource {
                match self {
                    $(Self::$kind => ApiResource::erase::<$kind>(&()),)*
                }
            }

            /// Takes a written object into the world.
            pub(crate) fn take(
                self,
                world: &mut World,
                object: serde_json::Value,
            ) -> Result<(), serde_json::Error> {
                match self {
                    $(Self::$kind => world.$field.wrote(serde_json::from_value(object)?),)*
                }
                Ok(())
            }

            /// Forgets a deleted object.
            pub(crate) fn forget(self, world: &mut World, namespace: &str, name: &str, uid: &str) {
                match self {
                    $(Self::$kind => world.$field.deleted(namespace, name, uid),)*
                }
            }
        }
    };
}

known!(
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
