//! Request and response bodies of the REST API under `/v1`. The body of every error is a
//! `metav1.Status`.
//!
//! `GET /v1/openapi.json` lists the routes with their bodies. The crate `drover-rest` declares each
//! route and the permissions that the route requires.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};

use crate::agent::NodeClass;
use crate::kinds::{
    AgentStatus, ClusterScope, ClusterSpec, ClusterStatus, ComponentHealth, ConnectionStatus,
    IdentityGroup, IdentityState, NodeAgentStatus, NodeCount, NodeFacts, PodCount, TokenPurpose,
};

/// A page of objects, ordered by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    /// The objects on this page.
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

/// Returns the default of boolean fields that are true unless the client sets them to false.
fn yes() -> bool {
    true
}

mod access;
mod audit;
mod endpoint;
mod history;
mod kubeconfig;
mod port_forward;
mod preferences;
mod provider;
mod rights;
mod role;
mod server;
mod sign_in;
mod terminal;
mod view;

pub use access::*;
pub use audit::*;
pub use endpoint::*;
pub use history::*;
pub use kubeconfig::*;
pub use port_forward::*;
pub use preferences::*;
pub use provider::*;
pub use rights::*;
pub use role::*;
pub use server::*;
pub use sign_in::*;
pub use terminal::*;
pub use view::*;

