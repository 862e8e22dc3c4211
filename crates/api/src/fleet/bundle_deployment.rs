//! BundleDeployment: a bundle in one cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::bundle::{BundleHelmOptions, BundleRef};
use super::options::{BundleDeploymentOptions, CorrectDrift};
use super::status::{FleetCondition, ModifiedStatus, NonReadyStatus, ResourceCounts};
use super::wire::{fleet_kind, go_struct};

fleet_kind! {
    /// A bundle in one cluster. The object is in the cluster's namespace.
    pub struct BundleDeployment = "BundleDeployment", "bundledeployments", NamespaceResourceScope {
        /// Desired state.
        "spec" spec: BundleDeploymentSpec,
        /// Observed state.
        "status" status: Option<BundleDeploymentStatus>,
    }
}

go_struct! {
    /// Desired state of a bundle deployment. The staged fields become the applied fields when the
    /// rollout reaches the cluster.
    pub struct BundleDeploymentSpec {
        /// True to ignore changes.
        paused: bool,
        /// Options of the next deployment.
        staged_options: BundleDeploymentOptions,
        /// ID of the next deployment.
        #[serde(rename = "stagedDeploymentID")]
        staged_deployment_id: String,
        /// Options of the current deployment.
        options: BundleDeploymentOptions,
        /// ID of the current deployment.
        #[serde(rename = "deploymentID")]
        deployment_id: String,
        /// Bundles that must be ready first.
        depends_on: Vec<BundleRef>,
        /// Correction of drift.
        correct_drift: Option<CorrectDrift>,
        /// True if the contents are in an OCI registry.
        #[serde(rename = "ociContents")]
        oci_contents: bool,
        /// Access to the chart of a HelmOp.
        helm_chart_options: Option<BundleHelmOptions>,
        /// Hash of the Helm values in the Secret with the deployment's name.
        values_hash: String,
        /// A changed number means that copied Secrets or ConfigMaps changed.
        downstream_resources_generation: i64,
        /// True outside of the deployment window.
        off_schedule: bool,
        /// True while the Secret with the Helm values is missing.
        waiting_for_values: bool,
    }

    /// An object that a deployment created.
    pub struct BundleDeploymentResource {
        /// Kind of the object.
        kind: String,
        /// API version of the object.
        api_version: String,
        /// Namespace of the object.
        namespace: String,
        /// Name of the object.
        name: String,
        /// Time of creation.
        created_at: Option<Time>,
    }

    /// Observed state of a bundle deployment.
    pub struct BundleDeploymentStatus {
        /// The conditions `Installed`, `Deployed`, `Monitored` and `Ready`.
        conditions: Vec<FleetCondition>,
        /// ID of the applied deployment.
        #[serde(rename = "appliedDeploymentID")]
        applied_deployment_id: String,
        /// Helm release, `namespace/name:revision`.
        release: String,
        /// True if all objects are ready.
        ready: bool,
        /// True if no object is modified.
        non_modified: bool,
        /// Up to 10 objects that are not ready.
        non_ready_status: Vec<NonReadyStatus>,
        /// Up to 10 modified objects.
        modified_status: Vec<ModifiedStatus>,
        /// True if a list is truncated.
        incomplete_state: bool,
        /// Texts for lists.
        display: BundleDeploymentDisplay,
        /// The `force_sync_generation` that the agent applied.
        sync_generation: Option<i64>,
        /// Objects of the deployment.
        resources: Vec<BundleDeploymentResource>,
        /// Numbers of objects by state.
        resource_counts: ResourceCounts,
        /// The generation of copied Secrets and ConfigMaps that the agent applied.
        downstream_resources_generation: i64,
    }

    /// Texts for lists of bundle deployments.
    pub struct BundleDeploymentDisplay {
        /// Status or message of the condition `Deployed`.
        deployed: String,
        /// Status or message of the condition `Monitored`.
        monitored: String,
        /// State of the deployment.
        state: String,
    }
}
