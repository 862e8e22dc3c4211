//! Arguments of `drover provider`.

use clap::{Args, Subcommand};

use super::{Connection, Output};

/// Arguments of `drover provider`.
#[derive(Debug, Args)]
pub struct ProviderArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: ProviderCommand,
}

/// Subcommands of `drover provider`.
#[derive(Debug, Subcommand)]
pub enum ProviderCommand {
    /// Create an identity provider from a file
    Create(ProviderCreate),
    /// List the identity providers and their state
    List(Output),
    /// Show an identity provider, without its secret
    Get {
        /// The identity provider to show.
        #[command(flatten)]
        provider: ProviderName,
        /// The output format.
        #[command(flatten)]
        output: Output,
    },
    /// Test the connection to an enabled or disabled identity provider
    Test(ProviderTest),
    /// Allow logins with an identity provider
    Enable(ProviderName),
    /// Reject logins with an identity provider, and end the open requests of the provider's users
    /// within seconds
    Disable(ProviderName),
    /// Delete an identity provider; the provider's users can no longer log in
    Delete(ProviderDelete),
}

/// The argument that selects an identity provider by name.
#[derive(Debug, Args)]
pub struct ProviderName {
    /// Name of the identity provider
    pub name: String,
}

/// Arguments of `drover provider create`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The file contains the spec of an AuthProvider without clientSecret and bindPassword, for example:
  displayName: GitHub
  github:
    clientId: Ov23liA1b2C3d4E5f6G7
Users can log in with the provider after you enable the provider. Test the provider before you enable
the provider.")]
pub struct ProviderCreate {
    /// Name of the identity provider; the names of the provider's groups contain this name
    pub name: String,
    /// YAML or JSON file with the spec of the identity provider
    #[arg(short, long, value_name = "FILE")]
    pub file: std::path::PathBuf,
    /// Read the secret from the first line of standard input [default: the command asks for the
    /// secret]
    #[arg(long)]
    pub secret_stdin: bool,
    /// Create the identity provider without a secret, as a public OpenID Connect client
    #[arg(long, conflicts_with = "secret_stdin")]
    pub public: bool,
}

/// Arguments of `drover provider test`.
#[derive(Debug, Args)]
pub struct ProviderTest {
    /// Name of the identity provider
    pub name: String,
    /// Test the login of this LDAP user in addition to the connection; the command asks for the
    /// password
    #[arg(long, value_name = "LOGIN")]
    pub login: Option<String>,
    /// Read the password from the first line of standard input
    #[arg(long, requires = "login")]
    pub password_stdin: bool,
    /// The output format.
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `drover provider delete`.
#[derive(Debug, Args)]
pub struct ProviderDelete {
    /// Name of the identity provider
    pub name: String,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
}
