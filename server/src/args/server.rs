//! `drover server`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use drover_cli::args::ServerUrl;
use drover_tunnel::memory::MemorySize;

use super::hub::HubKubeconfig;
use super::image::ServerImage;
use drover_http_edge::networks::Prefix;
use drover_hub::admission::address::Address;
use drover_port_forwards::ForwardDomain;

/// `drover server`, alone or with a subcommand.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Without --kubeconfig, and outside of a pod with a service account, the server stores its state in an
embedded hub, in the folder \"hub\" of --data-dir. Only the user of the server process can access this
folder. See \"drover hub --help\".

Examples:
  drover server
  drover server --data-dir /srv/drover
  drover server --demo-clusters 3
  drover server --kubeconfig hub.yaml
  drover server --kubeconfig hub.yaml --listen 0.0.0.0:8443 --server-url https://drover.example.com:8443

At its first start, the server creates the user \"admin\" and prints the user's password once. The user
must change the password at the first login."
)]
pub struct ServerArgs {
    /// The options of the server.
    #[command(flatten)]
    pub options: ServerOptions,
    /// The subcommand to run instead of the server.
    #[command(subcommand)]
    pub command: Option<ServerCommand>,
}

/// Subcommands of `drover server`.
#[derive(Debug, Subcommand)]
pub enum ServerCommand {
    /// Set a random password for a user directly on the hub, and make the user an administrator if
    /// no enabled administrator exists
    Recover(Recover),
    /// Write the server's container image with this program and the agent's program
    Image(ServerImage),
}

/// The options for the certificate and its key. Without these options, the server creates its own
/// certificate authority.
#[derive(Clone, Debug, Default, Args)]
pub struct TlsFiles {
    /// PEM file with the certificate chain of the server; the server reloads a changed file
    /// [default: a certificate of the server's own certificate authority]
    #[arg(
        long = "tls-cert",
        value_name = "FILE",
        env = "DROVER_TLS_CERT",
        hide_env_values = true,
        requires = "key"
    )]
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key of --tls-cert
    #[arg(
        id = "key",
        long = "tls-key",
        value_name = "FILE",
        env = "DROVER_TLS_KEY",
        hide_env_values = true,
        requires = "certificate"
    )]
    pub key: Option<PathBuf>,
    /// PEM file with the certificate authority that agents and kubeconfigs trust; the server reads
    /// the file at start only [default: the last certificate of --tls-cert]
    #[arg(
        long = "tls-ca",
        value_name = "FILE",
        env = "DROVER_TLS_CA",
        hide_env_values = true,
        requires = "certificate"
    )]
    pub authority: Option<PathBuf>,
}

