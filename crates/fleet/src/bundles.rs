//! Deploys bundles: computes the targets of each bundle, plans the rollout, and writes the bundle
//! deployments and the status of the bundle.

mod cache;
mod copies;
mod deployments;
mod error;
mod status;
pub(crate) mod triggers;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::labels::{CLUSTER, CLUSTER_NAMESPACE};
use drover_api::fleet::{Bundle, BundleDeployment, FleetCluster};
use drover_gitops::rollout::{self, Candidate, Plan, RolloutError};
use drover_gitops::targeting::{ClusterFacts, Group, Groups, mapping_applies};
use drover_hub::call;
use drover_reconcile::finalizer::{add_finalizer, has_finalizer, remove_finalizer};
use drover_reconcile::{Action, Attempt, Reconciler, error_chain};
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;

use self::cache::{Compiled, Files, Version};
use self::copies::{Copies, Sources};
use self::deployments::{Deployments, Desired, Written};
use self::status::Statuses;
use crate::contents::Contents;
use crate::limits;
use crate::mirror::Key;
use crate::offline::Contact;
use crate::rights::Rights;
use crate::world::World;
use crate::writes::{UNREADABLE, exists, parameters};

pub(crate) use self::copies::{CopyError, check_type};
pub(crate) use self::error::BundleError;

/// Finalizer of a Bundle. The server removes the finalizer after the deletion of the bundle
/// deployments.
const FINALIZER: &str = "fleet.cattle.io/bundle-finalizer";
/// Maximum number of concurrent writes of one bundle.
const WRITES: usize = 16;
/// Time until the next step of a rollout that creates more deployments than one step permits.
const NEXT_STEP: Duration = Duration::from_millis(20);
/// Time until the next look at offline clusters of a rollout that waits.
const WAITING: Duration = Duration::from_mins(1);
/// Time until the next look at the Secrets and ConfigMaps that a bundle copies. A watch would need the
/// permission to read all Secrets.
const SOURCES: Duration = Duration::from_mins(1);

type CompiledBundles = Arc<Mutex<BTreeMap<Key, Arc<tokio::sync::Mutex<Option<Compiled>>>>>>;

/// The controller of bundles. The key is the namespace and name of a Bundle.
#[derive(Clone)]
pub(crate) struct Bundles {
    client: Client,
    world: World,
    contents: Contents,
    deployments: Deployments,
    statuses: Statuses,
    compiled: CompiledBundles,
}

impl Bundles {
    pub(crate) fn new(client: Client, world: World, contents: Contents, rights: Rights) -> Self {
        Self {
            deployments: Deployments {
                client: client.clone(),
                rights,
                copies: Copies::new(client.clone()),
                world: world.clone(),
            },
            statuses: Statuses::new(client.clone()),
            client,
            world,
            contents,
            compiled: Arc::default(),
        }
    }

    async fn deploy(&self, key: &Key, bundle: &Bundle) -> Result<Action, BundleError> {
        let limits = limits::of(&self.world, &key.namespace);
        limits.bundle(bundle)?;
        let slot = Arc::clone(self.compiled.lock().entry(key.clone()).or_default());
        let mut compiled = slot.lock().await;
        let version = Version::of(bundle);
        if !compiled.as_ref().is_some_and(|it| it.is_current(&version)) {
            let with_values = values::with_values(&self.client, bundle).await?;
            let contents = |name: &str| self.world.contents.get(&Key::new("", name));
            *compiled = Some(Compiled::new(version, with_values, contents)?);
        }
        let Some(compiled) = compiled.as_mut() else {
            return Ok(Action::await_change());
        };
        let clusters = self.clusters(bundle);
        let groups = self.groups(&clusters);
        compiled.select(clusters, &groups, limits.namespace_selector())?;
        let present = self.present(key);
        compiled.observe(&present);
        let (plan, online) = plan(bundle, compiled, &groups)?;
        if let Files::Inline(_, manifest) = &compiled.files
            && !plan.steps.is_empty()
        {
            let manifest = Arc::clone(manifest);
            self.contents.ensure(manifest, &compiled.sha256).await?;
        }
        let options = compiled.members().map(|member| &member.target.options);
        let (copies, access) = (&self.deployments.copies, &bundle.spec.helm_op_options);
        let sources = copies.sources(&key.namespace, options, access.as_ref());
        let sources = sources.await?;
        // A failure in one cluster does not affect the other clusters.
        let deployed = self.write(compiled, &plan, &sources).await;
        self.delete_others(compiled, &present).await?;
        let more = plan.steps.iter().any(|step| step.create)
            && plan.steps.iter().any(|step| step.wait.is_some());
        compiled.observe(&self.present(key));
        let later = self.statuses.write(key, bundle, compiled, &plan).await?;
        deployed?;
        let waits = online > 0 && plan.stop.is_some();
        Ok(match (more, later, waits) {
            (true, ..) => Action::requeue(NEXT_STEP),
            (_, Some(later), _) => Action::requeue(later),
            (_, _, true) => Action::requeue(WAITING),
            _ if !sources.is_empty() => Action::requeue(SOURCES),
            _ => Action::await_change(),
        })
    }

