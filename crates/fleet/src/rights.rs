//! The rights of an agent on the hub.
//!
//! The rights belong to all service accounts in the cluster's namespace: the account of Drover's agent, or
//! the accounts of the registrations of Fleet's own agent.
//! An agent may read the bundle deployments in its cluster's namespace and write their status, write
//! the status of its own Fleet Cluster, and read the Contents and Secrets that its bundle deployments
//! name. A new Content is in the agent's role before a bundle deployment names it.

pub(crate) mod copied;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drover_api::fleet;
use drover_hub::HubError;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;

use self::copied::add_readable;
use crate::mirror::Key;
use crate::world::{World, contents_of};
use crate::writes::{apply, delete};

/// Name of the service account of a cluster's agent, of its roles and of their bindings.
pub(crate) const AGENT: &str = "drover-agent";
const RBAC: &str = "rbac.authorization.k8s.io";

/// The names of the Contents, Secrets and ConfigMaps that an agent may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readable {
    pub(crate) contents: BTreeSet<String>,
    pub(crate) secrets: BTreeSet<String>,
    pub(crate) config_maps: BTreeSet<String>,
}

impl Readable {
    /// Reports whether all names of `other` are in `self`.
    fn contains(&self, other: &Self) -> bool {
        self.contents.is_superset(&other.contents)
            && self.secrets.is_superset(&other.secrets)
            && self.config_maps.is_superset(&other.config_maps)
    }

    fn extend(&mut self, other: &Self) {
        self.contents.extend(other.contents.iter().cloned());
        self.secrets.extend(other.secrets.iter().cloned());
        self.config_maps.extend(other.config_maps.iter().cloned());
    }
}

/// The written and requested names of one cluster.
#[derive(Debug, Default)]
struct Names {
    /// The names that the next write contains in addition to the names of the mirror.
    requested: Mutex<Readable>,
    /// Only one write runs at a time.
    roles: tokio::sync::Mutex<Roles>,
}

/// The roles for the names of one cluster.
#[derive(Debug, Default)]
enum Roles {
    #[default]
    Unknown,
    /// The last write had these names.
    Written(Readable),
    /// The cluster was deleted. A later write would leave roles without a cluster.
    Removed,
}

/// Writes the roles of agents. Concurrent requests for one cluster share a write.
#[derive(Clone)]
pub(crate) struct Rights {
    client: Client,
    clusters: Arc<Mutex<BTreeMap<String, Arc<Names>>>>,
}

