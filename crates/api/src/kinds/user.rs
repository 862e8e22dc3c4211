//! People.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

/// A person; the object's name is what they type to log in.
///
/// A local user's password hash lies in a Secret of the hub's `drover-system`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "User",
        status = "UserStatus",
        shortname = "dusr",
        category = "drover",
        derive = "PartialEq",
        doc = "A person who uses Drover.",
        validation = Rule::new("self.metadata.name.matches('^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$')")
            .message("a user's name has 1 to 63 characters: lower-case letters, digits, \".\" and \"-\", with a letter or digit at both ends"),
        printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
        printcolumn(name = "Enabled", type_ = "boolean", json_path = ".spec.enabled"),
        printcolumn(name = "Administrator", type_ = "boolean", json_path = ".spec.administrator"),
        printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
        printcolumn(name = "Last Login", type_ = "date", json_path = ".status.lastLoginAt"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[serde(rename_all = "camelCase")]
pub struct UserSpec {
    /// What others see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub display_name: Option<String>,
    /// A disabled user's tokens and open streams end within seconds.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// May do everything, everywhere, until roles exist.
    #[serde(default)]
    pub administrator: bool,
    /// The next login may do nothing but set a new password.
    #[serde(default)]
    pub must_change_password: bool,
}

const fn yes() -> bool {
    true
}

/// What the server knows of a user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct UserStatus {
    /// Last successful login with a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_login_at: Option<Time>,
    /// `Ready`: whether the person can work, or what to do first.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
