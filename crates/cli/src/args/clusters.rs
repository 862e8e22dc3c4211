//! Arguments of `drover cluster` and `drover credential`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{Connection, DurationArg, Output, ServerUrl};

/// Arguments of `drover cluster`.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: ClusterCommand,
}

/// Subcommands of `drover cluster`.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// List the clusters
    List(Output),
    /// Show a cluster: the state and its cause, the nodes, the capacity, the components and the
    /// agent
    Get(ClusterName),
    /// Print the manifest that registers a cluster; create the Cluster first if it does not exist
    Import(ClusterImport),
    /// Print a kubeconfig with one context for each cluster, or merge the contexts into an existing
    /// kubeconfig
    Kubeconfig(ClusterKubeconfig),
    /// Show or change the direct access to the API servers of a cluster (authorized endpoint)
    #[command(subcommand)]
    Endpoint(EndpointCommand),
    /// Replace the keys of the cluster's agent and of its node agents; open streams continue
    RotateKeys(ClusterRotateKeys),
    /// Delete a cluster: remove the agent from the cluster, then delete the Cluster object
    Delete(ClusterDelete),
}

/// Arguments of `drover cluster get`.
#[derive(Debug, Args)]
pub struct ClusterName {
    /// Name of the cluster
    pub name: String,
    /// The output format.
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `drover cluster import`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover cluster import berlin | kubectl --context berlin-admin apply -f -
  drover cluster import berlin --wait | kubectl --context berlin-admin apply -f -
  drover cluster import berlin --curl    # for a machine without drover
  drover cluster import berlin --values > values.yaml && helm install drover-agent \\
    charts/drover-agent --namespace drover-agent --create-namespace --values values.yaml

The manifest contains a token that can register one cluster once. The command writes only the manifest
to standard output, and all messages to standard error.")]
pub struct ClusterImport {
    /// Name of the cluster: at most 63 lower-case letters, digits and "-"
    pub name: String,
    /// Description of the Cluster object, if the Cluster object is new
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Label of the Cluster object, if the Cluster object is new; can be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
    /// Lifetime of the registration token in the manifest [default: 24h, maximum: 7d]
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<DurationArg>,
    /// Instead of the manifest, print a curl command that downloads the manifest
    #[arg(long)]
    pub curl: bool,
    /// Instead of the manifest, print values for the Helm chart drover-agent
    #[arg(long, conflicts_with = "curl")]
    pub values: bool,
    /// Wait until the cluster is ready
    #[arg(long)]
    pub wait: bool,
    /// Timeout of --wait
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub timeout: DurationArg,
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write a label as KEY=VALUE".to_owned()),
    }
}

/// The credentials in a kubeconfig.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CredentialKind {
    /// No token in the kubeconfig: kubectl runs `drover credential` to get a token
    #[default]
    Exec,
    /// One token for each cluster in the kubeconfig; each token is valid only for its cluster
    Token,
}

/// Arguments of `drover cluster kubeconfig`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover cluster kubeconfig --merge && kubectl --context berlin get pods
  drover cluster kubeconfig berlin --credential token --ttl 8h --output-file berlin.yaml
  drover cluster kubeconfig berlin --direct --output-file berlin.yaml")]
pub struct ClusterKubeconfig {
    /// Names of the clusters in the kubeconfig [default: all clusters that you can access]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Kind of credentials in the kubeconfig
    #[arg(long, value_name = "KIND", default_value = "exec")]
    pub credential: CredentialKind,
    /// Lifetime of the tokens in the kubeconfig [default: the setting kubeconfig-token-ttl]
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<DurationArg>,
    /// Add contexts for direct access to the API servers, NAME-fqdn or NAME-NODE; the kubeconfig
    /// contains tokens
    #[arg(long)]
    pub direct: bool,
    /// Merge the contexts into the first file of $KUBECONFIG, or into ~/.kube/config
    #[arg(long, conflicts_with = "output_file")]
    pub merge: bool,
    /// With --merge, overwrite an existing entry of the same name, even if the existing entry has a
    /// different server or user
    #[arg(long, requires = "merge")]
    pub overwrite: bool,
    /// File to which the command writes the kubeconfig, with mode 0600 [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub output_file: Option<PathBuf>,
}

