//! Arguments of the subcommands of `drover fleet` that read the hub.

use std::path::PathBuf;

use clap::Args;

use crate::args::DurationArg;

/// Arguments of `drover fleet target`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover fleet apply shop deploy -o bundle.yaml
  drover fleet target -b bundle.yaml
  drover fleet target -b bundle.yaml -n fleet-default -l

The output contains the Content with the files of the Bundle, and a BundleDeployment for each selected
cluster, as after a complete rollout. The command changes nothing on the hub.")]
pub struct FleetTarget {
    /// YAML file with the Bundle
    #[arg(short, long, value_name = "FILE")]
    pub bundle_file: PathBuf,
    /// Print the selected clusters, their groups and their options as YAML to standard error
    #[arg(short = 'l', long)]
    pub dump_input_list: bool,
    /// Namespace on the hub whose clusters the Bundle selects [default: the namespace of the Bundle,
    /// else fleet-default]
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
}

/// Arguments of `drover fleet bundlediff`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover fleet bundlediff
  drover fleet bundlediff --bundle shop-deploy
  drover fleet bundlediff --bundle-deployment shop-deploy -n cluster-fleet-default-berlin-2b9ab1b05aee
  drover fleet bundlediff --fleet-yaml --bundle-deployment shop-deploy -n CLUSTER-NAMESPACE

The agents report at most 10 differing and 10 unready objects of each BundleDeployment. A patch contains
the values of the bundle.")]
pub struct FleetBundleDiff {
    /// Show the BundleDeployments of this Bundle
    #[arg(short, long, value_name = "NAME", conflicts_with = "bundle_deployment")]
    pub bundle: Option<String>,
    /// Show this BundleDeployment
    #[arg(long, value_name = "NAME", requires = "namespace")]
    pub bundle_deployment: Option<String>,
    /// Namespace of the BundleDeployments on the hub [default: all namespaces]
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print the entry `diff` for a fleet.yaml that ignores the differing fields
    #[arg(long, conflicts_with = "json", requires = "bundle_deployment")]
    pub fleet_yaml: bool,
}

/// Arguments of `drover fleet monitor`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover fleet monitor | jq .diagnostics
  drover fleet monitor -n fleet-default --watch --interval 30 >> monitor.json

Each snapshot is one line of JSON with the fields of Fleet's `fleet monitor`. The command reads
GitRepos, Bundles, BundleDeployments, Contents, Clusters and ClusterGroups, and no Secrets.")]
pub struct FleetMonitor {
    /// Namespace of the GitRepos, Bundles and Clusters [default: all namespaces]
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Print a snapshot at each interval
    #[arg(long)]
    pub watch: bool,
    /// Seconds between two snapshots (with --watch)
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub interval: u64,
    /// Age of the last check-in from which on an agent counts as a problem
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    pub agent_staleness: DurationArg,
}
