//! The command line arguments of the agent.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use drover_agent_link::server::ProxyUrl;
use drover_api::group::AGENT_NAMESPACE;
use drover_tunnel::memory::MemorySize;

/// Connects a Kubernetes cluster to a Drover server.
///
/// The agent runs in the cluster. The manifest of "drover cluster import" installs the agent.
/// Objects in the agent's namespace contain the server's URL, the Cluster's UID and the
/// registration token. The agent dials the server and serves requests on that connection. Each
/// request uses the service account of its lane.
#[derive(Clone, Debug, Parser)]
#[command(name = "drover-agent", version)]
pub struct Args {
    /// Kubeconfig for connecting to the cluster, instead of the pod's service account
    ///
    /// Required for an agent that runs outside its cluster. The kubeconfig's user must be able to
    /// create tokens of the service accounts in the namespace, because the lanes use these tokens.
    #[arg(long, env = "DROVER_AGENT_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig [default: its current context]
    #[arg(
        long,
        env = "DROVER_AGENT_CONTEXT",
        value_name = "NAME",
        requires = "kubeconfig"
    )]
    pub context: Option<String>,

    /// Namespace of the agent's objects and service accounts
    #[arg(long, env = "DROVER_AGENT_NAMESPACE", value_name = "NAME", default_value = AGENT_NAMESPACE)]
    pub namespace: String,

    /// Name that distinguishes this replica from the other replicas of the agent [default: the host
    /// name]
    #[arg(long, env = "DROVER_AGENT_REPLICA", value_name = "NAME")]
    pub replica: Option<String>,

    /// Address of the listener for /livez and /readyz [default: no listener]
    #[arg(long, env = "DROVER_AGENT_HEALTH_LISTEN", value_name = "ADDRESS")]
    pub health_listen: Option<SocketAddr>,

    /// Log filter, such as info or info,drover_agent=debug
    #[arg(
        long,
        env = "DROVER_AGENT_LOG",
        value_name = "FILTER",
        default_value = "info"
    )]
    pub log: String,

    /// HTTP proxy between the cluster and the server, such as http://proxy.example.com:3128
    ///
    /// The agent sends CONNECT to the proxy and then opens a TLS connection to the server through
    /// the proxy.
    #[arg(long, env = "HTTPS_PROXY", hide_env_values = true, value_name = "URL")]
    pub https_proxy: Option<ProxyUrl>,

    /// Hosts, .suffixes, addresses and networks that the agent connects to without the proxy,
    /// separated by commas
    #[arg(long, env = "NO_PROXY", value_name = "LIST")]
    pub no_proxy: Option<String>,

    /// Memory limit of the agent, in bytes or with Ki, Mi or Gi [default: the limit of its cgroup,
    /// or the machine's memory]
    #[arg(long, env = "DROVER_AGENT_MEMORY_LIMIT", value_name = "SIZE")]
    pub memory_limit: Option<MemorySize>,

    /// Number of worker threads
    #[arg(long, env = "DROVER_AGENT_THREADS", value_name = "NUMBER", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
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
