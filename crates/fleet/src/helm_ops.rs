//! Writes the bundle and the status of HelmOps. Agents pull the charts.

mod versions;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::labels::HELM_OP_NAME;
use drover_api::fleet::{Bundle, BundleDeployment, HelmOp, HelmOpStatus};
use drover_charts::Charts;
use drover_gitops::helm_op::{HelmOpError, bundle, pin, ranges};
use drover_gitops::policy::Refusal;
use drover_gitops::states::{ready_condition, set_condition};
use drover_hub::HubError;
use drover_reconcile::{Action, Attempt, Reconciler, Trigger};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, Client, ResourceExt as _};
use thiserror::Error;

use self::versions::{Poll, Versions};
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
    #[error("no version of the chart is known: {0}")]
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
    versions: Versions,
}

impl HelmOps {
    pub(crate) fn new(client: Client, world: World, charts: Arc<Charts>) -> Self {
        Self {
            versions: Versions::new(client.clone(), charts),
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
        let enqueue = trigger.clone();
        world.helm_ops.listen(move |change| {
            let spec = |it: &Option<Arc<HelmOp>>| it.as_ref().map(|it| it.metadata.generation);
            if spec(&change.before) != spec(&change.after) {
                enqueue.enqueue(change.key.clone());
            }
        });
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
        limits::connect(world, trigger, |world, namespace| {
            crate::keys(&world.helm_ops.in_namespace(namespace))
        });
    }

    /// Returns the bundle of a HelmOp with exact versions, and the poll of its ranges.
    async fn bundle(
        &self,
        key: &Key,
        helm_op: &HelmOp,
    ) -> Result<(Bundle, Option<Poll>), (NotAccepted, Option<Poll>)> {
        let resolved = limits::of(&self.world, &key.namespace).helm_op(helm_op);
        let resolved = resolved.map_err(|refusal| (refusal.into(), None))?;
        let bundle = bundle(helm_op, &resolved);
        let mut bundle = bundle.map_err(|error| (error.into(), None))?;
        let ranges = ranges(&bundle);
        if ranges.is_empty() {
            self.versions.forget(key);
            return Ok((bundle, None));
        }
        let secret = &resolved.secret_name;
        let poll = Box::pin(self.versions.poll(key, helm_op, secret, ranges)).await;
        if let (false, Some(failure)) = (poll.is_complete(), &poll.failure) {
            let error = NotAccepted::NoVersion(failure.reason.clone());
            return Err((error, Some(poll)));
        }
        pin(&mut bundle, &poll.found);
        Ok((bundle, Some(poll)))
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
        conditions.retain(|condition| poll.is_some() || condition.type_ != "Polled");
        if let Some(poll) = poll {
            let (polled, reason, message) = poll.condition(helm_op);
            set_condition(conditions, "Polled", polled, reason, &message, &now);
            status.last_polling_time = Some(Time(poll.at));
        }
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
            self.versions.forget(key);
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
        let (written, poll) = match self.bundle(key, &helm_op).await {
            Ok((bundle, poll)) => (self.write(key, bundle).await?, poll),
            Err((error, poll)) => (Err(error), poll),
        };
        let status = self.status(key, &helm_op, &written, poll.as_ref());
        let operation = "write the status of a HelmOp";
        let before = helm_op.status.as_ref();
        let written = write_status(operation, &helm_ops, &key.name, before, &status).await?;
        if let Some(written) = written {
            self.world.helm_ops.observe(written);
        }
        let next = poll.and_then(|poll| poll.next(&helm_op));
        Ok(next.map_or_else(Action::await_change, |next| {
            let left = Duration::try_from(next.duration_since(Timestamp::now()));
            Action::requeue(left.unwrap_or_default())
        }))
    }
}

/// Returns the HelmOp of a bundle. Its bundle has the same name.
fn owner(bundle: &Bundle) -> Option<Key> {
    let name = bundle.labels().get(HELM_OP_NAME)?;
    let key = Key::of(bundle);
    (*name == key.name).then_some(key)
}
