//! `drover cluster` and `drover credential`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{Connection, DurationArg, Output, ServerUrl};

/// `drover cluster`.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
    /// What to do.
    #[command(subcommand)]
    pub command: ClusterCommand,
}

/// What can be done with clusters.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// List the clusters
    List(Output),
    /// Show one cluster: its state and why, nodes, capacity, components, agent
    Get(ClusterName),
    /// Print the manifest that joins a cluster, making the Cluster if there is none of that name
    Import(ClusterImport),
    /// Get a kubeconfig with one context for each cluster
    Kubeconfig(ClusterKubeconfig),
    /// Let go of a cluster: its agent is removed from it, then the Cluster is deleted
    Delete(ClusterDelete),
}

/// A cluster to show.
#[derive(Debug, Args)]
pub struct ClusterName {
    /// Name of the cluster
    pub name: String,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `drover cluster import`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover cluster import berlin | kubectl --context berlin-admin apply -f -
  drover cluster import berlin --wait | kubectl --context berlin-admin apply -f -
  drover cluster import berlin --curl    # a line for a machine that has no drover
  drover cluster import berlin --values > values.yaml && helm install drover-agent \\
    charts/drover-agent --namespace drover-agent --create-namespace --values values.yaml

The manifest holds a token that registers one cluster, once. Only the manifest goes to standard
output; everything else goes to standard error.")]
pub struct ClusterImport {
    /// Name of the cluster: lower-case letters, digits and "-", at most 63
    pub name: String,
    /// Free text shown beside the name, if the Cluster is made now
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Label of the Cluster, if it is made now; can be given more than once
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
    /// How long the manifest can be used; a day if left out, 7d at most
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<DurationArg>,
    /// Print a curl line that gets the manifest, instead of the manifest
    #[arg(long)]
    pub curl: bool,
    /// Print the values of the chart drover-agent, which installs the same, instead of the manifest
    #[arg(long, conflicts_with = "curl")]
    pub values: bool,
    /// After printing, wait until the cluster is ready
    #[arg(long)]
    pub wait: bool,
    /// How long --wait waits
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub timeout: DurationArg,
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("a label is written KEY=VALUE".to_owned()),
    }
}

/// What a kubeconfig authenticates with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CredentialKind {
    /// kubectl runs `drover credential`: nothing long-lived lies in the file
    #[default]
    Exec,
    /// A token in the file for each cluster, which works on it alone
    Token,
}

/// `drover cluster kubeconfig`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover cluster kubeconfig --merge && kubectl --context berlin get pods
  drover cluster kubeconfig berlin --credential token --ttl 8h --output-file berlin.yaml")]
pub struct ClusterKubeconfig {
    /// Names of the clusters; all that you may use if left out
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// What lies in the file
    #[arg(long, value_name = "KIND", default_value = "exec")]
    pub credential: CredentialKind,
    /// Life of the tokens; the setting kubeconfig-token-ttl if left out
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<DurationArg>,
    /// Put the contexts into the first file of $KUBECONFIG, else into ~/.kube/config
    #[arg(long, conflicts_with = "output_file")]
    pub merge: bool,
    /// With --merge: replace also entries of the same names that lead elsewhere
    #[arg(long, requires = "merge")]
    pub overwrite: bool,
    /// Write this file, mode 0600, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub output_file: Option<PathBuf>,
}

/// `drover cluster delete`.
#[derive(Debug, Args)]
pub struct ClusterDelete {
    /// Name of the cluster
    pub name: String,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
    /// Wait until it is gone
    #[arg(long)]
    pub wait: bool,
    /// How long --wait waits
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub timeout: DurationArg,
}

/// `drover credential`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
kubectl runs this from the kubeconfigs that `drover cluster kubeconfig` makes, and keeps the token
in memory until it expires. With provideClusterInfo in the kubeconfig, server and cluster are read
from $KUBERNETES_EXEC_INFO.")]
pub struct CredentialArgs {
    /// Server that the cluster belongs to; from $KUBERNETES_EXEC_INFO if left out
    #[arg(long, value_name = "URL")]
    pub server: Option<ServerUrl>,
    /// Name of the cluster; from $KUBERNETES_EXEC_INFO if left out, and with --server alone the
    /// hub itself
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// UID that the cluster had when the kubeconfig was made: no token for another of that name
    #[arg(long, value_name = "UID")]
    pub cluster_uid: Option<String>,
    /// Life of the token; 15m if left out, or the setting token-max-ttl if that is less
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<DurationArg>,
    /// Remembered server to use, if there is more than one login for its address
    #[arg(
        long,
        value_name = "NAME",
        env = "DROVER_CONTEXT",
        hide_env_values = true
    )]
    pub context: Option<String>,
    /// Where logins are kept; $XDG_CONFIG_HOME/drover/config.yaml if left out
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CONFIG",
        hide_env_values = true
    )]
    pub config: Option<PathBuf>,
    /// How long to wait for an answer of the server
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub request_timeout: DurationArg,
}
