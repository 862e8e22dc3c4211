//! `drover provider`.

use clap::{Args, Subcommand};

use super::{Connection, Output};

/// `drover provider`.
#[derive(Debug, Args)]
pub struct ProviderArgs {
    /// Which server.
    #[command(flatten)]
    pub connection: Connection,
    /// What to do.
    #[command(subcommand)]
    pub command: ProviderCommand,
}

/// What can be done with identity providers.
#[derive(Debug, Subcommand)]
pub enum ProviderCommand {
    /// Make an identity provider from a file
    Create(ProviderCreate),
    /// List the identity providers, with whether they work
    List(Output),
    /// Show one identity provider, without its secret
    Get {
        /// Which provider.
        #[command(flatten)]
        provider: ProviderName,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
    /// Try an identity provider, whether it is enabled or not
    Test(ProviderTest),
    /// Let people log in with it
    Enable(ProviderName),
    /// Let nobody log in with it; what its people hold open ends within seconds
    Disable(ProviderName),
    /// Delete an identity provider; its people cannot log in any more
    Delete(ProviderDelete),
}

/// An identity provider by name.
#[derive(Debug, Args)]
pub struct ProviderName {
    /// Name of the identity provider
    pub name: String,
}

/// `drover provider create`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The file holds an AuthProvider's spec, without clientSecret and bindPassword, such as:
  displayName: GitHub
  github:
    clientId: Ov23liA1b2C3d4E5f6G7
Nobody logs in with it before it is enabled: test it first.")]
pub struct ProviderCreate {
    /// Name of the identity provider, which becomes a part of its groups' names
    pub name: String,
    /// File with its spec, YAML or JSON
    #[arg(short, long, value_name = "FILE")]
    pub file: std::path::PathBuf,
    /// Read its secret from the first line of standard input; asked for if left out
    #[arg(long)]
    pub secret_stdin: bool,
    /// It has no secret: a public client of OpenID Connect
    #[arg(long, conflicts_with = "secret_stdin")]
    pub public: bool,
}

/// `drover provider test`.
#[derive(Debug, Args)]
pub struct ProviderTest {
    /// Name of the identity provider
    pub name: String,
    /// Log in as somebody of a directory, too; the password is asked for
    #[arg(long, value_name = "LOGIN")]
    pub login: Option<String>,
    /// Read the password from the first line of standard input
    #[arg(long, requires = "login")]
    pub password_stdin: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `drover provider delete`.
#[derive(Debug, Args)]
pub struct ProviderDelete {
    /// Name of the identity provider
    pub name: String,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}
