//! Arguments of `drover git`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Connection, DurationArg, Output};

/// Arguments of `drover git`.
#[derive(Debug, Args)]
pub struct GitArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: GitCommand,
}

/// Subcommands of `drover git`.
#[derive(Debug, Subcommand)]
pub enum GitCommand {
    /// Deploy the folders of a git repository to clusters
    Add(Box<GitAdd>),
    /// List the GitRepos with their commits and states
    List(GitList),
    /// Show a GitRepo with its bundles and the causes of problems
    Get(GitGet),
    /// Read the repository now, and optionally deploy all bundles again
    Sync(GitSync),
    /// Stop the deployment of new commits; the deployed objects stay
    Pause(GitName),
    /// Continue the deployment of new commits
    Resume(GitResume),
    /// Delete a GitRepo and the objects that it deployed
    Delete(GitDelete),
}

/// The namespace of a GitRepo.
#[derive(Clone, Debug, Args)]
pub struct GitNamespace {
    /// Namespace of the GitRepo on the hub
    #[arg(short, long, value_name = "NAME", default_value = "fleet-default")]
    pub namespace: String,
}

/// The wait for the result of a command.
#[derive(Clone, Copy, Debug, Args)]
pub struct GitWait {
    /// Wait until the commit is deployed and ready in all clusters
    #[arg(long)]
    pub wait: bool,
    /// Timeout of --wait
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub timeout: DurationArg,
}

/// Arguments of `drover git add`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover git add shop https://git.example.com/shop.git --path deploy --all-clusters
  drover git add shop https://git.example.com/shop.git --clusters env=prod \\
    --username ci --password-file token.txt --wait
  drover git add shop git@git.example.com:shop.git --cluster berlin \\
    --ssh-key-file id_ed25519 --known-hosts-file known_hosts

The command stores a credential in the Secret NAME-git, in the namespace of the GitRepo. The commands
pause, resume, sync and delete change the GitRepo later; use kubectl to change other fields.

Exit codes with --wait: 0 if all clusters are ready, 1 if the repository or its files are not valid, and
7 after the timeout.")]
pub struct GitAdd {
    /// Name of the GitRepo, and first part of the names of its bundles
    pub name: String,
    /// Address of the repository: https://…, ssh://… or USER@HOST:PATH
    pub url: String,
    /// The namespace of the GitRepo.
    #[command(flatten)]
    pub namespace: GitNamespace,
    /// The commits to deploy.
    #[command(flatten)]
    pub source: GitSource,
    /// The clusters.
    #[command(flatten)]
    pub targets: GitTargets,
    /// The credential of the repository.
    #[command(flatten)]
    pub credential: GitCredential,
    /// The options of the deployment.
    #[command(flatten)]
    pub options: GitOptions,
    /// The wait for the deployment.
    #[command(flatten)]
    pub wait: GitWait,
}

/// The commits and folders that a GitRepo deploys.
#[derive(Debug, Default, Args)]
pub struct GitSource {
    /// Branch to deploy [default: main]
    #[arg(long, value_name = "NAME", conflicts_with = "revision")]
    pub branch: Option<String>,
    /// Tag or commit to deploy
    #[arg(long, value_name = "REVISION")]
    pub revision: Option<String>,
    /// Folder with the files to deploy, with optional patterns; can be repeated [default: the
    /// complete repository]
    #[arg(long = "path", value_name = "PATH")]
    pub paths: Vec<String>,
    /// Interval between two polls, for example 1m [default: 15s]
    #[arg(long, value_name = "DURATION", conflicts_with = "no_polling")]
    pub polling_interval: Option<DurationArg>,
    /// Read the repository only after webhooks and `drover git sync`
    #[arg(long)]
    pub no_polling: bool,
}

/// The clusters of a GitRepo.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Clusters")]
#[group(required = true, multiple = true)]
pub struct GitTargets {
    /// Name of a cluster; can be repeated
    #[arg(long = "cluster", value_name = "NAME")]
    pub clusters: Vec<String>,
    /// Select the clusters with these labels, for example env=prod or 'env in (prod,test)'; can be
    /// repeated
    #[arg(long = "clusters", value_name = "SELECTOR")]
    pub selectors: Vec<String>,
    /// Name of a ClusterGroup; can be repeated
    #[arg(long = "cluster-group", value_name = "NAME")]
    pub groups: Vec<String>,
    /// Select all clusters of the namespace
    #[arg(long, conflicts_with_all = ["clusters", "selectors", "groups"])]
    pub all_clusters: bool,
}

