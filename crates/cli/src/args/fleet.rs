//! Arguments of `drover fleet`.

mod inspect;
mod render;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Connection;
pub use inspect::*;
pub use render::*;

/// Arguments of `drover fleet`.
#[derive(Debug, Args)]
pub struct FleetArgs {
    /// The server to call.
    #[command(flatten)]
    pub connection: Connection,
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: FleetCommand,
}

/// Subcommands of `drover fleet`.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Create or update the Bundles of local folders on the hub, or print the Bundles
    Apply(Box<FleetApply>),
    /// Print the BundleDeployments that a Bundle would have in the clusters of the hub
    Target(FleetTarget),
    /// Install the objects of a BundleDeployment in a cluster, or print them
    Deploy(FleetDeploy),
    /// Print the objects of the Bundles of local folders, as the agents render them
    Render(Box<FleetRender>),
    /// Check that the Bundles of local folders can be rendered for all their clusters
    Test(Box<FleetTest>),
    /// Show the changes that the Bundles of local folders would make in their clusters
    Diff(Box<FleetDiff>),
    /// Show the objects of BundleDeployments that differ from the bundle or are not ready
    #[command(name = "bundlediff")]
    BundleDiff(FleetBundleDiff),
    /// Print the state of Fleet's objects and the detected problems as JSON
    Monitor(FleetMonitor),
}

/// Arguments of `drover fleet apply`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  drover fleet apply shop deploy --targets-file targets.yaml
  drover fleet apply shop 'apps/*' --label env=test --paused
  drover fleet apply shop --driven-scan apps/web:prod.yaml apps/db
  drover fleet apply shop deploy -o - | kubectl apply -f -

The flags are the flags of Fleet's `fleet apply`. The current folder corresponds to the root of a
repository: files outside of the current folder are never read. The server does not delete Bundles of
this command; delete them with kubectl. A file for --targets-file contains the lists `targets` and
`targetRestrictions`. Without targets, a Bundle selects the cluster group \"default\".")]
pub struct FleetApply {
    /// The folders.
    #[command(flatten)]
    pub folder: FolderArgs,
    /// Write the Bundles as YAML to a file, or to standard output with `-`, without a request to the
    /// server
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Flags of Fleet that this command rejects.
    #[command(flatten)]
    pub rejected: RejectedFlags,
}

/// Local folders with bundles.
#[derive(Debug, Args)]
pub struct FolderArgs {
    /// First part of the names of the Bundles
    #[arg(value_name = "BUNDLE_NAME")]
    pub name: String,
    /// Folder below the current folder, with optional patterns; the command also finds the folders
    /// with a fleet.yaml below it [default: the current folder]
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Namespace of the Bundles on the hub
    #[arg(
        short,
        long,
        value_name = "NAME",
        env = "NAMESPACE",
        hide_env_values = true,
        default_value = "fleet-default"
    )]
    pub namespace: String,
    /// The options of the Bundles.
    #[command(flatten)]
    pub options: BundleFlags,
    /// The scan for folders.
    #[command(flatten)]
    pub scan: ScanFlags,
    /// The credentials for charts outside of the folders.
    #[command(flatten)]
    pub charts: ChartFlags,
}

/// The flags for the options of all Bundles.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is an independent flag of the command line"
)]
#[derive(Clone, Debug, Default, Args)]
pub struct BundleFlags {
    /// Label of the Bundles; comma-separated list; can be repeated
    #[arg(short, long = "label", value_name = "KEY=VALUE", value_delimiter = ',', value_parser = label)]
    pub labels: Vec<(String, String)>,
    /// YAML file with the targets of the Bundles
    #[arg(long, value_name = "FILE")]
    pub targets_file: Option<PathBuf>,
    /// Service account in the cluster that deploys the Bundles
    #[arg(short = 'a', long, value_name = "NAME", default_value = "")]
    pub service_account: String,
    /// Namespace in the cluster for all objects of the Bundles
    #[arg(long, value_name = "NAME", default_value = "")]
    pub target_namespace: String,
    /// Create paused Bundles, whose changes are not deployed
    #[arg(long)]
    pub paused: bool,
    /// Number that deploys the Bundles again when it changes
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub sync_generation: i64,
    /// Commit for the label fleet.cattle.io/commit [default: the commit of the current folder]
    #[arg(long, value_name = "COMMIT", env = "COMMIT", hide_env_values = true)]
    pub commit: Option<String>,
    /// Compress all files of the Bundles
    #[arg(short, long)]
    pub compress: bool,
    /// Keep the objects in the cluster after the deletion of a Bundle
    #[arg(long)]
    pub keep_resources: bool,
    /// Delete the namespace in the cluster after the deletion of a Bundle
    #[arg(long)]
    pub delete_namespace: bool,
    /// Revert changes of the objects in the cluster that Fleet did not make
    #[arg(long)]
    pub correct_drift: bool,
    /// Replace objects that cannot be reverted by a change (with --correct-drift)
    #[arg(long)]
    pub correct_drift_force: bool,
    /// Keep the records of failed corrections (with --correct-drift)
    #[arg(long)]
    pub correct_drift_keep_fail_history: bool,
}

