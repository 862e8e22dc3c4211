//! Bodies of the REST API under `/v1`; every error is a `metav1.Status`.
//!
//! | call | who | body → answer |
//! |---|---|---|
//! | `POST /v1/login` | anyone | [`LoginRequest`] → [`IssuedToken`] |
//! | `GET /v1/providers` | anyone | → [`List`]`<`[`ProviderView`]`>` |
//! | `POST /v1/providers/{name}/sign-in` | anyone | [`ProviderSignIn`] → [`ProviderRedirect`], or as `/v1/session` and `/v1/login` do |
//! | `GET /v1/providers/{name}/callback` | anyone | → a page that leads into the web UI, and a cookie |
//! | `GET, POST /v1/auth-providers` | who may see them / administrator | → [`List`]`<`[`AuthProviderView`]`>`; [`AuthProviderCreate`] → [`AuthProviderView`] |
//! | `GET, PUT, DELETE /v1/auth-providers/{name}` | who may see them / administrator | [`AuthProviderUpdate`] → [`AuthProviderView`]; 204 |
//! | `POST /v1/providers/{name}/test` | administrator | [`ProviderTest`] → [`ProviderTrial`] |
//! | `POST /v1/device` | anyone | – → [`DeviceCode`] |
//! | `POST /v1/device/token` | who has the device's code | [`DevicePoll`] → [`DeviceAnswer`] |
//! | `GET /v1/device/{code}`, `POST /v1/device/{code}/confirm` | user | → [`DeviceView`]; 204 |
//! | `POST /v1/logout` | a session | – → 204, the presented token is deleted |
//! | `POST /v1/session` | anyone | [`LoginRequest`] → [`Session`] and a cookie |
//! | `GET /v1/session` | a session | → [`Session`] |
//! | `DELETE /v1/session` | any token | → 204, the presented one ends, and the cookie; or [`ProviderSignOut`] |
//! | `DELETE /v1/sessions` | user | → 204, all log-ins of the user end; or [`ProviderSignOut`] |
//! | `GET /v1/me` | any token | → [`Me`] |
//! | `POST /v1/me/password` | any token, `PasswordChange` too | [`PasswordChange`] → 204, other sessions end |
//! | `GET, POST /v1/tokens` | user | → [`List`]`<`[`TokenView`]`>`; [`TokenCreate`] → [`IssuedToken`] |
//! | `DELETE /v1/tokens/{id}` | owner, or who may delete tokens | → 204 |
//! | `GET, POST /v1/users` | who may see, or make, users | → [`List`]`<`[`UserView`]`>`; [`UserCreate`] → [`UserView`] |
//! | `GET, PATCH, DELETE /v1/users/{name}` | who may see, change, or delete users | [`UserPatch`] → [`UserView`] |
//! | `POST /v1/users/{name}/password` | who may change users, and all that the user may | [`PasswordReset`] → 204 |
//! | `DELETE /v1/users/{name}/tokens` | administrator | – → 204 |
//! | `POST /v1/users/{name}/identities`, `DELETE …/{id}` | administrator | [`UserLink`] → [`UserLinked`]; [`UserView`] |
//! | `POST /v1/users/{name}/refresh` | who may change users | – → [`UserView`] |
//! | `GET, POST /v1/clusters` | user / who may make clusters | → [`List`]`<`[`ClusterView`]`>`; [`ClusterCreate`] → [`ClusterView`] |
//! | `GET, DELETE /v1/clusters/{name}` | user / who may delete it | → [`ClusterView`]; 204 |
//! | `POST /v1/clusters/{name}/import` | who may change the cluster | [`ImportRequest`] → [`Import`] |
//! | `GET, POST /v1/clusters/{name}/members`, `DELETE …/{id}` | who may see, or give, roles there | → [`List`]`<`[`MemberView`]`>`; [`MemberCreate`] → [`MemberView`] |
//! | `GET, POST /v1/projects` | user | → [`List`]`<`[`ProjectView`]`>`; [`ProjectCreate`] → [`ProjectView`] |
//! | `GET, PATCH, DELETE /v1/projects/{name}` | who may | [`ProjectPatch`] → [`ProjectView`]; 204 |
//! | `GET, POST /v1/projects/{name}/members`, `DELETE …/{id}` | who may see, or give, roles there | as in clusters |
//! | `GET /v1/roles`, `GET /v1/roles/{name}` | user | → [`List`]`<`[`RoleView`]`>`; [`RoleDetail`] |
//! | `POST /v1/roles`, `PUT, DELETE …/{name}` | who may write RoleTemplates | [`RoleCreate`], [`RoleUpdate`] → [`RoleDetail`]; 204 |
//! | `GET, POST /v1/global-roles`, `GET, PUT, DELETE …/{name}` | who may see, or write, GlobalRoles | → [`List`]`<`[`GlobalRoleView`]`>`; [`RoleCreate`], [`RoleUpdate`] → [`GlobalRoleDetail`]; 204 |
//! | `GET, POST /v1/global-members`, `DELETE …/{id}` | who may see, or give, GlobalRoles | as in clusters |
//! | `GET /v1/access/people` | who may give roles there | → [`List`]`<`[`PersonView`]`>` |
//! | `GET /v1/access/explain` | user | → [`Explanation`] |
//! | `POST /v1/kubeconfig` | user | [`KubeconfigRequest`] → [`KubeconfigResponse`] |
//! | `GET /v1/import/manifest` | a registration token as bearer | → YAML |
//! | `GET /v1/settings`, `PUT /v1/settings/{name}` | who may see, or write, settings; those that affect security: administrator | → [`List`]`<`[`SettingView`]`>`; [`SettingUpdate`] → [`SettingView`] |
//! | `GET /v1/audit` | administrator | → [`AuditList`] |
//! | `GET /v1/version`, `GET /v1/openapi.json` | anyone | → [`Version`]; the document |

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};

