//! What the commands do: `drover server` runs the server, all others talk to one.
//!
//! Standard output holds only what was asked for; everything said beside it goes to standard
//! error. A secret is printed only where that is the command's purpose.

mod access;
mod audit;
mod call;
mod clusters;
mod config;
mod credential;
mod environment;
mod failure;
#[cfg(feature = "server")]
mod hub;
#[cfg(feature = "server")]
mod image;
mod kubeconfig;
mod login;
mod output;
mod patience;
mod platform;
mod projects;
mod providers;
mod roles;
#[cfg(feature = "server")]
mod server;
mod settings;
mod table;
mod terminal;
mod tokens;
mod trust;
mod users;
mod version;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

#[cfg(feature = "server")]
use crate::args::AgentCommand;
use crate::args::{Args, Command};
use environment::Environment;
use failure::Failure;

/// Reads the command line, does what it says, and gives the exit code.
pub fn main() -> ExitCode {
    // The first thing of all: rustls panics when two providers could be meant.
    if rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .is_err()
    {
        return Failure::Other("TLS was set up twice".to_owned()).report();
    }
    let args = Args::parse();
    let environment = Environment {
        typed: typed(std::env::args_os()),
        ..Environment::read()
    };
    match start(args, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The long flags that stand in the command line itself; clap does not tell them from variables
/// where a flag is global.
fn typed(arguments: impl Iterator<Item = OsString>) -> BTreeSet<String> {
    arguments
        .take_while(|argument| argument != "--")
        .filter_map(|argument| {
            let flag = argument.to_str()?.strip_prefix("--")?;
            Some(flag.split('=').next().unwrap_or(flag).to_owned())
        })
        .collect()
}

fn start(args: Args, environment: &Environment) -> Result<(), Failure> {
    let mut builder = match args.command {
        #[cfg(feature = "server")]
        Command::Server(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build().map_err(Failure::Start)?;
    let result = runtime.block_on(Box::pin(run(args.command, environment)));
    // A line being read from a terminal cannot be interrupted; it must not delay the end.
    runtime.shutdown_background();
    result
}

async fn run(command: Command, environment: &Environment) -> Result<(), Failure> {
    match command {
        #[cfg(feature = "server")]
        Command::Server(args) => server::run(*args).await,
        Command::Login(args) => login::login(&args, environment).await,
        Command::Logout(args) => login::logout(&args, environment).await,
        Command::Whoami(args) => login::whoami(&args, environment).await,
        Command::Context(args) => login::context(&args, environment),
        Command::Cluster(args) => clusters::run(&args, environment).await,
        Command::Access(args) => access::run(&args, environment).await,
        Command::Role(args) => roles::run(&args, environment).await,
        Command::Project(args) => projects::run(&args, environment).await,
        Command::Token(args) => tokens::run(&args, environment).await,
        Command::User(args) => users::run(&args, environment).await,
        Command::Provider(args) => providers::run(&args, environment).await,
        Command::Setting(args) => settings::run(&args, environment).await,
        Command::Audit(args) => audit::run(&args, environment).await,
        #[cfg(feature = "server")]
        Command::Hub(args) => hub::run(args).await,
        #[cfg(feature = "server")]
        Command::Agent(args) => match args.command {
            AgentCommand::Image(args) => image::of_agent(&args.image),
        },
        Command::Credential(args) => credential::run(&args, environment).await,
        Command::Completion(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Args::command(), "drover", &mut script);
            Ok(terminal::print_bytes(&script)?)
        }
        Command::Version(args) => version::run(&args, environment).await,
    }
}
