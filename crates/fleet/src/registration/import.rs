//! Imports clusters with a kubeconfig: installs Drover's agent, which then registers as Fleet's agent does.
//!
//! ```text
//! kubeconfig ──► client ID, registration token ──► manifest in the cluster ──► agent registers ──► token deleted
//! ```

mod agents;
mod error;
mod options;
mod state;
mod target;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::{
    self, FleetCluster, FleetClusterRegistrationToken, FleetClusterRegistrationTokenSpec,
    FleetClusterStatus,
};
use drover_entropy::random;
use drover_gitops::states::set_condition;
use drover_hub::{HubError, call};
use drover_kubeconfig::parse;
use drover_reconcile::finalizer::has_finalizer;
use drover_reconcile::{Action, Attempt, Reconciler, error_chain};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Api, Client, ResourceExt as _};
use secrecy::SecretString;
use serde_json::json;

use self::error::ImportError;
pub use self::options::{AgentManifest, AgentValues, ImportOptions};
pub(super) use self::state::{ImportState, is_import, token_name};
use self::state::{WAITING, is_applied};
use self::target::Target;
use super::{FINALIZER, HubAddress, IMPORT_TOKEN, managed, optional, tokens};
use crate::limits::concurrency::ConcurrencyLimits;
use crate::mirror::Key;
use crate::namespaces::REGISTRATION_NAMESPACE;
use crate::world::World;
use crate::writes::{create, merge, now, write_status};

/// Lifetime of a registration token, as in Fleet.
const TOKEN_TTL: &str = "12h";
/// Time until the next look at a token that the hub has not written.
const TOKEN_WAIT: Duration = Duration::from_millis(500);
/// Interval of the checks whether the agent has registered.
const REGISTERED_CHECK: Duration = Duration::from_secs(15);
/// Entry of the Secret with the kubeconfig.
const KUBECONFIG: &str = "value";
const CONDITION: &str = "Imported";
/// Message of the condition after a stop.
const STOPPED: &str =
    "the import was stopped; set spec.kubeConfigSecret to import the cluster again";

/// The controller of imports. The key is the namespace and name of a Fleet Cluster.
pub(super) struct Import {
    pub(super) client: Client,
    pub(super) world: World,
    pub(super) address: HubAddress,
    pub(super) options: ImportOptions,
    /// Limits the concurrent imports of a namespace, whose API servers can be slow.
    pub(super) limits: ConcurrencyLimits,
}

impl Import {
    /// Continues the import of a cluster.
    async fn import(&self, key: &Key, cluster: &FleetCluster) -> Result<Action, ImportError> {
        if is_applied(cluster) {
            return self.finish(key, cluster).await;
        }
        let namespace = &cluster.spec.kube_config_secret_namespace;
        if !namespace.is_empty() && *namespace != key.namespace {
            return Err(ImportError::OtherNamespace);
        }
        let secret = self.kubeconfig(key, cluster).await?;
        let target = self.target(cluster, &secret)?;
        // Without a reachable cluster, no registration token exists.
        target.check_agent(&cluster.spec.client_id).await?;
        let cluster = self.prepare(key, cluster).await?;
        let Some((token, bearer)) = self.token(key, &cluster).await? else {
            return Ok(Action::requeue(TOKEN_WAIT));
        };
        let values = AgentValues {
            bootstrap: self.bootstrap(key, &token, &secret),
            cluster: Arc::new(cluster),
            token: bearer,
        };
        let objects = (self.options.manifest)(&values).map_err(ImportError::Manifest)?;
        target.apply(&objects).await?;
        tracing::info!(cluster = %key, "installed the agent in an imported cluster");
        self.write(key, |status| {
            let generation = values.cluster.spec.redeploy_agent_generation;
            status.agent_deployed_generation = Some(generation);
            set_imported(status, "True", "Imported", WAITING);
        })
        .await?;
        Ok(Action::requeue(REGISTERED_CHECK))
    }

