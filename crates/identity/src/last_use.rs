//! Records the last use of tokens in memory, and writes the records to the hub in batches.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use drover_api::kinds::Token;
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use futures::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::json;

use drover_hub::Hub;

/// The interval between two writes of the pending records.
const WRITE_INTERVAL: Duration = Duration::from_mins(1);
/// The minimum difference between the last use that the hub stores and a newer use. The server
/// writes the newer use only if the difference exceeds this duration.
const MIN_INCREASE: SignedDuration = SignedDuration::from_mins(5);
/// The maximum difference between the actual last use and the last use that the hub stores.
pub(super) const MAX_LAG: SignedDuration = SignedDuration::from_mins(7);
/// The maximum number of pending records. At this number, the server does not record the use of
/// further tokens until it has written the pending records.
const MAX_PENDING: usize = 10_000;
/// The maximum number of concurrent writes to the hub.
const CONCURRENCY: usize = 8;

/// The pending records of token use. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct LastUse {
    pending: Arc<Mutex<BTreeMap<String, Timestamp>>>,
}

impl LastUse {
    /// Records `now` as the last use of a token.
    pub fn record(&self, token: &Token, now: Timestamp) {
        if !needs_write(token, now) {
            return;
        }
        let Some(name) = token.metadata.name.as_deref() else {
            return;
        };
        let mut pending = self.pending.lock();
        if let Some(last) = pending.get_mut(name) {
            *last = now;
        } else if pending.len() < MAX_PENDING {
            pending.insert(name.to_owned(), now);
        }
    }

    /// Runs the controller that writes the records to the hub every minute, and once at shutdown.
    pub async fn run(self, hub: Hub, runtime: Runtime) {
        let writer = LastUseWriter {
            last_use: self.clone(),
            hub: hub.clone(),
        };
        let runtime = runtime.in_every_replica();
        let options = Options::new("last-use");
        runtime.run_single(options, writer, []).await;
        self.write(&hub).await;
    }

    /// Reports whether a use of this token waits to be written to the hub.
    pub(super) fn is_pending_write(&self, id: &str) -> bool {
        self.pending.lock().contains_key(id)
    }

    /// Writes the pending records. Failed records stay pending.
    async fn write(&self, hub: &Hub) {
        let pending = std::mem::take(&mut *self.pending.lock());
        futures::stream::iter(pending)
            .for_each_concurrent(CONCURRENCY, |(id, at)| async move {
                if !write_one(hub, &id, at).await {
                    self.pending.lock().entry(id).or_insert(at);
                }
            })
            .await;
    }
}

/// The reconciler that writes the pending records.
struct LastUseWriter {
    last_use: LastUse,
    hub: Hub,
}

impl Reconciler for LastUseWriter {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        self.last_use.write(&self.hub).await;
        Ok(Action::requeue(WRITE_INTERVAL))
    }
}

fn needs_write(token: &Token, now: Timestamp) -> bool {
    let recorded = token
        .status
        .as_ref()
        .and_then(|status| status.last_used_at.as_ref());
    recorded.is_none_or(|last| now.duration_since(last.0) > MIN_INCREASE)
}

/// Writes the last use of a token. Returns true if the write succeeded or is unnecessary.
async fn write_one(hub: &Hub, id: &str, at: Timestamp) -> bool {
    // A deleted token needs no record, and a patch would return an error.
    if hub.stores().tokens.by_name(id).is_none() {
        return true;
    }
    let patch = json!({ "status": { "lastUsedAt": at } });
    // The records do not wait for each other: no decision uses the result.
    let writer = hub.writer::<Token>().without_wait();
    let written = writer.patch_status("record a token's last use", id, &patch);
    match written.await {
        Err(error) if !error.is_not_found() => {
            tracing::debug!(
                token.id = id,
                error = &error as &dyn std::error::Error,
                "failed to record the last use of a token"
            );
            false
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::TokenStatus;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use drover_testkit::kinds::token;

    #[test]
    fn last_use_of_a_token_is_not_written_while_the_stored_time_is_recent() {
        let last_use = LastUse::default();
        let mut used = token("bcdfghjkmnpq", "uid");
        last_use.record(&used, Timestamp::now());
        last_use.record(&used, Timestamp::now());
        assert_eq!(last_use.pending.lock().len(), 1);
        last_use.pending.lock().clear();
        used.status = Some(TokenStatus {
            last_used_at: Some(Time(Timestamp::now())),
            ..TokenStatus::default()
        });
        last_use.record(&used, Timestamp::now());
        assert!(last_use.pending.lock().is_empty());
    }
}
