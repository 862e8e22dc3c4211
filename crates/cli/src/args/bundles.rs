//! Arguments of `drover bundle`.

use clap::{Args, Subcommand};

use super::Connection;

/// Arguments of `drover bundle`.
#[derive(Debug, Args)]
pub struct BundleArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: BundleCommand,
}

/// Subcommands of `drover bundle`.
#[derive(Debug, Subcommand)]
pub enum BundleCommand {
    /// Show each field of a Bundle's objects that differs in the clusters
    Diff(BundleDiff),
}

/// Arguments of `drover bundle diff`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover bundle diff shop-deploy
  drover bundle diff shop-deploy --cluster berlin --exit-code

The command renders the Bundle for each cluster that it selects, and compares the objects with the
objects in the cluster by server-side dry runs with your permissions. The lines with `-` are in the cluster,
and the lines with `+` are in the Bundle. The command changes nothing. Values of Secrets are hidden.

Exit codes: 0 without errors, 1 if an object is rejected, and with --exit-code 8 if there are differences.")]
pub struct BundleDiff {
    /// Name of the Bundle
    pub name: String,
    /// Namespace of the Bundle on the hub
    #[arg(short, long, value_name = "NAME", default_value = "fleet-default")]
    pub namespace: String,
    /// Compare only with this cluster; can be repeated
    #[arg(long = "cluster", value_name = "NAME")]
    pub clusters: Vec<String>,
    /// Return the exit code 8 if there are differences
    #[arg(long)]
    pub exit_code: bool,
}
