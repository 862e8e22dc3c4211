//! GitRepo: a git repository whose folders become bundles.

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::options::CorrectDrift;
use super::status::StatusBase;
use super::target::GitTarget;
use super::wire::{fleet_kind, go_struct};

fleet_kind! {
    /// A git repository whose folders become bundles.
    pub struct GitRepo = "GitRepo", "gitrepos", NamespaceResourceScope {
        /// Desired state.
        "spec" spec: GitRepoSpec,
        /// Observed state.
        "status" status: Option<GitRepoStatus>,
    }
}

go_struct! {
    /// Desired state of a GitRepo.
    pub struct GitRepoSpec {
        /// URL of the repository.
        repo: String,
        /// Branch. The default is `master`.
        branch: String,
        /// Commit or tag. If set, the branch does not apply.
        revision: String,
        /// Namespace of all objects.
        target_namespace: String,
        /// Name of the Secret with the credential of the repository.
        client_secret_name: String,
        /// Name of the Secret with the credential of Helm repositories.
        helm_secret_name: String,
        /// Name of the Secret with the credentials of Helm repositories by path.
        helm_secret_name_for_paths: String,
        /// Regular expression of the URLs of Helm repositories that receive the credential.
        #[serde(rename = "helmRepoURLRegex")]
        helm_repo_url_regex: String,
        /// CA certificates in PEM format.
        #[serde(rename = "caBundle")]
        ca_bundle: Option<ByteString>,
        /// True to accept each TLS certificate.
        #[serde(rename = "insecureSkipTLSVerify")]
        insecure_skip_tls_verify: bool,
        /// Folders in the repository, with globs. The default is the root.
        paths: Vec<String>,
        /// True to stage new deployments without release.
        paused: bool,
        /// Service account in the clusters that agents impersonate.
        service_account: String,
        /// Clusters. The default is the cluster group `default`.
        targets: Vec<GitTarget>,
        /// Interval of polls, a duration in Go's format. The default is `15s`.
        polling_interval: Option<String>,
        /// A changed number deploys all bundles again.
        force_sync_generation: i64,
        /// Interval of image scans, a duration in Go's format.
        #[serde(rename = "imageScanInterval")]
        image_sync_interval: Option<String>,
        /// Author and message of commits of image scans.
        image_scan_commit: Option<CommitSpec>,
        /// True to keep the objects after the deletion of the GitRepo.
        keep_resources: bool,
        /// True to delete the namespaces after the deletion of the GitRepo.
        delete_namespace: bool,
        /// Correction of drift.
        correct_drift: Option<CorrectDrift>,
        /// True to update only after webhooks.
        disable_polling: bool,
        /// Name of the Secret with the address of an OCI registry that stores contents.
        #[serde(rename = "ociRegistrySecret")]
        oci_registry_secret: String,
        /// Name of the Secret with the key of webhooks.
        webhook_secret: String,
        /// Folders of bundles. If set, `paths` does not apply.
        bundles: Vec<BundlePath>,
    }

    /// A folder of a bundle.
    pub struct BundlePath {
        /// The folder.
        base: String,
        /// The fleet.yaml file, relative to `base`. The default is `fleet.yaml`.
        options: String,
    }

    /// Author and message of commits of image scans.
    pub struct CommitSpec {
        @always {
            /// Name of the author.
            author_name: String,
            /// E-mail address of the author.
            author_email: String,
        }
        /// Template of the message.
        message_template: String,
    }

    /// Observed state of a GitRepo.
    pub struct GitRepoStatus {
        @inline {
            /// The part that GitRepo and HelmOp have in common.
            base: StatusBase,
        }
        @always {
            /// Generation of the spec that the status describes.
            observed_generation: i64,
        }
        /// The `force_sync_generation` of the last update.
        update_generation: i64,
        /// The deployed commit.
        commit: String,
        /// Commit of the last webhook.
        webhook_commit: String,
        /// Time of the last webhook.
        last_webhook_time: Option<Time>,
        /// Commit of the last poll.
        polling_commit: String,
        /// State of the job that reads the repository.
        git_job_status: String,
        /// Time of the last image scan.
        last_synced_image_scan_time: Option<Time>,
        /// Time of the last poll.
        #[serde(rename = "lastPollingTriggered")]
        last_polling_time: Option<Time>,
    }
}
