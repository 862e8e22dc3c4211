//! The command line arguments of the agent.

use clap::Parser;
use drover_agent_link::program::ProgramArgs;

/// Connects a Kubernetes cluster to a Drover server.
///
/// The agent runs in the cluster. The manifest of "drover cluster import" installs the agent.
/// Objects in the agent's namespace contain the server's URL, the Cluster's UID and the
/// registration token. The agent dials the server and serves requests on that connection. Each
/// request uses the service account of its lane.
#[derive(Clone, Debug, Parser)]
#[command(name = "drover-agent", version)]
pub struct Args {
    /// The arguments of both agents.
    #[command(flatten)]
    pub program: ProgramArgs,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_flag_has_help_and_an_environment_variable() {
        let command = Args::command();
        command.clone().debug_assert();
        for arg in command
            .get_arguments()
            .filter(|a| !["help", "version"].contains(&a.get_id().as_str()))
        {
            assert!(arg.get_help().is_some(), "{}", arg.get_id());
            assert!(arg.get_env().is_some(), "{}", arg.get_id());
        }
    }
}
