//! The arguments of the program `drover`: those of `drover-cli`, and those of the commands that run
//! on the server's machine.

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
  0    done
  1    failed; standard error says why and what to do next
  2    the command line is wrong
  3    not logged in, or the login has expired
  4    not permitted
  5    no such thing
  6    the server cannot be reached, or its certificate is not trusted
  7    the time given by --timeout is over
  141  whoever read the output stopped reading";

/// One place from which people run all their Kubernetes clusters.
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
    /// What to do.
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
    /// A command that calls a server.
    #[command(flatten)]
    Client(ClientCommand),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Args::command().debug_assert();
    }
}
