//! The commands of the client, with one module for each command.

mod access;
mod audit;
mod clusters;
mod credential;
mod fleet;
mod login;
mod projects;
mod providers;
mod roles;
mod settings;
mod tokens;
mod users;
mod version;

pub use clusters::{MissingValues, chart_values};

use crate::args::ClientCommand;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal;

/// Data of the program that contains the client commands. `drover completion` and `drover version`
/// print this data.
#[derive(Debug)]
pub struct Program {
    /// All commands of the program. `drover completion` generates its scripts from this value.
    pub command: clap::Command,
    /// The Git commit of the build. `drover version` prints this value.
    pub commit: &'static str,
}

/// Runs a command of the client.
pub async fn run(
    command: ClientCommand,
    environment: &Environment,
    program: Program,
) -> Result<(), Failure> {
    match command {
        ClientCommand::Login(args) => login::login(&args, environment).await,
        ClientCommand::Logout(args) => login::logout(&args, environment).await,
        ClientCommand::Whoami(args) => login::whoami(&args, environment).await,
        ClientCommand::Context(args) => login::context(&args, environment),
        ClientCommand::Cluster(args) => clusters::run(&args, environment).await,
        ClientCommand::Access(args) => access::run(&args, environment).await,
        ClientCommand::Role(args) => roles::run(&args, environment).await,
        ClientCommand::Project(args) => projects::run(&args, environment).await,
        ClientCommand::Fleet(args) => fleet::run(&args, environment).await,
        ClientCommand::Token(args) => tokens::run(&args, environment).await,
        ClientCommand::User(args) => users::run(&args, environment).await,
        ClientCommand::Provider(args) => providers::run(&args, environment).await,
        ClientCommand::Setting(args) => settings::run(&args, environment).await,
        ClientCommand::Audit(args) => audit::run(&args, environment).await,
        ClientCommand::Credential(args) => credential::run(&args, environment).await,
        ClientCommand::Completion(args) => {
            let mut script = Vec::new();
            let mut command = program.command;
            clap_complete::generate(args.shell, &mut command, "drover", &mut script);
            Ok(terminal::print_bytes(&script)?)
        }
        ClientCommand::Version(args) => version::run(&args, environment, program.commit).await,
    }
}
