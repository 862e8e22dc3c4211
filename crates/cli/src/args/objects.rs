//! Arguments of `drover get` and `drover label`: objects in several clusters.

use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::Connection;

/// The clusters to which a command applies.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Clusters")]
pub struct ClusterSelection {
    /// Name of a cluster, or local for the hub; can be repeated
    #[arg(long = "cluster", value_name = "NAME")]
    pub clusters: Vec<String>,
    /// Select the clusters with these labels, for example env=prod or 'env in (prod,test)'
    #[arg(
        long = "clusters",
        value_name = "SELECTOR",
        conflicts_with = "clusters"
    )]
    pub selector: Option<String>,
}

/// The output format of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    /// Table with the columns of the API server.
    Table,
    /// Table with all columns of the API server.
    Wide,
    /// One line with kind and name for each object.
    Name,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// The output of a JSONPath template.
    JsonPath(String),
    /// Table with the columns `HEADING:PATH,…`.
    Columns(String),
}

/// The error of parsing an [`ObjectFormat`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "cannot use {text:?} as an output format; use table, wide, name, json, yaml, jsonpath=TEMPLATE \
     or custom-columns=HEADING:PATH,…",
    text = .0
)]
pub struct ObjectFormatError(String);

impl FromStr for ObjectFormat {
    type Err = ObjectFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.split_once('=') {
            None => match text {
                "table" => Self::Table,
                "wide" => Self::Wide,
                "name" => Self::Name,
                "json" => Self::Json,
                "yaml" => Self::Yaml,
                _ => return Err(ObjectFormatError(text.to_owned())),
            },
            Some(("jsonpath", template)) if !template.is_empty() => {
                Self::JsonPath(template.to_owned())
            }
            Some(("custom-columns", columns)) if !columns.is_empty() => {
                Self::Columns(columns.to_owned())
            }
            Some(_) => return Err(ObjectFormatError(text.to_owned())),
        })
    }
}

/// Arguments of `drover get`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover get pods
  drover get deployments -A --clusters env=prod -l app=web
  drover get nodes -o wide --cluster berlin --cluster paris
  drover get deploy/web svc/web -n shop -o yaml --cluster berlin
  drover get pods -A -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName
  drover get pods -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'
  drover get pods -A --watch

Without --cluster and --clusters, the command lists the objects of all clusters that you can access, except
the hub. KIND is a plural, singular, short name or category (all), optionally with .GROUP or .VERSION.GROUP.

Objects in the formats json, yaml, jsonpath and custom-columns have the annotation drover.dev/cluster with
the name of the cluster. With a single --cluster, the format name has no prefix with the cluster, and a
single object is not in a list.

JSONPath: fields (.a.b, ['a'], \\. for a dot in a name), [0], [-1], [0:2], [0,1], [*], .., filters
[?(@.a==\"b\")], $, @, quoted texts, and {range PATH}…{end}. Unions of paths with dots
(['a.b','c.d']) are not supported.

If some clusters fail, the command prints the objects of the other clusters, names each failed cluster with
the reason on standard error, and exits with code 1. A cluster without the kind or the named object counts as
failed only if no selected cluster has the kind or the object. --watch continues after timeouts and lost
connections.")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the command line"
)]
pub struct GetArgs {
    /// The objects: KIND, KIND,KIND, KIND NAME… or KIND/NAME…
    #[arg(value_name = "OBJECT", required = true)]
    pub objects: Vec<String>,
    /// Namespace of the objects
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// List the objects in all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// List the objects with these labels, for example app=web
    #[arg(short = 'l', long = "selector", value_name = "SELECTOR")]
    pub labels: Option<String>,
    /// List the objects with these fields, for example status.phase=Running
    #[arg(long = "field-selector", value_name = "SELECTOR")]
    pub fields: Option<String>,
    /// Format of the output: table, wide, name, json, yaml, jsonpath=TEMPLATE or
    /// custom-columns=HEADING:PATH,…
    #[arg(short = 'o', long, value_name = "FORMAT", default_value = "table")]
    pub output: ObjectFormat,
    /// After the list, print each change until the command is stopped
    #[arg(short, long)]
    pub watch: bool,
    /// With --watch, print the changes without the list
    #[arg(long, requires = "watch")]
    pub watch_only: bool,
    /// With --watch, add the column EVENT: ADDED, MODIFIED or DELETED
    #[arg(long, requires = "watch")]
    pub output_watch_events: bool,
    /// Print the table without the headings
    #[arg(long)]
    pub no_headers: bool,
    /// Add the column LABELS to the table
    #[arg(long)]
    pub show_labels: bool,
    /// Sort the rows of all clusters by this JSONPath, for example .metadata.creationTimestamp
    #[arg(long, value_name = "PATH", conflicts_with = "watch")]
    pub sort_by: Option<String>,
    /// Number of objects in each request of a list; 0 for one request with all objects
    #[arg(long, value_name = "NUMBER", default_value_t = 500)]
    pub chunk_size: u32,
    /// The clusters.
    #[command(flatten)]
    pub selection: ClusterSelection,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}

/// Selects whether a command changes objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// Change the objects
    #[default]
    None,
    /// Send no changes: print the objects that the command would change
    Client,
    /// Send the changes, but let the API servers only check them
    Server,
}

/// Arguments of `drover label`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover label deployment web -n shop tier=web --cluster berlin
  drover label nodes -l zone=a rack=7 --overwrite --clusters env=prod
  drover label pod/web-1 tier- --all-clusters
  drover label cluster berlin env=prod --cluster local

A change KEY=VALUE sets a label, and KEY- removes a label. The command changes a label that has another
value only with --overwrite. The command prints a line for each object. Failures are on standard error, and
the exit code is then 1. The labels of a cluster itself are labels of the Cluster object on the hub, which
is the cluster local.")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the command line"
)]
pub struct LabelArgs {
    /// The objects (KIND NAME…, KIND/NAME…, or KIND with -l or --all), followed by the changes
    /// KEY=VALUE and KEY-
    #[arg(value_name = "OBJECT_OR_CHANGE", required = true)]
    pub words: Vec<String>,
    /// Namespace of the objects
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Change the objects in all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Change the objects with these labels
    #[arg(short = 'l', long = "selector", value_name = "SELECTOR")]
    pub labels: Option<String>,
    /// Change all objects of the kind
    #[arg(long, conflicts_with = "labels")]
    pub all: bool,
    /// Replace labels that have another value
    #[arg(long)]
    pub overwrite: bool,
    /// Only show which objects the command would change
    #[arg(long, value_name = "MODE", default_value = "none")]
    pub dry_run: DryRun,
    /// The clusters.
    #[command(flatten)]
    pub selection: ClusterSelection,
    /// Change the objects in all clusters that you can access
    #[arg(
        long,
        conflicts_with_all = ["clusters", "selector"],
        help_heading = "Clusters"
    )]
    pub all_clusters: bool,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_formats_are_parsed() {
        for (text, format) in [
            ("wide", Some(ObjectFormat::Wide)),
            (
                "jsonpath={.a=b}",
                Some(ObjectFormat::JsonPath("{.a=b}".to_owned())),
            ),
            (
                "custom-columns=A:.a",
                Some(ObjectFormat::Columns("A:.a".to_owned())),
            ),
            ("jsonpath=", None),
            ("go-template={{.}}", None),
            ("xml", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), format, "{text}");
        }
    }
}
