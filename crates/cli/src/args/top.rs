//! Arguments of `drover top`.

use clap::{Args, ValueEnum};

use super::{ClusterSelection, Connection};

/// The objects whose usage `drover top` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TopKind {
    /// Usage of pods
    #[value(alias = "pod", alias = "po")]
    Pods,
    /// Usage of nodes
    #[value(alias = "node", alias = "no")]
    Nodes,
}

/// The order of the rows of `drover top`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TopOrder {
    /// Highest usage of CPU first
    Cpu,
    /// Highest usage of memory first
    Memory,
}

/// Arguments of `drover top`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover top nodes --clusters env=prod
  drover top pods -A --sort-by memory
  drover top pods -n shop -l app=web --cluster berlin

The usage comes from the API metrics.k8s.io of each cluster, which metrics-server provides. The percentages of
nodes are shares of the allocatable amounts. If some clusters fail, the command prints the usage in the other
clusters, names each failed cluster on standard error, and exits with code 1.")]
pub struct TopArgs {
    /// The objects
    #[arg(value_name = "KIND")]
    pub kind: TopKind,
    /// Namespace of the pods
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Print the pods of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Print the objects with these labels, for example app=web
    #[arg(short = 'l', long = "selector", value_name = "SELECTOR")]
    pub labels: Option<String>,
    /// Sort the objects of all clusters by their usage [default: by cluster, namespace and name]
    #[arg(long, value_name = "RESOURCE")]
    pub sort_by: Option<TopOrder>,
    /// The clusters.
    #[command(flatten)]
    pub selection: ClusterSelection,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}
