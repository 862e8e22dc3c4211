//! The program `drover`. This crate runs `drover server` and other commands for the server's
//! machine. The crate `drover-cli` runs all other commands.

#[cfg(feature = "server")]
mod hub;
#[cfg(feature = "server")]
mod image;
#[cfg(feature = "server")]
mod server;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser as _};
use drover_cli::{Environment, Failure};

#[cfg(feature = "server")]
use crate::args::AgentCommand;
use crate::args::{Args, Command};

/// Parses the command line, runs the command, and returns the exit code.
pub fn main() -> ExitCode {
    // First, because rustls panics if it cannot determine the provider.
    if rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .is_err()
    {
        return Failure::Other(
            "cannot set up TLS: a cryptography provider is already installed".to_owned(),
        )
        .report();
    }
    let result = match drover_cli::complete_for_shell(Args::command) {
        Ok(true) => Ok(()),
        Ok(false) => match invocation() {
            Invocation::Program => start(Args::parse(), &Environment::read()),
            Invocation::KubectlPlugin => start(plugin_arguments(), &Environment::read()),
            Invocation::KubectlCompletion => {
                let arguments = std::env::args_os().collect();
                drover_cli::complete_for_kubectl(Args::command(), arguments)
            }
        },
        Err(failure) => Err(failure),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The name with which the program was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Invocation {
    Program,
    /// kubectl runs the program for `kubectl drover`.
    KubectlPlugin,
    /// kubectl runs the program for the completion of `kubectl drover`.
    KubectlCompletion,
}

fn invocation() -> Invocation {
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program.as_deref().and_then(Path::file_stem);
    match name.and_then(OsStr::to_str) {
        Some("kubectl-drover") => Invocation::KubectlPlugin,
        Some("kubectl_complete-drover") => Invocation::KubectlCompletion,
        _ => Invocation::Program,
    }
}

/// Parses the command line of the plugin. The help shows `kubectl drover` as the program.
fn plugin_arguments() -> Args {
    let command = Args::command().bin_name("kubectl drover");
    let matches = command.get_matches();
    Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

fn start(args: Args, environment: &Environment) -> Result<(), Failure> {
    #[cfg(feature = "server")]
    if matches!(args.command, Command::GitWorker) {
        let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
        return drover_git::worker_main(input, output).map_err(Failure::Start);
    }
    let mut builder = match args.command {
        #[cfg(feature = "server")]
        Command::Server(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build().map_err(Failure::Start)?;
    let result = runtime.block_on(Box::pin(run(args.command, environment)));
    // Reading a line from a terminal cannot be interrupted and must not delay the exit.
    runtime.shutdown_background();
    result
}

async fn run(command: Command, environment: &Environment) -> Result<(), Failure> {
    match command {
        #[cfg(feature = "server")]
        Command::Server(args) => server::run(*args).await,
        #[cfg(feature = "server")]
        Command::Hub(args) => hub::run(args).await,
        #[cfg(feature = "server")]
        Command::Agent(args) => match args.command {
            AgentCommand::Image(args) => image::of_agent(&args.image),
        },
        // The worker runs without this runtime.
        #[cfg(feature = "server")]
        Command::GitWorker => Ok(()),
        Command::Client(command) => {
            let program = drover_cli::Program {
                commit: option_env!("DROVER_COMMIT").unwrap_or("unknown"),
            };
            drover_cli::run(*command, environment, program).await
        }
    }
}
