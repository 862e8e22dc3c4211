//! Arguments of `drover audit`.

use clap::{Args, ValueEnum};

use super::{Connection, DurationArg};

/// The format of audit records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// Table with aligned columns
    #[default]
    Table,
    /// One JSON object per line, as in the audit log file
    Json,
}

/// Arguments of `drover audit`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover audit --user ann --since 1h
  drover audit --cluster berlin --verb delete --since 7d --limit 1000
  drover audit --outcome refused -o json | jq .path

The command lists the newest audit records first. The server reads the records from the audit log file
in --audit-log of `drover server`.")]
pub struct AuditArgs {
    /// Show only requests of this user
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Show only requests to this cluster
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Show only requests with this verb: get, list, watch, create, update, patch, delete, exec…;
    /// or "changes" for all verbs that change state
    #[arg(long, value_name = "VERB")]
    pub verb: Option<String>,
    /// Show only requests with this outcome: open, complete, refused, clientGone, upstreamGone or
    /// revoked
    #[arg(long, value_name = "OUTCOME")]
    pub outcome: Option<String>,
    /// Show only requests with this HTTP status code
    #[arg(long, value_name = "CODE")]
    pub code: Option<u16>,
    /// Show only requests whose path contains this text
    #[arg(long, value_name = "TEXT")]
    pub path: Option<String>,
    /// Show only changes of the object with this name: a user, cluster, token or setting
    #[arg(long, value_name = "NAME")]
    pub object: Option<String>,
    /// Show only requests that started at most this duration ago
    #[arg(long, value_name = "DURATION")]
    pub since: Option<DurationArg>,
    /// Show only requests that started more than this duration ago
    #[arg(long, value_name = "DURATION")]
    pub until: Option<DurationArg>,
    /// Maximum number of audit records to show
    #[arg(long, value_name = "NUMBER", default_value = "100",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// Format of the output
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub format: AuditFormat,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}
