//! Arguments of `drover rollout`.

use clap::{Args, Subcommand};

use super::{Connection, DurationArg, GitName, GitResume};

/// Arguments of `drover rollout`.
#[derive(Debug, Args)]
pub struct RolloutArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: RolloutCommand,
}

/// Subcommands of `drover rollout`.
#[derive(Debug, Subcommand)]
pub enum RolloutCommand {
    /// Show the partitions of the bundles of a GitRepo, and the cause of a stop
    Status(RolloutStatus),
    /// Stop a rollout: clusters without the new commit keep their current version
    Pause(GitName),
    /// Continue a rollout
    Resume(GitResume),
}

/// Arguments of `drover rollout status`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover rollout status shop
  drover rollout status shop --watch
  drover rollout status shop --wait --timeout 30m

Exit codes with --wait: 0 if all clusters are ready, 1 if the repository or its files are not valid, and
7 after the timeout.")]
pub struct RolloutStatus {
    /// The GitRepo.
    #[command(flatten)]
    pub repo: GitName,
    /// Print the state after each change, until all clusters are ready
    #[arg(long)]
    pub watch: bool,
    /// Wait until all clusters are ready
    #[arg(long, conflicts_with = "watch")]
    pub wait: bool,
    /// Timeout of --wait and --watch
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub timeout: DurationArg,
}
