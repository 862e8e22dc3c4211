//! People.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use crate::ids::ProviderUid;

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
    /// May do everything, everywhere, whatever roles they have.
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
    /// Last successful login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_login_at: Option<Time>,
    /// Who the person is to identity providers; those who log in with a password only have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 16)))]
    pub identities: Vec<ProviderIdentity>,
    /// `Ready`: whether the person can work, or what to do first.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}

/// Who a person is to one provider, as that said last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProviderIdentity {
    /// Name of the AuthProvider, for people.
    pub provider: String,
    /// UID of the AuthProvider: what counts.
    pub provider_uid: ProviderUid,
    /// The person's id there, which stays the same for ever.
    pub id: String,
    /// What they type there to sign in.
    pub login: String,
    /// The groups that they are in; at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1000)))]
    pub groups: Vec<IdentityGroup>,
    /// How many further groups count nowhere, because their ids cannot stand in a group's name.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub groups_left_out: u32,
    /// When the provider last said who they are.
    pub confirmed_at: Time,
    /// What the provider said when it was asked last.
    pub state: IdentityState,
    /// Why it is not `Confirmed`, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024)))]
    pub message: Option<String>,
    /// Since when it is not `Confirmed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// A group of a person at their provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IdentityGroup {
    /// `drover:<provider>:<id>`: what roles are bound to.
    pub name: String,
    /// What people call it there.
    pub display_name: String,
}

/// What a provider said of a person when it was asked last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum IdentityState {
    /// It said who they are.
    Confirmed,
    /// It, or its list of who is allowed, said no: what stands on it ended.
    Refused,
    /// It said nothing that can be believed; what it said before counts for a bounded time.
    Unreachable,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands in a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
