//! Work that may take long: a few pieces at a time, and none of it where it keeps the runtime from
//! everything else.

use std::thread;

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::block_in_place;

use crate::resource::Resource;
use crate::store::Stored;

/// Bodies and objects longer than this are heavy.
const LARGE: usize = 64 * 1024;
/// What a value takes beside its text.
const VALUE: usize = 16;

/// How much heavy work runs at once: as much as there are cores for it.
#[derive(Debug)]
pub(crate) struct Heavy(Semaphore);

impl Default for Heavy {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self(Semaphore::new(cores))
    }
}

/// Whether work is heavy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Light,
    Heavy,
}

impl Weight {
    /// Of decoding so many bytes.
    pub(crate) const fn of_bytes(bytes: usize) -> Self {
        if bytes > LARGE {
            Self::Heavy
        } else {
            Self::Light
        }
    }

    /// Of reading, filtering or converting these.
    pub(crate) fn of_stored(all: &[Stored]) -> Self {
        Self::of_bytes(all.iter().map(|stored| stored.value.len()).sum())
    }

    /// Of merging and checking these values as a kind.
    pub(crate) fn of_values(resource: &Resource, values: &[&Value]) -> Self {
        let mut left = LARGE;
        let fit = values.iter().all(|value| fits(value, &mut left));
        // Rules may turn many times over little.
        if fit && resource.schema.cel.is_none() {
            Self::Light
        } else {
            Self::Heavy
        }
    }
}

fn fits(value: &Value, left: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len(),
        Value::Object(map) => map.keys().map(String::len).sum(),
        _ => 0,
    };
    let Some(rest) = left.checked_sub(own + VALUE) else {
        return false;
    };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| fits(item, left)),
        Value::Object(map) => map.values().all(|item| fits(item, left)),
        _ => true,
    }
}

impl Heavy {
    /// Does the work: at once if it is light, else in its turn. The request's own time limit ends
    /// the wait.
    pub(crate) async fn run<T>(&self, weight: Weight, work: impl FnOnce() -> T) -> T {
        // A runtime of one thread has nothing to go on with elsewhere.
        let flavor = Handle::current().runtime_flavor();
        if weight == Weight::Light || flavor != RuntimeFlavor::MultiThread {
            return work();
        }
        let _turn = self.turn().await;
        block_in_place(work)
    }

    /// Waits for a turn, which lasts until it is dropped.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed; without a permit the work would still have to be done.
        self.0.acquire().await.ok()
    }

    /// Whether the next piece of work has to wait.
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
    fn much_is_heavy_and_so_are_rules() {
        let mut catalog = crate::builtin::catalog(crate::builtin::Kinds::Cluster);
        for resource in crate::crd::resources(&crate::crd::tests::widgets()).unwrap() {
            catalog.insert(resource.into());
        }
        let maps = catalog.find("", "v1", "configmaps").unwrap();
        let widgets = catalog.find("example.com", "v1", "widgets").unwrap();
        let (short, long) = (json!({"a": 1}), json!({"a": "x".repeat(LARGE)}));
        let many = json!(vec![1; LARGE / VALUE]);
        assert_eq!(Weight::of_values(maps, &[&short, &short]), Weight::Light);
        assert_eq!(Weight::of_values(maps, &[&short, &long]), Weight::Heavy);
        assert_eq!(Weight::of_values(maps, &[&many]), Weight::Heavy);
        assert_eq!(Weight::of_values(widgets, &[&short]), Weight::Heavy);
    }

    #[test]
    fn other_tasks_of_a_busy_thread_go_on_meanwhile() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let (go_on, wait) = channel();
        runtime.block_on(async move {
            let heavy = Arc::new(Heavy::default());
            let work = tokio::spawn(async move {
                // Ends only when the other task has run.
                heavy.run(Weight::Heavy, move || wait.recv()).await
            });
            let other = tokio::spawn(async move { go_on.send(()) });
            other.await.unwrap().unwrap();
            work.await.unwrap().unwrap();
        });
    }
}
