//! ImageScan: updates of image references in a git repository.

use k8s_openapi::api::core::v1::LocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::status::FleetCondition;
use super::wire::{fleet_kind, go_struct};

fleet_kind! {
    /// Updates of image references in a git repository.
    pub struct ImageScan = "ImageScan", "imagescans", NamespaceResourceScope {
        /// Desired state.
        "spec" spec: ImageScanSpec,
        /// Observed state.
        "status" status: Option<ImageScanStatus>,
    }
}

go_struct! {
    /// Desired state of an image scan.
    pub struct ImageScanSpec {
        /// Name of the marker in the files of the repository.
        tag_name: String,
        /// Name of the GitRepo.
        #[serde(rename = "gitrepoName")]
        git_repo_name: String,
        /// Name of the image.
        image: String,
        /// Interval of scans, a duration in Go's format.
        interval: String,
        /// Secret with the credential of the registry.
        secret_ref: Option<LocalObjectReference>,
        /// True to stop scans.
        suspend: bool,
        /// Choice of the tag.
        policy: ImagePolicyChoice,
    }

    /// Choice of a tag.
    pub struct ImagePolicyChoice {
        /// Choice by version.
        semver: Option<SemVerPolicy>,
        /// Choice by alphabetical order.
        alphabetical: Option<AlphabeticalPolicy>,
    }

    /// Choice by version.
    pub struct SemVerPolicy {
        @always {
            /// Semver constraint.
            range: String,
        }
    }

    /// Choice by alphabetical order.
    pub struct AlphabeticalPolicy {
        /// `asc` or `desc`.
        order: String,
    }

    /// Observed state of an image scan.
    pub struct ImageScanStatus {
        /// Conditions of the scan.
        conditions: Vec<FleetCondition>,
        /// Time of the last scan.
        last_scan_time: Option<Time>,
        /// The chosen image with its tag.
        latest_image: String,
        /// The chosen tag.
        latest_tag: String,
        /// Digest of the chosen image.
        latest_digest: String,
        /// Generation of the spec that the status describes.
        observed_generation: i64,
        /// Name of the image with its registry.
        canonical_image_name: String,
    }
}