use crate::kinds::{
    AgentStatus, ClusterScope, ClusterSpec, ClusterStatus, ComponentHealth, IdentityGroup,
    IdentityState, NodeCount, PodCount, TokenPurpose,
};

/// A page of things, in the order of their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    /// The things.
    pub items: Vec<T>,
    /// Give it as `continue` to get the next page; absent on the last.
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

/// The default of fields that are on unless they are turned off.
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

/// Bearer material on its way to or from a person; shows nothing when debugged.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself; name the place that needs it.
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
    /// A token and its secret, which is shown this once.
    IssuedToken {
        /// `drover_<id>_<secret>`.
        token: Secret,
        /// What the hub keeps of it.
        metadata: TokenView,
    }
}
wire! {
    /// An administrator's reset of another's password; the next login must change it.
    #[serde(deny_unknown_fields)]
    PasswordReset {
        /// The new one: 12 to 512 characters.
        new: Secret,
        /// Whether all tokens of the user are revoked. With `false` the sessions end, and API and
        /// kubeconfig tokens stay valid.
        #[serde(default = "yes")]
        #[cfg_attr(feature = "openapi", schema(default = true))]
        revoke_tokens: bool,
    }
}
wire! {
    /// A token without its secret.
    TokenView {
        /// The id: the part between the underscores.
        id: String,
        /// Name of its user.
        username: String,
        /// What it was made for.
        purpose: TokenPurpose,
        /// The one cluster it works on, if so limited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<ClusterScope>,
        /// Name of the identity provider that it stands on, if it does: it falls with that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// Free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// When it was made.
        created_at: Timestamp,
        /// From then on it is refused.
        expires_at: Timestamp,
        /// Last use, exact to some minutes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_used_at: Option<Timestamp>,
    }
}
wire! {
    /// A wish for a token of one's own.
    #[serde(deny_unknown_fields)]
    TokenCreate {
        /// `Api`, `Kubeconfig` or `Credential`.
        purpose: TokenPurpose,
        /// Name of the one cluster it shall work on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
        /// Free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Life in seconds, at least 60; the setting's default if absent, refused above its maximum.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
    }
}
wire! {
    /// A person.
    UserView {
        /// What they type to log in.
        name: String,
        /// UID of the object.
        uid: String,
        /// What others see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// Whether they may log in.
        enabled: bool,
        /// May do everything, everywhere.
        administrator: bool,
        /// Must set a new password next.
        must_change_password: bool,
        /// When the user was made.
        created_at: Timestamp,
        /// Last login.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_login_at: Option<Timestamp>,
        /// Who they are to identity providers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        identities: Vec<IdentityView>,
        /// What the caller may do with the user.
        #[serde(default)]
        rights: UserRights,
    }
}
wire! {
    /// Who a person is to an identity provider, as that said last.
    IdentityView {
        /// Names it among the user's: UID of the provider.
        id: String,
        /// Name of the provider.
        provider: String,
        /// What they type there to sign in.
        login: String,
        /// The groups that they are in.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        groups: Vec<IdentityGroup>,
        /// How many further groups count nowhere, because their ids cannot stand in a group's name.
        #[serde(default)]
        groups_left_out: u32,
        /// When the provider last said so.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        confirmed_at: Timestamp,
        /// What it said when it was asked last.
        state: IdentityState,
        /// Why it did not say who they are, if it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    }
}
/// How long ago its provider may have said who an identity is that is linked to another user. A login
/// that was another's last year shows what it is by then.
pub const LINKED_WITHIN: SignedDuration = SignedDuration::from_hours(24);

wire! {
    /// That the person of an identity is another user as well.
    #[serde(deny_unknown_fields)]
    UserLink {
        /// Name of the user who has the identity.
        from: String,
        /// Name of its provider; may be absent if they have one only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
    }
}
wire! {
    /// What came of linking.
    UserLinked {
        /// Who has the identity now.
        user: UserView,
        /// Who had it; disabled if nobody can sign in as them any more.
        former: UserView,
        /// Roles that stay with the former one: they are not moved.
        roles_left: Vec<HeldRole>,
    }
}
wire! {
    /// A role that somebody was given by name; everywhere if neither place is named.
    HeldRole {
        /// Name of the role.
        role: String,
        /// Name of the cluster that it was given in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
        /// Name of the project that it was given in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
    }
}
wire! {
    /// A wish for a local user; the first login must change the password.
    #[serde(deny_unknown_fields)]
    UserCreate {
        /// What they will type.
        name: String,
        /// What others will see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// The first password: 12 to 512 characters.
        password: Secret,
        /// May do everything, everywhere.
        #[serde(default)]
        administrator: bool,
    }
}
wire! {
    /// A change of a user; absent fields stay.
    #[serde(deny_unknown_fields)]
    UserPatch {
        /// Whether they may log in; `false` ends their tokens' use and open streams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enabled: Option<bool>,
        /// What others see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// May do everything, everywhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        administrator: Option<bool>,
    }
}
wire! {
    /// A managed cluster.
    ClusterView {
        /// What people type.
        name: String,
        /// UID of the object.
        uid: String,
        /// Free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Labels of the object.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        labels: BTreeMap<String, String>,
        /// When it was made.
        created_at: Timestamp,
        /// Whether it is being deleted.
        #[serde(default)]
        deleting: bool,
        /// Ready, Connected, Registered, APIServerReady, AccessApplied, AgentUpToDate.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        conditions: Vec<Condition>,
        /// Version of its API server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kubernetes_version: Option<String>,
        /// Its nodes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodes: Option<NodeCount>,
        /// Whether the server's hub is in this cluster.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hosts_hub: bool,
        /// Names of nodes whose Ready condition is not true, at most 20.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_ready_nodes: Vec<String>,
        /// How many pods do not work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pods: Option<PodCount>,
        /// Sum over nodes, quantities by resource.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        capacity: BTreeMap<String, String>,
        /// Sum over nodes, quantities by resource.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        allocatable: BTreeMap<String, String>,
        /// Sum over pods, quantities by resource.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        requests: BTreeMap<String, String>,
        /// Sum over nodes, quantities by resource.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        usage: BTreeMap<String, String>,
        /// Its components.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        components: Vec<ComponentHealth>,
        /// Its agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentStatus>,
        /// When the server last heard of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_seen: Option<Timestamp>,
        /// What the caller may do with it, and where in it.
        #[serde(default)]
        rights: ClusterRights,
    }
}
impl ClusterView {
    /// What a caller with these rights sees of the object with these parts.
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
    /// A wish for a cluster.
    #[serde(deny_unknown_fields)]
    ClusterCreate {
        /// What people will type.
        name: String,
        /// Free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Labels of the object.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        labels: BTreeMap<String, String>,
    }
}
wire! {
    /// A wish for a registration token of a cluster.
    #[serde(deny_unknown_fields)]
    ImportRequest {
        /// Life in seconds, 60 to 604800; a day if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
    }
}
wire! {
    /// What it takes to register a cluster; the token is shown this once.
    Import {
        /// Goes into the header of `GET /v1/import/manifest`, never into a URL.
        registration_token: Secret,
        /// When the token expires.
        expires_at: Timestamp,
        /// The manifest, to pipe into `kubectl apply -f -`; holds the token.
        manifest: Secret,
        /// A curl line that gets the same manifest; names the token as `$DROVER_IMPORT_TOKEN`.
        curl: String,
    }
}
wire! {
    /// A setting.
    SettingView {
        /// Its name.
        name: String,
        /// What it does and which values it takes.
        description: String,
        /// What an administrator set; empty if nothing.
        value: String,
        /// What counts now.
        in_effect: String,
        /// What counts when nothing is set.
        default: String,
        /// Why `value` is not in effect.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// Why the caller cannot change it, with the missing right; unset if the caller can.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read_only: Option<String>,
    }
}
wire! {
    /// A new value of a setting; empty returns to the default.
    #[serde(deny_unknown_fields)]
    SettingUpdate {
        /// The value.
        value: String,
    }
}
