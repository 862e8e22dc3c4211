//! Credentials of users.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use crate::ids::{ClusterUid, ProviderUid, UserUid};

/// A credential of one user, named by its id; only a hash of the secret is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(
    feature = "crd",
    kube(
        group = "management.drover.dev",
        version = "v1alpha1",
        kind = "Token",
        status = "TokenStatus",
        shortname = "dtok",
        category = "drover",
        derive = "PartialEq",
        doc = "A credential of one user.",
        validation = Rule::new("self.spec == oldSelf.spec")
            .message("a token cannot be changed; delete it and make a new one"),
        printcolumn(name = "User", type_ = "string", json_path = ".spec.userName"),
        printcolumn(name = "Purpose", type_ = "string", json_path = ".spec.purpose"),
        printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.cluster.name"),
        printcolumn(name = "Valid", type_ = "string", json_path = ".status.conditions[?(@.type==\"Valid\")].status"),
        printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Valid\")].reason"),
        printcolumn(name = "Expires", type_ = "string", json_path = ".spec.expiresAt"),
        printcolumn(name = "Last Used", type_ = "date", json_path = ".status.lastUsedAt"),
        printcolumn(name = "Description", type_ = "string", json_path = ".spec.description", priority = "1"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
    )
)]
#[serde(rename_all = "camelCase")]
pub struct TokenSpec {
    /// Name of the user, for people.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
    pub user_name: String,
    /// UID of the user: what counts.
    pub user_uid: UserUid,
    /// What it was made for.
    pub purpose: TokenPurpose,
    /// `sha256:` and 64 hexadecimal digits.
    #[cfg_attr(feature = "crd", schemars(length(max = 71)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.matches('^sha256:[0-9a-f]{64}$')")
        .message("must be \"sha256:\" and 64 lower-case hexadecimal digits: the server makes these objects, people do not")))]
    pub hash: String,
    /// If set, the token works on this cluster only, and nowhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterScope>,
    /// If set, the token stands on what this provider says of the user, and falls with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<TokenProvider>,
    /// Free text of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub description: Option<String>,
    /// From then on it is refused.
    pub expires_at: Time,
    /// If set, it is refused as well once nobody has used it for so many seconds; exact to some
    /// minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 60)))]
    pub idle_seconds: Option<u32>,
}

/// What a token was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TokenPurpose {
    /// `drover login`.
    Session,
    /// A browser that is signed in; works as its cookie only.
    Browser,
    /// Good for nothing but setting a new password.
    PasswordChange,
    /// A person's program.
    Api,
    /// Lies in a kubeconfig.
    Kubeconfig,
    /// Handed to kubectl by `drover credential`, short-lived.
    Credential,
}

/// The one cluster that a token works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClusterScope {
    /// Name of the cluster, for people.
    pub name: String,
    /// UID of the cluster: what counts.
    pub uid: ClusterUid,
}

/// The identity provider that a token stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenProvider {
    /// Name of the AuthProvider, for people.
    pub name: String,
    /// UID of the AuthProvider: what counts.
    pub uid: ProviderUid,
}

/// What the server knows of a token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct TokenStatus {
    /// Last use, exact to some minutes: it is written in batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
    /// `Valid`: whether it is accepted, or why not.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
