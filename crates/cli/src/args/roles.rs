//! `drover role`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use drover_api::kinds::RoleContext;

use super::{Connection, Output};

/// `drover role`.
#[derive(Debug, Args)]
pub struct RoleArgs {
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
    /// What to do.
    #[command(subcommand)]
    pub command: RoleCommand,
}

/// What can be done with roles.
#[derive(Debug, Subcommand)]
pub enum RoleCommand {
    /// List roles in clusters and projects, or global ones
    List {
        /// Global roles: on the hub and in every cluster
        #[arg(long)]
        global: bool,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
    /// Show one role, with all that it allows
    Get {
        /// Which role.
        #[command(flatten)]
        role: RoleName,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
    /// Make a role, from a file or from what is typed
    Create(Box<RoleCreate>),
    /// Change what a role says to what a file says
    Set(RoleSet),
    /// Delete a role; whoever has it loses it within seconds
    Delete(RoleDelete),
}

/// A role by name.
#[derive(Debug, Args)]
pub struct RoleName {
    /// Name of the role
    pub name: String,
    /// A global role: on the hub and in every cluster
    #[arg(long)]
    pub global: bool,
}

/// `drover role create`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover role create deployer --in project --verb get,list,patch --api-group apps --resource deployments
  drover role create on-call --in cluster --inherit cluster-viewer --verb delete --resource pods
  drover role create watchers --global --in-every-cluster cluster-viewer
  drover role create deployer -f deployer.yaml

The file holds what \"drover role get NAME -o yaml\" prints, or only its spec:
  context: Project
  inherits: [project-viewer]
  rules:
  - apiGroups: [apps]
    resources: [deployments]
    verbs: [get, list, patch]
Nobody makes a role that allows more than they may do themselves, in every cluster.")]
pub struct RoleCreate {
    /// Which role.
    #[command(flatten)]
    pub role: RoleName,
    /// File with what it says, YAML or JSON
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// What it says, if no file does.
    #[command(flatten)]
    pub typed: RoleTyped,
}

/// What a role says, as it is typed.
#[derive(Debug, Args)]
pub struct RoleTyped {
    /// Where people can be given it: cluster or project
    #[arg(long = "in", value_name = "CONTEXT", value_parser = context, conflicts_with_all = ["file", "global"])]
    pub given_in: Option<RoleContext>,
    /// What people will call it
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub display_name: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub description: Option<String>,
    /// What it allows to do, such as get; several with commas
    #[arg(
        long = "verb",
        value_name = "VERB",
        value_delimiter = ',',
        conflicts_with = "file"
    )]
    pub verbs: Vec<String>,
    /// With what, such as pods or pods/log; several with commas
    #[arg(
        long = "resource",
        value_name = "RESOURCE",
        value_delimiter = ',',
        requires = "verbs",
        conflicts_with = "file"
    )]
    pub resources: Vec<String>,
    /// Of which API group, such as apps; the core if left out
    #[arg(
        long = "api-group",
        value_name = "GROUP",
        value_delimiter = ',',
        requires = "resources",
        conflicts_with = "file"
    )]
    pub api_groups: Vec<String>,
    /// Only objects of this name; several with commas
    #[arg(
        long = "resource-name",
        value_name = "NAME",
        value_delimiter = ',',
        requires = "resources",
        conflicts_with = "file"
    )]
    pub resource_names: Vec<String>,
    /// A role of the same context whose rights it has as well; may be repeated
    #[arg(long = "inherit", value_name = "ROLE", conflicts_with_all = ["file", "global"])]
    pub inherits: Vec<String>,
    /// A role for clusters that it gives in every cluster; may be repeated
    #[arg(
        long,
        value_name = "ROLE",
        requires = "global",
        conflicts_with = "file"
    )]
    pub in_every_cluster: Vec<String>,
}

fn context(text: &str) -> Result<RoleContext, String> {
    match text.to_ascii_lowercase().as_str() {
        "cluster" => Ok(RoleContext::Cluster),
        "project" => Ok(RoleContext::Project),
        _ => Err("must be cluster or project".to_owned()),
    }
}

/// `drover role set`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover role get deployer -o yaml > deployer.yaml
  drover role set deployer -f deployer.yaml

What others have changed since the file was printed is not overwritten: the server says so.")]
pub struct RoleSet {
    /// Which role.
    #[command(flatten)]
    pub role: RoleName,
    /// File with all that it shall say, YAML or JSON
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
}

/// `drover role delete`.
#[derive(Debug, Args)]
pub struct RoleDelete {
    /// Which role.
    #[command(flatten)]
    pub role: RoleName,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}
