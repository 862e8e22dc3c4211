//! `drover hub`, and the options that select the hub.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use drover_cli::args::Output;

/// The hub: the Kubernetes API that stores the server's state.
#[derive(Clone, Debug, Default, Args)]
pub struct HubKubeconfig {
    /// Kubeconfig of the hub, the Kubernetes API that stores the server's state [default: the
    /// service account of the pod, or the embedded hub in --data-dir]
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_KUBECONFIG",
        hide_env_values = true,
        conflicts_with = "data_dir"
    )]
    pub kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig of the hub [default: the current context of the kubeconfig]
    #[arg(
        long = "context",
        value_name = "NAME",
        env = "DROVER_KUBECONFIG_CONTEXT",
        hide_env_values = true
    )]
    pub kubeconfig_context: Option<String>,
    /// Options that select an embedded hub.
    #[command(flatten)]
    pub data: DataFolder,
}

/// The option for the data folder of the embedded hub.
#[derive(Clone, Debug, Default, Args)]
pub struct DataFolder {
    /// Data folder of the embedded hub [default: /var/lib/drover for root, otherwise drover in
    /// $XDG_DATA_HOME or ~/.local/share]
    #[arg(
        long,
        value_name = "DIR",
        env = "DROVER_DATA_DIR",
        hide_env_values = true
    )]
    pub data_dir: Option<PathBuf>,
}

/// `drover hub`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The hub commands read and write the database file of the embedded hub. Run the hub commands on the
server's machine, as the user of the server process. For an external hub, back up the hub's etcd.

Examples:
  drover hub backup /backup/drover-$(date +%F).db
  drover hub check /backup/drover-2026-11-21.db
  systemctl stop drover && drover hub restore --replace /backup/drover-2026-11-21.db")]
pub struct HubArgs {
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: HubCommand,
}

/// Subcommands of `drover hub`.
#[derive(Debug, Subcommand)]
pub enum HubCommand {
    /// Copy the embedded hub into a new backup file, even while the server runs
    ///
    /// The backup contains password hashes, token hashes and private keys. Only the owner of the
    /// file can read the backup. Restrict access to all copies of the backup.
    Backup(HubBackup),
    /// Restore the embedded hub from a backup, while the server is stopped
    ///
    /// The command checks the backup first, and does not restore a damaged backup. The restored hub
    /// does not contain changes that were made after the backup. After the restore, import each
    /// cluster again that you imported after the backup.
    Restore(HubRestore),
    /// Check the database file of the embedded hub, or a backup, for damage, even while the server
    /// runs
    Check(HubCheck),
}

/// `drover hub backup`.
#[derive(Debug, Args)]
pub struct HubBackup {
    /// Backup file to create; the file must not exist
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The embedded hub to copy.
    #[command(flatten)]
    pub data: DataFolder,
    /// The format of the command's report.
    #[command(flatten)]
    pub output: Output,
}

/// `drover hub restore`.
#[derive(Debug, Args)]
pub struct HubRestore {
    /// Backup file to restore
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Replace an existing hub, and rename the existing database file to hub.db-replaced,
    /// hub.db-replaced-2 and so on
    #[arg(long)]
    pub replace: bool,
    /// The embedded hub to replace.
    #[command(flatten)]
    pub data: DataFolder,
    /// The format of the command's report.
    #[command(flatten)]
    pub output: Output,
}

/// `drover hub check`.
#[derive(Debug, Args)]
pub struct HubCheck {
    /// Backup file to check [default: the database file of the embedded hub]
    #[arg(value_name = "FILE", conflicts_with = "data_dir")]
    pub file: Option<PathBuf>,
    /// The embedded hub to check, if no backup file is given.
    #[command(flatten)]
    pub data: DataFolder,
    /// The format of the command's report.
    #[command(flatten)]
    pub output: Output,
}
