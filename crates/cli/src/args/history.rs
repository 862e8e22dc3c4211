//! Arguments of `drover history`.

use clap::Args;

use super::{Connection, Output};

/// Arguments of `drover history`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover history deployment web --cluster berlin --namespace shop
  drover history configmap settings --cluster berlin --version 12 > settings.yaml

The server records the versions of Deployments, StatefulSets, DaemonSets, CronJobs, Services, Ingresses,
ConfigMaps, HorizontalPodAutoscalers, NetworkPolicies, PodDisruptionBudgets, Roles, RoleBindings,
ClusterRoles and ClusterRoleBindings, while a user views a list of the kind in the web UI. Each run of this
command records the current version. The versions are in the memory of the server until it restarts.

A version has no resource version. To revert an object, write the version to a file, and run
`kubectl replace --filename FILE`.")]
pub struct HistoryArgs {
    /// Kind of the object, for example deployment
    #[arg(value_name = "KIND")]
    pub kind: String,
    /// Name of the object
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The cluster of the object
    #[arg(long, value_name = "NAME")]
    pub cluster: String,
    /// Namespace of the object; ignored for cluster-scoped kinds
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Print the object of the version with this number as YAML
    #[arg(long, value_name = "NUMBER")]
    pub version: Option<u64>,
    /// Format of the list of versions.
    #[command(flatten)]
    pub output: Output,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}
