//! The program `drover`. This crate runs `drover server` and other commands for the server's
//! machine. The crate `drover-cli` runs all other commands.

#[cfg(feature = "server")]
mod hub;
#[cfg(feature = "server")]
mod image;
#[cfg(feature = "server")]
mod server;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
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
    let args = Args::parse();
    let environment = Environment::read();
    match start(args, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
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
                command: Args::command(),
                commit: option_env!("DROVER_COMMIT").unwrap_or("unknown"),
            };
            drover_cli::run(*command, environment, program).await
        }
    }
}