    /// Reads the Secret with the kubeconfig.
    async fn kubeconfig(&self, key: &Key, cluster: &FleetCluster) -> Result<Secret, ImportError> {
        let name = &cluster.spec.kube_config_secret;
        let secrets = self.secrets(&key.namespace);
        let found = call("read the Secret with a kubeconfig", secrets.get(name)).await;
        let found = optional(found)?.filter(|secret| entry(secret, KUBECONFIG).is_some());
        found.ok_or_else(|| ImportError::Missing(name.clone()))
    }

    fn target(&self, cluster: &FleetCluster, secret: &Secret) -> Result<Target, ImportError> {
        let name = &cluster.spec.kube_config_secret;
        let kubeconfig = entry(secret, KUBECONFIG).unwrap_or_default();
        let access = parse(kubeconfig).map_err(|source| ImportError::Kubeconfig {
            name: name.clone(),
            source,
        })?;
        Ok(Target::new(&access, self.options.loopback)?)
    }

    /// Adds the finalizer and a client ID to the Fleet Cluster.
    async fn prepare(
        &self,
        key: &Key,
        cluster: &FleetCluster,
    ) -> Result<FleetCluster, ImportError> {
        let has_id = !cluster.spec.client_id.is_empty();
        if has_id && has_finalizer(cluster, FINALIZER) {
            return Ok(cluster.clone());
        }
        let mut finalizers = cluster.finalizers().to_vec();
        if !has_finalizer(cluster, FINALIZER) {
            finalizers.push(FINALIZER.to_owned());
        }
        let client_id = if has_id {
            cluster.spec.client_id.clone()
        } else {
            let bytes = random::<16>().map_err(|_| ImportError::Random)?;
            format!("{:032x}", u128::from_be_bytes(bytes))
        };
        let patch = json!({
            "metadata": {
                "uid": cluster.uid(), "resourceVersion": cluster.resource_version(),
                "finalizers": finalizers,
            },
            "spec": { "clientID": client_id },
        });
        let operation = "write the client ID of a Fleet Cluster";
        let written = merge(operation, &self.clusters(key), &key.name, &patch).await?;
        self.world.clusters.observe(written.clone());
        Ok(written)
    }

    /// Returns the registration token of the import, and the bearer token of its account. `None` while the
    /// hub has not written the account's token.
    async fn token(
        &self,
        key: &Key,
        cluster: &FleetCluster,
    ) -> Result<Option<(FleetClusterRegistrationToken, SecretString)>, ImportError> {
        let name = token_name(&key.name);
        let tokens = Api::namespaced(self.client.clone(), &key.namespace);
        let token = FleetClusterRegistrationToken {
            metadata: owned(cluster, &name),
            spec: FleetClusterRegistrationTokenSpec {
                ttl: Some(TOKEN_TTL.to_owned()),
            },
            ..FleetClusterRegistrationToken::default()
        };
        let created = create("create a ClusterRegistrationToken", &tokens, &token).await?;
        let token = match created {
            Some(created) => created,
            None => call("read a ClusterRegistrationToken", tokens.get(&name)).await?,
        };
        let is_own = |owner: &OwnerReference| Some(&owner.uid) == cluster.metadata.uid.as_ref();
        if !token.owner_references().iter().any(is_own) {
            return Err(ImportError::TokenTaken(name));
        }
        if cluster.annotations().get(IMPORT_TOKEN) != token.metadata.uid.as_ref() {
            let patch = json!({ "metadata": {
                "uid": cluster.uid(), "annotations": { IMPORT_TOKEN: token.uid() },
            } });
            let operation = "record the import of a Fleet Cluster";
            let written = merge(operation, &self.clusters(key), &key.name, &patch).await?;
            self.world.clusters.observe(written);
        }
        let bearer = tokens::bearer(&self.client, &key.namespace, &token).await?;
        Ok(bearer.map(|bearer| (token, bearer)))
    }

