//! The command line arguments of the agent.

use std::path::PathBuf;

use clap::Parser;
use drover_agent_link::program::ProgramArgs;

use crate::gitops::DEFAULT_DELAY;

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
    /// Program that renders charts and kustomizations [default: drover-render beside this program]
    #[arg(long, env = "DROVER_AGENT_RENDERER", value_name = "FILE")]
    pub renderer: Option<PathBuf>,
    /// Open no tunnel to the server, and only deploy bundles
    #[arg(long, env = "DROVER_AGENT_NO_TUNNEL", conflicts_with = "no_gitops")]
    pub no_tunnel: bool,
    /// Register at a hub as Fleet's agent does, instead of connecting to a Drover server
    ///
    /// The Secret "fleet-agent-bootstrap" in the agent's namespace contains the values of a
    /// ClusterRegistrationToken of the group fleet.cattle.io. The ConfigMap "fleet-agent" can contain
    /// the client ID and the labels of the cluster. The agent has no tunnel in this mode.
    #[arg(long, env = "DROVER_AGENT_FLEET_HUB", conflicts_with = "no_gitops")]
    pub fleet_hub: bool,
    /// Do not deploy bundles in this cluster
    #[arg(long, env = "DROVER_AGENT_NO_GITOPS")]
    pub no_gitops: bool,
    /// Time until the agent removes the releases of bundles that were deleted while it did not run
    #[arg(
        long,
        env = "DROVER_AGENT_REMOVAL_DELAY",
        value_name = "SECONDS",
        default_value_t = DEFAULT_DELAY.as_secs()
    )]
    pub removal_delay: u64,
}

impl Args {
    /// Returns the path of the program that renders charts.
    pub fn renderer(&self) -> PathBuf {
        self.renderer
            .clone()
            .unwrap_or_else(renderer_beside_program)
    }
}

/// Returns the path of the renderer in the folder of this program.
pub fn renderer_beside_program() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.with_file_name("drover-render")
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
