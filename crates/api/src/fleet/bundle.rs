//! Bundle: resources, options and targets of one application.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};

use super::options::BundleDeploymentOptions;
use super::selector::LabelSelector;
use super::status::{BundleSummary, FleetCondition};
use super::target::BundleTargetRestriction;
use super::wire::{Empty, fleet_kind, go_struct};

fleet_kind! {
    /// Resources, options and targets of one application.
    pub struct Bundle = "Bundle", "bundles", NamespaceResourceScope {
        /// Desired state.
        "spec" spec: BundleSpec,
        /// Observed state.
        "status" status: Option<BundleStatus>,
    }
}

/// The rule for several entries of `targetCustomizations` that match one cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetCustomizationMode {
    /// No mode is set: the first entry applies.
    #[default]
    #[serde(rename = "")]
    Unset,
    /// The first entry applies.
    FirstMatch,
    /// All entries apply, in order.
    AllMatches,
}

impl Empty for TargetCustomizationMode {
    fn is_empty(&self) -> bool {
        *self == Self::Unset
    }
}

go_struct! {
    /// Desired state of a bundle.
    pub struct BundleSpec {
        @inline {
            /// Options of all targets.
            options: BundleDeploymentOptions,
        }
        /// True to stage new deployments without release.
        paused: bool,
        /// Order and limits of the rollout.
        rollout_strategy: Option<RolloutStrategy>,
        /// Files of the bundle.
        resources: Vec<BundleResource>,
        /// The rule for several customizations that match one cluster.
        target_customization_mode: TargetCustomizationMode,
        /// Targets, customizations first.
        targets: Vec<BundleTarget>,
        /// Permitted clusters.
        target_restrictions: Vec<BundleTargetRestriction>,
        /// Bundles that must be ready first.
        depends_on: Vec<BundleRef>,
        /// ID of the contents in an OCI registry.
        contents_id: String,
        /// Options of a HelmOp. If set, the agent pulls the chart.
        helm_op_options: Option<BundleHelmOptions>,
        /// Hash of the Helm values.
        values_hash: String,
    }

    /// A bundle that must be ready first.
    pub struct BundleRef {
        /// Name of the bundle.
        name: String,
        /// Selector of the labels of bundles.
        selector: Option<LabelSelector>,
        /// States that are sufficient. The default is `Ready`.
        accepted_states: Vec<String>,
    }

    /// A file of a bundle.
    pub struct BundleResource {
        /// Path of the file in the bundle.
        name: String,
        /// Content of the file.
        content: String,
        /// Empty for plain text, or `base64+gz`.
        encoding: String,
    }

    /// Order and limits of a rollout.
    pub struct RolloutStrategy {
        /// Number or percentage of clusters that may be unavailable. The default is 100 %.
        max_unavailable: Option<IntOrString>,
        /// Number or percentage of partitions that may be unavailable. The default is 0.
        max_unavailable_partitions: Option<IntOrString>,
        /// Number or percentage of clusters in an automatic partition. The default is 25 %.
        auto_partition_size: Option<IntOrString>,
        /// Number of clusters from which on partitions are automatic. The default is 200.
        auto_partition_threshold: Option<i64>,
        /// Number of deployments that one reconciliation creates. The default is 50.
        max_new: Option<i64>,
        /// Partitions of clusters.
        partitions: Vec<Partition>,
    }

    /// Clusters that a rollout updates together.
    pub struct Partition {
        /// Name of the partition.
        name: String,
        /// Number or percentage of clusters of the partition that may be unavailable.
        max_unavailable: Option<IntOrString>,
        /// Name of one cluster.
        cluster_name: String,
        /// Selector of cluster labels.
        cluster_selector: Option<LabelSelector>,
        /// Name of one cluster group.
        cluster_group: String,
        /// Selector of the labels of cluster groups.
        cluster_group_selector: Option<LabelSelector>,
    }

    /// Clusters of a bundle, and options for these clusters.
    pub struct BundleTarget {
        @inline {
            /// Options for these clusters. `namespaceLabels` and `namespaceAnnotations` are always
            /// in the fields of the target.
            options: BundleDeploymentOptions,
        }
        /// Name of the target.
        name: String,
        /// Name of one cluster.
        cluster_name: String,
        /// Selector of cluster labels.
        cluster_selector: Option<LabelSelector>,
        /// Name of one cluster group.
        cluster_group: String,
        /// Selector of the labels of cluster groups.
        cluster_group_selector: Option<LabelSelector>,
        /// True to exclude these clusters.
        do_not_deploy: bool,
        /// Additional labels of the namespace.
        namespace_labels: BTreeMap<String, String>,
        /// Additional annotations of the namespace.
        namespace_annotations: BTreeMap<String, String>,
    }

    /// Access of agents to the chart of a HelmOp.
    pub struct BundleHelmOptions {
        /// Name of the Secret with the credential.
        #[serde(rename = "helmOpSecretName")]
        secret_name: String,
        /// True to accept each TLS certificate.
        #[serde(rename = "helmOpInsecureSkipTLSVerify")]
        insecure_skip_tls_verify: bool,
        /// CA certificates in PEM format.
        #[serde(rename = "helmOpCABundle")]
        ca_bundle: Option<ByteString>,
    }

    /// Observed state of a bundle.
    pub struct BundleStatus {
        @always {
            /// Number of unavailable clusters.
            unavailable: i64,
            /// Number of unavailable partitions.
            unavailable_partitions: i64,
            /// Number of clusters that may be unavailable.
            max_unavailable: i64,
            /// Number of partitions that may be unavailable.
            max_unavailable_partitions: i64,
            /// Generation of the spec that the status describes.
            observed_generation: i64,
        }
        /// Conditions of the bundle.
        conditions: Vec<FleetCondition>,
        /// Numbers of deployments by state.
        summary: BundleSummary,
        /// Number of deployments that the last reconciliation created.
        newly_created: i64,
        /// State of each partition.
        #[serde(rename = "partitions")]
        partition_status: Vec<PartitionStatus>,
        /// Texts for lists.
        display: BundleDisplay,
        /// Objects of the bundle.
        resource_key: Vec<ResourceKey>,
        /// Address of the contents in an OCI registry.
        #[serde(rename = "ociReference")]
        oci_reference: String,
        /// Hash of the bundle's resources.
        #[serde(rename = "resourcesSha256Sum")]
        resources_sha256_sum: String,
    }

    /// An object of a bundle.
    pub struct ResourceKey {
        /// Kind of the object.
        kind: String,
        /// API version of the object.
        api_version: String,
        /// Namespace of the object.
        namespace: String,
        /// Name of the object.
        name: String,
    }

    /// Texts for lists of bundles.
    pub struct BundleDisplay {
        /// Number of ready clusters and of all clusters, `3/4`.
        ready_clusters: String,
        /// The worst state.
        state: String,
    }

    /// State of a partition.
    pub struct PartitionStatus {
        /// Name of the partition.
        name: String,
        /// Number of clusters.
        count: i64,
        /// Number of clusters that may be unavailable.
        max_unavailable: i64,
        /// Number of unavailable clusters.
        unavailable: i64,
        /// Numbers of deployments by state.
        summary: BundleSummary,
    }
}
