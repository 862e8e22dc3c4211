//! Setting: one configurable value of the server.

use serde::{Deserialize, Serialize};

/// One configurable value of the server. The object's name is the name of the setting. The crate
/// `drover-access` defines all settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "Setting",
        status = "SettingStatus",
        shortname = "dset",
        category = "drover",
        derive = "PartialEq",
        doc = "A setting of the server.",
        validation = Rule::new("self.metadata.name in ['agent-image', 'agent-image-pull-policy', 'agent-image-registry', 'groups-refresh', 'kubeconfig-token-ttl', 'log-filter', 'provider-grace', 'server-url', 'session-idle-ttl', 'session-ttl', 'token-default-ttl', 'token-max-ttl']")
            .message("no setting has this name: \"drover setting list\" shows all settings"),
        printcolumn(name = "Value", type_ = "string", json_path = ".spec.value"),
        printcolumn(name = "In Effect", type_ = "string", json_path = ".status.inEffect"),
        printcolumn(
            name = "Problem",
            type_ = "string",
            json_path = ".status.conditions[?(@.type==\"Valid\")].message",
            priority = "1"
        ),
        printcolumn(
            name = "Age",
            type_ = "date",
            json_path = ".metadata.creationTimestamp"
        )
    )
)]
#[serde(rename_all = "camelCase")]
pub struct SettingSpec {
    /// The configured value. The default is in effect while the value is empty or invalid.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(length(max = 4096)))]
    pub value: String,
}

/// Observed state of a setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct SettingStatus {
    /// The value in effect.
    #[serde(default)]
    pub in_effect: String,
    /// The condition `Valid`. True if the value is valid. Otherwise, the message contains the
    /// reason and the next step.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition>,
}
