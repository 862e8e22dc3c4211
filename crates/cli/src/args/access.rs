//! `drover access` and `drover project`.

use clap::{Args, Subcommand};
use drover_api::kinds::PodSecurity;

use super::{Connection, Output};

/// `drover access`.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
    /// What to do.
    #[command(subcommand)]
    pub command: AccessCommand,
}

/// What can be done with roles in clusters and projects.
#[derive(Debug, Subcommand)]
pub enum AccessCommand {
    /// List the roles that people can be given in clusters and projects
    Roles(Output),
    /// List who has which role in a cluster or project, or who has a global role
    List {
        /// Where.
        #[command(flatten)]
        place: AccessPlace,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
    /// Find who goes by a name, here or at an identity provider, before giving them a role
    People {
        /// Their name or login, in full; of an address, what stands before the @ will do
        name: String,
        /// Where they would be given a role.
        #[command(flatten)]
        place: AccessPlace,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
    /// Give somebody a role in a cluster or project, or a global one
    Grant(AccessGrant),
    /// Take a role away again; what it opened ends within seconds
    Revoke(AccessRevoke),
    /// Say who can do something in a cluster, and through which role and binding
    Explain(AccessExplain),
}

/// A cluster, a project, or all there is.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct AccessPlace {
    /// In this cluster
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// In this project
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// A global role: on the hub and in every cluster
    #[arg(long)]
    pub global: bool,
}

/// Somebody.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct AccessSubject {
    /// A person, by the name that they type to log in
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Everybody of a group: drover:PROVIDER:ID
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
}

/// `drover access grant`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover access grant cluster-viewer --cluster berlin --user ann
  drover access grant project-member --project shop --group drover:corp:developers
  drover access grant viewer --global --user ann

Nobody gives a role that allows more than they may do there themselves.")]
pub struct AccessGrant {
    /// Name of the role: see \"drover access roles\", and \"drover role list --global\"
    pub role: String,
    /// Where.
    #[command(flatten)]
    pub place: AccessPlace,
    /// To whom.
    #[command(flatten)]
    pub subject: AccessSubject,
}

/// `drover access revoke`.
#[derive(Debug, Args)]
pub struct AccessRevoke {
    /// Id of the member: see \"drover access list\"
    pub id: String,
    /// Where.
    #[command(flatten)]
    pub place: AccessPlace,
}

/// `drover access explain`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover access explain get pods --cluster berlin --namespace shop
  drover access explain delete deployments --cluster berlin --user ann
  drover access explain get certificates.cert-manager.io --cluster berlin
  drover access explain get /metrics --cluster berlin --everybody

What the cluster itself allows beside its roles of Drover is for the cluster to say: kubectl auth can-i")]
pub struct AccessExplain {
    /// Such as get, list or delete
    pub verb: String,
    /// As kubectl takes it: pods, po, pods/log, deployments.apps; or a path such as /metrics
    pub resource: String,
    /// Name of the object; all of them if left out
    pub object: Option<String>,
    /// Name of the cluster
    #[arg(long, value_name = "NAME")]
    pub cluster: String,
    /// API group, such as apps, if RESOURCE does not name it
    #[arg(long, value_name = "GROUP", default_value = "")]
    pub api_group: String,
    /// Namespace; all of them, and what is in none, if left out
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Somebody else; yourself if left out
    #[arg(long, value_name = "NAME", conflicts_with = "everybody")]
    pub user: Option<String>,
    /// Everybody who can
    #[arg(long)]
    pub everybody: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `drover project`.
#[derive(Debug, Args)]
pub struct ProjectArgs {
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
    /// What to do.
    #[command(subcommand)]
    pub command: ProjectCommand,
}

/// What can be done with projects.
#[derive(Debug, Subcommand)]
pub enum ProjectCommand {
    /// Make a project in a cluster
    Create(ProjectCreate),
    /// List the projects that you may see
    List {
        /// Of this cluster only
        #[arg(long, value_name = "NAME")]
        cluster: Option<String>,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
    /// Show one project
    Get {
        /// Name of the project
        name: String,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
    /// Change what a project is called and what its namespaces may use
    Set(ProjectSet),
    /// Add a namespace to a project
    AddNamespace(ProjectAddNamespace),
    /// Take a namespace out of a project; it stays in the cluster
    RemoveNamespace(ProjectRemoveNamespace),
    /// Delete a project; its namespaces stay in the cluster, and are nobody's
    Delete(ProjectDelete),
}

/// `drover project create`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover project create shop --cluster berlin --namespace shop --namespace shop-test")]
pub struct ProjectCreate {
    /// Its name, one of its kind on the server
    pub name: String,
    /// The cluster that its namespaces are in
    #[arg(long, value_name = "NAME")]
    pub cluster: String,
    /// A namespace that is made for it; may be repeated
    #[arg(long = "namespace", value_name = "NAME")]
    pub namespaces: Vec<String>,
    /// A namespace that exists and is taken over, never created; may be repeated
    #[arg(long = "adopt", value_name = "NAME")]
    pub adopted: Vec<String>,
    /// What it is called and may use.
    #[command(flatten)]
    pub limits: ProjectLimits,
}

/// What a project is called, and what its namespaces may use.
#[derive(Debug, Args)]
pub struct ProjectLimits {
    /// What people will call it
    #[arg(long, value_name = "TEXT")]
    pub display_name: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// What all its namespaces may use together, such as requests.cpu=20; may be repeated
    #[arg(long = "quota", value_name = "RESOURCE=QUANTITY", value_parser = quantity)]
    pub quota: Vec<(String, String)>,
    /// What each namespace may use, such as requests.cpu=5; may be repeated
    #[arg(long = "namespace-quota", value_name = "RESOURCE=QUANTITY", value_parser = quantity)]
    pub namespace_quota: Vec<(String, String)>,
    /// Which pods its namespaces take
    #[arg(long, value_name = "LEVEL", value_parser = pod_security)]
    pub pod_security: Option<PodSecurity>,
}

fn quantity(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=');
    let pair = pair.filter(|(resource, amount)| !resource.is_empty() && !amount.is_empty());
    pair.map(|(resource, amount)| (resource.to_owned(), amount.to_owned()))
        .ok_or_else(|| "must be a resource, \"=\" and a quantity, such as pods=50".to_owned())
}

fn pod_security(text: &str) -> Result<PodSecurity, String> {
    match text.to_ascii_lowercase().as_str() {
        "privileged" => Ok(PodSecurity::Privileged),
        "baseline" => Ok(PodSecurity::Baseline),
        "restricted" => Ok(PodSecurity::Restricted),
        _ => Err("must be privileged, baseline or restricted".to_owned()),
    }
}

/// `drover project set`.
#[derive(Debug, Args)]
pub struct ProjectSet {
    /// Name of the project
    pub name: String,
    /// What it is called and may use; what is left out stays.
    #[command(flatten)]
    pub limits: ProjectLimits,
}

/// `drover project add-namespace`.
#[derive(Debug, Args)]
pub struct ProjectAddNamespace {
    /// Name of the project
    pub project: String,
    /// Name of the namespace, which is created unless --adopt is set
    pub namespace: String,
    /// Take over a namespace that exists; Drover does not create it
    #[arg(long)]
    pub adopt: bool,
}

/// `drover project remove-namespace`.
#[derive(Debug, Args)]
pub struct ProjectRemoveNamespace {
    /// Name of the project
    pub project: String,
    /// Name of the namespace
    pub namespace: String,
}

/// `drover project delete`.
#[derive(Debug, Args)]
pub struct ProjectDelete {
    /// Name of the project
    pub name: String,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}
