//! Limits CPU-heavy work to the number of cores, and moves the work off the async workers.

use std::thread;

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::block_in_place;

use crate::resource::Resource;
use crate::store::Stored;

/// Minimum size of a body or object whose processing is heavy work, in bytes.
const HEAVY_FROM_BYTES: usize = 64 * 1024;
/// Assumed memory overhead per JSON value, in bytes.
const VALUE_OVERHEAD: usize = 16;

/// Limits concurrent heavy work to the number of cores.
#[derive(Debug)]
pub(crate) struct HeavyWorkLimiter(Semaphore);

impl Default for HeavyWorkLimiter {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self(Semaphore::new(cores))
    }
}

/// The estimated CPU cost of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkCost {
    Light,
    HeavyWorkLimiter,
}

impl WorkCost {
    /// Returns the weight of decoding this number of bytes.
    pub(crate) const fn of_bytes(bytes: usize) -> Self {
        if bytes > HEAVY_FROM_BYTES {
            Self::HeavyWorkLimiter
        } else {
            Self::Light
        }
    }

    /// Returns the weight of reading, filtering or converting stored objects.
    pub(crate) fn of_stored(all: &[Stored]) -> Self {
        Self::of_bytes(all.iter().map(|stored| stored.value.len()).sum())
    }

    /// Returns the weight of merging and validating values of a kind.
    pub(crate) fn of_values(resource: &Resource, values: &[&Value]) -> Self {
        let mut remaining = HEAVY_FROM_BYTES;
        let fit = values.iter().all(|value| fits(value, &mut remaining));
        // CEL rules may be expensive on small values.
        if fit && resource.schema.cel.is_none() {
            Self::Light
        } else {
            Self::HeavyWorkLimiter
        }
    }
}

fn fits(value: &Value, remaining: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len(),
        Value::Object(map) => map.keys().map(String::len).sum(),
        _ => 0,
    };
    let Some(rest) = remaining.checked_sub(own + VALUE_OVERHEAD) else {
        return false;
    };
    *remaining = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| fits(item, remaining)),
        Value::Object(map) => map.values().all(|item| fits(item, remaining)),
        _ => true,
    }
}

impl HeavyWorkLimiter {
    /// Runs the work: light work immediately, heavy work when a permit is free. The timeout of the
    /// request limits the wait.
    pub(crate) async fn run<T>(&self, weight: WorkCost, work: impl FnOnce() -> T) -> T {
        // A single-threaded runtime has no other worker.
        let flavor = Handle::current().runtime_flavor();
        if weight == WorkCost::Light || flavor != RuntimeFlavor::MultiThread {
            return work();
        }
        let _turn = self.turn().await;
        block_in_place(work)
    }

    /// Waits for a permit for heavy work.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed. Even without a permit, the work must be done.
        self.0.acquire().await.ok()
    }

    /// Reports whether all permits are in use.
    #[cfg(test)]
    pub(crate) fn is_full(&self) -> bool {
        self.0.available_permits() == 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use serde_json::json;

    use super::*;

    #[test]
    fn long_values_and_cel_rules_are_processed_as_heavy_work() {
        let mut catalog = crate::builtin::catalog(crate::builtin::Kinds::Cluster);
        for resource in crate::crd::resources(&crate::crd::tests::widgets()).unwrap() {
            catalog.insert(resource.into());
        }
        let maps = catalog.find("", "v1", "configmaps").unwrap();
        let widgets = catalog.find("example.com", "v1", "widgets").unwrap();
        let (short, long) = (json!({"a": 1}), json!({"a": "x".repeat(HEAVY_FROM_BYTES)}));
        let many = json!(vec![1; HEAVY_FROM_BYTES / VALUE_OVERHEAD]);
        assert_eq!(
            WorkCost::of_values(maps, &[&short, &short]),
            WorkCost::Light
        );
        assert_eq!(
            WorkCost::of_values(maps, &[&short, &long]),
            WorkCost::HeavyWorkLimiter
        );
        assert_eq!(
            WorkCost::of_values(maps, &[&many]),
            WorkCost::HeavyWorkLimiter
        );
        assert_eq!(
            WorkCost::of_values(widgets, &[&short]),
            WorkCost::HeavyWorkLimiter
        );
    }

    #[test]
    fn heavy_work_does_not_block_other_tasks() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let (go_on, wait) = channel();
        runtime.block_on(async move {
            let heavy = Arc::new(HeavyWorkLimiter::default());
            let work = tokio::spawn(async move {
                // The work ends only after the other task has run.
                heavy
                    .run(WorkCost::HeavyWorkLimiter, move || wait.recv())
                    .await
            });
            let other = tokio::spawn(async move { go_on.send(()) });
            other.await.unwrap().unwrap();
            work.await.unwrap().unwrap();
        });
    }
}
