//! User: an account of a person in Drover.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use crate::ids::ProviderUid;

/// A user. The object's name is the login name.
///
/// A Secret in the hub's namespace `drover-system` contains the password hash of a local user.
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
        doc = "A user of Drover.",
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
    /// Name to display. The default is the login name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub display_name: Option<String>,
    /// False to disable the user. The server then rejects the user's tokens, and closes the user's
    /// open streams within seconds.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// True for an administrator, who has all permissions regardless of roles.
    #[serde(default)]
    pub administrator: bool,
    /// True if the user must set a new password at the next login.
    #[serde(default)]
    pub must_change_password: bool,
}

const fn yes() -> bool {
    true
}

/// Observed state of a user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct UserStatus {
    /// Time of the last successful login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_login_at: Option<Time>,
    /// The user's identities at identity providers. Empty for a user with a local password only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 16)))]
    pub identities: Vec<ProviderIdentity>,
    /// The condition `Ready`. True if the user can sign in. Otherwise, the message contains the
    /// next step.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}

/// A user's identity at one provider, from the provider's last response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProviderIdentity {
    /// Name of the AuthProvider, for display.
    pub provider: String,
    /// UID of the AuthProvider. The UID, not the name, identifies the AuthProvider.
    pub provider_uid: ProviderUid,
    /// The user's ID at the provider. The ID never changes.
    pub id: String,
    /// The user's login name at the provider, for display.
    pub login: String,
    /// The user's groups at the provider, at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1000)))]
    pub groups: Vec<IdentityGroup>,
    /// The number of groups that Drover ignores, because the groups' IDs are not valid in the names
    /// of groups.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub groups_left_out: u32,
    /// Time at which the provider last confirmed the identity.
    pub confirmed_at: Time,
    /// The result of the last request to the provider.
    pub state: IdentityState,
    /// The reason for a `state` other than `Confirmed`, for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024)))]
    pub message: Option<String>,
    /// Time of the change from `Confirmed` to a different `state`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// A group of which a user is a member, according to the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IdentityGroup {
    /// Name of the group in bindings: `drover:<provider>:<id>`.
    pub name: String,
    /// Name of the group at the provider.
    pub display_name: String,
}

/// The result of the last request to a provider about a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum IdentityState {
    /// The provider confirmed the user's identity, and the user is allowed to sign in.
    Confirmed,
    /// The provider rejected the user, or the user is not in the list of allowed users. The server
    /// has ended the sessions and tokens that depend on the identity.
    Refused,
    /// The provider did not respond, or its response is invalid. The previous confirmation remains
    /// valid for a limited time.
    Unreachable,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
