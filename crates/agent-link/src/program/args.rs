//! The command line arguments of both programs.

use std::net::SocketAddr;
use std::path::PathBuf;

use drover_api::group::AGENT_NAMESPACE;
use drover_tunnel::memory::MemorySize;

use crate::server::ProxyUrl;

/// The arguments that the cluster agent and the node agent have in common.
#[derive(Clone, Debug, clap::Args)]
pub struct ProgramArgs {
    /// Kubeconfig for connecting to the cluster, instead of the pod's service account
    ///
    /// Required for a program that runs outside its cluster. The kubeconfig's user must be able to
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

    /// Name that distinguishes this replica from the other replicas [default: the host name]
    #[arg(long, env = "DROVER_AGENT_REPLICA", value_name = "NAME")]
    pub replica: Option<String>,

    /// Address of the listener for /livez and /readyz [default: no listener]
    #[arg(long, env = "DROVER_AGENT_HEALTH_LISTEN", value_name = "ADDRESS")]
    pub health_listen: Option<SocketAddr>,

    /// Log filter, such as info or info,drover_agent_link=debug
    #[arg(
        long,
        env = "DROVER_AGENT_LOG",
        value_name = "FILTER",
        default_value = "info"
    )]
    pub log: String,

    /// HTTP proxy between the cluster and the server, such as http://proxy.example.com:3128
    ///
    /// The program sends CONNECT to the proxy and then opens a TLS connection to the server through
    /// the proxy.
    #[arg(long, env = "HTTPS_PROXY", hide_env_values = true, value_name = "URL")]
    pub https_proxy: Option<ProxyUrl>,

    /// Hosts, .suffixes, addresses and networks that the program connects to without the proxy,
    /// separated by commas
    #[arg(long, env = "NO_PROXY", value_name = "LIST")]
    pub no_proxy: Option<String>,

    /// Memory limit of the program, in bytes or with Ki, Mi or Gi [default: the limit of its cgroup,
    /// or the machine's memory]
    #[arg(long, env = "DROVER_AGENT_MEMORY_LIMIT", value_name = "SIZE")]
    pub memory_limit: Option<MemorySize>,

    /// Number of worker threads
    #[arg(long, env = "DROVER_AGENT_THREADS", value_name = "NUMBER", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=64))]
    pub threads: u16,
}