    /// Writes the bundle deployments that differ from the plan.
    async fn write(
        &self,
        compiled: &mut Compiled,
        plan: &Plan,
        sources: &Sources,
    ) -> Result<(), BundleError> {
        let (bundle, content) = (Arc::clone(&compiled.bundle), compiled.content().to_owned());
        let members = compiled.members_mut().zip(&plan.steps);
        let mut results = Vec::new();
        for (member, step) in members {
            let Some(namespace) = member.namespace.clone() else {
                continue;
            };
            let present = member.deployment.as_ref();
            if present.is_none() && !step.create {
                continue;
            }
            let id = &member.target.deployment_id;
            let is_released =
                step.is_released() || present.is_some_and(|it| it.spec.deployment_id == *id);
            // The copies of a bundle can change without the bundle deployment.
            if sources.is_empty() && member.is_verified(is_released) {
                continue;
            }
            let (bundle, content) = (&*bundle, &*content);
            results.push(async move {
                let options = member.target.deployment_options();
                let desired = Desired {
                    bundle,
                    cluster: &member.cluster,
                    namespace: &namespace,
                    content,
                    options: &options,
                    deployment_id: &member.target.deployment_id,
                    is_released,
                    present: member.deployment.clone(),
                    sources,
                };
                if Box::pin(self.deployments.write(&desired)).await? == Written::Unchanged {
                    member.set_verified(is_released);
                }
                Ok(())
            });
        }
        let results: Vec<Result<(), CopyError>> = stream::iter(results)
            .buffer_unordered(WRITES)
            .collect()
            .await;
        Ok(results.into_iter().collect::<Result<(), _>>()?)
    }

    /// Deletes the bundle deployments of clusters that the bundle no longer selects.
    async fn delete_others(
        &self,
        compiled: &Compiled,
        present: &BTreeMap<String, Arc<BundleDeployment>>,
    ) -> Result<(), BundleError> {
        let namespaces = compiled.members();
        let namespaces = namespaces.filter_map(|member| member.namespace.as_ref());
        let selected: BTreeSet<&String> = namespaces.collect();
        let others = present
            .iter()
            .filter(|(namespace, _)| !selected.contains(namespace));
        for (_, deployment) in others {
            if !self.is_of_unreadable_cluster(deployment).await? {
                self.deployments.delete(deployment).await?;
            }
        }
        Ok(())
    }

    /// Reports whether the cluster of a bundle deployment exists, but this version cannot parse it.
    async fn is_of_unreadable_cluster(
        &self,
        deployment: &BundleDeployment,
    ) -> Result<bool, BundleError> {
        let labels = deployment.labels();
        let (Some(namespace), Some(name)) = (labels.get(CLUSTER_NAMESPACE), labels.get(CLUSTER))
        else {
            return Ok(false);
        };
        if self
            .world
            .clusters
            .get(&Key::new(namespace, name))
            .is_some()
        {
            return Ok(false);
        }
        let clusters = Api::<FleetCluster>::namespaced(self.client.clone(), namespace);
        let is_present = exists("find a Fleet Cluster", &clusters, name).await?;
        if is_present {
            tracing::warn!(
                "cannot parse the Fleet Cluster {namespace}/{name}, so its bundle deployments remain"
            );
        }
        Ok(is_present)
    }

