//! `drover audit`.

use clap::{Args, ValueEnum};

use super::{Connection, DurationArg};

/// How records are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// Aligned columns, for people
    #[default]
    Table,
    /// One JSON object a line, as the log has it
    Json,
}

/// `drover audit`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover audit --user ann --since 1h
  drover audit --cluster berlin --verb delete --since 7d --limit 1000
  drover audit --outcome refused -o json | jq .path

What was written last comes first. Records are kept as long as the server's audit log is: see
--audit-log of `drover server`.")]
pub struct AuditArgs {
    /// Requests of this user
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Requests to this cluster
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// What was done: get, list, watch, create, update, patch, delete, exec…; or changes: all that are
    /// not reads
    #[arg(long, value_name = "VERB")]
    pub verb: Option<String>,
    /// How it ended: open, complete, refused, clientGone, upstreamGone or revoked
    #[arg(long, value_name = "OUTCOME")]
    pub outcome: Option<String>,
    /// Status code of the answer
    #[arg(long, value_name = "CODE")]
    pub code: Option<u16>,
    /// Requests with this in their path
    #[arg(long, value_name = "TEXT")]
    pub path: Option<String>,
    /// Changes of the user, cluster, token or setting of this name
    #[arg(long, value_name = "NAME")]
    pub object: Option<String>,
    /// Requests of this last while
    #[arg(long, value_name = "DURATION")]
    pub since: Option<DurationArg>,
    /// Requests until so long ago
    #[arg(long, value_name = "DURATION")]
    pub until: Option<DurationArg>,
    /// Most records to print
    #[arg(long, value_name = "NUMBER", default_value = "100",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// How to print
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub format: AuditFormat,
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
}