/// Subcommands of `drover cluster endpoint`.
#[derive(Debug, Subcommand)]
pub enum EndpointCommand {
    /// Show the authorized endpoint: the API servers, and whether they call the webhook
    Get(ClusterName),
    /// Write the tokens that are limited to the cluster into the cluster
    Enable(EndpointEnable),
    /// Remove the tokens from the cluster
    Disable(EndpointDisable),
    /// Print the steps that configure the API servers, or the webhook configuration
    Setup(EndpointSetup),
}

/// Arguments of `drover cluster endpoint enable`.
#[derive(Debug, Args)]
pub struct EndpointEnable {
    /// Name of the cluster
    pub name: String,
    /// Host name of a load balancer for the API servers, optionally with a port; "" for none
    #[arg(long, value_name = "HOST[:PORT]")]
    pub fqdn: Option<String>,
    /// File with the certificate authorities of the load balancer's certificate, in PEM
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Time for which the cluster accepts the tokens while it is not connected [default: 1d]
    #[arg(long, value_name = "DURATION")]
    pub offline: Option<DurationArg>,
}

/// Arguments of `drover cluster endpoint disable`.
#[derive(Debug, Args)]
pub struct EndpointDisable {
    /// Name of the cluster
    pub name: String,
}

/// A Kubernetes distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DistributionArg {
    /// kubeadm
    Kubeadm,
    /// RKE2
    Rke2,
    /// K3s
    K3s,
}

/// Arguments of `drover cluster endpoint setup`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  drover cluster endpoint enable berlin
  drover cluster endpoint setup berlin --distribution rke2
  drover cluster endpoint setup berlin --file | ssh root@cp-1 tee \\
    /var/lib/rancher/rke2/drover-webhook.yaml

The API servers of managed Kubernetes services cannot be configured, so these clusters have no authorized
endpoint.")]
pub struct EndpointSetup {
    /// Name of the cluster
    pub name: String,
    /// Distribution of the cluster [default: from the cluster's Kubernetes version]
    #[arg(long, value_name = "NAME")]
    pub distribution: Option<DistributionArg>,
    /// Print only the webhook configuration, which contains no secret
    #[arg(long, conflicts_with = "distribution")]
    pub file: bool,
}

/// Arguments of `drover cluster rotate-keys`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The server replaces each key after 90 days. To change this for the cluster berlin:
  kubectl --context local patch cluster berlin --type merge \\
    --patch '{\"spec\":{\"keyRotation\":{\"days\":30}}}'")]
pub struct ClusterRotateKeys {
    /// Name of the cluster
    pub name: String,
    /// Wait until the server has replaced all keys
    #[arg(long)]
    pub wait: bool,
    /// Timeout of --wait
    #[arg(long, value_name = "DURATION", default_value = "2m")]
    pub timeout: DurationArg,
}

/// Arguments of `drover cluster delete`.
#[derive(Debug, Args)]
pub struct ClusterDelete {
    /// Name of the cluster
    pub name: String,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
    /// Wait until the cluster is deleted
    #[arg(long)]
    pub wait: bool,
    /// Timeout of --wait
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub timeout: DurationArg,
}

/// Arguments of `drover credential`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
kubectl runs `drover credential` for kubeconfigs that `drover cluster kubeconfig` creates. kubectl keeps
the token in memory until the token expires. With provideClusterInfo in the kubeconfig,
`drover credential` reads the server and the cluster from $KUBERNETES_EXEC_INFO.")]
pub struct CredentialArgs {
    /// Server that manages the cluster [default: the server in $KUBERNETES_EXEC_INFO]
    #[arg(long, value_name = "URL")]
    pub server: Option<ServerUrl>,
    /// Name of the cluster [default: the cluster in $KUBERNETES_EXEC_INFO, or the hub if only
    /// --server is set]
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Expected UID of the cluster; the command fails if the cluster NAME has a different UID
    #[arg(long, value_name = "UID")]
    pub cluster_uid: Option<String>,
    /// Lifetime of the token [default: 15m, maximum: the setting token-max-ttl]
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<DurationArg>,
    /// Context (stored login) to use, if several logins exist for the address of the server
    #[arg(
        long,
        value_name = "NAME",
        env = "DROVER_CONTEXT",
        hide_env_values = true
    )]
    pub context: Option<String>,
    /// File that stores the logins [default: $XDG_CONFIG_HOME/drover/config.yaml]
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CONFIG",
        hide_env_values = true
    )]
    pub config: Option<PathBuf>,
    /// Timeout of each request to the server
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub request_timeout: DurationArg,
}