    /// Deletes the bundle deployments of a deleted bundle, and then the finalizer.
    async fn delete(&self, key: &Key, bundle: &Bundle) -> Result<Action, BundleError> {
        let present = self.present(key);
        for deployment in present.values() {
            self.deployments.delete(deployment).await?;
        }
        if has_finalizer(bundle, FINALIZER) {
            let (bundles, params) = (self.api(key), parameters());
            let removing = remove_finalizer(&bundles, bundle, FINALIZER, &params);
            match call("remove the finalizer of a Bundle", removing).await {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
        }
        self.forget(key);
        Ok(Action::await_change())
    }

    async fn add_finalizer(&self, key: &Key, bundle: &Bundle) -> Result<(), BundleError> {
        if has_finalizer(bundle, FINALIZER) {
            return Ok(());
        }
        let (bundles, params) = (self.api(key), parameters());
        let adding = add_finalizer(&bundles, bundle, FINALIZER, &params);
        call("add the finalizer of a Bundle", adding).await?;
        Ok(())
    }

    /// Returns the clusters of the bundle's namespace, and of the namespaces that a mapping permits.
    fn clusters(&self, bundle: &Bundle) -> Vec<Arc<FleetCluster>> {
        let namespace = bundle.namespace().unwrap_or_default();
        let mut clusters = self.world.clusters.in_namespace(&namespace);
        let mappings = self.world.mappings.in_namespace(&namespace);
        if !mappings.is_empty() {
            let permitted = |other: &&Arc<k8s_openapi::api::core::v1::Namespace>| {
                other.name_any() != namespace
                    && mappings.iter().any(|mapping| {
                        mapping_applies(mapping, bundle, other.labels()).unwrap_or(false)
                    })
            };
            let all = self.world.namespaces.all();
            for other in all.iter().filter(permitted) {
                clusters.extend(self.world.clusters.in_namespace(&other.name_any()));
            }
        }
        clusters.retain(|cluster| cluster.metadata.deletion_timestamp.is_none());
        clusters
    }

    fn groups(&self, clusters: &[Arc<FleetCluster>]) -> Groups {
        let namespaces: BTreeSet<String> = clusters
            .iter()
            .filter_map(|cluster| cluster.namespace())
            .collect();
        let groups = namespaces.iter();
        let groups = groups.flat_map(|namespace| self.world.groups.in_namespace(namespace));
        Groups::new(groups.collect())
    }

    /// Returns the bundle deployments of a bundle, by the namespaces of their clusters.
    fn present(&self, key: &Key) -> BTreeMap<String, Arc<BundleDeployment>> {
        let deployments = self.world.of_bundle(key).into_iter();
        deployments
            .map(|it| (it.namespace().unwrap_or_default(), it))
            .collect()
    }

    fn forget(&self, key: &Key) {
        self.compiled.lock().remove(key);
        self.statuses.forget(key);
    }

    fn api(&self, key: &Key) -> Api<Bundle> {
        Api::namespaced(self.client.clone(), &key.namespace)
    }
}

/// Plans the next step of a rollout. Returns the plan and the number of clusters that it waits for.
fn plan(
    bundle: &Bundle,
    compiled: &Compiled,
    groups: &Groups,
) -> Result<(Plan, usize), RolloutError> {
    let now = Timestamp::now();
    let members: Vec<_> = compiled
        .members()
        .map(|member| (member, groups.of(&member.cluster)))
        .collect();
    let groups: Vec<Vec<Group<'_>>> = members
        .iter()
        .map(|(_, groups)| groups.iter().map(|group| group.as_group()).collect())
        .collect();
    let candidates = members.iter().zip(&groups);
    let candidates: Vec<Candidate<'_>> = candidates
        .map(|((member, _), groups)| Candidate {
            cluster: ClusterFacts::of(&member.cluster, groups),
            wanted: &member.target.deployment_id,
            current: member.deployment.as_deref(),
            state: &member.state,
            paused: bundle.spec.paused
                || member.cluster.spec.paused
                || is_off_schedule(&member.cluster),
            absent: Contact::of(&member.cluster, now)
                .is_absent_for(member.deployment.as_deref(), &member.target.deployment_id),
        })
        .collect();
    let online = candidates.iter().filter(|candidate| !candidate.absent);
    let online = online.count();
    let plan = rollout::plan(bundle.spec.rollout_strategy.as_ref(), &candidates)?;
    Ok((plan, online))
}

/// Reports whether a cluster is outside of its deployment window.
fn is_off_schedule(cluster: &FleetCluster) -> bool {
    let status = cluster.status.as_ref();
    status.is_some_and(|status| status.scheduled && !status.active_schedule)
}

impl Reconciler for Bundles {
    type Key = Key;
    type Error = BundleError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, BundleError> {
        let Some(bundle) = self.world.bundles.get(key) else {
            let present = self.present(key);
            if !present.is_empty() && exists("find a Bundle", &self.api(key), &key.name).await? {
                return Ok(Action::requeue(UNREADABLE));
            }
            for deployment in present.values() {
                self.deployments.delete(deployment).await?;
            }
            self.forget(key);
            return Ok(Action::await_change());
        };
        if bundle.metadata.deletion_timestamp.is_some() {
            return self.delete(key, &bundle).await;
        }
        self.add_finalizer(key, &bundle).await?;
        match Box::pin(self.deploy(key, &bundle)).await {
            Err(error) => {
                let message = error_chain(&error);
                let later = self.statuses.write_error(key, &bundle, &message).await?;
                match error {
                    // A change of the bundle or of the limits ends the refusal.
                    BundleError::Refused(_) => {
                        Ok(later.map_or_else(Action::await_change, Action::requeue))
                    }
                    error => Err(error),
                }
            }
            action => action,
        }
    }

    fn is_expected(&self, error: &BundleError) -> bool {
        matches!(error, BundleError::Hub(error) if error.is_conflict())
    }
}
