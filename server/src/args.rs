//! Arguments of the program `drover`: the commands of `drover-cli`, and the commands for the
//! server's machine.

#[cfg(feature = "server")]
mod hub;
#[cfg(feature = "server")]
mod image;
#[cfg(feature = "server")]
mod server;

use clap::{Parser, Subcommand};
use drover_cli::args::ClientCommand;

#[cfg(feature = "server")]
pub use hub::{DataFolder, HubArgs, HubBackup, HubCheck, HubCommand, HubKubeconfig, HubRestore};
#[cfg(feature = "server")]
pub use image::{AgentArgs, AgentCommand, AgentImage, ImageFormat, ImageOptions, ServerImage};
#[cfg(feature = "server")]
pub use server::{LogFormat, Recover, ServerArgs, ServerCommand, ServerOptions, TlsFiles};

/// Exit codes, shown at the end of `drover --help`.
const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    failure; standard error contains the reason and the next step
  2    invalid command line
  3    not logged in, or the login has expired
  4    forbidden
  5    not found
  6    the server is unreachable, or its certificate is not trusted
  7    the timeout set by --timeout has expired
  8    the compared objects differ (with --exit-code)
  141  the reader of standard output closed the pipe
drover exec returns the exit code of the remote command.";

/// Manage many Kubernetes clusters from one place
#[derive(Debug, Parser)]
#[command(
    name = "drover",
    bin_name = "drover",
    version,
    after_long_help = EXIT_CODES,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Args {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// All commands of `drover`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server
    #[cfg(feature = "server")]
    Server(Box<ServerArgs>),
    /// Back up, restore and check the embedded hub
    #[cfg(feature = "server")]
    Hub(HubArgs),
    /// Write the agent's container image
    #[cfg(feature = "server")]
    Agent(AgentArgs),
    /// Read git repositories for the server
    #[cfg(feature = "server")]
    #[command(hide = true)]
    GitWorker,
    /// A command that calls a server.
    #[command(flatten)]
    Client(Box<ClientCommand>),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn clap_accepts_the_argument_definitions() {
        Args::command().debug_assert();
    }
}
