//! Request and response bodies of the REST API under `/v1`. The body of every error is a
//! `metav1.Status`.
//!
//! `GET /v1/openapi.json` lists the routes with their bodies. The crate `drover-rest` declares the
//! routes with the permissions that they require.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};

use crate::kinds::{
    AgentStatus, ClusterScope, ClusterSpec, ClusterStatus, ComponentHealth, IdentityGroup,
    IdentityState, NodeCount, PodCount, TokenPurpose,
};

/// A page of objects, ordered by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    /// The objects of this page.
    pub items: Vec<T>,
    /// Value for the query parameter `continue` in the request for the next page. Absent on the
    /// last page.
    #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<String>,
}

macro_rules! wire {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident : $type:ty,)* }) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(rename_all = "camelCase")]
        $(#[$meta])*
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }
    };
}

/// Default of boolean fields that are true unless the client sets them to false.
fn yes() -> bool {
    true
}

mod access;
mod audit;
mod kubeconfig;
mod provider;
mod rights;
mod role;
mod server;
mod sign_in;

pub use access::*;
pub use audit::*;
pub use kubeconfig::*;
pub use provider::*;
pub use rights::*;
pub use role::*;
pub use server::*;
pub use sign_in::*;

/// A secret in a request or response body. Its debug output hides the value.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the secret value.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