/// The credential of a repository.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Credential")]
pub struct GitCredential {
    /// Existing Secret of the type kubernetes.io/basic-auth or kubernetes.io/ssh-auth
    #[arg(long, value_name = "NAME", conflicts_with_all = ["username", "ssh_key_file"])]
    pub secret: Option<String>,
    /// User name for HTTPS
    #[arg(
        long,
        value_name = "NAME",
        requires = "password_file",
        conflicts_with = "ssh_key_file"
    )]
    pub username: Option<String>,
    /// File with the password or token for --username
    #[arg(long, value_name = "FILE", requires = "username")]
    pub password_file: Option<PathBuf>,
    /// File with the private key for SSH
    #[arg(long, value_name = "FILE", requires = "known_hosts_file")]
    pub ssh_key_file: Option<PathBuf>,
    /// File with the host keys of the SSH server, in the format of OpenSSH
    #[arg(long, value_name = "FILE", requires = "ssh_key_file")]
    pub known_hosts_file: Option<PathBuf>,
    /// PEM file with the certificate authorities of the git server
    #[arg(long, value_name = "FILE")]
    pub git_ca_file: Option<PathBuf>,
}

/// The options of the deployments of a GitRepo.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Deployment")]
pub struct GitOptions {
    /// Namespace in the clusters for all objects [default: the namespaces in the files]
    #[arg(long, value_name = "NAME", default_value = "")]
    pub target_namespace: String,
    /// Service account in the clusters that deploys the objects
    #[arg(long, value_name = "NAME", default_value = "")]
    pub service_account: String,
    /// Revert changes in the clusters that the repository does not contain
    #[arg(long)]
    pub correct_drift: bool,
    /// Keep the objects in the clusters after the deletion of the GitRepo
    #[arg(long)]
    pub keep_resources: bool,
    /// Do not deploy until `drover git resume`
    #[arg(long, conflicts_with = "wait")]
    pub paused: bool,
}

/// Arguments of `drover git list`.
#[derive(Debug, Args)]
pub struct GitList {
    /// The namespace of the GitRepos.
    #[command(flatten)]
    pub namespace: GitNamespace,
    /// List the GitRepos of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// The output format.
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `drover git get`.
#[derive(Debug, Args)]
pub struct GitGet {
    /// The GitRepo.
    #[command(flatten)]
    pub repo: GitName,
    /// The output format.
    #[command(flatten)]
    pub output: Output,
}

/// The name of a GitRepo.
#[derive(Debug, Args)]
pub struct GitName {
    /// Name of the GitRepo
    pub name: String,
    /// The namespace of the GitRepo.
    #[command(flatten)]
    pub namespace: GitNamespace,
}

/// Arguments of `drover git sync`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover git sync shop
  drover git sync shop --force --wait --timeout 5m

Without --force, the server reads the repository and deploys a new commit. With --force, the agents deploy
all bundles again, also without a new commit.")]
pub struct GitSync {
    /// The GitRepo.
    #[command(flatten)]
    pub repo: GitName,
    /// Deploy all bundles again
    #[arg(long)]
    pub force: bool,
    /// The wait for the deployment.
    #[command(flatten)]
    pub wait: GitWait,
}

/// Arguments of `drover git resume`.
#[derive(Debug, Args)]
pub struct GitResume {
    /// The GitRepo.
    #[command(flatten)]
    pub repo: GitName,
    /// The wait for the deployment.
    #[command(flatten)]
    pub wait: GitWait,
}

/// Arguments of `drover git delete`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The command also deletes the Secret NAME-git of `drover git add`. The agents delete the objects in the
clusters, unless the GitRepo has keepResources.")]
pub struct GitDelete {
    /// The GitRepo.
    #[command(flatten)]
    pub repo: GitName,
    /// Keep the objects in the clusters; the command waits until all agents have applied this option
    #[arg(long)]
    pub keep_resources: bool,
    /// Delete without a confirmation
    #[arg(short, long)]
    pub yes: bool,
    /// Wait until the hub contains no bundle of the GitRepo
    #[arg(long)]
    pub wait: bool,
    /// Timeout of --wait and --keep-resources
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub timeout: DurationArg,
}
