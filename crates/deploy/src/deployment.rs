//! Deploys, observes and removes bundle deployments.

mod copies;
mod correct;
mod deploy;
mod error;
mod finished;
mod namespace;
mod observe;
mod prepare;
mod preview;
mod releases;
mod remove;
pub mod status;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use drover_api::fleet::{BundleDeploymentOptions, BundleDeploymentSpec, BundleResource};
use drover_gitops::ids::release_name;
use parking_lot::Mutex;
use serde_json::{Map, Value};

pub use error::DeployError;
pub use observe::Report;
pub use prepare::Place;
pub use preview::{Change, Effect, Preview, Previewer};
pub use releases::ReleaseOf;

use crate::apply::Owner;
use crate::cluster::Cluster;
use crate::names;
use crate::object::{Object, ObjectKey};
use crate::release::{History, HistoryError};
use crate::renderer::Renderer;
use crate::signature::{SigningKey, SigningKeys};

/// Service account that deploys bundles without a configured service account, if it exists.
const DEFAULT_ACCOUNT: &str = "fleet-default";
/// Time for which the existence of a namespace or of the default service account is remembered.
const REMEMBERED: Duration = Duration::from_secs(30);

/// Settings of the deployments in a cluster.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Namespace of the agent, which also has the service accounts of bundles.
    pub agent_namespace: String,
    /// Namespace of releases without a configured namespace.
    pub default_namespace: String,
}

/// A bundle deployment with the files of its bundle.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// Name of the bundle deployment.
    pub name: &'a str,
    /// Desired state.
    pub spec: &'a BundleDeploymentSpec,
    /// Files of the bundle.
    pub resources: &'a [BundleResource],
    /// UID of the Cluster on the hub, or an empty text.
    pub cluster: &'a str,
    /// Git commit of the bundle, or an empty text.
    pub commit: &'a str,
    /// Values from the Secret of the bundle deployment. They replace the values in the options.
    pub values: Option<&'a Map<String, Value>>,
    /// The Secrets and ConfigMaps of `downstreamResources` on the hub.
    pub copies: &'a [Object],
}

impl std::fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The result of a deployment.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Release, `namespace/name:revision`.
    pub release: String,
    /// The objects of the release.
    pub objects: Vec<ObjectKey>,
    /// The written objects. `None` if the release was already complete, or if the objects can have changed
    /// since.
    applied: Option<observe::Observed>,
}

/// Name and namespace of the release of a bundle deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Namespace of the release.
    pub namespace: String,
    /// Name of the release.
    pub release: String,
}

impl Target {
    /// Determines the release, with the rules of Fleet.
    pub fn of(
        deployment: &str,
        options: &BundleDeploymentOptions,
        default_namespace: &str,
    ) -> Self {
        let namespaces = [&options.target_namespace, &options.default_namespace];
        let namespace = namespaces
            .into_iter()
            .find(|namespace| !namespace.is_empty());
        let configured = options
            .helm
            .as_ref()
            .map(|helm| &helm.release_name)
            .filter(|name| !name.is_empty());
        Self {
            namespace: namespace
                .map_or(default_namespace, String::as_str)
                .to_owned(),
            release: configured
                .cloned()
                .unwrap_or_else(|| release_name(deployment)),
        }
    }

    /// Parses a release of a status, `namespace/name:revision`.
    pub fn parse(release: &str) -> Option<(Self, u32)> {
        let (namespace, rest) = release.split_once('/')?;
        let (name, revision) = rest.rsplit_once(':')?;
        let target = Self {
            namespace: namespace.to_owned(),
            release: name.to_owned(),
        };
        Some((target, revision.parse().ok()?))
    }

    fn owner(&self, deployment: &str) -> Owner {
        Owner {
            label: names::label_value(deployment),
            release: self.release.clone(),
            namespace: self.namespace.clone(),
        }
    }

    fn history(&self, cluster: &Cluster, key: SigningKey, deployment: &str) -> History {
        History::new(
            cluster,
            key,
            &self.namespace,
            &self.release,
            &names::label_value(deployment),
        )
    }
}

/// Deploys bundles in one cluster.
pub struct Deployer {
    cluster: Cluster,
    renderer: Arc<Renderer>,
    settings: Settings,
    keys: SigningKeys,
    namespaces: Mutex<HashMap<String, Instant>>,
    default_account: Mutex<Option<(bool, Instant)>>,
    corrections: correct::Corrections,
}

impl std::fmt::Debug for Deployer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deployer")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Deployer {
    /// Creates a deployer.
    pub fn new(
        cluster: Cluster,
        renderer: Arc<Renderer>,
        settings: Settings,
        keys: SigningKeys,
    ) -> Self {
        Self {
            cluster,
            renderer,
            settings,
            keys,
            namespaces: Mutex::default(),
            default_account: Mutex::default(),
            corrections: correct::Corrections::default(),
        }
    }

    /// Returns the cluster with the agent's permissions.
    pub const fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns access to the records of a release.
    async fn history(
        &self,
        cluster: &Cluster,
        target: &Target,
        deployment: &str,
    ) -> Result<History, DeployError> {
        let key = self.keys.get().await.map_err(HistoryError::from)?;
        Ok(target.history(cluster, key, deployment))
    }

    /// Returns access with the permissions of the bundle's service account.
    async fn account(&self, options: &BundleDeploymentOptions) -> Result<Cluster, DeployError> {
        let name = match options.service_account.as_str() {
            "" if !self.has_default_account().await? => return Ok(self.cluster.clone()),
            "" => DEFAULT_ACCOUNT,
            name if self.account_exists(name).await? => name,
            name => {
                return Err(DeployError::NoAccount {
                    namespace: self.settings.agent_namespace.clone(),
                    name: name.to_owned(),
                });
            }
        };
        Ok(self
            .cluster
            .as_service_account(&self.settings.agent_namespace, name)?)
    }

    async fn has_default_account(&self) -> Result<bool, DeployError> {
        let known = *self.default_account.lock();
        if let Some((exists, _)) = known.filter(|(_, at)| at.elapsed() < REMEMBERED) {
            return Ok(exists);
        }
        let exists = self.account_exists(DEFAULT_ACCOUNT).await?;
        *self.default_account.lock() = Some((exists, Instant::now()));
        Ok(exists)
    }

    async fn account_exists(&self, name: &str) -> Result<bool, DeployError> {
        let key = ObjectKey {
            api_version: "v1".to_owned(),
            kind: "ServiceAccount".to_owned(),
            namespace: self.settings.agent_namespace.clone(),
            name: name.to_owned(),
        };
        Ok(self.cluster.get(&key).await?.is_some())
    }
}

/// Returns the objects of several releases without duplicates.
fn unique(objects: impl IntoIterator<Item = Object>) -> Vec<Object> {
    let mut unique: Vec<Object> = Vec::new();
    let mut keys = std::collections::HashSet::new();
    for object in objects {
        if keys.insert(object.key()) {
            unique.push(object);
        }
    }
    unique
}

#[cfg(test)]
mod tests;
