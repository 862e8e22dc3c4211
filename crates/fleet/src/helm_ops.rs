//! Writes the bundle and the status of HelmOps. Agents pull the charts.

mod polls;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drover_api::fleet::labels::HELM_OP_NAME;
use drover_api::fleet::{Bundle, BundleDeployment, HelmOp, HelmOpStatus};
use drover_gitops::helm_op::{HelmOpError, bundle, pin, pinned, ranges};
use drover_gitops::policy::{Refusal, Resolved};
use drover_gitops::states::{ready_condition, set_condition};
use drover_hub::HubError;
use drover_reconcile::{Action, Attempt, Reconciler, Trigger};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, Client, ResourceExt as _};
use thiserror::Error;

pub(crate) use self::polls::HelmOpPolls;
use self::versions::Poll;
pub(crate) use self::versions::Versions;
use crate::limits;
use crate::mirror::Key;
use crate::repos::{BundleWriteError, BundleWriter};
use crate::rollups::{write_deployments, write_error};
use crate::world::{World, bundle_of};
use crate::writes::{UNREADABLE, exists, now, write_status};

/// The reason why a HelmOp is not accepted.
#[derive(Debug, Error)]
enum NotAccepted {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Invalid(#[from] HelmOpError),
    #[error("{0}")]
    NoVersion(String),
    #[error("the Bundle {0} exists and does not belong to the HelmOp; rename the HelmOp")]
    Occupied(String),
}

impl NotAccepted {
    fn reason(&self) -> &'static str {
        match self {
            Self::Refused(_) => Refusal::REASON,
            Self::Invalid(_) => "InvalidChart",
            Self::NoVersion(_) => "NoVersion",
            Self::Occupied(_) => "NameConflict",
        }
    }
}

/// The controller of HelmOps. The key is the namespace and name of a HelmOp.
pub(crate) struct HelmOps {
    client: Client,
    world: World,
    writer: BundleWriter,
    versions: Arc<Versions>,
}

/// Returns the bundle of a HelmOp with its ranges, and the defaults of the namespace's policies.
fn unpinned(world: &World, key: &Key, helm_op: &HelmOp) -> Result<(Bundle, Resolved), NotAccepted> {
    let resolved = limits::of(world, &key.namespace).helm_op(helm_op)?;
    Ok((bundle(helm_op, &resolved)?, resolved))
}

/// Enqueues HelmOps after each change of their specs and of the limits of their namespace.
fn connect_specs(world: &World, trigger: &Trigger<Key>) {
    let enqueue = trigger.clone();
    world.helm_ops.listen(move |change| {
        let spec = |it: &Option<Arc<HelmOp>>| it.as_ref().map(|it| it.metadata.generation);
        if spec(&change.before) != spec(&change.after) {
            enqueue.enqueue(change.key.clone());
        }
    });
    limits::connect(world, trigger, |world, namespace| {
        crate::keys(&world.helm_ops.in_namespace(namespace))
    });
}

impl HelmOps {
    pub(crate) fn new(client: Client, world: World, versions: Arc<Versions>) -> Self {
        Self {
            versions,
            writer: BundleWriter {
                client: client.clone(),
                world: world.clone(),
            },
            client,
            world,
        }
    }

    /// Returns the keys of all HelmOps, and of deleted HelmOps with bundles.
    pub(crate) fn keys(world: &World) -> Vec<Key> {
        let helm_ops = world.helm_ops.all();
        let bundles = world.bundles.all();
        let keys = helm_ops.iter().map(|it| Key::of(&**it));
        let owners = bundles.iter().filter_map(|bundle| owner(bundle));
        let keys: BTreeSet<Key> = keys.chain(owners).collect();
        keys.into_iter().collect()
    }

    /// Enqueues HelmOps after each change that concerns them.
    pub(crate) fn connect(world: &World, trigger: &Trigger<Key>) {
        connect_specs(world, trigger);
        let enqueue = trigger.clone();
        world.bundles.listen(move |change| {
            let bundles = [&change.before, &change.after].into_iter().flatten();
            for key in bundles.filter_map(|bundle| owner(bundle)) {
                enqueue.enqueue(key);
            }
        });
        let (enqueue, seen) = (trigger.clone(), world.clone());
        world.deployments.listen(move |change| {
            let deployments = [&change.before, &change.after].into_iter().flatten();
            let bundles = deployments.filter_map(|it| bundle_of(it));
            let bundles = bundles.filter_map(|key| seen.bundles.get(&key));
            for key in bundles.filter_map(|bundle| owner(&bundle)) {
                enqueue.enqueue(key);
            }
        });
    }

