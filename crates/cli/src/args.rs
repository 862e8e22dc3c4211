//! The arguments of the commands that call a server, and nothing of what the commands do.

mod access;
mod audit;
mod clusters;
mod connection;
mod people;
mod providers;
mod roles;

use clap::{Subcommand, ValueEnum};

pub use access::{
    AccessArgs, AccessCommand, AccessExplain, AccessGrant, AccessPlace, AccessRevoke,
    AccessSubject, ProjectAddNamespace, ProjectArgs, ProjectCommand, ProjectCreate, ProjectDelete,
    ProjectLimits, ProjectRemoveNamespace, ProjectSet,
};
pub use audit::{AuditArgs, AuditFormat};
pub use clusters::{
    ClusterArgs, ClusterCommand, ClusterDelete, ClusterImport, ClusterKubeconfig, ClusterName,
    CredentialArgs, CredentialKind,
};
pub use connection::{Connection, DurationArg, DurationArgError, ServerUrl, ServerUrlError};
pub use people::{
    NewPassword, SettingArgs, SettingCommand, SettingName, SettingSet, TokenArgs, TokenCommand,
    TokenCreateArgs, TokenId, UserArgs, UserCommand, UserCreate, UserDelete, UserLink, UserName,
    UserPassword, UserRevokeTokens, UserUnlink,
};
pub use providers::{
    ProviderArgs, ProviderCommand, ProviderCreate, ProviderDelete, ProviderName, ProviderTest,
};
pub use roles::{RoleArgs, RoleCommand, RoleCreate, RoleDelete, RoleName, RoleSet, RoleTyped};

/// The commands that call a server.
#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    /// Log in to a server and remember it
    Login(LoginArgs),
    /// End the login and forget its token
    Logout(LogoutArgs),
    /// Show who is logged in, where and until when
    Whoami(WhoamiArgs),
    /// List the servers that were logged in to, and choose between them
    Context(ContextArgs),
    /// Import clusters, list them, get their kubeconfigs
    Cluster(ClusterArgs),
    /// Give people roles in clusters and projects, and see who can do what
    Access(AccessArgs),
    /// Make, change and look at roles
    Role(RoleArgs),
    /// Make projects: sets of namespaces with members and quotas
    Project(ProjectArgs),
    /// Make and revoke tokens for programs
    Token(TokenArgs),
    /// Manage local users (administrators)
    User(UserArgs),
    /// Let people log in with identity providers
    Provider(ProviderArgs),
    /// Read and change the server's settings (administrators)
    Setting(SettingArgs),
    /// Read the audit log: who did what, where, and how it ended (administrators)
    Audit(Box<AuditArgs>),
    /// Hand kubectl a short-lived token (run by kubectl, from a kubeconfig)
    Credential(CredentialArgs),
    /// Print a completion script for a shell
    Completion(CompletionArgs),
    /// Show the versions of this program and of the server
    Version(VersionArgs),
}

/// A command line with the commands of this crate alone.
#[cfg(test)]
#[derive(Debug, clap::Parser)]
#[command(name = "drover")]
pub(crate) struct ClientArgs {
    #[command(subcommand)]
    pub(crate) command: ClientCommand,
}

/// How a list or a thing is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, for people
    #[default]
    Table,
    /// JSON, as the server's REST API has it
    Json,
    /// The same as YAML
    Yaml,
}

/// The choice of a [`Format`].
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Output {
    /// How to print
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub format: Format,
}

/// `drover login`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  drover login https://drover.example.com:8443
  drover login localhost:8443 --username admin --ca-fingerprint SHA256:7F:…
  printf '%s\\n' \"$PASSWORD\" | drover login drover.example.com --username ci --password-stdin

A server's certificate is trusted if the system's roots, --ca-file or --ca-fingerprint say so.
Without those, its authority's fingerprint is shown and asked about once, then remembered.")]
pub struct LoginArgs {
    /// Address of the server, for example https://drover.example.com:8443; the one of the chosen
    /// context if left out
    #[arg(value_name = "URL")]
    pub url: Option<ServerUrl>,
    /// Name of the user; asked for if left out
    #[arg(
        short,
        long,
        value_name = "NAME",
        env = "DROVER_USERNAME",
        hide_env_values = true
    )]
    pub username: Option<String>,
    /// Log in with this identity provider, instead of a password of Drover's own: in a browser, or
    /// with your name and password there if it is a directory
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Read the password from the first line of standard input
    #[arg(long)]
    pub password_stdin: bool,
    /// Read a new password from the next line of standard input, used if the server demands a
    /// change
    #[arg(long)]
    pub new_password_stdin: bool,
    /// Trust only the authorities in this PEM file
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CA_FILE",
        hide_env_values = true
    )]
    pub ca_file: Option<std::path::PathBuf>,
    /// Trust the server's authority if the SHA-256 of its certificate is this
    #[arg(long, value_name = "SHA256:HEX")]
    pub ca_fingerprint: Option<String>,
    /// Name under which to remember the server; its host and port if left out
    #[arg(
        long,
        value_name = "NAME",
        env = "DROVER_CONTEXT",
        hide_env_values = true
    )]
    pub context: Option<String>,
    /// Where logins are kept; $XDG_CONFIG_HOME/drover/config.yaml if left out
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CONFIG",
        hide_env_values = true
    )]
    pub config: Option<std::path::PathBuf>,
    /// How long to wait for an answer of the server
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub request_timeout: DurationArg,
}

/// `drover whoami`.
#[derive(Debug, clap::Args)]
pub struct WhoamiArgs {
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `drover context`.
#[derive(Debug, clap::Args)]
pub struct ContextArgs {
    /// Where logins are kept; $XDG_CONFIG_HOME/drover/config.yaml if left out
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_CONFIG",
        hide_env_values = true,
        global = true,
        help_heading = "Connection"
    )]
    pub config: Option<std::path::PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: ContextCommand,
}

/// `drover logout`.
#[derive(Debug, clap::Args)]
pub struct LogoutArgs {
    /// End all logins of yours on that server, in browsers and elsewhere; tokens that were made to
    /// outlive a login stay
    #[arg(long)]
    pub everywhere: bool,
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
}

/// What can be done with remembered servers.
#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// List the servers that were logged in to
    List(Output),
    /// Choose the server that commands talk to
    Use {
        /// Name of the context
        name: String,
    },
    /// Forget a server and its token; `drover logout` also ends the login there
    Delete {
        /// Name of the context
        name: String,
    },
}

/// `drover completion`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  source <(drover completion bash)
  drover completion zsh > \"${fpath[1]}/_drover\"
  drover completion fish > ~/.config/fish/completions/drover.fish")]
pub struct CompletionArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `drover version`.
#[derive(Debug, clap::Args)]
pub struct VersionArgs {
    /// Only this program's version; talks to no server
    #[arg(long)]
    pub client: bool,
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}
