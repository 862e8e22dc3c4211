//! Writes the status of bundles, at most once in two seconds for each bundle.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::{Bundle, BundleStatus};
use drover_gitops::rollout::Plan;
use drover_gitops::states::ready_condition;
use drover_hub::HubError;
use kube::{Api, Client};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::cache::Compiled;
use crate::mirror::Key;
use crate::writes::{now, write_status};

/// Minimum time between two writes of the status of one bundle.
const INTERVAL: Duration = Duration::from_secs(2);

/// The last written status of a bundle.
struct Written {
    at: Instant,
    status: BundleStatus,
}

/// The writer of bundle statuses.
#[derive(Clone)]
pub(super) struct Statuses {
    client: Client,
    written: Arc<Mutex<BTreeMap<Key, Written>>>,
}

impl Statuses {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            written: Arc::default(),
        }
    }

    pub(super) fn forget(&self, key: &Key) {
        self.written.lock().remove(key);
    }

    /// Writes the status after a step of the rollout. Returns the delay of a write that is too early.
    pub(super) async fn write(
        &self,
        key: &Key,
        bundle: &Bundle,
        compiled: &Compiled,
        plan: &Plan,
    ) -> Result<Option<Duration>, HubError> {
        let aggregate = &compiled.aggregate;
        let mut status = self.current(key, bundle);
        plan.write_status(&mut status);
        aggregate.write_bundle_status(&mut status);
        status.resources_sha256_sum.clone_from(&compiled.sha256);
        status.observed_generation = bundle.metadata.generation.unwrap_or_default();
        let mut message = aggregate.ready_message("Cluster");
        if let Some(stop) = plan.stop.as_ref().filter(|stop| !stop.failed.is_empty()) {
            message = format!(
                "the rollout stopped at partition {:?}: {} clusters are unavailable, and the limit is {}; \
                 failed: {}; {message}",
                stop.partition,
                stop.unavailable,
                stop.max_unavailable,
                stop.failed.join(", "),
            );
        }
        ready_condition(&mut status.conditions, &message, &now());
        self.write_if_changed(key, bundle, status).await
    }

    /// Writes the condition `Ready` of a bundle that cannot be deployed. Returns the delay of a write
    /// that is too early.
    pub(super) async fn write_error(
        &self,
        key: &Key,
        bundle: &Bundle,
        message: &str,
    ) -> Result<Option<Duration>, HubError> {
        let mut status = self.current(key, bundle);
        "ErrApplied".clone_into(&mut status.display.state);
        ready_condition(&mut status.conditions, message, &now());
        self.write_if_changed(key, bundle, status).await
    }

    fn current(&self, key: &Key, bundle: &Bundle) -> BundleStatus {
        let written = self.written.lock().get(key).map(|it| it.status.clone());
        written
            .or_else(|| bundle.status.clone())
            .unwrap_or_default()
    }

    async fn write_if_changed(
        &self,
        key: &Key,
        bundle: &Bundle,
        status: BundleStatus,
    ) -> Result<Option<Duration>, HubError> {
        let now = Instant::now();
        let known = {
            let written = self.written.lock();
            let last = written.get(key);
            let known = last.map_or(bundle.status.as_ref(), |last| Some(&last.status));
            if known == Some(&status) {
                return Ok(None);
            }
            let known = known.cloned();
            if let Some(wait) = last.and_then(|last| INTERVAL.checked_sub(now - last.at)) {
                return Ok(Some(wait));
            }
            known
        };
        let bundles = Api::<Bundle>::namespaced(self.client.clone(), &key.namespace);
        let operation = "write the status of a Bundle";
        write_status(operation, &bundles, &key.name, known.as_ref(), &status).await?;
        self.written
            .lock()
            .insert(key.clone(), Written { at: now, status });
        Ok(None)
    }
}