wire! {
    /// A new token. Its secret is in this response only.
    IssuedToken {
        /// The token: `drover_<id>_<secret>`.
        token: Secret,
        /// The properties of the token, without its secret.
        metadata: TokenView,
    }
}
wire! {
    /// A request of an administrator to set a user's password. The user must set a new password at
    /// the next login.
    #[serde(deny_unknown_fields)]
    PasswordReset {
        /// The new password: 12 to 512 characters.
        new: Secret,
        /// True to revoke all tokens of the user. False to end the sessions only: API tokens and
        /// kubeconfig tokens stay valid.
        #[serde(default = "yes")]
        #[cfg_attr(feature = "openapi", schema(default = true))]
        revoke_tokens: bool,
    }
}
wire! {
    /// A token without its secret.
    TokenView {
        /// The ID: the part of the token between the underscores.
        id: String,
        /// Name of the token's user.
        username: String,
        /// The purpose of the token. It limits the routes that accept the token.
        purpose: TokenPurpose,
        /// The cluster that the token is limited to. Absent for a token without a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<ClusterScope>,
        /// Name of the identity provider that confirmed the user's identity for this token. The
        /// token is invalid without this identity. Absent for a token that does not depend on a
        /// provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// Description of the token, as free text from the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Time of creation.
        created_at: Timestamp,
        /// Expiry time.
        expires_at: Timestamp,
        /// Time of the last use, accurate to a few minutes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_used_at: Option<Timestamp>,
    }
}
wire! {
    /// A request to create a token of the caller.
    #[serde(deny_unknown_fields)]
    TokenCreate {
        /// The purpose: `Api`, `Kubeconfig` or `Credential`.
        purpose: TokenPurpose,
        /// Name of the cluster that the token is limited to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
        /// Description of the token, as free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Time to live in seconds, at least 60. The default and the maximum are settings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
    }
}
wire! {
    /// A user.
    UserView {
        /// The login name.
        name: String,
        /// UID of the User object.
        uid: String,
        /// The name for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// False if the user is disabled and cannot sign in.
        enabled: bool,
        /// True if the user is an administrator, who has all permissions.
        administrator: bool,
        /// True if the user must set a new password at the next login.
        must_change_password: bool,
        /// Time of creation.
        created_at: Timestamp,
        /// Time of the last login.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_login_at: Option<Timestamp>,
        /// The user's identities at identity providers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        identities: Vec<IdentityView>,
        /// The caller's permissions for this user.
        #[serde(default)]
        rights: UserRights,
    }
}
wire! {
    /// A user's identity at an identity provider, from the provider's last response.
    IdentityView {
        /// ID of the identity: the UID of the provider.
        id: String,
        /// Name of the provider.
        provider: String,
        /// The user's login name at the provider.
        login: String,
        /// The user's groups at the provider.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        groups: Vec<IdentityGroup>,
        /// The number of groups that Drover ignores, because their IDs are not valid in a group's
        /// name.
        #[serde(default)]
        groups_left_out: u32,
        /// Time at which the provider last confirmed the identity.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        confirmed_at: Timestamp,
        /// The result of the last request to the provider.
        state: IdentityState,
        /// The reason, if `state` is not `Confirmed`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    }
}
/// Maximum age of a provider's confirmation of an identity that moves to a different user. After a
/// longer time, the provider can have assigned the login to a different person.
pub const MAX_CONFIRMATION_AGE: SignedDuration = SignedDuration::from_hours(24);

wire! {
    /// A request to move the identity of another user to this user, because both are the same
    /// person.
    #[serde(deny_unknown_fields)]
    UserLink {
        /// Name of the user who has the identity now.
        from: String,
        /// Name of the identity's provider. The client can omit the name if the user has only one
        /// identity.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
    }
}
wire! {
    /// The result of moving an identity to another user.
    UserLinked {
        /// The user who now has the identity.
        user: UserView,
        /// The user who had the identity. The server disables this user if no method to sign in
        /// remains.
        former: UserView,
        /// Roles that remain bound to the user who had the identity.
        roles_left: Vec<HeldRole>,
    }
}
wire! {
    /// A role that is bound to a user by name. A role without a cluster and a project applies on
    /// the hub and in all clusters.
    HeldRole {
        /// Name of the role.
        role: String,
        /// Name of the cluster in which the role is bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
        /// Name of the project in which the role is bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
    }
}
wire! {
    /// A request to create a local user. The user must set a new password at the first login.
    #[serde(deny_unknown_fields)]
    UserCreate {
        /// The login name.
        name: String,
        /// The name for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// The initial password: 12 to 512 characters.
        password: Secret,
        /// True to create an administrator, who has all permissions.
        #[serde(default)]
        administrator: bool,
    }
}
wire! {
    /// A change of a user. Absent fields do not change.
    #[serde(deny_unknown_fields)]
    UserPatch {
        /// False to disable the user: the user's tokens are refused, and open streams end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enabled: Option<bool>,
        /// The name for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// True to make the user an administrator, who has all permissions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        administrator: Option<bool>,
    }
}
wire! {
    /// A managed cluster.
    ClusterView {
        /// Name of the Cluster object.
        name: String,
        /// UID of the Cluster object.
        uid: String,
        /// Description of the cluster, as free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Labels of the Cluster object.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        labels: BTreeMap<String, String>,
        /// Time of creation.
        created_at: Timestamp,
        /// True while the cluster is being deleted.
        #[serde(default)]
        deleting: bool,
        /// Conditions of the types Ready, Connected, Registered, APIServerReady, AccessApplied and
        /// AgentUpToDate.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        conditions: Vec<Condition>,
        /// Version of the cluster's API server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kubernetes_version: Option<String>,
        /// Numbers of all nodes and of ready nodes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodes: Option<NodeCount>,
        /// True if the cluster runs the server's hub.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hosts_hub: bool,
        /// Names of nodes whose Ready condition is not true, at most 20.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_ready_nodes: Vec<String>,
        /// Numbers of failing and unschedulable pods.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pods: Option<PodCount>,
        /// Sum of the nodes' capacity, by resource name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        capacity: BTreeMap<String, String>,
        /// Sum of the nodes' allocatable resources, by resource name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        allocatable: BTreeMap<String, String>,
        /// Sum of the pods' requests, by resource name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        requests: BTreeMap<String, String>,
        /// Sum of the nodes' usage, by resource name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        usage: BTreeMap<String, String>,
        /// Health of the cluster's components.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        components: Vec<ComponentHealth>,
        /// Version and rollout of the cluster's agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentStatus>,
        /// Time of the server's last contact with the cluster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_seen: Option<Timestamp>,
        /// The caller's permissions in the cluster.
        #[serde(default)]
        rights: ClusterRights,
    }
}
impl ClusterView {
    /// Returns the view of a Cluster object for a caller with these permissions.
    pub fn of(
        meta: ObjectMeta,
        spec: ClusterSpec,
        status: Option<ClusterStatus>,
        rights: ClusterRights,
    ) -> Self {
        let status = status.unwrap_or_default();
        let created = meta.creation_timestamp;
        Self {
            name: meta.name.unwrap_or_default(),
            uid: meta.uid.unwrap_or_default(),
            description: spec.description,
            labels: meta.labels.unwrap_or_default(),
            created_at: created.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
            deleting: meta.deletion_timestamp.is_some(),
            conditions: status.conditions,
            kubernetes_version: status.kubernetes_version,
            nodes: status.nodes,
            hosts_hub: status.hosts_hub,
            not_ready_nodes: status.not_ready_nodes,
            pods: status.pods,
            capacity: status.capacity,
            allocatable: status.allocatable,
            requests: status.requests,
            usage: status.usage,
            components: status.components,
            agent: status.agent,
            last_seen: status.last_seen.map(|time| time.0),
            rights,
        }
    }
}
wire! {
    /// A request to create a cluster.
    #[serde(deny_unknown_fields)]
    ClusterCreate {
        /// Name of the Cluster object.
        name: String,
        /// Description of the cluster, as free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Labels of the Cluster object.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        labels: BTreeMap<String, String>,
    }
}
wire! {
    /// A request to create a registration token of a cluster.
    #[serde(deny_unknown_fields)]
    ImportRequest {
        /// Time to live in seconds, 60 to 604800. The default is one day.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
    }
}
wire! {
    /// The data to register a cluster. The registration token is in this response only.
    Import {
        /// The bearer token of `GET /v1/import/manifest`. It must not be part of a URL.
        registration_token: Secret,
        /// Expiry time of the token.
        expires_at: Timestamp,
        /// The manifest for `kubectl apply -f -`. It contains the token.
        manifest: Secret,
        /// A curl command that downloads the manifest. It reads the token from
        /// `$DROVER_IMPORT_TOKEN`.
        curl: String,
    }
}
wire! {
    /// A setting of the server.
    SettingView {
        /// Name of the setting.
        name: String,
        /// The effect of the setting and its valid values.
        description: String,
        /// The configured value. Empty if no value is configured.
        value: String,
        /// The value in effect.
        in_effect: String,
        /// The default value.
        default: String,
        /// The reason why `value` is not in effect.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// The reason why the caller cannot change the setting, including the missing permission.
        /// Absent if the caller can change the setting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read_only: Option<String>,
    }
}
wire! {
    /// A change of a setting.
    #[serde(deny_unknown_fields)]
    SettingUpdate {
        /// The new value. An empty value restores the default.
        value: String,
    }
}
