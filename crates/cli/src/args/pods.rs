//! Arguments of `drover logs`, `drover exec` and `drover port-forward`.

use std::net::IpAddr;

use clap::Args;

use super::{ClusterSelection, Connection, DurationArg};

/// Arguments of `drover logs`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover logs web-1 --cluster berlin
  drover logs deployment/web -n shop -f --clusters env=prod
  drover logs -l app=web -f --since 10m --tail 20
  drover logs job/backup --previous --timestamps --cluster berlin

Without --cluster and --clusters, the command searches the pods in all clusters that you can access. If the
output can contain several containers, each line starts with [CLUSTER/POD/CONTAINER]. With -f and -l or
TYPE/NAME, the output also contains new pods. On a terminal, the command replaces control characters, except
colors. In a pipe, the log is unchanged.

If some clusters fail, the command prints the logs of the other clusters, names each failed cluster on
standard error, and exits with code 1.")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the command line"
)]
pub struct LogsArgs {
    /// The pod: POD, or TYPE/NAME for all pods of a workload, for example deployment/web
    #[arg(
        value_name = "POD|TYPE/NAME",
        required_unless_present = "labels",
        conflicts_with = "labels"
    )]
    pub target: Option<String>,
    /// Print the logs of the pods with these labels
    #[arg(short = 'l', long = "selector", value_name = "SELECTOR")]
    pub labels: Option<String>,
    /// Namespace of the pods
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Container of the pod [default: the first container]
    #[arg(short, long, value_name = "NAME")]
    pub container: Option<String>,
    /// Print the logs of all containers of each pod
    #[arg(long, conflicts_with = "container")]
    pub all_containers: bool,
    /// Print new lines until the command is stopped
    #[arg(short, long)]
    pub follow: bool,
    /// Print the log of the previous run of the container
    #[arg(short, long, conflicts_with = "follow")]
    pub previous: bool,
    /// Print only lines that are at most this old, for example 10m
    #[arg(long, value_name = "DURATION")]
    pub since: Option<DurationArg>,
    /// Print at most this number of old lines of each container
    #[arg(long, value_name = "LINES")]
    pub tail: Option<u32>,
    /// Print the time of each line
    #[arg(long)]
    pub timestamps: bool,
    /// Start each line with [CLUSTER/POD/CONTAINER] [default: true for several clusters, -l,
    /// TYPE/NAME and --all-containers]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true
    )]
    pub prefix: Option<bool>,
    /// Maximum number of logs that the command reads at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    pub max_log_requests: usize,
    /// The clusters.
    #[command(flatten)]
    pub selection: ClusterSelection,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}

/// Arguments of `drover exec`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover exec --cluster berlin -it web-1 -- sh
  drover exec --cluster berlin -n shop deployment/web -c main -- cat /etc/hostname
  drover exec --cluster berlin -i web-1 -- tar xf - <files.tar

The exit code is the exit code of the remote command. Before the remote command starts, the exit codes of
drover apply. drover sends standard input to the remote command only with -i. -t needs a terminal, and is not
available on Windows.")]
pub struct ExecArgs {
    /// The pod: POD, or TYPE/NAME for a running pod of a workload
    #[arg(value_name = "POD|TYPE/NAME")]
    pub target: String,
    /// The command to run, after --
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Name of the cluster, or local for the hub
    #[arg(long, value_name = "NAME")]
    pub cluster: String,
    /// Namespace of the pod
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Container of the pod [default: the first container]
    #[arg(short, long, value_name = "NAME")]
    pub container: Option<String>,
    /// Send standard input to the command
    #[arg(short = 'i', long)]
    pub stdin: bool,
    /// Run the command in a terminal
    #[arg(short, long)]
    pub tty: bool,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}

/// Arguments of `drover port-forward`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover port-forward --cluster berlin web-1 8080:80
  drover port-forward --cluster berlin -n shop svc/web 8080:http 9090
  drover port-forward --cluster berlin deployment/web :8080

The command listens until it is stopped. For TYPE/NAME, the command selects a running pod for each new
connection. REMOTE is a number or the name of a port: of the Service for svc/NAME, and of the pod otherwise.")]
pub struct PortForwardArgs {
    /// The pod: POD, or TYPE/NAME for a running pod of a workload or Service
    #[arg(value_name = "POD|TYPE/NAME")]
    pub target: String,
    /// The ports: LOCAL:REMOTE, PORT for equal numbers, or :REMOTE for a free local port
    #[arg(value_name = "[LOCAL:]REMOTE", required = true)]
    pub ports: Vec<String>,
    /// Name of the cluster, or local for the hub
    #[arg(long, value_name = "NAME")]
    pub cluster: String,
    /// Namespace of the pod
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// IP address at which the command listens
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub address: IpAddr,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}
