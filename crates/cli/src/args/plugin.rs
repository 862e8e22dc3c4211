//! Arguments of `drover plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `drover plugin`.
#[derive(Debug, Args)]
pub struct PluginArgs {
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: PluginCommand,
}

/// Subcommands of `drover plugin`.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Create the links that make `kubectl drover` run this program, with completion
    Install(PluginInstall),
}

/// Arguments of `drover plugin install`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover plugin install
  drover plugin install --folder ~/.local/bin && kubectl drover get pods

kubectl runs the program kubectl-drover in $PATH for `kubectl drover`, and the program
kubectl_complete-drover for completion. The command creates both as links to this program. The plugin uses
the login of drover, and not the current context of kubectl.")]
pub struct PluginInstall {
    /// Folder of the links, which must be in $PATH [default: the folder of this program]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}
