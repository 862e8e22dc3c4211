//! Objects on the hub that do not say what they should: finding them in memory, and writing them.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use drover_api::conditions::{Tristate, Verdict, set_condition};
use drover_api::group::SERVER_FIELD_MANAGER;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use drover_entropy::backoff::Backoff;
use drover_hub::{HubError, Mirror, Stores, call};

/// Writes at once, of each kind.
const AT_ONCE: usize = 4;
/// A look ends after so many failures: a hub that fails is left alone for a while.
const FAILURES: usize = 4;
/// Longest to wait until memory shows what was written.
const VISIBLE_WITHIN: Duration = Duration::from_secs(5);

/// When a controller looks at memory again: after a change, when something is due, and later and
/// later while the hub fails.
pub(super) struct Pace {
    /// Ticks when there may be something to write.
    changed: watch::Receiver<u64>,
    /// Changes that come together are looked at together.
    settle: Duration,
    backoff: Backoff,
    /// Completes "… not up to date".
    what: &'static str,
}

impl Pace {
    pub(super) fn new(changed: watch::Receiver<u64>, settle: Duration, what: &'static str) -> Self {
        Self {
            changed,
            settle,
            backoff: Backoff::new(Duration::from_secs(1), Duration::from_mins(1)),
            what,
        }
    }

    /// One look, unless memory cannot be trusted, and the wait for the next one, which is at `due` if
    /// nothing changes.
    pub(super) async fn turn(
        &mut self,
        stores: &Stores,
        look: impl Future<Output = Result<(), HubError>>,
        due: impl FnOnce() -> Instant,
    ) {
        // What changes from here on is for the next look.
        self.changed.mark_unchanged();
        let looked = if stores.health().is_trusted() {
            look.await
        } else {
            Ok(())
        };
        self.rest(looked, due()).await;
    }

    /// Waits until it is time for the next look, which is at `due` if nothing changes.
    async fn rest(&mut self, looked: Result<(), HubError>, due: Instant) {
        if let Err(error) = looked {
            self.warn(&error);
            // What changes meanwhile shall not wait for one object that the hub refuses.
            let pause = tokio::time::timeout(self.backoff.next_delay(), self.changed.changed());
            if pause.await.is_ok() {
                tokio::time::sleep(self.settle.max(Duration::from_secs(1))).await;
            }
            return;
        }
        self.backoff.reset();
        tokio::select! {
            // The sender lives in the stores, which whoever looks holds.
            _ = self.changed.changed() => tokio::time::sleep(self.settle).await,
            () = tokio::time::sleep_until(due) => {}
        }
    }

    fn warn(&self, error: &HubError) {
        let error = error as &dyn std::error::Error;
        tracing::warn!(error, "{} not up to date", self.what);
    }
}

/// An object, and what has to be written to it.
pub(super) struct Outdated<K> {
    pub(super) object: Arc<K>,
    pub(super) due: Due,
}

/// What has to be written.
pub(super) enum Due {
    /// All of its conditions.
    Conditions(Vec<Condition>),
    /// What is merged into it (RFC 7386).
    Patch(Value),
    /// It goes.
    Deletion,
}

/// What an object says of itself; nothing if it has no status yet.
pub(super) fn held(conditions: Option<&Vec<Condition>>) -> &[Condition] {
    conditions.map_or(&[], Vec::as_slice)
}

/// A condition that holds.
pub(super) fn yes(reason: &'static str, message: impl Into<String>) -> Verdict {
    Verdict {
        status: Tristate::True,
        reason,
        message: message.into(),
    }
}

/// A condition that does not hold.
pub(super) fn no(reason: &'static str, message: impl Into<String>) -> Verdict {
    Verdict {
        status: Tristate::False,
        reason,
        message: message.into(),
    }
}

/// The conditions to write on one object, if what they say is not what it says already.
pub(super) fn due(
    object: &impl Resource,
    held: &[Condition],
    kind: &str,
    verdict: &Verdict,
    now: Timestamp,
) -> Option<Vec<Condition>> {
    let generation = object.meta().generation;
    let says = held.iter().any(|condition| {
        condition.type_ == kind
            && condition.status == verdict.status.as_str()
            && condition.reason == verdict.reason
            && condition.message == verdict.message
            && condition.observed_generation == generation
    });
    // Most objects say what they should, and there may be many.
    if says || object.meta().deletion_timestamp.is_some() {
        return None;
    }
    let mut wanted = held.to_vec();
    set_condition(&mut wanted, kind, verdict, generation, now).then_some(wanted)
}

/// The objects of one kind that do not say what they should, and what that is.
///
/// `observe` gives what an object should say, if that is for it to decide, and the conditions that
/// it has.
pub(super) fn outdated<K: Resource>(
    mirror: &Mirror<K>,
    kind: &str,
    now: Timestamp,
    observe: impl for<'a> Fn(&'a K) -> (Option<Verdict>, &'a [Condition]),
) -> Vec<Outdated<K>> {
    let objects = mirror.all().into_iter();
    let judged = objects.filter_map(|object| {
        let (verdict, held) = observe(&object);
        let wanted = due(&*object, held, kind, &verdict?, now)?;
        Some(Outdated {
            object,
            due: Due::Conditions(wanted),
        })
    });
    judged.collect()
}

/// Writes what is due, some at once, and returns the first failure; `operation` completes "could
/// not …".
pub(super) async fn write_all<K>(
    operation: &'static str,
    api: &Api<K>,
    mirror: &Mirror<K>,
    outdated: &[Outdated<K>],
) -> Result<(), HubError>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut first = None;
    let mut failures = 0;
    for together in outdated.chunks(AT_ONCE) {
        let writes = together
            .iter()
            .map(|outdated| write(operation, api, mirror, outdated));
        let written = futures::future::join_all(writes).await;
        for error in written.into_iter().filter_map(Result::err) {
            // One that the hub refuses says nothing about the others.
            let refused = error.code().is_some_and(|code| (400..500).contains(&code));
            failures += usize::from(!refused || error.code() == Some(429));
            first.get_or_insert(error);
        }
        if failures >= FAILURES {
            break;
        }
    }
    first.map_or(Ok(()), Err)
}

async fn write<K>(
    operation: &'static str,
    api: &Api<K>,
    mirror: &Mirror<K>,
    outdated: &Outdated<K>,
) -> Result<(), HubError>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    // With the version that was decided from: what became another meanwhile is looked at again.
    let version = outdated.object.resource_version();
    let params = PatchParams {
        field_manager: Some(SERVER_FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let name = outdated.object.name_any();
    let written = match &outdated.due {
        Due::Conditions(conditions) => {
            let patch = Patch::Merge(json!({
                "metadata": { "resourceVersion": version },
                "status": { "conditions": conditions },
            }));
            let written = call(operation, api.patch_status(&name, &params, &patch)).await;
            written.map(Some)
        }
        Due::Patch(patch) => {
            let mut patch = patch.clone();
            patch["metadata"]["resourceVersion"] = json!(version);
            let patch = Patch::Merge(patch);
            let written = call(operation, api.patch(&name, &params, &patch)).await;
            written.map(Some)
        }
        Due::Deletion => {
            let params = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: outdated.object.uid(),
                    resource_version: version,
                }),
                ..DeleteParams::default()
            };
            let deleted = call(operation, api.delete(&name, &params)).await;
            deleted.map(|_| None)
        }
    };
    match written {
        Ok(Some(written)) => {
            mirror.wait_for(&written, VISIBLE_WITHIN).await;
            Ok(())
        }
        Ok(None) => Ok(()),
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}
