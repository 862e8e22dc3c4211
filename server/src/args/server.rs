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

/// `drover server`, alone or with a subcommand.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Without --kubeconfig, and outside of a pod with a service account, the server keeps its state by
itself: in the folder \"hub\" of --data-dir, which nobody else may read. See \"drover hub --help\".

Examples:
  drover server
  drover server --data-dir /srv/drover
  drover server --demo-clusters 3
  drover server --kubeconfig hub.yaml
  drover server --kubeconfig hub.yaml --listen 0.0.0.0:8443 --server-url https://drover.example.com:8443

The first start makes the user \"admin\" and prints its password once; the first login must change it."
)]
pub struct ServerArgs {
    /// How to run.
    #[command(flatten)]
    pub options: ServerOptions,
    /// Something beside running.
    #[command(subcommand)]
    pub command: Option<ServerCommand>,
}

/// What can be done to a server from its hub.
#[derive(Debug, Subcommand)]
pub enum ServerCommand {
    /// Set a new random password for a user straight on the hub, when nobody can log in any more;
    /// if no enabled administrator is left, the user becomes one
    Recover(Recover),
    /// Write the server's container image: this program, and the agent's for "drover agent image"
    Image(ServerImage),
}

/// A certificate and its key; without them the server makes an authority of its own on the hub.
#[derive(Clone, Debug, Default, Args)]
pub struct TlsFiles {
    /// Certificate chain to serve, PEM, read again when it changes; made by the server's own
    /// authority if left out
    #[arg(
        long = "tls-cert",
        value_name = "FILE",
        env = "DROVER_TLS_CERT",
        hide_env_values = true,
        requires = "key"
    )]
    pub certificate: Option<PathBuf>,
    /// Private key of --tls-cert, PEM
    #[arg(
        id = "key",
        long = "tls-key",
        value_name = "FILE",
        env = "DROVER_TLS_KEY",
        hide_env_values = true,
        requires = "certificate"
    )]
    pub key: Option<PathBuf>,
    /// Authority that agents and kubeconfigs shall trust, PEM, read at the start; the last of
    /// --tls-cert if left out
    #[arg(
        long = "tls-ca",
        value_name = "FILE",
        env = "DROVER_TLS_CA",
        hide_env_values = true,
        requires = "certificate"
    )]
    pub authority: Option<PathBuf>,
}

/// Everything the server is told from outside; the rest are settings on the hub.
#[derive(Clone, Debug, Args)]
pub struct ServerOptions {
    /// Where the server's state lives.
    #[command(flatten)]
    pub hub: HubKubeconfig,
    /// Where the hub's API server reaches this server, to ask about writes: https://HOST(:PORT), or
    /// NAMESPACE/NAME(:PORT) of a Service; the server's own URL if left out. The embedded hub needs
    /// none
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "DROVER_HUB_WEBHOOK",
        hide_env_values = true
    )]
    pub hub_webhook: Option<Address>,
    /// Address to listen on
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "DROVER_LISTEN",
        hide_env_values = true,
        default_value = "127.0.0.1:8443"
    )]
    pub listen: SocketAddr,
    /// Network of proxies whose header X-Forwarded-For is believed, as CIDR; may be repeated, or
    /// separated by commas. Without any, the header is ignored
    #[arg(
        long = "trusted-proxy",
        value_name = "CIDR",
        env = "DROVER_TRUSTED_PROXIES",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub trusted_proxies: Vec<Prefix>,
    /// Network of TCP balancers whose PROXY protocol header (version 2) is believed, as CIDR; may be
    /// repeated, or separated by commas
    #[arg(
        long,
        value_name = "CIDR",
        env = "DROVER_PROXY_PROTOCOL_FROM",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub proxy_protocol_from: Vec<Prefix>,
    /// Address at which people and agents reach the server while the setting server-url is empty
    #[arg(
        long,
        value_name = "URL",
        env = "DROVER_SERVER_URL",
        hide_env_values = true
    )]
    pub server_url: Option<ServerUrl>,
    /// What the server proves itself with.
    #[command(flatten)]
    pub tls: TlsFiles,
    /// File to append audit records to, one JSON object a line; "-" is standard output
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_AUDIT_LOG",
        hide_env_values = true,
        default_value = "-"
    )]
    pub audit_log: PathBuf,
    /// Memory that the server may use, in bytes or with Ki, Mi or Gi; the limit of its cgroup, else the
    /// machine's memory, if left out. Limits for answers, watches and tunnels are parts of it
    #[arg(
        long,
        value_name = "SIZE",
        env = "DROVER_MEMORY_LIMIT",
        hide_env_values = true
    )]
    pub memory_limit: Option<MemorySize>,
    /// OTLP/HTTP collector to send traces to; none are sent if left out
    #[arg(
        long,
        value_name = "URL",
        env = "DROVER_OTLP_ENDPOINT",
        hide_env_values = true
    )]
    pub otlp_endpoint: Option<reqwest::Url>,
    /// Authorities that may have signed the certificate of --otlp-endpoint, PEM; the system's if
    /// left out
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_OTLP_CA",
        hide_env_values = true,
        requires = "otlp_endpoint"
    )]
    pub otlp_ca: Option<PathBuf>,
    /// What to log, for example info,drover_server::proxy=debug; the setting log-filter if left out
    #[arg(
        long,
        value_name = "FILTER",
        env = "DROVER_LOG_FILTER",
        hide_env_values = true
    )]
    pub log_filter: Option<String>,
    /// Simulated clusters to run beside the server, joined and with sample workloads; needs the
    /// embedded hub. Clusters beyond the number of an earlier start are removed
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
    /// How to log to standard error
    #[arg(
        long,
        value_name = "FORMAT",
        env = "DROVER_LOG_FORMAT",
        hide_env_values = true,
        default_value = "text"
    )]
    pub log_format: LogFormat,
    /// New file that also gets the first administrator's password, mode 0600
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_FIRST_PASSWORD_FILE",
        hide_env_values = true
    )]
    pub first_password_file: Option<PathBuf>,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// `drover server recover`.
#[derive(Debug, Args)]
pub struct Recover {
    /// Which hub.
    #[command(flatten)]
    pub hub: HubKubeconfig,
    /// User who gets the new password; the next login must change it
    #[arg(long, value_name = "NAME", default_value = "admin")]
    pub user: String,
}
