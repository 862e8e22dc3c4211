//! Says on Users, Tokens and ClusterRegistrationTokens whether they can be used.
//!
//! For people's eyes only: nothing decides from these conditions. What it costs: a look at memory
//! after a change of the stores, at most one a second; and a write to the hub for each object when
//! it is made, when its meaning changes, and when it expires. So a token that `drover credential`
//! hands to kubectl costs one small write more, seconds after it was made, and one when it has
//! expired; the request that makes it does not wait for either.

pub mod decide;

use std::time::Duration;

use drover_api::conditions::{READY, USABLE, VALID};
use jiff::Timestamp;
use tokio::time::Instant;

use super::outdated::{Pace, held, outdated, write_all};
use crate::identity::authenticator::idle_from;
use drover_hub::stores::standing;
use drover_hub::{Hub, HubError, Stores};

/// Changes that come together, a user and their first token above all, are looked at together.
const SETTLE: Duration = Duration::from_secs(1);
/// The longest time between two looks, should the wall clock be set.
const LOOK_EVERY: Duration = Duration::from_mins(5);
const WRITE: &str = "write the condition of a user or token";

/// Keeps the conditions for as long as it is polled.
pub(super) async fn keep(hub: &Hub) {
    let what = "conditions of users and tokens are";
    let mut pace = Pace::new(hub.stores().changed(), SETTLE, what);
    loop {
        pace.turn(hub.stores(), look(hub), || {
            next_due(hub.stores(), Timestamp::now())
        })
        .await;
    }
}

/// When the next token expires or goes idle, at most [`LOOK_EVERY`] from now.
fn next_due(stores: &Stores, now: Timestamp) -> Instant {
    let people = stores.tokens.all();
    let clusters = stores.registration_tokens.all();
    let ends = people.iter().map(|token| token.spec.expires_at.0);
    let ends = ends.chain(clusters.iter().map(|token| token.spec.expires_at.0));
    let ends = ends.chain(people.iter().filter_map(|token| idle_from(token)));
    let next = ends.filter(|end| *end > now).min();
    let wait = next.and_then(|end| Duration::try_from(end.duration_since(now)).ok());
    Instant::now() + wait.map_or(LOOK_EVERY, |wait| wait.min(LOOK_EVERY))
}

async fn look(hub: &Hub) -> Result<(), HubError> {
    let (stores, now) = (hub.stores(), Timestamp::now());
    let users = outdated(&stores.users, READY, now, |user| {
        let status = user.status.as_ref();
        let identities = status.iter().flat_map(|status| &status.identities);
        let judged = identities.map(|one| (one, standing::of_identity(one, stores, now).err()));
        let judged: Vec<_> = judged.collect();
        (
            Some(decide::user(user, &judged)),
            held(status.map(|s| &s.conditions)),
        )
    });
    let tokens = outdated(&stores.tokens, VALID, now, |token| {
        let user = stores.users.by_uid(token.spec.user_uid.as_str());
        let scope = token.spec.cluster.as_ref();
        let cluster = scope.and_then(|scope| stores.clusters.by_uid(scope.uid.as_str()));
        let fallen = user
            .as_ref()
            .and_then(|user| standing::of_token(token, user, stores, now).err());
        let verdict = decide::token(token, user.as_deref(), cluster.as_deref(), fallen, now);
        let status = token.status.as_ref();
        (Some(verdict), held(status.map(|s| &s.conditions)))
    });
    let waiting = &stores.registration_tokens;
    let registrations = outdated(waiting, USABLE, now, |token| {
        let cluster = stores.clusters.by_uid(token.spec.cluster_uid.as_str());
        let verdict = decide::registration_token(token, cluster.as_deref(), now);
        let status = token.status.as_ref();
        (Some(verdict), held(status.map(|s| &s.conditions)))
    });
    // All three: an object that the hub refuses shall not keep others from being written.
    let results = [
        write_all(WRITE, &hub.users(), &stores.users, &users).await,
        write_all(WRITE, &hub.tokens(), &stores.tokens, &tokens).await,
        write_all(WRITE, &hub.registration_tokens(), waiting, &registrations).await,
    ];
    results.into_iter().collect()
}

#[cfg(test)]
mod tests;
