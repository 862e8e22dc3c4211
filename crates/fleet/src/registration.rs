//! Registration of clusters with Fleet's own agent, or with Drover's agent in the same way, and the import of
//! clusters with a kubeconfig.
//!
//! A ClusterRegistrationToken gives its holder a service account that may create ClusterRegistrations.
//! A granted ClusterRegistration gives the agent a service account in the namespace of its cluster.

mod cleanup;
mod credentials;
mod decide;
mod events;
mod import;
mod removal;
mod requests;
mod tokens;
mod values;

use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::FleetCluster;
use drover_hub::HubError;
use drover_hub::settings::Settings;
use drover_reconcile::{Backoff, Controller, Options, Runtime, Trigger};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Client, Resource, ResourceExt as _};

use self::cleanup::Cleanup;
pub use self::import::{AgentManifest, AgentValues, ImportOptions};
use self::import::{Import, ImportState};
use self::removal::Removal;
use self::requests::Requests;
use self::tokens::Tokens;
use crate::limits::concurrency::ConcurrencyLimits;
use crate::mirror::Key;
use crate::rights::Rights;
use crate::world::World;
use crate::{CONCURRENCY, keys};
use drover_api::fleet::labels::MANAGED;
use drover_gitops::ids::safe_concat_name;

/// Finalizer of ClusterRegistrations, and of Fleet Clusters with Fleet's own agent.
const FINALIZER: &str = "management.drover.dev/fleet-registration";
/// Annotation of a Fleet Cluster with the UID of the granted ClusterRegistration.
const GRANTED: &str = "management.drover.dev/granted-registration";
/// Annotation of a Fleet Cluster with the name of the ClusterRegistration that an administrator
/// approves.
const APPROVE: &str = "management.drover.dev/approve-registration";
/// Annotation of a Fleet Cluster with the UID of the registration token of its import. Requests with this
/// token need no approval.
const IMPORT_TOKEN: &str = "management.drover.dev/import-token";
/// Annotation with the UID of the ClusterRegistration of an object.
const REQUEST_UID: &str = "management.drover.dev/registration-uid";
/// Annotation of Secrets with a token that stays valid until the Secret or its account is deleted.
const LONG_LIVED: &str = "management.drover.dev/long-lived-token";
/// Label of Secrets with a credential for an agent.
const CREDENTIAL: &str = "management.drover.dev/fleet-credential";
/// Type of Secrets into which the hub writes a token of a service account.
const ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";
/// Annotation of a token Secret with the name of its service account.
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

/// Maximum number of concurrent imports.
const IMPORTS: usize = 16;
/// Maximum number of concurrent imports of a namespace.
const IMPORTS_OF_NAMESPACE: usize = 4;
/// Timeout of an import. The requests to the cluster have a shorter timeout.
const IMPORT_TIMEOUT: Duration = Duration::from_mins(2);

/// The address of the hub for agents.
#[derive(Clone, Debug)]
pub(crate) struct HubAddress {
    pub(crate) settings: Settings,
    /// CA certificates in PEM. `None` if agents already trust the server's certificate.
    pub(crate) trust: Option<Arc<str>>,
}

impl HubAddress {
    /// Returns the URL of the hub. Requests pass the server's proxy.
    fn url(&self) -> String {
        format!("{}/k8s/clusters/local", self.settings.server_url())
    }
}

/// The registration's controllers.
pub(crate) struct Registration {
    pub(crate) client: Client,
    pub(crate) world: World,
    pub(crate) rights: Rights,
    pub(crate) address: HubAddress,
    pub(crate) import: ImportOptions,
}

