//! `drover hub`, and the options that name the hub.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use drover_cli::args::Output;

/// The hub: the Kubernetes API that holds the server's state.
#[derive(Clone, Debug, Default, Args)]
pub struct HubKubeconfig {
    /// Kubeconfig of the hub, the Kubernetes API that holds the server's state; in a pod with a
    /// service account its own if left out, else the embedded hub in --data-dir
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_KUBECONFIG",
        hide_env_values = true,
        conflicts_with = "data_dir"
    )]
    pub kubeconfig: Option<PathBuf>,
    /// Context in that kubeconfig; its current one if left out
    #[arg(
        long = "context",
        value_name = "NAME",
        env = "DROVER_KUBECONFIG_CONTEXT",
        hide_env_values = true
    )]
    pub kubeconfig_context: Option<String>,
    /// The embedded hub's.
    #[command(flatten)]
    pub data: DataFolder,
}

/// Where the embedded hub lies.
#[derive(Clone, Debug, Default, Args)]
pub struct DataFolder {
    /// Folder of the embedded hub; /var/lib/drover for root, else drover in $XDG_DATA_HOME or
    /// ~/.local/share, if left out
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
These commands work on the file of the embedded hub itself, on the machine and as the user of the
server. A hub elsewhere is backed up as its etcd is.

Examples:
  drover hub backup /backup/drover-$(date +%F).db
  drover hub check /backup/drover-2026-11-21.db
  systemctl stop drover && drover hub restore --replace /backup/drover-2026-11-21.db")]
pub struct HubArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: HubCommand,
}

/// What can be done with the embedded hub's file.
#[derive(Debug, Subcommand)]
pub enum HubCommand {
    /// Copy the hub into a new file; the server may run
    ///
    /// The copy holds what the server holds: hashes of passwords and tokens, and private keys. It
    /// is readable to its owner only; keep it so.
    Backup(HubBackup),
    /// Make the hub from a backup; the server must not run
    ///
    /// The backup is checked first, and nothing changes if it is not sound. Everything that was
    /// written after the backup is gone: clusters imported since then have to be imported again.
    Restore(HubRestore),
    /// Read all of the hub, or of a backup, and say whether it is sound; the server may run
    Check(HubCheck),
}

/// `drover hub backup`.
#[derive(Debug, Args)]
pub struct HubBackup {
    /// File to make; it must not be there yet
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which hub.
    #[command(flatten)]
    pub data: DataFolder,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `drover hub restore`.
#[derive(Debug, Args)]
pub struct HubRestore {
    /// The backup
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Replace the hub that is there; it is kept beside the new one as hub.db-replaced, or -replaced-2 and so on
    #[arg(long)]
    pub replace: bool,
    /// Which hub.
    #[command(flatten)]
    pub data: DataFolder,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `drover hub check`.
#[derive(Debug, Args)]
pub struct HubCheck {
    /// A backup; the hub itself if left out
    #[arg(value_name = "FILE", conflicts_with = "data_dir")]
    pub file: Option<PathBuf>,
    /// Which hub.
    #[command(flatten)]
    pub data: DataFolder,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}