impl Rights {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            clusters: Arc::default(),
        }
    }

    /// Writes the service account of Drover's agent.
    pub(crate) async fn write_account(&self, namespace: &str) -> Result<(), HubError> {
        let account = ServiceAccount {
            metadata: metadata(AGENT),
            ..ServiceAccount::default()
        };
        let accounts = Api::namespaced(self.client.clone(), namespace);
        apply("write the service account of an agent", &accounts, &account).await?;
        Ok(())
    }

    /// Writes the roles with constant rules. Permits [`Rights::ensure`] and [`Rights::retain`] after a
    /// removal.
    pub(crate) async fn prepare(&self, cluster: &Key, namespace: &str) -> Result<(), HubError> {
        {
            let names = self.names(namespace);
            let mut roles = names.roles.lock().await;
            if matches!(*roles, Roles::Removed) {
                *roles = Roles::Unknown;
            }
        }
        let deployments = [
            rule(&["bundledeployments"], &["get", "list", "watch"], []),
            rule(&["bundledeployments/status"], &["patch", "update"], []),
        ];
        self.write_role(namespace, AGENT, namespace, deployments.to_vec())
            .await?;
        let own = rule(&["clusters/status"], &["patch"], [cluster.name.clone()]);
        self.write_role(&cluster.namespace, namespace, namespace, vec![own])
            .await
    }

    /// Waits until the agent with this namespace may read `added` and all names in `current`. Writes
    /// nothing after a removal.
    pub(crate) async fn ensure(
        &self,
        namespace: &str,
        added: &Readable,
        current: impl Fn() -> Readable,
    ) -> Result<(), HubError> {
        let names = self.names(namespace);
        names.requested.lock().extend(added);
        let mut roles = names.roles.lock().await;
        match &*roles {
            Roles::Removed => return Ok(()),
            Roles::Written(written) if written.contains(added) => return Ok(()),
            Roles::Written(_) | Roles::Unknown => {}
        }
        let mut readable = current();
        readable.extend(&names.requested.lock());
        // After an interrupted write, the roles are unknown.
        let last = std::mem::take(&mut *roles);
        self.write(namespace, &readable, &last).await?;
        *roles = Roles::Written(readable);
        Ok(())
    }

    /// Removes the names that are not in `current` from the agent's roles. Writes nothing after a
    /// removal.
    pub(crate) async fn retain(
        &self,
        namespace: &str,
        current: impl Fn() -> Readable,
    ) -> Result<(), HubError> {
        let names = self.names(namespace);
        let mut roles = names.roles.lock().await;
        if matches!(*roles, Roles::Removed) {
            return Ok(());
        }
        let readable = {
            let mut requested = names.requested.lock();
            let readable = current();
            // A requested name stays until the mirror has the bundle deployment that names it.
            requested
                .contents
                .retain(|name| !readable.contents.contains(name));
            requested
                .secrets
                .retain(|name| !readable.secrets.contains(name));
            requested
                .config_maps
                .retain(|name| !readable.config_maps.contains(name));
            let mut all = readable;
            all.extend(&requested);
            all
        };
        if matches!(&*roles, Roles::Written(written) if *written == readable) {
            return Ok(());
        }
        // After an interrupted write, the roles are unknown.
        let last = std::mem::take(&mut *roles);
        self.write(namespace, &readable, &last).await?;
        *roles = Roles::Written(readable);
        Ok(())
    }

    /// Deletes the objects outside of a cluster's namespace.
    pub(crate) async fn remove(&self, cluster: &Key, namespace: &str) -> Result<(), HubError> {
        let names = self.names(namespace);
        let mut roles = names.roles.lock().await;
        *roles = Roles::Removed;
        *names.requested.lock() = Readable::default();
        let operation = "delete the roles of an agent";
        let client = &self.client;
        let bindings = Api::<ClusterRoleBinding>::all(client.clone());
        delete(operation, &bindings, &contents_role(namespace)).await?;
        let roles = Api::<ClusterRole>::all(client.clone());
        delete(operation, &roles, &contents_role(namespace)).await?;
        let bindings = Api::<RoleBinding>::namespaced(client.clone(), &cluster.namespace);
        delete(operation, &bindings, namespace).await?;
        let roles = Api::<Role>::namespaced(client.clone(), &cluster.namespace);
        delete(operation, &roles, namespace).await
    }

    fn names(&self, namespace: &str) -> Arc<Names> {
        let mut clusters = self.clusters.lock();
        Arc::clone(clusters.entry(namespace.to_owned()).or_default())
    }

    /// Writes the roles that differ from the last write. The bindings do not depend on the names, so that
    /// only the first write contains the bindings.
    async fn write(
        &self,
        namespace: &str,
        readable: &Readable,
        last: &Roles,
    ) -> Result<(), HubError> {
        let written = match last {
            Roles::Written(written) => Some(written),
            Roles::Unknown | Roles::Removed => None,
        };
        let name = format!("{AGENT}-secrets");
        let is_same = |written: &Readable| {
            written.secrets == readable.secrets && written.config_maps == readable.config_maps
        };
        if !written.is_some_and(is_same) {
            let mut secrets = named("", "secrets", &readable.secrets);
            secrets.extend(named("", "configmaps", &readable.config_maps));
            self.apply_role(namespace, &name, secrets).await?;
        }
        if written.is_none() {
            self.bind_role(namespace, &name, namespace).await?;
        }
        let name = contents_role(namespace);
        let operation = "write the role of an agent for contents";
        if written.is_none_or(|written| written.contents != readable.contents) {
            let role = ClusterRole {
                metadata: metadata(&name),
                rules: Some(named(fleet::GROUP, "contents", &readable.contents)),
                ..ClusterRole::default()
            };
            apply(operation, &Api::all(self.client.clone()), &role).await?;
        }
        if written.is_none() {
            let binding = ClusterRoleBinding {
                metadata: metadata(&name),
                role_ref: role_ref("ClusterRole", &name),
                subjects: Some(vec![accounts(namespace)]),
            };
            apply(operation, &Api::all(self.client.clone()), &binding).await?;
        }
        Ok(())
    }

    /// Writes a role and binds it to the agent whose cluster namespace is `agent`.
    async fn write_role(
        &self,
        namespace: &str,
        name: &str,
        agent: &str,
        permitted: Vec<PolicyRule>,
    ) -> Result<(), HubError> {
        self.apply_role(namespace, name, permitted).await?;
        self.bind_role(namespace, name, agent).await
    }

    async fn apply_role(
        &self,
        namespace: &str,
        name: &str,
        permitted: Vec<PolicyRule>,
    ) -> Result<(), HubError> {
        let role = Role {
            metadata: metadata(name),
            rules: Some(permitted),
        };
        let api = Api::namespaced(self.client.clone(), namespace);
        apply("write a role of an agent", &api, &role).await?;
        Ok(())
    }

    async fn bind_role(&self, namespace: &str, name: &str, agent: &str) -> Result<(), HubError> {
        let binding = RoleBinding {
            metadata: metadata(name),
            role_ref: role_ref("Role", name),
            subjects: Some(vec![accounts(agent)]),
        };
        let bindings = Api::namespaced(self.client.clone(), namespace);
        apply("bind a role of an agent", &bindings, &binding).await?;
        Ok(())
    }
}

