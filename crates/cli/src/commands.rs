//! The commands of the client, with one module for each command.

mod access;
mod account;
mod audit;
mod clusters;
mod credential;
mod exec;
mod fleet;
mod get;
mod label;
mod login;
mod logs;
mod plugin;
mod port_forward;
mod projects;
mod providers;
mod roles;
mod search;
mod settings;
mod users;
mod version;

pub use clusters::{MissingValues, chart_values};
pub use logs::safe_line;

use crate::args::ClientCommand;
use crate::completion;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal;

/// Data of the program that contains the client commands. `drover version` prints this data.
#[derive(Debug)]
pub struct Program {
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
        ClientCommand::Get(args) => get::run(&args, environment).await,
        ClientCommand::Search(args) => search::run(&args, environment).await,
        ClientCommand::History(args) => get::history::run(&args, environment).await,
        ClientCommand::Top(args) => get::top::run(&args, environment).await,
        ClientCommand::Label(args) => label::run(&args, environment).await,
        ClientCommand::Logs(args) => logs::run(&args, environment).await,
        ClientCommand::Exec(args) => exec::run(&args, environment).await,
        ClientCommand::PortForward(args) => port_forward::run(&args, environment).await,
        ClientCommand::Access(args) => access::run(&args, environment).await,
        ClientCommand::Role(args) => roles::run(&args, environment).await,
        ClientCommand::Project(args) => projects::run(&args, environment).await,
        ClientCommand::Git(args) => fleet::git::run(&args, environment).await,
        ClientCommand::Rollout(args) => fleet::rollout::run(&args, environment).await,
        ClientCommand::Bundle(args) => fleet::run_bundle(&args, environment).await,
        ClientCommand::Fleet(args) => fleet::run(&args, environment).await,
        ClientCommand::Token(args) => account::tokens::run(&args, environment).await,
        ClientCommand::View(args) => account::views::run(&args, environment).await,
        ClientCommand::User(args) => users::run(&args, environment).await,
        ClientCommand::Provider(args) => providers::run(&args, environment).await,
        ClientCommand::Setting(args) => settings::run(&args, environment).await,
        ClientCommand::Audit(args) => audit::run(&args, environment).await,
        ClientCommand::Credential(args) => credential::run(&args, environment).await,
        ClientCommand::Plugin(args) => plugin::run(&args),
        ClientCommand::Completion(args) => {
            Ok(terminal::print_bytes(&completion::script(args.shell)?)?)
        }
        ClientCommand::Version(args) => version::run(&args, environment, program.commit).await,
    }
}