    /// Returns the bundle of a HelmOp with exact versions. Returns `None` while no poll has ended.
    fn bundle(
        &self,
        key: &Key,
        helm_op: &HelmOp,
        poll: Option<&Poll>,
    ) -> Result<Option<Bundle>, NotAccepted> {
        let (mut bundle, _) = unpinned(&self.world, key, helm_op)?;
        // After a restart, the bundle has the versions of an earlier poll.
        let present = self.world.bundles.get(key);
        let present = present.filter(|present| owner(present).as_ref() == Some(key));
        let mut versions = present.map_or_else(BTreeMap::new, |present| pinned(&present, &bundle));
        versions.extend(poll.map(|poll| poll.found.clone()).unwrap_or_default());
        pin(&mut bundle, &versions);
        if ranges(&bundle).is_empty() {
            return Ok(Some(bundle));
        }
        match poll.and_then(|poll| poll.failure.as_ref()) {
            Some(failure) => Err(NotAccepted::NoVersion(failure.reason.clone())),
            None => Ok(None),
        }
    }

    /// Writes the bundle. Returns the version of its chart.
    async fn write(
        &self,
        key: &Key,
        bundle: Bundle,
    ) -> Result<Result<String, NotAccepted>, HubError> {
        let helm = bundle.spec.options.helm.as_ref();
        let version = helm.map_or_else(String::new, |helm| helm.version.clone());
        match Box::pin(self.writer.write_one(&key.namespace, bundle)).await {
            // The deletion of the bundle enqueues the HelmOp again.
            Ok(()) | Err(BundleWriteError::Deleting(_)) => Ok(Ok(version)),
            Err(BundleWriteError::Hub(error)) => Err(error),
            Err(BundleWriteError::OtherOwner(_)) => {
                Ok(Err(NotAccepted::Occupied(key.name.clone())))
            }
        }
    }

    fn status(
        &self,
        key: &Key,
        helm_op: &HelmOp,
        written: &Result<String, NotAccepted>,
        poll: Option<&Poll>,
    ) -> HelmOpStatus {
        let mut status = helm_op.status.clone().unwrap_or_default();
        let deployments = self.deployments(key);
        let aggregate = write_deployments(&mut status.base, &deployments);
        let now = now();
        let (accepted, reason, cause) = match written {
            Ok(version) => {
                status.version.clone_from(version);
                ("True", "", String::new())
            }
            Err(error) => {
                let message = error.to_string();
                write_error(&mut status.base, "ErrApplied", &message);
                ("False", error.reason(), message)
            }
        };
        let conditions = &mut status.base.conditions;
        set_condition(conditions, "Accepted", accepted, reason, &cause, &now);
        ready_condition(conditions, &aggregate.ready_message("Bundle"), &now);
        if let Some(poll) = poll {
            let (polled, reason, message) = poll.condition(helm_op);
            set_condition(conditions, "Polled", polled, reason, &message, &now);
        } else {
            conditions.retain(|condition| condition.type_ != "Polled");
        }
        status.last_polling_time = poll.map(|poll| Time(poll.at));
        status
    }

    fn deployments(&self, key: &Key) -> Vec<Arc<BundleDeployment>> {
        let bundle = self.world.bundles.get(key);
        let own = bundle.filter(|bundle| owner(bundle).as_ref() == Some(key));
        own.map(|_| self.world.of_bundle(key)).unwrap_or_default()
    }
}

impl Reconciler for HelmOps {
    type Key = Key;
    type Error = HubError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, HubError> {
        let helm_ops = Api::<HelmOp>::namespaced(self.client.clone(), &key.namespace);
        let Some(helm_op) = self.world.helm_ops.get(key) else {
            let bundle = self.world.bundles.get(key);
            if let Some(bundle) = bundle.filter(|it| owner(it).as_ref() == Some(key)) {
                if exists("find a HelmOp", &helm_ops, &key.name).await? {
                    return Ok(Action::requeue(UNREADABLE));
                }
                self.writer.delete(&bundle).await?;
            }
            return Ok(Action::await_change());
        };
        if helm_op.metadata.deletion_timestamp.is_some() {
            return Ok(Action::await_change());
        }
        let poll = self.versions.get(key);
        let written = match self.bundle(key, &helm_op, poll.as_ref()) {
            Ok(Some(bundle)) => self.write(key, bundle).await?,
            // The end of the poll enqueues the HelmOp again.
            Ok(None) => return Ok(Action::await_change()),
            Err(error) => Err(error),
        };
        let status = self.status(key, &helm_op, &written, poll.as_ref());
        let operation = "write the status of a HelmOp";
        let before = helm_op.status.as_ref();
        let written = write_status(operation, &helm_ops, &key.name, before, &status).await?;
        if let Some(written) = written {
            self.world.helm_ops.observe(written);
        }
        Ok(Action::await_change())
    }
}

/// Returns the HelmOp of a bundle. Its bundle has the same name.
fn owner(bundle: &Bundle) -> Option<Key> {
    let name = bundle.labels().get(HELM_OP_NAME)?;
    let key = Key::of(bundle);
    (*name == key.name).then_some(key)
}
