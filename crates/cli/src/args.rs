//! The arguments of the commands that call a server.

mod access;
mod audit;
mod bundles;
mod clusters;
mod connection;
mod fleet;
mod git;
mod history;
mod objects;
mod people;
mod plugin;
mod pods;
mod providers;
mod roles;
mod rollout;
mod search;
mod top;
mod views;

use clap::{Subcommand, ValueEnum};

pub use access::*;
pub use audit::*;
pub use bundles::*;
pub use clusters::*;
pub use connection::*;
pub use fleet::*;
pub use git::*;
pub use history::*;
pub use objects::*;
pub use people::*;
pub use plugin::*;
pub use pods::*;
pub use providers::*;
pub use roles::*;
pub use rollout::*;
pub use search::*;
pub use top::*;
pub use views::*;

/// The commands that call a server.
#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    /// Log in to a server and store the login
    Login(LoginArgs),
    /// Log out and delete the stored token
    Logout(LogoutArgs),
    /// Show the logged-in user, the server and the expiry time
    Whoami(WhoamiArgs),
    /// List the servers with a stored login, and select the default server
    Context(ContextArgs),
    /// Import, list and delete clusters, and print kubeconfigs
    Cluster(ClusterArgs),
    /// List objects of several clusters, and watch their changes
    Get(Box<GetArgs>),
    /// Search objects of several clusters by name, label and image
    Search(Box<SearchArgs>),
    /// Show the last versions of an object, with their users and changes
    History(Box<HistoryArgs>),
    /// Show the usage of CPU and memory in several clusters
    Top(Box<TopArgs>),
    /// Set and remove labels of objects in several clusters
    Label(Box<LabelArgs>),
    /// Print the logs of pods in several clusters
    Logs(Box<LogsArgs>),
    /// Run a command in a container
    Exec(Box<ExecArgs>),
    /// Forward local ports to a pod
    PortForward(Box<PortForwardArgs>),
    /// Grant roles in clusters and projects, and check permissions
    Access(AccessArgs),
    /// Create, change, list and delete roles
    Role(RoleArgs),
    /// Manage projects: sets of namespaces with members and quotas
    Project(ProjectArgs),
    /// Deploy git repositories to clusters
    Git(GitArgs),
    /// Show, stop and continue the rollout of a git repository
    Rollout(RolloutArgs),
    /// Compare bundles with the objects in the clusters
    Bundle(BundleArgs),
    /// Deploy local folders with Fleet's Bundles, and examine deployments
    Fleet(FleetArgs),
    /// Create, list and revoke API tokens
    Token(TokenArgs),
    /// List, save and delete saved views of the web UI
    View(ViewArgs),
    /// Manage users (for administrators)
    User(UserArgs),
    /// Manage identity providers (for administrators)
    Provider(ProviderArgs),
    /// List and change the settings of the server (for administrators)
    Setting(SettingArgs),
    /// Search the audit log (for administrators)
    Audit(Box<AuditArgs>),
    /// Print a short-lived token for kubectl (kubectl runs this command)
    Credential(CredentialArgs),
    /// Install the plugin `kubectl drover`
    Plugin(PluginArgs),
    /// Print the completion script of a shell
    Completion(CompletionArgs),
    /// Show the versions of this program and the server
    Version(VersionArgs),
}

/// A parser for command lines that contain only the commands of this crate.
#[cfg(test)]
#[derive(Debug, clap::Parser)]
#[command(name = "drover")]
pub(crate) struct ClientArgs {
    #[command(subcommand)]
    pub(crate) command: ClientCommand,
}

/// The output format of a list or an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Table with aligned columns
    #[default]
    Table,
    /// JSON with the schema of the REST API
    Json,
    /// YAML with the schema of the REST API
    Yaml,
}

/// The option that selects a [`Format`].
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Output {
    /// Format of the output
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub format: Format,
}

/// Arguments of `drover login`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  drover login https://drover.example.com:8443
  drover login localhost:8443 --username admin --ca-fingerprint SHA256:7F:…
  printf '%s\\n' \"$PASSWORD\" | drover login drover.example.com --username ci --password-stdin

