//! Arguments of `drover token`, `drover user` and `drover setting`.

use clap::{Args, Subcommand};

use super::{Connection, DurationArg, Output};

/// Arguments of `drover token`.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: TokenCommand,
}

/// Subcommands of `drover token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create an API token and print the token once
    Create(TokenCreateArgs),
    /// List your tokens without secrets
    List(Output),
    /// Revoke a token; open requests with the token end within seconds
    Delete(TokenId),
}

/// Arguments of `drover token create`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover token create --description 'backup job' --cluster berlin --ttl 30d
  DROVER_SERVER=https://drover.example.com DROVER_TOKEN=drover_… drover cluster list")]
pub struct TokenCreateArgs {
    /// Description of the token
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Cluster for which the token is valid [default: all clusters that you can access]
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Lifetime of the token [default: the setting token-default-ttl, maximum: the setting
    /// token-max-ttl]
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<DurationArg>,
    /// The output format.
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `drover token delete`.
#[derive(Debug, Args)]
pub struct TokenId {
    /// ID of the token: the text between the underscores of the token
    pub id: String,
}

/// Arguments of `drover user`.
#[derive(Debug, Args)]
pub struct UserArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: UserCommand,
}

/// Subcommands of `drover user`.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Create a local user; the user must change the password at the first login
    Create(UserCreate),
    /// List the users
    List(Output),
    /// Show a user
    Get {
        /// The user to show.
        #[command(flatten)]
        user: UserName,
        /// The output format.
        #[command(flatten)]
        output: Output,
    },
    /// Disable a user; open requests of the user end within seconds
    Disable(UserName),
    /// Enable a disabled user
    Enable(UserName),
    /// Refresh the identities and groups of a user from the identity providers
    Refresh {
        /// The user to refresh.
        #[command(flatten)]
        user: UserName,
        /// The output format.
        #[command(flatten)]
        output: Output,
    },
    /// Move an identity from one user to another user, if both users belong to the same person
    Link(UserLink),
    /// Remove the identity of a provider from a user
    Unlink(UserUnlink),
    /// Change your password, or set the password of a different user
    Passwd(UserPassword),
    /// Revoke all tokens and sessions of a user
    RevokeTokens(UserRevokeTokens),
    /// Delete a user and all tokens of the user
    Delete(UserDelete),
}

/// The argument that selects a user by name.
#[derive(Debug, Args)]
pub struct UserName {
    /// Name of the user
    pub name: String,
}

/// Arguments of `drover user link`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
A person who logs in with two identity providers has two users until an administrator links the users:

  drover user link ann --from ann-2

After the link, logins with the identity of ann-2 are logins as ann. The server revokes sessions and
tokens that were created with the identity. The command prints the roles of ann-2 and does not move
the roles. If ann-2 then has no identity and no password, the server disables ann-2. The person must
have logged in with the provider within the last day.")]
pub struct UserLink {
    /// Name of the user that receives the identity
    pub name: String,
    /// Name of the user that has the identity
    #[arg(long, value_name = "NAME")]
    pub from: String,
    /// Identity provider [default: the only provider of --from]
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}

/// Arguments of `drover user unlink`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The server revokes sessions and tokens that were created with the identity. The next login with the
identity creates a new user. To prevent logins of a person, disable the user of the person.")]
pub struct UserUnlink {
    /// Name of the user
    pub name: String,
    /// Identity provider of the identity to remove
    #[arg(long, value_name = "NAME")]
    pub provider: String,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}

/// The source of a new password.
#[derive(Debug, Args)]
pub struct NewPassword {
    /// Read the new password from the next line of standard input
    #[arg(long, conflicts_with = "generate_password")]
    pub new_password_stdin: bool,
    /// Generate a random password and print the password on standard output
    #[arg(long)]
    pub generate_password: bool,
}

/// Arguments of `drover user create`.
#[derive(Debug, Args)]
pub struct UserCreate {
    /// User name for the login
    pub name: String,
    /// Display name of the user
    #[arg(long, value_name = "TEXT")]
    pub display_name: Option<String>,
    /// Make the user an administrator, with all permissions
    #[arg(long)]
    pub administrator: bool,
    /// The initial password. The command asks for the password if no password option is set.
    #[command(flatten)]
    pub password: NewPassword,
}

/// Arguments of `drover user passwd`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Without NAME, the command changes your own password and asks for the current password. With NAME, an
administrator sets the password of the user NAME, and the user must change the password at the next
login. With NAME, the command revokes all tokens of the user, including API tokens and kubeconfig
tokens, unless --keep-tokens is set.")]
pub struct UserPassword {
    /// User whose password the command sets [default: yourself]
    pub name: Option<String>,
    /// Read your current password from the first line of standard input
    #[arg(long, conflicts_with = "name")]
    pub password_stdin: bool,
    /// Revoke only the sessions of the user NAME; API and kubeconfig tokens stay valid
    #[arg(long, requires = "name")]
    pub keep_tokens: bool,
    /// The new password. The command asks for the password if no password option is set.
    #[command(flatten)]
    pub new: NewPassword,
}

/// Arguments of `drover user revoke-tokens`.
#[derive(Debug, Args)]
pub struct UserRevokeTokens {
    /// Name of the user
    pub name: String,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}

/// Arguments of `drover user delete`.
#[derive(Debug, Args)]
pub struct UserDelete {
    /// Name of the user
    pub name: String,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}

/// Arguments of `drover setting`.
#[derive(Debug, Args)]
pub struct SettingArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: SettingCommand,
}

/// Subcommands of `drover setting`.
#[derive(Debug, Subcommand)]
pub enum SettingCommand {
    /// List the settings with their effective values
    List(Output),
    /// Show a setting and its description
    Get(SettingName),
    /// Change a setting
    Set(SettingSet),
}

/// Arguments of `drover setting get`.
#[derive(Debug, Args)]
pub struct SettingName {
    /// Name of the setting
    pub name: String,
    /// The output format.
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `drover setting set`.
#[derive(Debug, Args)]
pub struct SettingSet {
    /// Name of the setting
    pub name: String,
    /// New value of the setting
    #[arg(required_unless_present = "default")]
    pub value: Option<String>,
    /// Reset the setting to the setting's default value
    #[arg(long, conflicts_with = "value")]
    pub default: bool,
}