/// Returns the names that the bundle deployments of a namespace name.
pub(crate) fn readable_names(world: &World, namespace: &str) -> Readable {
    readable_names_without(world, namespace, None)
}

/// Returns the names that the bundle deployments of a namespace name, except the bundle deployment
/// `without`.
pub(crate) fn readable_names_without(
    world: &World,
    namespace: &str,
    without: Option<&Key>,
) -> Readable {
    let mut readable = Readable::default();
    for deployment in world.deployments.in_namespace(namespace) {
        if without == Some(&Key::of(&*deployment)) {
            continue;
        }
        add_readable(&deployment.spec, &mut readable);
        let contents = contents_of(&deployment);
        let contents = contents.iter().flat_map(|name| world.with_parts(name));
        readable.contents.extend(contents);
        if !deployment.spec.values_hash.is_empty() {
            readable.secrets.insert(deployment.name_any());
        }
    }
    readable
}

/// Returns the name of the ClusterRole for the Contents of a cluster.
fn contents_role(namespace: &str) -> String {
    format!("drover:fleet:contents:{namespace}")
}

fn metadata(name: &str) -> ObjectMeta {
    let managed = (fleet::labels::MANAGED.to_owned(), "true".to_owned());
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some([managed].into()),
        ..ObjectMeta::default()
    }
}

fn rule(resources: &[&str], verbs: &[&str], names: impl IntoIterator<Item = String>) -> PolicyRule {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let names: Vec<String> = names.into_iter().collect();
    PolicyRule {
        api_groups: Some(vec![fleet::GROUP.to_owned()]),
        resources: Some(owned(resources)),
        resource_names: (!names.is_empty()).then_some(names),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

/// Returns a rule that permits reading objects with these names. An empty list of names would permit
/// all names, so the result is then empty.
fn named(group: &str, resource: &str, names: &BTreeSet<String>) -> Vec<PolicyRule> {
    if names.is_empty() {
        return Vec::new();
    }
    vec![PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        ..rule(&[resource], &["get"], names.iter().cloned())
    }]
}

/// Returns a reference to a role.
pub(crate) fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef {
        api_group: Some(RBAC.to_owned()),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

/// Returns the subject for one service account.
pub(crate) fn account(namespace: &str, name: &str) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        namespace: Some(namespace.to_owned()),
        ..Subject::default()
    }
}

/// Returns the subject for all service accounts in a namespace.
fn accounts(namespace: &str) -> Subject {
    Subject {
        api_group: Some(RBAC.to_owned()),
        kind: "Group".to_owned(),
        name: format!("system:serviceaccounts:{namespace}"),
        namespace: None,
    }
}

#[cfg(test)]
mod tests;
