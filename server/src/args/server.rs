//! `drover server`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use drover_tunnel::memory::MemorySize;

use super::{ImageOptions, ServerUrl};
use crate::hub::admission::address::Address;
use drover_http_edge::networks::Prefix;

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

/// The hub: the Kubernetes API that holds the server's state.
#[derive(Clone, Debug, Default, Args)]
pub struct HubKubeconfig {
    /// Kubeconfig of the hub, the Kubernetes API that holds the server's state; in a pod with a
    /// service account its own if left out, else the embedded hub in --data-dir
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_KUBECONFIG",
        hide_env_values = true,
        conflicts_with = "data_dir"
    )]
    pub kubeconfig: Option<PathBuf>,
    /// Context in that kubeconfig; its current one if left out
    #[arg(
        long = "context",
        value_name = "NAME",
        env = "DROVER_KUBECONFIG_CONTEXT",
        hide_env_values = true
    )]
    pub kubeconfig_context: Option<String>,
    /// The embedded hub's.
    #[command(flatten)]
    pub data: DataFolder,
}

/// Where the embedded hub lies.
#[derive(Clone, Debug, Default, Args)]
pub struct DataFolder {
    /// Folder of the embedded hub; /var/lib/drover for root, else drover in $XDG_DATA_HOME or
    /// ~/.local/share, if left out
    #[arg(
        long,
        value_name = "DIR",
        env = "DROVER_DATA_DIR",
        hide_env_values = true
    )]
    pub data_dir: Option<PathBuf>,
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

/// `drover server image`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Both programs have to be static, as those in the server's own image are.

Examples:
  drover server image --file drover.tar
  skopeo copy oci-archive:drover.tar docker://registry.example.com/drover:VERSION
  drover server image | ctr --namespace k8s.io images import -

The chart charts/drover runs it.")]
pub struct ServerImage {
    /// Which image, and where to.
    #[command(flatten)]
    pub image: ImageOptions,
}

/// `drover hub`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
These commands work on the file of the embedded hub itself, on the machine and as the user of the
server. A hub elsewhere is backed up as its etcd is.

Examples:
  drover hub backup /backup/drover-$(date +%F).db
  drover hub check /backup/drover-2026-11-21.db
  systemctl stop drover && drover hub restore --replace /backup/drover-2026-11-21.db")]
pub struct HubArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: HubCommand,
}

/// What can be done with the embedded hub's file.
#[derive(Debug, Subcommand)]
pub enum HubCommand {
    /// Copy the hub into a new file; the server may run
    ///
    /// The copy holds what the server holds: hashes of passwords and tokens, and private keys. It
    /// is readable to its owner only; keep it so.
    Backup(HubBackup),
    /// Make the hub from a backup; the server must not run
    ///
    /// The backup is checked first, and nothing changes if it is not sound. Everything that was
    /// written after the backup is gone: clusters imported since then have to be imported again.
    Restore(HubRestore),
    /// Read all of the hub, or of a backup, and say whether it is sound; the server may run
    Check(HubCheck),
}

/// `drover hub backup`.
#[derive(Debug, Args)]
pub struct HubBackup {
    /// File to make; it must not be there yet
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which hub.
    #[command(flatten)]
    pub data: DataFolder,
    /// How to print.
    #[command(flatten)]
    pub output: super::Output,
}

/// `drover hub restore`.
#[derive(Debug, Args)]
pub struct HubRestore {
    /// The backup
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Replace the hub that is there; it is kept beside the new one as hub.db-replaced, or -replaced-2 and so on
    #[arg(long)]
    pub replace: bool,
    /// Which hub.
    #[command(flatten)]
    pub data: DataFolder,
    /// How to print.
    #[command(flatten)]
    pub output: super::Output,
}

/// `drover hub check`.
#[derive(Debug, Args)]
pub struct HubCheck {
    /// A backup; the hub itself if left out
    #[arg(value_name = "FILE", conflicts_with = "data_dir")]
    pub file: Option<PathBuf>,
    /// Which hub.
    #[command(flatten)]
    pub data: DataFolder,
    /// How to print.
    #[command(flatten)]
    pub output: super::Output,
}
