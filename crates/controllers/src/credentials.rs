//! Writes the conditions of Users, Tokens and ClusterRegistrationTokens. The conditions show
//! whether the objects are usable.
//!
//! The server makes no decision from these conditions. The controller compares the conditions in
//! memory after a change of the stores, at most once a second. The controller writes an object
//! after its creation, when the meaning of the condition changes, and when the object expires. A
//! token that `drover credential` creates for kubectl therefore causes two small writes: seconds
//! after its creation, and at its expiry. The request that creates the token does not wait for
//! these writes.

pub(crate) mod decide;

use std::time::Duration;

use drover_api::conditions::{READY, USABLE, VALID};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use jiff::Timestamp;

use super::BATCH_TIMEOUT;
use super::changes::{changes, conditions_of, write_all};
use drover_hub::stores::identity_status;
use drover_hub::{Hub, HubError, Stores};
use drover_identity::authenticator::idle_deadline;

/// Debounce delay. Merges the creation of a user and of the user's first token into one
/// reconciliation.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// Maximum time between two reconciliations. Limits the delay of an expiry after an adjustment of
/// the wall clock.
const INTERVAL: Duration = Duration::from_mins(5);
const WRITE: &str = "write the condition of a user or token";

/// The reconciler that writes the conditions of users and tokens.
struct Credentials {
    hub: Hub,
}

impl Reconciler for Credentials {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        let stores = self.hub.stores();
        if stores.health().is_trusted() {
            write_conditions(&self.hub).await?;
        }
        Ok(Action::requeue(next_due(stores, Timestamp::now())))
    }
}

/// Runs the controller of conditions of users and tokens.
pub(super) async fn run(hub: &Hub, runtime: &Runtime) {
    let options = Options {
        debounce: DEBOUNCE,
        timeout: Some(BATCH_TIMEOUT),
        ..Options::new("credentials")
    };
    let reconciler = Credentials { hub: hub.clone() };
    let changed = hub.stores().changed();
    runtime.run_single(options, reconciler, [changed]).await;
}

/// Returns the time until the next token expires or goes idle, at most [`INTERVAL`].
fn next_due(stores: &Stores, now: Timestamp) -> Duration {
    let people = stores.tokens.all();
    let clusters = stores.registration_tokens.all();
    let ends = people.iter().map(|token| token.spec.expires_at.0);
    let ends = ends.chain(clusters.iter().map(|token| token.spec.expires_at.0));
    let ends = ends.chain(people.iter().filter_map(|token| idle_deadline(token)));
    let next = ends.filter(|end| *end > now).min();
    let wait = next.and_then(|end| Duration::try_from(end.duration_since(now)).ok());
    wait.map_or(INTERVAL, |wait| wait.min(INTERVAL))
}

async fn write_conditions(hub: &Hub) -> Result<(), HubError> {
    let (stores, now) = (hub.stores(), Timestamp::now());
    let users = changes(&stores.users, READY, now, |user| {
        let status = user.status.as_ref();
        let identities = status.iter().flat_map(|status| &status.identities);
        let judged =
            identities.map(|one| (one, identity_status::check_identity(one, stores, now).err()));
        let judged: Vec<_> = judged.collect();
        (
            Some(decide::user(user, &judged)),
            conditions_of(status.map(|s| &s.conditions)),
        )
    });
    let tokens = changes(&stores.tokens, VALID, now, |token| {
        let user = stores.users.by_uid(token.spec.user_uid.as_str());
        let scope = token.spec.cluster.as_ref();
        let cluster = scope.and_then(|scope| stores.clusters.by_uid(scope.uid.as_str()));
        let invalid = user
            .as_ref()
            .and_then(|user| identity_status::check_token(token, user, stores, now).err());
        let condition_value =
            decide::token(token, user.as_deref(), cluster.as_deref(), invalid, now);
        let status = token.status.as_ref();
        (
            Some(condition_value),
            conditions_of(status.map(|s| &s.conditions)),
        )
    });
    let waiting = &stores.registration_tokens;
    let registrations = changes(waiting, USABLE, now, |token| {
        let cluster = stores.clusters.by_uid(token.spec.cluster_uid.as_str());
        let condition_value = decide::registration_token(token, cluster.as_deref(), now);
        let status = token.status.as_ref();
        (
            Some(condition_value),
            conditions_of(status.map(|s| &s.conditions)),
        )
    });
    // Write all three kinds, even if the hub rejects an object of one kind.
    let results = [
        write_all(hub, WRITE, &users).await,
        write_all(hub, WRITE, &tokens).await,
        write_all(hub, WRITE, &registrations).await,
    ];
    results.into_iter().collect()
}

#[cfg(test)]
mod tests;
