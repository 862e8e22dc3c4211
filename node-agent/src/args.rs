//! The command line arguments of the node agent.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Parser;
use drover_agent_link::program::ProgramArgs;

/// Connects a node of a Kubernetes cluster to a Drover server.
///
/// The manifest of "drover cluster import" installs the node agent in two DaemonSets. The server
/// selects at most three nodes of a cluster for tunnels. The server uses these tunnels while the
/// cluster's agent has no healthy tunnel.
#[derive(Clone, Debug, Parser)]
#[command(name = "drover-node-agent", version)]
pub struct Args {
    /// The arguments of both agents.
    #[command(flatten)]
    pub program: ProgramArgs,

    /// The node and its files.
    #[command(flatten)]
    pub node: NodeArgs,

    /// The services on the node.
    #[command(flatten)]
    pub services: ServiceArgs,

    /// Address of the API server on this node. The node agent uses the address if an API server of the
    /// cluster responds there
    #[arg(
        long,
        env = "DROVER_NODE_AGENT_LOCAL_API_SERVER",
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:6443"
    )]
    pub local_api_server: http::uri::Authority,
}

/// The node, and the files that the pod mounts.
#[derive(Clone, Debug, clap::Args)]
pub struct NodeArgs {
    /// Name of the node
    #[arg(long, env = "DROVER_NODE_AGENT_NODE", value_name = "NAME")]
    pub node: String,

    /// File with the service account token that proves the node
    #[arg(
        long,
        env = "DROVER_NODE_AGENT_TOKEN_FILE",
        value_name = "FILE",
        default_value = "/var/run/secrets/drover/token"
    )]
    pub token_file: PathBuf,

    /// Folder for the node agent's key
    #[arg(
        long,
        env = "DROVER_NODE_AGENT_KEY_FOLDER",
        value_name = "FOLDER",
        default_value = "/var/lib/drover"
    )]
    pub key_folder: PathBuf,
}

/// The report about the node, and the webhook of the authorized endpoint.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServiceArgs {
    /// Address on which the node agent answers the token reviews of the API server on this node. Set
    /// the address only on control-plane nodes
    #[arg(
        long,
        env = "DROVER_NODE_AGENT_ENDPOINT_LISTEN",
        value_name = "IP:PORT"
    )]
    pub endpoint_listen: Option<SocketAddr>,

    /// IP address of the node, for the report about the node
    #[arg(long, env = "DROVER_NODE_AGENT_ADDRESS", value_name = "IP")]
    pub node_address: Option<IpAddr>,

    /// UID of the pod. Kubernetes deletes the report about the node together with the pod
    #[arg(long, env = "DROVER_NODE_AGENT_POD_UID", value_name = "UID")]
    pub pod_uid: Option<String>,
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