/// The flags for the scan of folders.
#[derive(Clone, Debug, Args)]
pub struct ScanFlags {
    /// Create one Bundle for each PATH, without a search for further folders; PATH can name the file
    /// with the options: FOLDER:FILE
    #[arg(long)]
    pub driven_scan: bool,
    /// Separator between the folder and the file of a PATH (with --driven-scan)
    #[arg(long = "driven-scan-sep", value_name = "TEXT", default_value = ":")]
    pub driven_scan_separator: String,
}

/// The credentials and settings for Helm repositories and registries.
#[derive(Clone, Debug, Default, Args)]
pub struct ChartFlags {
    /// User name for Helm repositories and registries
    #[arg(
        long,
        value_name = "NAME",
        env = "HELM_USERNAME",
        hide_env_values = true,
        default_value = ""
    )]
    pub username: String,
    /// File with the password for --username
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// PEM file with the certificate authorities of Helm repositories and registries
    #[arg(long, value_name = "FILE")]
    pub cacerts_file: Option<PathBuf>,
    /// Regular expression for the addresses of the repositories that receive a credential
    #[arg(long, value_name = "EXPRESSION", default_value = "")]
    pub helm_repo_url_regex: String,
    /// YAML file with credentials for paths, in the format of the Secret helmSecretNameForPaths
    #[arg(long, value_name = "FILE")]
    pub helm_credentials_by_path_file: Option<PathBuf>,
    /// Use registries without TLS
    #[arg(long)]
    pub helm_basic_http: bool,
    /// Accept each certificate of Helm repositories and registries
    #[arg(long)]
    pub helm_insecure_skip_tls: bool,
}

/// Flags of `fleet apply` that `drover fleet apply` does not support.
#[derive(Clone, Debug, Default, Args)]
pub struct RejectedFlags {
    /// Not supported
    #[arg(short, long, hide = true)]
    file: Option<String>,
    /// Not supported
    #[arg(short, long, hide = true)]
    bundle_file: Option<String>,
    /// Not supported
    #[arg(long, hide = true)]
    kubeconfig: Option<String>,
    /// Not supported
    #[arg(long, hide = true)]
    oci_registry_secret: Option<String>,
    /// Not supported
    #[arg(long, hide = true)]
    imagescan_enabled: bool,
    /// Not supported
    #[arg(long, hide = true)]
    bundle_creation_max_concurrency: Option<String>,
    /// Not supported
    #[arg(long, hide = true)]
    ssh_privatekey_file: Option<String>,
}

impl RejectedFlags {
    /// Returns the first rejected flag on the command line, and the advice for it.
    pub fn first(&self) -> Option<(&'static str, &'static str)> {
        let given = [
            (
                self.file.is_some(),
                "--file",
                "use `kubectl apply` for a Bundle",
            ),
            (
                self.bundle_file.is_some(),
                "--bundle-file",
                "use --driven-scan and FOLDER:FILE",
            ),
            (
                self.kubeconfig.is_some(),
                "--kubeconfig",
                "use --context, or --server with --token-file",
            ),
            (
                self.oci_registry_secret.is_some(),
                "--oci-registry-secret",
                "Drover stores contents on the hub",
            ),
            (
                self.imagescan_enabled,
                "--imagescan-enabled",
                "remove imageScans from the fleet.yaml",
            ),
            (
                self.bundle_creation_max_concurrency.is_some(),
                "--bundle-creation-max-concurrency",
                "remove the flag",
            ),
            (
                self.ssh_privatekey_file.is_some(),
                "--ssh-privatekey-file",
                "the command reads no charts from git repositories: copy the chart into the folder, or use \
                 a GitRepo",
            ),
        ];
        let mut given = given.into_iter();
        given
            .find(|(is_given, ..)| *is_given)
            .map(|(_, flag, advice)| (flag, advice))
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some(("", _)) | None => Err("write KEY=VALUE".to_owned()),
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
    }
}
