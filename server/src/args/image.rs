//! `drover agent image`, `drover server image` and their common options.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `drover agent`.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: AgentCommand,
}

/// Subcommands of `drover agent`.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Write the agent's container image to a file that you push to a registry or load on nodes
    Image(AgentImage),
}

/// `drover agent image`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover agent image --output tar --file drover-agent.tar
  skopeo copy oci-archive:drover-agent.tar docker://registry.example.com/drover-agent:VERSION
  drover agent image --output tar | ctr --namespace k8s.io images import -
  drover agent image --output tar | docker load

To set the registry from which clusters pull the agent's image:
  drover setting set agent-image-registry registry.example.com")]
pub struct AgentImage {
    /// The options for the name, the content and the output file of the agent's image.
    #[command(flatten)]
    pub image: ImageOptions,
}

/// The common options of all images.
#[derive(Debug, Args)]
pub struct ImageOptions {
    /// Format of the output
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT",
        default_value = "tar"
    )]
    pub format: ImageFormat,
    /// File to which the command writes the image [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Statically linked agent program for Linux; the folder must also contain drover-node-agent
    /// [default: drover-agent in the folder of this program]
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_AGENT_BINARY",
        hide_env_values = true
    )]
    pub agent_binary: Option<PathBuf>,
    /// Name and tag of the image [default: the name and version of the program]
    #[arg(long, value_name = "NAME:TAG")]
    pub name: Option<String>,
}

/// The format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImageFormat {
    /// Tar file that is both an OCI layout and a Docker archive
    Tar,
}

/// `drover server image`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The server's program and the agent's program must be statically linked.

Examples:
  drover server image --file drover.tar
  skopeo copy oci-archive:drover.tar docker://registry.example.com/drover:VERSION
  drover server image | ctr --namespace k8s.io images import -

The Helm chart charts/drover runs the image.")]
pub struct ServerImage {
    /// The options for the name, the content and the output file of the server's image.
    #[command(flatten)]
    pub image: ImageOptions,
}
