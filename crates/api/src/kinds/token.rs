//! Token: a credential of a user.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Serialize};

use crate::ids::{ClusterUid, ProviderUid, UserUid};

/// A credential of one user. The object's name is the token's ID. The object contains only a hash
/// of the secret.
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
            .message("a token cannot be changed; delete it and create a new one"),
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
    /// Name of the user to whom the token belongs, for display.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
    pub user_name: String,
    /// UID of the user to whom the token belongs. The UID, not the name, identifies the user.
    pub user_uid: UserUid,
    /// The purpose of the token. The purpose limits the routes that accept the token.
    pub purpose: TokenPurpose,
    /// SHA-256 of the secret: `sha256:` and 64 hexadecimal digits.
    #[cfg_attr(feature = "crd", schemars(length(max = 71)))]
    #[cfg_attr(feature = "crd", x_kube(validation = Rule::new("self.matches('^sha256:[0-9a-f]{64}$')")
        .message("must be \"sha256:\" and 64 lower-case hexadecimal digits: only the server creates these objects")))]
    pub hash: String,
    /// The cluster to which the token is limited. If unset, the token is valid for all clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterScope>,
    /// The identity provider that confirmed the user's identity for this token. The token becomes
    /// invalid when the user loses this identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<TokenProvider>,
    /// Description of the token, as free text from the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 256)))]
    pub description: Option<String>,
    /// Time after which the server rejects the token.
    pub expires_at: Time,
    /// Idle timeout in seconds. The server rejects a token that was unused for this time. The
    /// server measures the time with an accuracy of a few minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 60)))]
    pub idle_seconds: Option<u32>,
}

/// The purpose of a token. The purpose limits the routes that accept the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TokenPurpose {
    /// A session of `drover login`.
    Session,
    /// A session of a browser. The token is valid only as the session cookie.
    Browser,
    /// A sign-in of a user who must set a new password. The token is valid only for setting the
    /// password.
    PasswordChange,
    /// A token that a user creates for a program.
    Api,
    /// A token that a kubeconfig file contains.
    Kubeconfig,
    /// A short-lived token that `drover credential` returns to kubectl.
    Credential,
}

/// The cluster to which a token is limited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClusterScope {
    /// Name of the cluster, for display.
    pub name: String,
    /// UID of the cluster. The UID, not the name, identifies the cluster.
    pub uid: ClusterUid,
}

/// The identity provider that confirmed the user's identity for a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenProvider {
    /// Name of the AuthProvider, for display.
    pub name: String,
    /// UID of the AuthProvider. The UID, not the name, identifies the AuthProvider.
    pub uid: ProviderUid,
}

/// Observed state of a token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase")]
pub struct TokenStatus {
    /// Time of the last use, with an accuracy of a few minutes, because the server writes the times
    /// in batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
    /// The condition `Valid`. True if the server accepts the token. Otherwise, the message contains
    /// the reason.
    #[serde(default)]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = ListMerge::Map(vec!["type".into()])))]
    pub conditions: Vec<Condition>,
}