    /// Returns the entries of the agent's Secret. The Secret with the kubeconfig can contain another URL of
    /// the hub.
    fn bootstrap(
        &self,
        key: &Key,
        token: &FleetClusterRegistrationToken,
        secret: &Secret,
    ) -> BTreeMap<String, String> {
        let text = |name| {
            let found = entry(secret, name).map(String::from_utf8_lossy);
            found.map(|text| text.trim().to_owned())
        };
        let trust = self.address.trust.as_deref().unwrap_or_default();
        let authority = text("apiServerCA").unwrap_or_else(|| trust.to_owned());
        let url = text("apiServerURL").filter(|url| !url.is_empty());
        let url = url.unwrap_or_else(|| self.address.url());
        let entries = [
            ("apiServerURL", url),
            ("apiServerCA", authority),
            ("clusterNamespace", key.namespace.clone()),
            (
                "systemRegistrationNamespace",
                REGISTRATION_NAMESPACE.to_owned(),
            ),
            ("tokenName", token.name_any()),
        ];
        entries.map(|(name, text)| (name.to_owned(), text)).into()
    }

    /// Writes a changed status.
    async fn write(
        &self,
        key: &Key,
        change: impl FnOnce(&mut FleetClusterStatus),
    ) -> Result<(), HubError> {
        let Some(cluster) = self.world.clusters.get(key) else {
            return Ok(());
        };
        let before = cluster.status.clone().unwrap_or_default();
        let mut after = before.clone();
        change(&mut after);
        let operation = "write the status of an imported Fleet Cluster";
        let clusters = self.clusters(key);
        let written = write_status(operation, &clusters, &key.name, Some(&before), &after).await?;
        if let Some(written) = written {
            self.world.clusters.observe(written);
        }
        Ok(())
    }

    fn clusters(&self, key: &Key) -> Api<FleetCluster> {
        Api::namespaced(self.client.clone(), &key.namespace)
    }

    fn secrets(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

impl Reconciler for Import {
    type Key = Key;
    type Error = ImportError;

    async fn reconcile(&self, key: &Key, attempt: &Attempt) -> Result<Action, ImportError> {
        // The end of another import enqueues the next key, which must start also if nothing is to do.
        let permit = self.limits.start(key);
        let Some(cluster) = self.world.clusters.get(key) else {
            return Ok(Action::await_change());
        };
        if !is_import(&cluster) {
            drop(permit);
            if self.stop(key, &cluster).await? {
                self.write(key, |status| {
                    set_imported(status, "False", "ImportStopped", STOPPED);
                })
                .await?;
            }
            return Ok(Action::await_change());
        }
        let Some(_permit) = permit else {
            return Ok(Action::await_change());
        };
        let error = match Box::pin(self.import(key, &cluster)).await {
            Err(error) if !matches!(error, ImportError::Hub(_)) => error,
            done => return done,
        };
        let mut message = error_chain(&error);
        if !error.is_permanent() {
            let next = Timestamp::now() + attempt.retry_in;
            let next = next.strftime("%Y-%m-%dT%H:%M:%SZ");
            message = format!("{message}; next attempt at {next}");
        }
        self.write(key, |status| {
            set_imported(status, "False", error.reason(), &message);
        })
        .await?;
        if error.is_permanent() {
            self.stop(key, &cluster).await?;
            return Ok(Action::await_change());
        }
        Err(error)
    }

    fn is_expected(&self, error: &ImportError) -> bool {
        // The condition of the Fleet Cluster has the reason.
        !matches!(error, ImportError::Hub(error) if !error.is_conflict())
    }
}

fn set_imported(status: &mut FleetClusterStatus, value: &str, reason: &str, message: &str) {
    let conditions = &mut status.conditions;
    set_condition(conditions, CONDITION, value, reason, message, &now());
}

fn entry<'a>(secret: &'a Secret, name: &str) -> Option<&'a [u8]> {
    Some(&*secret.data.as_ref()?.get(name)?.0)
}

/// Returns the metadata of an object that the hub deletes with the Fleet Cluster.
fn owned(cluster: &FleetCluster, name: &str) -> ObjectMeta {
    ObjectMeta {
        owner_references: Some(vec![OwnerReference {
            api_version: fleet::API_VERSION.to_owned(),
            kind: "Cluster".to_owned(),
            name: cluster.name_any(),
            uid: cluster.uid().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: None,
        }]),
        ..managed(name)
    }
}
