//! ClusterRegistrationToken: permission to register a cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use crate::ids::ClusterUid;

/// Permission to register the key of one cluster, once. The server deletes the object after the
/// registration.
///
/// The object's name is the token's ID. The object contains only a hash of the secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "ClusterRegistrationToken",
        status = "ClusterRegistrationTokenStatus",
        shortname = "dcrt",
        category = "drover",
        derive = "PartialEq",
        doc = "Permission to register one cluster, once.",
        validation = Rule::new("self.spec == oldSelf.spec")
            .message("a registration token cannot be changed; delete it and create a new one"),
        printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
        printcolumn(name = "Usable", type_ = "string", json_path = ".status.conditions[?(@.type==\"Usable\")].status"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Usable\")].reason"),
        printcolumn(name = "Expires", type_ = "string", json_path = ".spec.expiresAt"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRegistrationTokenSpec {
    /// Name of the Cluster that the token can register, for display.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63)))]
    pub cluster_name: String,
    /// UID of the Cluster that the token can register. The UID, not the name, identifies the
    /// Cluster.
    pub cluster_uid: ClusterUid,
    /// SHA-256 of the secret: `sha256:` and 64 hexadecimal digits.
    #[cfg_attr(feature = "crd", schemars(length(max = 71)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.matches('^sha256:[0-9a-f]{64}$')")
        .message("must be \"sha256:\" and 64 lower-case hexadecimal digits: only the server creates these objects")))]
    pub hash: String,
    /// Time after which the server rejects the registration token.
    pub expires_at: Time,
}

/// Observed state of a registration token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterRegistrationTokenStatus {
    /// The condition `Usable`. True if a cluster can register with the token. Otherwise, the
    /// message contains the reason.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
