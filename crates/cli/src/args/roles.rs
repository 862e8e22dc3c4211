//! Arguments of `drover role`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use drover_api::kinds::RoleContext;

use super::{Connection, Output};

/// Arguments of `drover role`.
#[derive(Debug, Args)]
pub struct RoleArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: RoleCommand,
}

/// Subcommands of `drover role`.
#[derive(Debug, Subcommand)]
pub enum RoleCommand {
    /// List the roles for clusters and projects, or the global roles
    List {
        /// List the global roles, which apply on the hub and in all clusters
        #[arg(long)]
        global: bool,
        /// The output format.
        #[command(flatten)]
        output: Output,
    },
    /// Show a role with its permissions
    Get {
        /// The role to show.
        #[command(flatten)]
        role: RoleName,
        /// The output format.
        #[command(flatten)]
        output: Output,
    },
    /// Create a role from a file or from options
    Create(Box<RoleCreate>),
    /// Replace a role with the content of a file
    Set(RoleSet),
    /// Delete a role; users and groups with the role lose the role's permissions within seconds
    Delete(RoleDelete),
}

/// The arguments that select a role by name.
#[derive(Debug, Args)]
pub struct RoleName {
    /// Name of the role
    pub name: String,
    /// Select a global role, which applies on the hub and in all clusters
    #[arg(long)]
    pub global: bool,
}

/// Arguments of `drover role create`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover role create deployer --in project --verb get,list,patch --api-group apps --resource deployments
  drover role create on-call --in cluster --inherit cluster-viewer --verb delete --resource pods
  drover role create watchers --global --in-every-cluster cluster-viewer
  drover role create deployer -f deployer.yaml

The file contains the output of \"drover role get NAME -o yaml\", or only the spec:
  context: Project
  inherits: [project-viewer]
  rules:
  - apiGroups: [apps]
    resources: [deployments]
    verbs: [get, list, patch]
You can create only roles whose permissions you have in all clusters.")]
pub struct RoleCreate {
    /// Name of the new role.
    #[command(flatten)]
    pub role: RoleName,
    /// YAML or JSON file with the role
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The fields of the role, if no file is set.
    #[command(flatten)]
    pub typed: RoleTyped,
}

/// The fields of a role as options.
#[derive(Debug, Args)]
pub struct RoleTyped {
    /// Scope in which users can grant the role: cluster or project
    #[arg(long = "in", value_name = "CONTEXT", value_parser = context, conflicts_with_all = ["file", "global"])]
    pub given_in: Option<RoleContext>,
    /// Display name of the role
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub display_name: Option<String>,
    /// Description of the role
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub description: Option<String>,
    /// Verb that the role allows, such as get; comma-separated list
    #[arg(
        long = "verb",
        value_name = "VERB",
        value_delimiter = ',',
        conflicts_with = "file"
    )]
    pub verbs: Vec<String>,
    /// Resource to which the role allows access, such as pods or pods/log; comma-separated list
    #[arg(
        long = "resource",
        value_name = "RESOURCE",
        value_delimiter = ',',
        requires = "verbs",
        conflicts_with = "file"
    )]
    pub resources: Vec<String>,
    /// API group of the resources, such as apps; comma-separated list [default: the core group]
    #[arg(
        long = "api-group",
        value_name = "GROUP",
        value_delimiter = ',',
        requires = "resources",
        conflicts_with = "file"
    )]
    pub api_groups: Vec<String>,
    /// Name of an object to which the role allows access; comma-separated list [default: all
    /// objects]
    #[arg(
        long = "resource-name",
        value_name = "NAME",
        value_delimiter = ',',
        requires = "resources",
        conflicts_with = "file"
    )]
    pub resource_names: Vec<String>,
    /// Role from which the new role inherits permissions; both roles must have the same scope; can
    /// be repeated
    #[arg(long = "inherit", value_name = "ROLE", conflicts_with_all = ["file", "global"])]
    pub inherits: Vec<String>,
    /// Role (scope: cluster) that users with the global role have in every cluster; can be repeated
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
        _ => Err("write cluster or project".to_owned()),
    }
}

/// Arguments of `drover role set`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover role get deployer -o yaml > deployer.yaml
  drover role set deployer -f deployer.yaml

The server rejects the file if the role has changed after \"drover role get\" printed the file.")]
pub struct RoleSet {
    /// The role to replace.
    #[command(flatten)]
    pub role: RoleName,
    /// YAML or JSON file with the complete role
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `drover role delete`.
#[derive(Debug, Args)]
pub struct RoleDelete {
    /// The role to delete.
    #[command(flatten)]
    pub role: RoleName,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}
