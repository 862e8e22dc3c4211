//! The in-memory stores for authentication and authorization, and their health.

pub mod grants;
pub mod groups;
pub mod identity_status;
pub mod reflector;
pub mod store;

use std::fmt::Debug;
use std::time::Duration;

use drover_access::setting;
use drover_api::kinds::{
    AuthProvider, Cluster, ClusterRegistrationToken, ClusterRoleTemplateBinding, GlobalRole,
    GlobalRoleBinding, Project, ProjectRoleTemplateBinding, RoleTemplate, SavedView, Setting,
    Token, User, UserPreferences,
};
use k8s_openapi::ClusterResourceScope;
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::grants::LiveGrants;
use self::reflector::reflect;
use self::store::{AnyStore, Changed, Store};
use drover_http_edge::status::Status;

/// The maximum age of the stores. If the stores are older, the server rejects every request.
pub const MAX_STORE_AGE: Duration = Duration::from_mins(10);

/// The stores of all kinds. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Stores {
    /// Users by name and UID.
    pub users: Store<User>,
    /// Tokens by ID. The ID of a token is the name of its object.
    pub tokens: Store<Token>,
    /// Clusters by name and UID.
    pub clusters: Store<Cluster>,
    /// Settings by name.
    pub settings: Store<Setting>,
    /// Registration tokens by ID. The ID of a token is the name of its object.
    pub registration_tokens: Store<ClusterRegistrationToken>,
    /// Identity providers by name.
    pub auth_providers: Store<AuthProvider>,
    /// Role templates (roles for clusters and projects), by name.
    pub role_templates: Store<RoleTemplate>,
    /// Global roles (roles for the hub and every cluster), by name.
    pub global_roles: Store<GlobalRole>,
    /// Bindings of global roles, by name of the binding.
    pub global_role_bindings: Store<GlobalRoleBinding>,
    /// Bindings of role templates in a cluster, by name of the binding.
    pub cluster_role_template_bindings: Store<ClusterRoleTemplateBinding>,
    /// Bindings of role templates in a project, by name of the binding.
    pub project_role_template_bindings: Store<ProjectRoleTemplateBinding>,
    /// Projects by name and UID.
    pub projects: Store<Project>,
    /// Preferences by the UID of the user, which is the name of the object.
    pub user_preferences: Store<UserPreferences>,
    /// Saved views by name. The name begins with the UID of the owner.
    pub saved_views: Store<SavedView>,
    /// The grants that are computed from roles and bindings.
    pub grants: LiveGrants,
    changed: Changed,
}

/// A kind of the hub that has a store.
pub trait StoredKind:
    Resource<DynamicType = (), Scope = ClusterResourceScope>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
{
    /// Returns the store of this kind.
    fn store(stores: &Stores) -> &Store<Self>;
}

macro_rules! stored_kinds {
    ($($kind:ty: $store:ident),* $(,)?) => {$(
        impl StoredKind for $kind {
            fn store(stores: &Stores) -> &Store<Self> {
                &stores.$store
            }
        }
    )*};
}

stored_kinds! {
    User: users,
    Token: tokens,
    Cluster: clusters,
    Setting: settings,
    ClusterRegistrationToken: registration_tokens,
    AuthProvider: auth_providers,
    RoleTemplate: role_templates,
    GlobalRole: global_roles,
    GlobalRoleBinding: global_role_bindings,
    ClusterRoleTemplateBinding: cluster_role_template_bindings,
    ProjectRoleTemplateBinding: project_role_template_bindings,
    Project: projects,
    UserPreferences: user_preferences,
    SavedView: saved_views,
}

/// The sync state and the age of the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoresHealth {
    /// True after the server listed every kind once.
    pub synced: bool,
    /// The age of the oldest store. The age of a store is the time since the hub's last response to
    /// its watch.
    pub oldest: Duration,
}

impl StoresHealth {
    /// Reports whether the stores are synced and recent enough for access decisions.
    pub fn is_trusted(self) -> bool {
        self.synced && self.oldest < MAX_STORE_AGE
    }

    /// Returns an error with status 503 if the stores are too old or not synced.
    pub fn check(self) -> Result<(), Status> {
        if self.is_trusted() {
            return Ok(());
        }
        let message = if self.synced {
            format!(
                "the hub has been unreachable for {} s, longer than the maximum age of access \
                 decisions; check the hub's API server",
                self.oldest.as_secs()
            )
        } else {
            "the server has not read its state from the hub yet; try again in a few seconds"
                .to_owned()
        };
        Err(Status::unavailable(message, 5))
    }
}

