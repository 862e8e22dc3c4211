//! `drover agent`, and the options of every container image that `drover` writes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `drover agent`.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: AgentCommand,
}

/// What can be done with agents.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Write the agent's container image, to push to a registry or to load on the nodes
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

Then tell the clusters where to pull it from:
  drover setting set agent-image-registry registry.example.com")]
pub struct AgentImage {
    /// Which image, and where to.
    #[command(flatten)]
    pub image: ImageOptions,
}

/// What is the same of every image.
#[derive(Debug, Args)]
pub struct ImageOptions {
    /// How to print: one tar that is an OCI layout and a Docker archive
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT",
        default_value = "tar"
    )]
    pub format: ImageFormat,
    /// File to write; standard output if left out
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The agent program, static, for Linux; drover-agent beside this program if left out
    #[arg(
        long,
        value_name = "FILE",
        env = "DROVER_AGENT_BINARY",
        hide_env_values = true
    )]
    pub agent_binary: Option<PathBuf>,
    /// Name and tag that the image is loaded under; the program's name and version if left out
    #[arg(long, value_name = "NAME:TAG")]
    pub name: Option<String>,
}

/// How an image is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImageFormat {
    /// An OCI layout with the manifest of `docker save` beside it
    Tar,
}

/// `drover server image`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Both programs have to be static, as those in the server's own image are.

Examples:
  drover server image --file drover.tar
  skopeo copy oci-archive:drover.tar docker://registry.example.com/drover:VERSION
  drover server image | ctr --namespace k8s.io images import -

The chart charts/drover runs it.")]
pub struct ServerImage {
    /// Which image, and where to.
    #[command(flatten)]
    pub image: ImageOptions,
}