impl Registration {
    /// Runs the controllers until the runtime stops.
    pub(crate) async fn run(self, runtime: &Runtime) {
        let Self {
            client,
            world,
            rights,
            address,
            import: options,
        } = self;
        let trigger = |name| {
            runtime.trigger(Options {
                concurrency: CONCURRENCY,
                ..Options::new(name)
            })
        };
        let (tokens, requests) = (trigger("fleet-tokens"), trigger("fleet-registrations"));
        let removal = trigger("fleet-cluster-removal");
        connect(&world, &tokens, &requests, &removal);
        let imports = runtime.trigger(Options {
            concurrency: IMPORTS,
            timeout: Some(IMPORT_TIMEOUT),
            backoff: Backoff::new(Duration::from_secs(15), Duration::from_mins(10)),
            ..Options::new("fleet-imports")
        });
        connect_imports(&world, &imports);
        let import = Import {
            client: client.clone(),
            world: world.clone(),
            address: address.clone(),
            options,
            limits: {
                let enqueue = imports.clone();
                ConcurrencyLimits::new(IMPORTS_OF_NAMESPACE, move |key| enqueue.enqueue(key))
            },
        };
        let starts = [world.clone(), world.clone(), world.clone(), world.clone()];
        let [token_keys, request_keys, cluster_keys, import_keys] = starts;
        let controller = Requests {
            client: client.clone(),
            world: world.clone(),
            rights: rights.clone(),
        };
        tokio::join!(
            runtime.run(
                Controller::new(
                    tokens,
                    Tokens {
                        client: client.clone(),
                        world: world.clone(),
                        address,
                    }
                )
                .at_start(move || keys(&token_keys.tokens.all()))
            ),
            runtime.run(
                Controller::new(requests, controller)
                    .at_start(move || keys(&request_keys.registrations.all()))
            ),
            runtime.run(
                Controller::new(
                    removal,
                    Removal {
                        client: client.clone(),
                        world,
                        rights,
                    }
                )
                .at_start(move || keys(&cluster_keys.clusters.all()))
            ),
            runtime.run(
                Controller::new(imports, import)
                    .at_start(move || keys(&import_keys.clusters.all()))
            ),
            runtime.run_single(Options::new("fleet-credentials"), Cleanup { client }, []),
        );
    }
}

/// Enqueues the objects that a change concerns from now on.
fn connect(world: &World, tokens: &Trigger<Key>, requests: &Trigger<Key>, removal: &Trigger<Key>) {
    let enqueue = tokens.clone();
    world
        .tokens
        .listen(move |change| enqueue.enqueue(change.key.clone()));
    let enqueue = requests.clone();
    world
        .registrations
        .listen(move |change| enqueue.enqueue(change.key.clone()));
    let (enqueue, approved) = (removal.clone(), requests.clone());
    world.clusters.listen(move |change| {
        let Some(cluster) = &change.after else { return };
        if cluster.metadata.deletion_timestamp.is_some() {
            enqueue.enqueue(change.key.clone());
        }
        if let Some(request) = cluster.annotations().get(APPROVE) {
            approved.enqueue(Key::new(&change.key.namespace, request));
        }
    });
}

/// Enqueues Fleet Clusters with a kubeconfig, and Fleet Clusters whose import stops.
fn connect_imports(world: &World, imports: &Trigger<Key>) {
    let enqueue = imports.clone();
    world.clusters.listen(move |change| {
        let state = |cluster: &Option<Arc<FleetCluster>>| {
            let imported = cluster.as_ref().filter(|it| import::is_import(it));
            imported.map(|cluster| ImportState::of(cluster))
        };
        if change.after.is_some() && state(&change.after) != state(&change.before) {
            enqueue.enqueue(change.key.clone());
        }
    });
}

/// Returns the name of the service account of a token or a request. The UID makes the name unique.
fn account_name<K: Resource>(owner: &K) -> String {
    let meta = owner.meta();
    let (name, uid) = (meta.name.as_deref(), meta.uid.as_deref());
    safe_concat_name(&[name.unwrap_or_default(), uid.unwrap_or_default()])
}

/// Returns metadata with the label of objects that Fleet's controllers manage.
fn managed(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some([(MANAGED.to_owned(), "true".to_owned())].into()),
        ..ObjectMeta::default()
    }
}

/// Returns the token that the hub has written into a Secret.
fn token_of(secret: &Secret) -> Option<&[u8]> {
    let token = secret.data.as_ref()?.get("token")?;
    (!token.0.is_empty()).then_some(&*token.0)
}

/// Returns `None` for an error that means that the object does not exist.
fn optional<T>(result: Result<T, HubError>) -> Result<Option<T>, HubError> {
    match result {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
