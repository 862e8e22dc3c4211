//! Arguments of the subcommands of `drover fleet` that render bundles.

use std::path::PathBuf;

use clap::Args;

use super::FolderArgs;

/// Arguments of `drover fleet deploy`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover fleet target -b bundle.yaml > deployment.yaml
  drover fleet deploy -i deployment.yaml --dry-run
  drover fleet deploy -i deployment.yaml --cluster berlin

The file contains the Content and one BundleDeployment, for example a part of the output of
`drover fleet target`. The command installs a Helm release with your permissions in the cluster. The
agent does not remove this release.")]
pub struct FleetDeploy {
    /// YAML file with the Content and the BundleDeployment
    #[arg(short, long, value_name = "FILE")]
    pub input_file: PathBuf,
    /// Print the objects, and change nothing
    #[arg(short, long)]
    pub dry_run: bool,
    /// Cluster to deploy to; with --dry-run, the cluster whose version and kinds the chart sees
    #[arg(long, value_name = "NAME", required_unless_present = "dry_run")]
    pub cluster: Option<String>,
    /// Namespace of the release, if the BundleDeployment names none
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Namespace of the agent in the cluster, with the key of release records
    #[arg(short, long, value_name = "NAME", default_value = "drover-agent")]
    pub agent_namespace: String,
    /// Version of Kubernetes for --dry-run without --cluster
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "v1.34.0",
        conflicts_with = "cluster"
    )]
    pub kube_version: String,
}

/// The clusters for which bundles are rendered.
#[derive(Debug, Args)]
pub struct RenderPlace {
    /// Render only for this cluster; can be repeated
    #[arg(long = "cluster", value_name = "NAME")]
    pub clusters: Vec<String>,
    /// Use no server and no cluster
    #[arg(long, conflicts_with = "clusters")]
    pub offline: bool,
    /// Version of Kubernetes for --offline
    #[arg(long, value_name = "VERSION", default_value = "v1.34.0")]
    pub kube_version: String,
}

/// Arguments of `drover fleet render`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover fleet render shop deploy --targets-file targets.yaml
  drover fleet render shop deploy --targets-file targets.yaml --cluster berlin
  drover fleet render shop deploy --offline --kube-version v1.33.0

The command renders each Bundle for each cluster that it selects, with the labels and the values of the
cluster. With --offline, it uses no server, and renders each Bundle once, with the options of the Bundle.")]
pub struct FleetRender {
    /// The folders.
    #[command(flatten)]
    pub folder: FolderArgs,
    /// The clusters.
    #[command(flatten)]
    pub place: RenderPlace,
}

/// Arguments of `drover fleet test`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover fleet test shop deploy --targets-file targets.yaml
  drover fleet test shop deploy --offline

The command fails if a Bundle cannot be read or rendered, or if a Bundle selects no cluster. It prints one
line for each Bundle and cluster. Exit codes: 0 if all Bundles are valid, 1 otherwise.")]
pub struct FleetTest {
    /// The folders.
    #[command(flatten)]
    pub folder: FolderArgs,
    /// The clusters.
    #[command(flatten)]
    pub place: RenderPlace,
}

/// Arguments of `drover fleet diff`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover fleet diff shop deploy --targets-file targets.yaml
  drover fleet diff shop deploy --targets-file targets.yaml --cluster berlin --exit-code

The command renders each Bundle for each cluster that it selects, and compares the objects with the
objects in the cluster by server-side dry runs with your permissions. It changes nothing. Values of Secrets
are hidden. An object that the cluster rejects is an error of the object.

Exit codes: 0 without errors, 1 if an object is rejected or a Bundle is not valid, and with --exit-code 8 if
there are changes.")]
pub struct FleetDiff {
    /// The folders.
    #[command(flatten)]
    pub folder: FolderArgs,
    /// Compare only with this cluster; can be repeated
    #[arg(long = "cluster", value_name = "NAME")]
    pub clusters: Vec<String>,
    /// Return the exit code 8 if there are changes
    #[arg(long)]
    pub exit_code: bool,
}
