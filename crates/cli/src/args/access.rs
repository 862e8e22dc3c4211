//! Arguments of `drover access` and `drover project`.

use clap::{Args, Subcommand};
use drover_api::kinds::PodSecurity;

use super::{Connection, Output};

/// Arguments of `drover access`.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: AccessCommand,
}

/// Subcommands of `drover access`.
#[derive(Debug, Subcommand)]
pub enum AccessCommand {
    /// List the roles that you can grant in clusters and projects
    Roles(Output),
    /// List the members of a cluster or project with their roles, or the global role bindings
    List {
        /// The scope of the listed roles.
        #[command(flatten)]
        scope: AccessScope,
        /// The output format.
        #[command(flatten)]
        output: Output,
    },
    /// Find a user by name, on this server and at the identity providers
    People {
        /// Full user name or login; for an email address, the part before the @ is sufficient
        name: String,
        /// The scope in which the caller wants to grant a role.
        #[command(flatten)]
        scope: AccessScope,
        /// The output format.
        #[command(flatten)]
        output: Output,
    },
    /// Grant a role in a cluster or project, or a global role
    Grant(AccessGrant),
    /// Revoke a role; open requests that need the role end within seconds
    Revoke(AccessRevoke),
    /// Show whether a user can perform an action in a cluster, and which role and binding allow the
    /// action
    Explain(AccessExplain),
}

/// The scope of a role: a cluster, a project, or global.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct AccessScope {
    /// Cluster in which the role applies
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Project in which the role applies
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Select a global role, which applies on the hub and in all clusters
    #[arg(long)]
    pub global: bool,
}

/// The subject of a role binding.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct AccessSubject {
    /// Name of the user
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Group, as drover:PROVIDER:ID
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
}

/// Arguments of `drover access grant`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover access grant cluster-viewer --cluster berlin --user ann
  drover access grant project-member --project shop --group drover:corp:developers
  drover access grant viewer --global --user ann

You can grant only roles whose permissions you have in the scope of the grant.")]
pub struct AccessGrant {
    /// Name of the role; see `drover access roles` and `drover role list --global`
    pub role: String,
    /// The scope in which the role is granted.
    #[command(flatten)]
    pub scope: AccessScope,
    /// The user or group that receives the role.
    #[command(flatten)]
    pub subject: AccessSubject,
}

/// Arguments of `drover access revoke`.
#[derive(Debug, Args)]
pub struct AccessRevoke {
    /// ID of the member; see `drover access list`
    pub id: String,
    /// The scope of the revoked role.
    #[command(flatten)]
    pub scope: AccessScope,
}

/// Arguments of `drover access explain`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover access explain get pods --cluster berlin --namespace shop
  drover access explain delete deployments --cluster berlin --user ann
  drover access explain get certificates.cert-manager.io --cluster berlin
  drover access explain get /metrics --cluster berlin --everybody

The command evaluates only the roles of Drover. To check the RBAC rules of the cluster, use
kubectl auth can-i.")]
pub struct AccessExplain {
    /// Verb of the action, such as get, list or delete
    pub verb: String,
    /// Resource in the syntax of kubectl, such as pods, po, pods/log or deployments.apps; or a path
    /// such as /metrics
    pub resource: String,
    /// Name of the object [default: all objects]
    pub object: Option<String>,
    /// Name of the cluster
    #[arg(long, value_name = "NAME")]
    pub cluster: String,
    /// API group, such as apps, if RESOURCE does not contain the API group
    #[arg(long, value_name = "GROUP", default_value = "")]
    pub api_group: String,
    /// Namespace [default: all namespaces, and cluster-scoped objects]
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Name of the user [default: yourself]
    #[arg(long, value_name = "NAME", conflicts_with = "everybody")]
    pub user: Option<String>,
    /// List all users and groups that can perform the action
    #[arg(long)]
    pub everybody: bool,
    /// The output format.
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `drover project`.
#[derive(Debug, Args)]
pub struct ProjectArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: ProjectCommand,
}

