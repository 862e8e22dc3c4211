//! `drover token`, `drover user` and `drover setting`.

use clap::{Args, Subcommand};

use super::{Connection, DurationArg, Output};

/// `drover token`.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
    /// What to do.
    #[command(subcommand)]
    pub command: TokenCommand,
}

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token for a program; it is shown this once
    Create(TokenCreateArgs),
    /// List your tokens, without their secrets
    List(Output),
    /// Revoke a token; what it holds open ends within seconds
    Delete(TokenId),
}

/// `drover token create`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover token create --description 'backup job' --cluster berlin --ttl 30d
  DROVER_SERVER=https://drover.example.com DROVER_TOKEN=drover_… drover cluster list")]
pub struct TokenCreateArgs {
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The one cluster it shall work on; everywhere you may if left out
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Its life; the setting token-default-ttl if left out, token-max-ttl at most
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<DurationArg>,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// A token by its id.
#[derive(Debug, Args)]
pub struct TokenId {
    /// Id of the token: the part between the underscores
    pub id: String,
}

/// `drover user`.
#[derive(Debug, Args)]
pub struct UserArgs {
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
    /// What to do.
    #[command(subcommand)]
    pub command: UserCommand,
}

/// What can be done with users.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Make a local user; the first login must change the password
    Create(UserCreate),
    /// List the users
    List(Output),
    /// Show one user
    Get {
        /// Which user.
        #[command(flatten)]
        user: UserName,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
    /// Let a user log in no more; what they hold open ends within seconds
    Disable(UserName),
    /// Let a disabled user log in again
    Enable(UserName),
    /// Ask a user's identity providers anew who they are and which groups they are in
    Refresh {
        /// Which user.
        #[command(flatten)]
        user: UserName,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
    /// Let an identity of another user's be this one's: they are one person
    Link(UserLink),
    /// Take an identity of a provider from a user
    Unlink(UserUnlink),
    /// Set a password: your own, or with a name another user's
    Passwd(UserPassword),
    /// Revoke all tokens of a user, sessions included
    RevokeTokens(UserRevokeTokens),
    /// Delete a user and all their tokens
    Delete(UserDelete),
}

/// A user by name.
#[derive(Debug, Args)]
pub struct UserName {
    /// Name of the user
    pub name: String,
}

/// `drover user link`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The same person through two providers is two users until an administrator links them:

  drover user link ann --from ann-2

lets whoever signs in as ann-2 sign in as ann from then on. What stood on that identity ends for
both. Roles of ann-2 are not moved, and are printed; if nobody can sign in as ann-2 any more it is
disabled. The provider must have said within a day who it is: let the person sign in first.")]
pub struct UserLink {
    /// Name of the user who gets it
    pub name: String,
    /// Name of the user who has it
    #[arg(long, value_name = "NAME")]
    pub from: String,
    /// Name of the identity's provider; the only one if left out
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// `drover user unlink`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
What stood on the identity ends. Whoever signs in with it then is a new user; to keep somebody out,
disable the user instead.")]
pub struct UserUnlink {
    /// Name of the user
    pub name: String,
    /// Name of the identity's provider
    #[arg(long, value_name = "NAME")]
    pub provider: String,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// Where a new password for somebody else comes from.
#[derive(Debug, Args)]
pub struct NewPassword {
    /// Read the new password from the next line of standard input
    #[arg(long, conflicts_with = "generate_password")]
    pub new_password_stdin: bool,
    /// Make a random password and print it on standard output
    #[arg(long)]
    pub generate_password: bool,
}

/// `drover user create`.
#[derive(Debug, Args)]
pub struct UserCreate {
    /// What they will type to log in
    pub name: String,
    /// What others will see
    #[arg(long, value_name = "TEXT")]
    pub display_name: Option<String>,
    /// Let them do everything, everywhere
    #[arg(long)]
    pub administrator: bool,
    /// Their first password; asked for if neither is given.
    #[command(flatten)]
    pub password: NewPassword,
}

/// `drover user passwd`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Without a name it changes your own password and asks for the present one. With a name an
administrator sets another user's, who must change it at the next login, and revokes all tokens of
that user, API and kubeconfig tokens included, unless --keep-tokens is given.")]
pub struct UserPassword {
    /// Name of the other user
    pub name: Option<String>,
    /// Read your present password from the first line of standard input
    #[arg(long, conflicts_with = "name")]
    pub password_stdin: bool,
    /// End the other user's sessions only: API and kubeconfig tokens stay valid
    #[arg(long, requires = "name")]
    pub keep_tokens: bool,
    /// The new password; asked for if neither is given.
    #[command(flatten)]
    pub new: NewPassword,
}

/// `drover user revoke-tokens`.
#[derive(Debug, Args)]
pub struct UserRevokeTokens {
    /// Name of the user
    pub name: String,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// `drover user delete`.
#[derive(Debug, Args)]
pub struct UserDelete {
    /// Name of the user
    pub name: String,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// `drover setting`.
#[derive(Debug, Args)]
pub struct SettingArgs {
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
    /// What to do.
    #[command(subcommand)]
    pub command: SettingCommand,
}

/// What can be done with settings.
#[derive(Debug, Subcommand)]
pub enum SettingCommand {
    /// List the settings, with what is in effect
    List(Output),
    /// Show one setting and what it does
    Get(SettingName),
    /// Change a setting
    Set(SettingSet),
}

/// A setting to show.
#[derive(Debug, Args)]
pub struct SettingName {
    /// Name of the setting
    pub name: String,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `drover setting set`.
#[derive(Debug, Args)]
pub struct SettingSet {
    /// Name of the setting
    pub name: String,
    /// The value
    #[arg(required_unless_present = "default")]
    pub value: Option<String>,
    /// Return to the default
    #[arg(long, conflicts_with = "value")]
    pub default: bool,
}