/// The options of `drover server`. All other configuration is in the settings on the hub.
#[derive(Clone, Debug, Args)]
pub struct ServerOptions {
    /// The options that select the hub.
    #[command(flatten)]
    pub hub: HubKubeconfig,
    /// Address at which the hub's API server calls the admission webhook of this server:
    /// https://HOST(:PORT), or NAMESPACE/NAME(:PORT) of a Service; the embedded hub does not use
    /// this address [default: the server's URL]
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "DROVER_HUB_WEBHOOK",
        hide_env_values = true
    )]
    pub hub_webhook: Option<Address>,
    /// Address and port on which the server listens
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "DROVER_LISTEN",
        hide_env_values = true,
        default_value = "127.0.0.1:8443"
    )]
    pub listen: SocketAddr,
    /// Network of proxies whose X-Forwarded-For header the server trusts, as CIDR; can be repeated
    /// or comma-separated. The server ignores X-Forwarded-For headers from all other networks
    #[arg(
        long = "trusted-proxy",
        value_name = "CIDR",
        env = "DROVER_TRUSTED_PROXIES",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub trusted_proxies: Vec<Prefix>,
    /// Network of TCP load balancers whose PROXY protocol header (version 2) the server trusts, as
    /// CIDR; can be repeated or comma-separated
    #[arg(
        long,
        value_name = "CIDR",
        env = "DROVER_PROXY_PROTOCOL_FROM",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub proxy_protocol_from: Vec<Prefix>,
    /// URL at which users and agents connect to the server, if the setting server-url is empty
    #[arg(
        long,
        value_name = "URL",
        env = "DROVER_SERVER_URL",
        hide_env_values = true
    )]
    pub server_url: Option<ServerUrl>,
    /// Domain of the host names of port forwards in the browser, for example
    /// forwards.drover.example; all names below the domain must resolve to the server, and the server's
    /// own host name must not be below the domain [default: forwards.localhost if --listen is a
    /// loopback address, otherwise no port forwards in the browser]
    #[arg(
        long,
        value_name = "DOMAIN",
        env = "DROVER_FORWARD_DOMAIN",
        hide_env_values = true
    )]
    pub forward_domain: Option<ForwardDomain>,
    /// The options for the certificate of the server.
    #[command(flatten)]
    pub tls: TlsFiles,
    /// File to which the server appends audit records, one JSON object per line; "-" is standard
    /// output
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_AUDIT_LOG",
        hide_env_values = true,
        default_value = "-"
    )]
    pub audit_log: PathBuf,
    /// Memory limit of the server, in bytes or with Ki, Mi or Gi; the server divides the limit
    /// among responses, watches and tunnels [default: the memory limit of the cgroup, or the memory
    /// of the machine]
    #[arg(
        long,
        value_name = "SIZE",
        env = "DROVER_MEMORY_LIMIT",
        hide_env_values = true
    )]
    pub memory_limit: Option<MemorySize>,
    /// OTLP/HTTP collector to which the server sends traces [default: no traces]
    #[arg(
        long,
        value_name = "URL",
        env = "DROVER_OTLP_ENDPOINT",
        hide_env_values = true
    )]
    pub otlp_endpoint: Option<reqwest::Url>,
    /// PEM file with the certificate authorities that the server trusts for --otlp-endpoint
    /// [default: the system's authorities]
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_OTLP_CA",
        hide_env_values = true,
        requires = "otlp_endpoint"
    )]
    pub otlp_ca: Option<PathBuf>,
    /// Log filter, for example info,drover_proxy=debug [default: the setting log-filter]
    #[arg(
        long,
        value_name = "FILTER",
        env = "DROVER_LOG_FILTER",
        hide_env_values = true
    )]
    pub log_filter: Option<String>,
    /// Number of simulated clusters with sample workloads; requires the embedded hub. If
    /// the number is smaller than before, the server deletes the surplus simulated clusters
    #[arg(
        long,
        value_name = "NUMBER",
        env = "DROVER_DEMO_CLUSTERS",
        hide_env_values = true,
        default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(0..=1000),
        conflicts_with = "kubeconfig"
    )]
    pub demo_clusters: u32,
    /// Format of the log on standard error
    #[arg(
        long,
        value_name = "FORMAT",
        env = "DROVER_LOG_FORMAT",
        hide_env_values = true,
        default_value = "text"
    )]
    pub log_format: LogFormat,
    /// File that the server creates, with mode 0600, for the password of the first administrator
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_FIRST_PASSWORD_FILE",
        hide_env_values = true
    )]
    pub first_password_file: Option<PathBuf>,
    /// Folder for copies of git repositories. The server can create the copies again. The default is
    /// the folder git-cache in the data folder of the embedded hub, or in the folder of temporary files
    #[arg(
        long,
        value_name = "FOLDER",
        env = "DROVER_GIT_CACHE",
        hide_env_values = true
    )]
    pub git_cache: Option<PathBuf>,
}

/// The format of the server's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines of text
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// `drover server recover`.
#[derive(Debug, Args)]
pub struct Recover {
    /// The hub that stores the user.
    #[command(flatten)]
    pub hub: HubKubeconfig,
    /// Name of the user; the user must change the new password at the next login
    #[arg(long, value_name = "NAME", default_value = "admin")]
    pub user: String,
}