impl Default for Stores {
    fn default() -> Self {
        Self::new()
    }
}

impl Stores {
    /// Creates empty stores without reflectors.
    pub fn new() -> Self {
        let changed = Changed::default();
        Self {
            users: Store::new(changed.clone()),
            tokens: Store::new(changed.clone()),
            clusters: Store::new(changed.clone()),
            settings: Store::new(changed.clone()),
            registration_tokens: Store::new(changed.clone()),
            auth_providers: Store::new(changed.clone()),
            role_templates: Store::new(changed.clone()),
            global_roles: Store::new(changed.clone()),
            global_role_bindings: Store::new(changed.clone()),
            cluster_role_template_bindings: Store::new(changed.clone()),
            project_role_template_bindings: Store::new(changed.clone()),
            projects: Store::new(changed.clone()),
            user_preferences: Store::new(changed.clone()),
            saved_views: Store::new(changed.clone()),
            grants: LiveGrants::default(),
            changed,
        }
    }

    /// Creates synced stores of an empty hub, for tests.
    pub fn synced_empty() -> Self {
        let stores = Self::new();
        for store in stores.kinds() {
            store.clear();
        }
        stores
    }

    /// Starts a reflector for each store until `stop`. All tasks run on `tasks`.
    pub fn run_reflectors(&self, client: &Client, tasks: &TaskTracker, stop: &CancellationToken) {
        macro_rules! reflect_each {
            ($($kind:ident),* $(,)?) => {$(
                tasks.spawn(reflect(client.clone(), self.$kind.clone(), stop.clone()));
            )*};
        }
        reflect_each!(
            users,
            tokens,
            clusters,
            settings,
            registration_tokens,
            auth_providers,
            role_templates,
            global_roles,
            global_role_bindings,
            cluster_role_template_bindings,
            project_role_template_bindings,
            projects,
            user_preferences,
            saved_views,
        );
        tasks.spawn(self.grants.clone().follow(self.clone(), stop.clone()));
    }

    /// Returns the stores of all kinds as trait objects.
    fn kinds(&self) -> [&dyn AnyStore; 14] {
        [
            &self.users,
            &self.tokens,
            &self.clusters,
            &self.settings,
            &self.registration_tokens,
            &self.auth_providers,
            &self.role_templates,
            &self.global_roles,
            &self.global_role_bindings,
            &self.cluster_role_template_bindings,
            &self.project_role_template_bindings,
            &self.projects,
            &self.user_preferences,
            &self.saved_views,
        ]
    }

    /// Returns the effective value of a setting as a duration.
    pub fn duration(&self, setting: setting::Setting) -> Duration {
        let object = self.settings.by_name(setting.name());
        let desired = object.as_ref().map_or("", |object| &*object.spec.value);
        let in_effect = setting::parse_ttl(setting.in_effect(desired));
        in_effect.unwrap_or(Duration::from_hours(1))
    }

    /// Returns a receiver that is notified after each change of any kind.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Returns the sync state and the age of the stores.
    pub fn health(&self) -> StoresHealth {
        let now = Instant::now();
        let kinds = self.kinds();
        let ages = kinds.iter().map(|store| store.age(now));
        StoresHealth {
            synced: kinds.iter().all(|store| store.is_synced()),
            oldest: ages.max().unwrap_or_default(),
        }
    }

    /// Waits until every kind has been listed once, but at most for the duration `limit`. Reports
    /// whether all stores are synced.
    pub async fn wait_until_synced(&self, limit: Duration) -> bool {
        let waiting = self.wait_for_sync();
        tokio::time::timeout(limit, waiting).await.is_ok()
    }

    async fn wait_for_sync(&self) {
        let mut changed = self.changed();
        while !self.health().synced {
            let change = changed.changed().await;
            change.expect("the stores own the sender");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn stale_stores_reject_requests_after_maximum_age() {
        let stores = Stores::new();
        assert_eq!(stores.health().check().unwrap_err().code(), 503);
        let kinds = stores.kinds();
        for store in &kinds[1..] {
            store.clear();
        }
        assert!(!stores.health().is_trusted(), "one kind is not synced");
        kinds[0].clear();
        assert!(stores.health().is_trusted());
        tokio::time::advance(Duration::from_secs(599)).await;
        assert!(stores.health().is_trusted());
        // All stores except two remain without contact.
        stores.users.touch();
        stores.clusters.touch();
        tokio::time::advance(Duration::from_secs(1)).await;
        let refusal = stores.health().check().unwrap_err();
        assert_eq!(refusal.code(), 503);
        assert!(refusal.message().contains("unreachable"), "{refusal}");
    }
}
