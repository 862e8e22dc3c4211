//! HelmOp: a chart that agents pull.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::bundle::BundleSpec;
use super::status::StatusBase;
use super::wire::{fleet_kind, go_struct};

fleet_kind! {
    /// A chart that agents pull.
    pub struct HelmOp = "HelmOp", "helmops", NamespaceResourceScope {
        /// Desired state.
        "spec" spec: HelmOpSpec,
        /// Observed state.
        "status" status: Option<HelmOpStatus>,
    }
}

go_struct! {
    /// Desired state of a HelmOp.
    pub struct HelmOpSpec {
        @inline {
            /// The bundle.
            bundle: BundleSpec,
        }
        /// Labels of the bundle.
        labels: BTreeMap<String, String>,
        /// Interval of polls for new versions, a duration in Go's format.
        polling_interval: Option<String>,
        /// Name of the Secret with the credential of the chart's registry.
        helm_secret_name: String,
        /// True to accept each TLS certificate.
        #[serde(rename = "insecureSkipTLSVerify")]
        insecure_skip_tls_verify: bool,
    }

    /// Observed state of a HelmOp.
    pub struct HelmOpStatus {
        @inline {
            /// The part that GitRepo and HelmOp have in common.
            base: StatusBase,
        }
        /// Time of the last poll.
        #[serde(rename = "lastPollingTriggered")]
        last_polling_time: Option<Time>,
        /// Version of the chart.
        version: String,
    }
}
