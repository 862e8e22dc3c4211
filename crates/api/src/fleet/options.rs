//! Options of a deployment: the part of a bundle that targets can customize.

use std::collections::BTreeMap;

use serde_json::Value;

use super::selector::LabelSelector;
use super::wire::go_struct;

go_struct! {
    /// Options of a deployment.
    pub struct BundleDeploymentOptions {
        /// Overlays of plain YAML.
        yaml: Option<YamlOptions>,
        /// Options of Kustomize.
        kustomize: Option<KustomizeOptions>,
        /// Namespace of objects that name no namespace.
        default_namespace: String,
        /// Namespace of all objects. Objects without a namespace are rejected.
        #[serde(rename = "namespace")]
        target_namespace: String,
        /// Options of Helm.
        helm: Option<HelmOptions>,
        /// Service account in the cluster that the agent impersonates.
        service_account: String,
        /// A changed number deploys the bundle again.
        force_sync_generation: i64,
        /// Differences that are not drift.
        diff: Option<DiffOptions>,
        /// True to keep the objects after the deletion of the bundle.
        keep_resources: bool,
        /// True to delete the namespace after the deletion of the bundle.
        delete_namespace: bool,
        /// Conditions that do not count for readiness.
        #[serde(rename = "ignore")]
        ignore_options: Option<IgnoreOptions>,
        /// Correction of drift.
        correct_drift: Option<CorrectDrift>,
        /// Labels of the namespace.
        namespace_labels: BTreeMap<String, String>,
        /// Annotations of the namespace.
        namespace_annotations: BTreeMap<String, String>,
        /// True to delete the CustomResourceDefinitions of the bundle with the bundle.
        #[serde(rename = "deleteCRDResources")]
        delete_crd_resources: bool,
        /// Secrets and ConfigMaps that Fleet copies from the bundle's namespace to the clusters.
        downstream_resources: Vec<DownstreamResource>,
        /// Objects of another bundle that this bundle may overwrite.
        overwrites: Vec<OverwrittenResource>,
        /// Labels that a target namespace must have.
        allowed_target_namespace_selector: Option<LabelSelector>,
    }

    /// Overlays of plain YAML.
    pub struct YamlOptions {
        /// Names of folders in `overlays/`. Later overlays win.
        overlays: Vec<String>,
    }

    /// Options of Kustomize.
    pub struct KustomizeOptions {
        /// Folder of the `kustomization.yaml`.
        dir: String,
    }

    /// Options of Helm.
    pub struct HelmOptions {
        /// Files with values, relative to the folder of the fleet.yaml.
        values_files: Vec<String>,
        /// Path, go-getter URL or OCI URL of the chart, or the chart's name in `repo`.
        chart: String,
        /// URL of a Helm repository.
        repo: String,
        /// Name of the release.
        release_name: String,
        /// Version of the chart, or a semver constraint.
        version: String,
        /// Seconds that the agent waits for the release. Zero means that the agent does not wait.
        timeout_seconds: i64,
        /// Values, an object.
        values: Option<Value>,
        /// Values whose texts are templates that render to YAML.
        template_values: BTreeMap<String, String>,
        /// ConfigMaps and Secrets in the cluster with values.
        values_from: Vec<ValuesFrom>,
        /// True to replace objects with changed immutable fields.
        force: bool,
        /// True to adopt objects that other programs created.
        take_ownership: bool,
        /// Number of release records that the agent keeps.
        max_history: i64,
        /// True to wait for Jobs too. The wait ends after `timeout_seconds`.
        wait_for_jobs: bool,
        /// True to roll back a failed upgrade.
        atomic: bool,
        /// True to use templates in values as plain text.
        disable_pre_process: bool,
        /// True to disable the template function `getHostByName` in charts.
        #[serde(rename = "disableDNS")]
        disable_dns: bool,
        /// True to accept values that violate the chart's schema.
        skip_schema_validation: bool,
        /// True to use the chart's dependencies as they are in the repository.
        disable_dependency_update: bool,
    }

    /// A ConfigMap or a Secret in the cluster with values.
    pub struct ValuesFrom {
        /// Key of a ConfigMap.
        config_map_key_ref: Option<ValuesKey>,
        /// Key of a Secret.
        secret_key_ref: Option<ValuesKey>,
    }

    /// A key of a ConfigMap or Secret in a cluster.
    pub struct ValuesKey {
        @always {
            /// Name of the object.
            name: String,
        }
        /// Namespace of the object. The default is the namespace of the deployment.
        namespace: String,
        /// Key of the data. The default is `values.yaml`.
        key: String,
    }

    /// Differences that are not drift.
    pub struct DiffOptions {
        /// Rules for objects.
        compare_patches: Vec<ComparePatch>,
    }

    /// Fields of an object that Fleet does not compare.
    pub struct ComparePatch {
        /// API version of the object. Empty matches each API version.
        api_version: String,
        /// Kind of the object.
        kind: String,
        /// Name of the object. Empty matches each name.
        name: String,
        /// Namespace of the object. Empty matches each namespace.
        namespace: String,
        /// JSON pointers (RFC 6901) of the fields.
        json_pointers: Vec<String>,
        /// Operations before the comparison.
        operations: Vec<Operation>,
    }

    /// An operation before a comparison.
    pub struct Operation {
        /// `remove` removes the field. `ignore` ignores the object.
        op: String,
        /// JSON pointer of the field.
        path: String,
        /// Value of the field.
        value: String,
    }

    /// Conditions that do not count for readiness.
    pub struct IgnoreOptions {
        /// Each entry maps the names of a condition's fields to values.
        conditions: Vec<BTreeMap<String, String>>,
    }

    /// Correction of drift.
    pub struct CorrectDrift {
        /// True to correct drift.
        enabled: bool,
        /// True to replace objects whose immutable fields changed.
        force: bool,
        /// True to keep the release records of failed corrections.
        keep_fail_history: bool,
    }

    /// A Secret or ConfigMap that Fleet copies from the bundle's namespace to the clusters.
    pub struct DownstreamResource {
        /// `Secret` or `ConfigMap`.
        kind: String,
        /// Name of the object.
        name: String,
    }

    /// An object of another bundle that this bundle may overwrite.
    pub struct OverwrittenResource {
        /// Name of the object.
        name: String,
        /// Namespace of the object.
        namespace: String,
        /// Kind of the object.
        kind: String,
    }
}