/// Subcommands of `drover project`.
#[derive(Debug, Subcommand)]
pub enum ProjectCommand {
    /// Create a project in a cluster
    Create(ProjectCreate),
    /// List the projects that you can see
    List {
        /// Show only projects of this cluster
        #[arg(long, value_name = "NAME")]
        cluster: Option<String>,
        /// The output format.
        #[command(flatten)]
        output: Output,
    },
    /// Show a project
    Get {
        /// Name of the project
        name: String,
        /// The output format.
        #[command(flatten)]
        output: Output,
    },
    /// Change the display name, quotas and pod security level of a project
    Set(ProjectSet),
    /// Add a namespace to a project
    AddNamespace(ProjectAddNamespace),
    /// Remove a namespace from a project; the namespace stays in the cluster
    RemoveNamespace(ProjectRemoveNamespace),
    /// Delete a project; the project's namespaces stay in the cluster
    Delete(ProjectDelete),
}

/// Arguments of `drover project create`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover project create shop --cluster berlin --namespace shop --namespace shop-test")]
pub struct ProjectCreate {
    /// Name of the project, unique on the server
    pub name: String,
    /// Cluster that contains the project's namespaces
    #[arg(long, value_name = "NAME")]
    pub cluster: String,
    /// Namespace to create in the project; can be repeated
    #[arg(long = "namespace", value_name = "NAME")]
    pub namespaces: Vec<String>,
    /// Existing namespace to add to the project; can be repeated
    #[arg(long = "adopt", value_name = "NAME")]
    pub adopted: Vec<String>,
    /// Display name, quotas and pod security level.
    #[command(flatten)]
    pub limits: ProjectLimits,
}

/// Display name, quotas and pod security level of a project.
#[derive(Debug, Args)]
pub struct ProjectLimits {
    /// Display name of the project
    #[arg(long, value_name = "TEXT")]
    pub display_name: Option<String>,
    /// Description of the project
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Total quota of all namespaces of the project, such as requests.cpu=20; can be repeated
    #[arg(long = "quota", value_name = "RESOURCE=QUANTITY", value_parser = quantity)]
    pub quota: Vec<(String, String)>,
    /// Quota of each namespace of the project, such as requests.cpu=5; can be repeated
    #[arg(long = "namespace-quota", value_name = "RESOURCE=QUANTITY", value_parser = quantity)]
    pub namespace_quota: Vec<(String, String)>,
    /// Pod security level of the namespaces: privileged, baseline or restricted
    #[arg(long, value_name = "LEVEL", value_parser = pod_security)]
    pub pod_security: Option<PodSecurity>,
}

fn quantity(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=');
    let pair = pair.filter(|(resource, amount)| !resource.is_empty() && !amount.is_empty());
    pair.map(|(resource, amount)| (resource.to_owned(), amount.to_owned()))
        .ok_or_else(|| "write RESOURCE=QUANTITY, such as pods=50".to_owned())
}

fn pod_security(text: &str) -> Result<PodSecurity, String> {
    match text.to_ascii_lowercase().as_str() {
        "privileged" => Ok(PodSecurity::Privileged),
        "baseline" => Ok(PodSecurity::Baseline),
        "restricted" => Ok(PodSecurity::Restricted),
        _ => Err("write privileged, baseline or restricted".to_owned()),
    }
}

/// Arguments of `drover project set`.
#[derive(Debug, Args)]
pub struct ProjectSet {
    /// Name of the project
    pub name: String,
    /// The fields to change.
    #[command(flatten)]
    pub limits: ProjectLimits,
}

/// Arguments of `drover project add-namespace`.
#[derive(Debug, Args)]
pub struct ProjectAddNamespace {
    /// Name of the project
    pub project: String,
    /// Name of the namespace; the server creates the namespace unless --adopt is set
    pub namespace: String,
    /// Add an existing namespace to the project instead of creating a namespace
    #[arg(long)]
    pub adopt: bool,
}

/// Arguments of `drover project remove-namespace`.
#[derive(Debug, Args)]
pub struct ProjectRemoveNamespace {
    /// Name of the project
    pub project: String,
    /// Name of the namespace
    pub namespace: String,
}

/// Arguments of `drover project delete`.
#[derive(Debug, Args)]
pub struct ProjectDelete {
    /// Name of the project
    pub name: String,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}