The command trusts the server's certificate if the system's certificate authorities, --ca-file or
--ca-fingerprint confirm the certificate. If the certificate is not confirmed, the command shows the
fingerprint of the server's certificate authority and asks for confirmation. After the confirmation,
the command stores the certificate authority with the login.")]
pub struct LoginArgs {
    /// Address of the server, for example https://drover.example.com:8443 [default: the server of
    /// the current context]
    #[arg(value_name = "URL")]
    pub url: Option<ServerUrl>,
    /// Name of the user [default: the command asks for the name]
    #[arg(
        short,
        long,
        value_name = "NAME",
        env = "DROVER_USERNAME",
        hide_env_values = true
    )]
    pub username: Option<String>,
    /// Log in with this identity provider instead of a local password. OpenID Connect and GitHub
    /// need a browser, and an LDAP directory needs a user name and password
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Read the password from the first line of standard input
    #[arg(long)]
    pub password_stdin: bool,
    /// Read the new password from the next line of standard input, if the server requires a
    /// password change
    #[arg(long)]
    pub new_password_stdin: bool,
    /// Trust only the certificate authorities in this PEM file
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CA_FILE",
        hide_env_values = true
    )]
    pub ca_file: Option<std::path::PathBuf>,
    /// Trust the server's certificate authority if the authority's certificate has this SHA-256
    /// fingerprint
    #[arg(long, value_name = "SHA256:HEX")]
    pub ca_fingerprint: Option<String>,
    /// Name of the context to store [default: host and port of the server]
    #[arg(
        long,
        value_name = "NAME",
        env = "DROVER_CONTEXT",
        hide_env_values = true
    )]
    pub context: Option<String>,
    /// File that stores the logins [default: $XDG_CONFIG_HOME/drover/config.yaml]
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CONFIG",
        hide_env_values = true
    )]
    pub config: Option<std::path::PathBuf>,
    /// Timeout of each request to the server
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub request_timeout: DurationArg,
}

/// Arguments of `drover whoami`.
#[derive(Debug, clap::Args)]
pub struct WhoamiArgs {
    /// The output format.
    #[command(flatten)]
    pub output: Output,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}

/// Arguments of `drover context`.
#[derive(Debug, clap::Args)]
pub struct ContextArgs {
    /// File that stores the logins [default: $XDG_CONFIG_HOME/drover/config.yaml]
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CONFIG",
        hide_env_values = true,
        global = true,
        help_heading = "Connection"
    )]
    pub config: Option<std::path::PathBuf>,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: ContextCommand,
}

/// Arguments of `drover logout`.
#[derive(Debug, clap::Args)]
pub struct LogoutArgs {
    /// End all your sessions on the server, including sessions in browsers; API tokens and
    /// kubeconfig tokens stay valid
    #[arg(long)]
    pub everywhere: bool,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}

/// Subcommands of `drover context`.
#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// List the servers with a stored login
    List(Output),
    /// Select the server that commands call by default
    Use {
        /// Name of the context
        name: String,
    },
    /// Delete a context and the context's token from the login file; to end the session on the
    /// server, use `drover logout`
    Delete {
        /// Name of the context
        name: String,
    },
}

/// Arguments of `drover completion`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  source <(drover completion bash)
  drover completion zsh > \"${fpath[1]}/_drover\"
  drover completion fish > ~/.config/fish/completions/drover.fish

The script runs drover for each completion. drover completes commands and options, and reads the names of
clusters, kinds and objects from the server, with a short timeout.")]
pub struct CompletionArgs {
    /// Shell for which the command prints the script
    pub shell: clap_complete::Shell,
}

/// Arguments of `drover version`.
#[derive(Debug, clap::Args)]
pub struct VersionArgs {
    /// Print only the version of this program, without a request to the server
    #[arg(long)]
    pub client: bool,
    /// The output format.
    #[command(flatten)]
    pub output: Output,
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
}
