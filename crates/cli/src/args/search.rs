//! Arguments of `drover search`.

use clap::{Args, ValueEnum};

use super::{ClusterSelection, Connection};

/// The output format of `drover search`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SearchFormat {
    /// Table with cluster, namespace, kind, name, state and age
    #[default]
    Table,
    /// One line CLUSTER:KIND/NAME for each object
    Name,
    /// JSON with labels and images
    Json,
}

/// Arguments of `drover search`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover search web
  drover search web app=shop --clusters env=prod
  drover search --image nginx:1.29 -o name
  drover search -l 'app in (web,api)' -o json

Words are parts of names. A word KEY=VALUE is a label whose value starts with VALUE, and a word
PROPERTY:VALUE is a property, for example image:nginx, state:failing or namespace:shop. A leading minus
excludes objects; write -- before the first such word. An object must match all words and options. The search
ignores case, except in labels.

The command searches pods, deployments, stateful sets, daemon sets, cron jobs, jobs, services, ingresses,
nodes and namespaces of all clusters that you can access, except the hub. If your roles are only in some
namespaces of a cluster, the command searches these namespaces. The command names the kinds that you cannot
list and the clusters that fail on standard error. If a cluster fails, the exit code is 1.")]
pub struct SearchArgs {
    /// Words that the objects must match
    #[arg(value_name = "TEXT", required_unless_present_any = ["labels", "image"])]
    pub text: Vec<String>,
    /// Search the objects with these labels, for example app=web
    #[arg(short = 'l', long = "selector", value_name = "SELECTOR")]
    pub labels: Option<String>,
    /// Search the objects with a container whose image contains this text
    #[arg(long, value_name = "TEXT")]
    pub image: Option<String>,
    /// Search only this namespace
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Format of the output
    #[arg(short = 'o', long, value_name = "FORMAT", default_value = "table")]
    pub output: SearchFormat,
    /// The clusters.
    #[command(flatten)]
    pub selection: ClusterSelection,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}