/// A secret in a request or response body. The debug output does not contain the value.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret that contains this text.
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
    /// A new token. Only this response contains the secret of the token.
    IssuedToken {
        /// The token with its secret: `drover_<id>_<secret>`.
        token: Secret,
        /// The properties of the token, without the secret.
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
        /// True to revoke all tokens of the user. False to end only the sessions. API tokens and
        /// kubeconfig tokens then remain valid.
        #[serde(default = "yes")]
        #[cfg_attr(feature = "openapi", schema(default = true))]
        revoke_tokens: bool,
    }
}
wire! {
    /// A token, without its secret.
    TokenView {
        /// ID of the token: the text between the underscores.
        id: String,
        /// Name of the user to whom the token belongs.
        username: String,
        /// The purpose of the token. The purpose limits the routes that accept the token.
        purpose: TokenPurpose,
        /// The cluster to which the token is limited. Absent if the token is valid for all
        /// clusters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<ClusterScope>,
        /// Name of the identity provider that confirmed the user's identity for this token. The
        /// token becomes invalid when the user loses this identity. Absent for a token that does
        /// not depend on a provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// Description of the token, as free text from the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Time at which the server created the token.
        created_at: Timestamp,
        /// Time after which the server rejects the token.
        expires_at: Timestamp,
        /// Time of the last use, with an accuracy of a few minutes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_used_at: Option<Timestamp>,
    }
}
wire! {
    /// A request to create a token for the caller.
    #[serde(deny_unknown_fields)]
    TokenCreate {
        /// The purpose of the token: `Api`, `Kubeconfig` or `Credential`.
        purpose: TokenPurpose,
        /// Name of the cluster to which the token is limited. If absent, the token is valid for all
        /// clusters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
        /// Description of the token, as free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Lifetime of the token in seconds, at least 60. Settings of the server define the default
        /// and the maximum.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
    }
}
wire! {
    /// A user of Drover.
    UserView {
        /// The user's login name.
        name: String,
        /// UID of the User object.
        uid: String,
        /// Name to display instead of the login name. Absent if not set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// False if the user is disabled and cannot sign in.
        enabled: bool,
        /// True if the user is an administrator, who has all permissions.
        administrator: bool,
        /// True if the user must set a new password at the next login.
        must_change_password: bool,
        /// Time at which the user was created.
        created_at: Timestamp,
        /// Time of the user's last login. Absent if the user has never logged in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_login_at: Option<Timestamp>,
        /// The user's identities at identity providers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        identities: Vec<IdentityView>,
        /// The caller's permissions for operations on this user.
        #[serde(default)]
        rights: UserRights,
    }
}
wire! {
    /// A user's identity at an identity provider, from the provider's last response.
    IdentityView {
        /// ID of the identity: the UID of the AuthProvider.
        id: String,
        /// Name of the AuthProvider.
        provider: String,
        /// The user's login name at the provider.
        login: String,
        /// The user's groups at the provider.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        groups: Vec<IdentityGroup>,
        /// The number of groups that Drover ignores, because the groups' IDs are not valid in the
        /// names of groups.
        #[serde(default)]
        groups_left_out: u32,
        /// Time at which the provider last confirmed the identity.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        confirmed_at: Timestamp,
        /// The result of the last request to the provider.
        state: IdentityState,
        /// The reason for a `state` other than `Confirmed`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    }
}
/// Maximum age of the last confirmation of an identity that an administrator moves to a different
/// user. After a longer time, the provider may have assigned the login to a different person.
pub const MAX_CONFIRMATION_AGE: SignedDuration = SignedDuration::from_hours(24);

wire! {
    /// A request to move an identity from a different user to this user. Use this request if both
    /// users are the same person.
    #[serde(deny_unknown_fields)]
    UserLink {
        /// Name of the user from whom the identity moves.
        from: String,
        /// Name of the identity's AuthProvider. Optional if the user in `from` has only one
        /// identity.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
    }
}
wire! {
    /// The result of moving an identity from one user to a different user.
    UserLinked {
        /// The user to whom the identity was moved.
        user: UserView,
        /// The user from whom the identity was moved. The server has disabled this user if the user
        /// has no remaining method to sign in.
        former: UserView,
        /// Roles that remain bound to the user in `former`.
        roles_left: Vec<HeldRole>,
    }
}
wire! {
    /// A role that is bound to a user by name. Without a cluster and a project, the role applies on
    /// the hub and in all clusters.
    HeldRole {
        /// Name of the GlobalRole or RoleTemplate.
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
        /// The login name of the new user.
        name: String,
        /// Name to display instead of the login name.
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
    /// A change of a user. If a field is absent, its value does not change.
    #[serde(deny_unknown_fields)]
    UserPatch {
        /// False to disable the user. The server then rejects the user's tokens, and closes the
        /// user's open streams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enabled: Option<bool>,
        /// Name to display instead of the login name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// True to make the user an administrator, who has all permissions. False to remove the
        /// user's administrator permission.
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
        /// Time at which the cluster was created on the hub.
        created_at: Timestamp,
        /// True while the cluster is being deleted.
        #[serde(default)]
        deleting: bool,
        /// Conditions of the types Ready, Connected, Registered, APIServerReady, NodesHealthy, AccessApplied and
        /// AgentUpToDate.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        conditions: Vec<Condition>,
        /// Version of the cluster's API server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kubernetes_version: Option<String>,
        /// Numbers of all nodes and of ready nodes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodes: Option<NodeCount>,
        /// True if the cluster runs the hub of the server.
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
        /// Health of the cluster's API server and of the checks in `/readyz`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        components: Vec<ComponentHealth>,
        /// Version and rollout of the cluster's agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentStatus>,
        /// Time at which the server bound the key of the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_bound_at: Option<Timestamp>,
        /// The agent or node agent that the server uses, and the previous ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connection: Option<ConnectionStatus>,
        /// The nodes that are selected for a tunnel of their node agent.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        node_agents: Vec<NodeAgentView>,
        /// True if the authorized endpoint of the cluster is enabled.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        endpoint_enabled: bool,
        /// Facts about nodes: control-plane nodes first, then nodes with problems, at most 20. Absent
        /// in lists of clusters.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        node_facts: Vec<NodeFacts>,
        /// Time of the server's last contact with the cluster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_seen: Option<Timestamp>,
        /// The caller's permissions for the cluster.
        #[serde(default)]
        rights: ClusterRights,
    }
}
wire! {
    /// Response to a request for new keys of a cluster's agents.
    KeyRotation {
        /// Time of the request. The server replaces all keys that it bound before this time.
        requested_at: Timestamp,
    }
}
wire! {
    /// A node that can have a tunnel of its node agent.
    NodeAgentView {
        /// Name of the node.
        node: String,
        /// Class of the node.
        class: NodeClass,
        /// Time at which the server bound the key of the node agent. Absent until the agent has verified
        /// the node agent, so that the node agent can have a tunnel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_bound_at: Option<Timestamp>,
    }
}
impl From<NodeAgentStatus> for NodeAgentView {
    fn from(status: NodeAgentStatus) -> Self {
        Self {
            node: status.node,
            class: status.class,
            key_bound_at: status.key.map(|key| key.bound_at.0),
        }
    }
}
impl ClusterView {
    /// Creates the response body for a Cluster object, with the caller's permissions.
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
            capacity: status.capacity.into(),
            allocatable: status.allocatable.into(),
            requests: status.requests.into(),
            usage: status.usage.into(),
            components: status.components,
            agent: status.agent,
            key_bound_at: status.registration.map(|key| key.bound_at.0),
            connection: status.connection,
            node_agents: status
                .node_agents
                .into_iter()
                .map(NodeAgentView::from)
                .collect(),
            endpoint_enabled: spec.authorized_endpoint.enabled,
            node_facts: status.node_facts,
            last_seen: status.last_seen.map(|time| time.0),
            rights,
        }
    }
}
wire! {
    /// A request to create a Cluster object on the hub.
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
    /// A request to create a registration token for a cluster.
    #[serde(deny_unknown_fields)]
    ImportRequest {
        /// Lifetime of the registration token in seconds, 60 to 604800. The default is one day.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
    }
}
wire! {
    /// The data to register a cluster. Only this response contains the registration token.
    Import {
        /// The registration token, as bearer token for `GET /v1/import/manifest`. A URL must not
        /// contain the token.
        registration_token: Secret,
        /// Time after which the server rejects the registration token.
        expires_at: Timestamp,
        /// The manifest for `kubectl apply -f -`. The manifest contains the registration token.
        manifest: Secret,
        /// A curl command that downloads the manifest. The command reads the registration token
        /// from `$DROVER_IMPORT_TOKEN`.
        curl: String,
    }
}
wire! {
    /// A setting of the server, with its value and its default.
    SettingView {
        /// Name of the Setting object, such as `server-url`.
        name: String,
        /// The effect of the setting and its valid values.
        description: String,
        /// The configured value. Empty if the setting has no configured value.
        value: String,
        /// The value in effect: the configured value, or the default.
        in_effect: String,
        /// The value that is in effect if no value is configured.
        default: String,
        /// The reason why the configured value is not in effect. Absent if the configured value is
        /// in effect or empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// The reason why the caller cannot change the setting, including the required permission.
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
