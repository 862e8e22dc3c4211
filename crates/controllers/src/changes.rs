//! Compares stored conditions with decided conditions, and writes the differences.

use std::sync::Arc;

use drover_api::conditions::{ConditionValue, Tristate, set_condition};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use drover_hub::{Hub, HubError, Store, StoredKind, Writer};

/// Maximum number of concurrent writes of one kind.
const CONCURRENCY: usize = 4;
/// Number of failures after which the remaining writes wait for the next reconciliation.
const MAX_FAILURES: usize = 4;

/// An object with its pending write.
pub(super) struct Change<K> {
    pub(super) object: Arc<K>,
    pub(super) write: Write,
}

/// The content of a write of one object.
pub(super) enum Write {
    /// Replaces all conditions of the object.
    Conditions(Vec<Condition>),
    /// Merges this patch into the object (RFC 7386).
    Patch(Value),
    /// Deletes the object.
    Delete,
}

/// Returns the conditions of a status. Returns an empty slice for `None`.
pub(super) fn conditions_of(conditions: Option<&Vec<Condition>>) -> &[Condition] {
    conditions.map_or(&[], Vec::as_slice)
}

/// Creates the content of a condition with status True.
pub(super) fn condition_true(reason: &'static str, message: impl Into<String>) -> ConditionValue {
    ConditionValue {
        status: Tristate::True,
        reason,
        message: message.into(),
    }
}

/// Creates the content of a condition with status False.
pub(super) fn condition_false(reason: &'static str, message: impl Into<String>) -> ConditionValue {
    ConditionValue {
        status: Tristate::False,
        reason,
        message: message.into(),
    }
}

/// Returns the conditions to write on an object. Returns `None` if the meaning of `present` is
/// unchanged.
pub(super) fn changed_conditions(
    object: &impl Resource,
    present: &[Condition],
    kind: &str,
    condition_value: &ConditionValue,
    now: Timestamp,
) -> Option<Vec<Condition>> {
    let generation = object.meta().generation;
    let unchanged = present.iter().any(|condition| {
        condition.type_ == kind
            && condition.status == condition_value.status.as_str()
            && condition.reason == condition_value.reason
            && condition.message == condition_value.message
            && condition.observed_generation == generation
    });
    // Most objects are unchanged; return before any clone.
    if unchanged || object.meta().deletion_timestamp.is_some() {
        return None;
    }
    let mut desired = present.to_vec();
    set_condition(&mut desired, kind, condition_value, generation, now).then_some(desired)
}

/// Returns the objects of one kind whose condition must change. `observe` returns the desired
/// condition and the current conditions of an object, or `None` if the condition cannot be decided.
pub(super) fn changes<K: Resource>(
    store: &Store<K>,
    kind: &str,
    now: Timestamp,
    observe: impl for<'a> Fn(&'a K) -> (Option<ConditionValue>, &'a [Condition]),
) -> Vec<Change<K>> {
    let objects = store.all().into_iter();
    let changes = objects.filter_map(|object| {
        let (condition_value, present) = observe(&object);
        let desired = changed_conditions(&*object, present, kind, &condition_value?, now)?;
        Some(Change {
            object,
            write: Write::Conditions(desired),
        })
    });
    changes.collect()
}

/// Writes the changes of one kind to the hub, with bounded concurrency. Returns the first failure.
/// `operation` completes the sentence "cannot …" in the error message.
pub(super) async fn write_all<K: StoredKind>(
    hub: &Hub,
    operation: &'static str,
    changes: &[Change<K>],
) -> Result<(), HubError> {
    let writer = hub.writer::<K>().with_manager();
    let mut first = None;
    let mut failures = 0;
    for together in changes.chunks(CONCURRENCY) {
        let requests = together
            .iter()
            .map(|change| write(&writer, operation, change));
        let results = futures::future::join_all(requests).await;
        for error in results.into_iter().filter_map(Result::err) {
            // A rejected object does not affect the others.
            let refused = error.code().is_some_and(|code| (400..500).contains(&code));
            failures += usize::from(!refused || error.code() == Some(429));
            first.get_or_insert(error);
        }
        if failures >= MAX_FAILURES {
            break;
        }
    }
    first.map_or(Ok(()), Err)
}

/// Writes one object with the resourceVersion on which the decision is based. If the hub has a
/// newer version, the write fails with a conflict. The next reconciliation then decides again from
/// the newer version.
async fn write<K: StoredKind>(
    writer: &Writer<'_, K>,
    operation: &'static str,
    change: &Change<K>,
) -> Result<(), HubError> {
    let (name, version) = (change.object.name_any(), change.object.resource_version());
    let written = match &change.write {
        Write::Conditions(conditions) => {
            let patch = json!({
                "metadata": { "resourceVersion": version },
                "status": { "conditions": conditions },
            });
            let patched = writer.patch_status(operation, &name, &patch);
            patched.await.map(drop)
        }
        Write::Patch(patch) => {
            let mut patch = patch.clone();
            patch["metadata"]["resourceVersion"] = json!(version);
            writer.patch(operation, &name, &patch).await.map(drop)
        }
        Write::Delete => writer.delete_version(operation, &change.object).await,
    };
    match written {
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(()),
        answer => answer,
    }
}
