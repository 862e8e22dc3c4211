//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use drover_agent_link::server::ProxyUrl;
use drover_api::group::AGENT_NAMESPACE;
use drover_tunnel::memory::MemorySize;

/// Connects a Kubernetes cluster to a Drover server.
///
/// Runs in the cluster, installed by the manifest of "drover cluster import"; which server, as
/// which cluster and with which token stands in objects of its namespace. It dials the server and
/// serves requests on that connection, each as the service account of its lane.
#[derive(Clone, Debug, Parser)]
#[command(name = "drover-agent", version)]
pub struct Args {
    /// Reach the cluster with this kubeconfig instead of the pod's service account
    ///
    /// For an agent that runs outside its cluster. The lanes' tokens are still those of the
    /// service accounts in the namespace, so the kubeconfig's user must be able to create them.
    #[arg(long, env = "DROVER_AGENT_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig; its current one if absent
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

    /// What tells this replica from the others; the host's name if absent
    #[arg(long, env = "DROVER_AGENT_REPLICA", value_name = "NAME")]
    pub replica: Option<String>,

    /// Where /livez and /readyz are answered; nowhere if absent
    #[arg(long, env = "DROVER_AGENT_HEALTH_LISTEN", value_name = "ADDRESS")]
    pub health_listen: Option<SocketAddr>,

    /// Which log lines are written, such as info or info,drover_agent=debug
    #[arg(
        long,
        env = "DROVER_AGENT_LOG",
        value_name = "FILTER",
        default_value = "info"
    )]
    pub log: String,

    /// HTTP proxy between the cluster and the server, such as http://proxy.example.com:3128
    ///
    /// The agent asks it with CONNECT for a connection to the server, and speaks TLS with the server
    /// inside.
    #[arg(long, env = "HTTPS_PROXY", hide_env_values = true, value_name = "URL")]
    pub https_proxy: Option<ProxyUrl>,

    /// Hosts, .suffixes, addresses and networks that are reached without the proxy, separated by
    /// commas
    #[arg(long, env = "NO_PROXY", value_name = "LIST")]
    pub no_proxy: Option<String>,

    /// Memory that the agent may use, in bytes or with Ki, Mi or Gi; the limit of its cgroup, else the
    /// machine's memory, if absent
    #[arg(long, env = "DROVER_AGENT_MEMORY_LIMIT", value_name = "SIZE")]
    pub memory_limit: Option<MemorySize>,

    /// Threads that do the work
    #[arg(long, env = "DROVER_AGENT_THREADS", value_name = "NUMBER", default_value_t = 2,
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
