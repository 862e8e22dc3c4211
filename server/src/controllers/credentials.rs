//! Says on Users, Tokens and ClusterRegistrationTokens whether they can be used.
//!
//! For people's eyes only: nothing decides from these conditions. What it costs: a look at memory
//! after a change of the stores, at most one a second; and a write to the hub for each object when
//! it is made, when its meaning changes, and when it expires. So a token that `drover credential`
//! hands to kubectl costs one small write more, seconds after it was made, and one when it has
//! expired; the request that makes it does not wait for either.

pub mod decide;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use drover_api::conditions::{READY, USABLE, VALID, Verdict, set_condition};
use drover_api::group::SERVER_FIELD_MANAGER;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::hub::{Hub, HubError, Mirror, Stores, call};
use crate::identity::authenticator::idle_from;
use crate::identity::providers::standing;

/// Changes that come together, a user and their first token above all, are looked at together.
const SETTLE: Duration = Duration::from_secs(1);
/// The longest time between two looks, should the wall clock be set.
const LOOK_EVERY: Duration = Duration::from_mins(5);
/// Writes at once, of each kind.
const AT_ONCE: usize = 4;
/// A look ends after so many failures: a hub that fails is left alone for a while.
const FAILURES: usize = 4;
/// Longest to wait until memory shows what was written.
const VISIBLE_WITHIN: Duration = Duration::from_secs(5);

/// Keeps the conditions for as long as it is polled.
pub(super) async fn keep(hub: &Hub) {
    let mut changed = hub.stores().changed();
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
    loop {
        // What changes from here on is for the next look.
        changed.mark_unchanged();
        if hub.stores().health().is_trusted()
            && let Err(error) = look(hub).await
        {
            warn(&error);
            tokio::time::sleep(backoff.next_delay()).await;
            continue;
        }
        backoff.reset();
        let due = next_due(hub.stores(), Timestamp::now());
        tokio::select! {
            // The sender lives in the stores, which `hub` holds.
            _ = changed.changed() => tokio::time::sleep(SETTLE).await,
            () = tokio::time::sleep_until(due) => {}
        }
    }
}

fn warn(error: &HubError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(error, "conditions of users and tokens are not up to date");
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
            decide::user(user, &judged),
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
        (verdict, held(status.map(|s| &s.conditions)))
    });
    let waiting = &stores.registration_tokens;
    let registrations = outdated(waiting, USABLE, now, |token| {
        let cluster = stores.clusters.by_uid(token.spec.cluster_uid.as_str());
        let verdict = decide::registration_token(token, cluster.as_deref(), now);
        let status = token.status.as_ref();
        (verdict, held(status.map(|s| &s.conditions)))
    });
    // All three: an object that the hub refuses shall not keep others from being written.
    let results = [
        write_all(&hub.users(), &stores.users, &users).await,
        write_all(&hub.tokens(), &stores.tokens, &tokens).await,
        write_all(&hub.registration_tokens(), waiting, &registrations).await,
    ];
    results.into_iter().collect()
}

fn held(conditions: Option<&Vec<Condition>>) -> &[Condition] {
    conditions.map_or(&[], Vec::as_slice)
}

/// The conditions to write on one object, if what they say is not what it says already.
fn due(
    object: &impl Resource,
    held: &[Condition],
    kind: &str,
    verdict: &Verdict,
    now: Timestamp,
) -> Option<Vec<Condition>> {
    if object.meta().deletion_timestamp.is_some() {
        return None;
    }
    let mut wanted = held.to_vec();
    set_condition(&mut wanted, kind, verdict, object.meta().generation, now).then_some(wanted)
}

/// The objects of one kind that do not say what they should, and what that is.
///
/// `observe` gives what an object should say, and the conditions that it has.
fn outdated<K: Resource>(
    mirror: &Mirror<K>,
    kind: &str,
    now: Timestamp,
    observe: impl for<'a> Fn(&'a K) -> (Verdict, &'a [Condition]),
) -> Vec<(Arc<K>, Vec<Condition>)> {
    let objects = mirror.all().into_iter();
    let judged = objects.filter_map(|object| {
        let (verdict, held) = observe(&object);
        let wanted = due(&*object, held, kind, &verdict, now)?;
        Some((object, wanted))
    });
    judged.collect()
}

/// Writes conditions, some at once, and returns the first failure.
async fn write_all<K>(
    api: &Api<K>,
    mirror: &Mirror<K>,
    outdated: &[(Arc<K>, Vec<Condition>)],
) -> Result<(), HubError>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut failures = Vec::new();
    for together in outdated.chunks(AT_ONCE) {
        let writes = together
            .iter()
            .map(|(object, wanted)| write(api, mirror, object, wanted));
        let written = futures::future::join_all(writes).await;
        failures.extend(written.into_iter().filter_map(Result::err));
        if failures.len() >= FAILURES {
            break;
        }
    }
    failures.into_iter().next().map_or(Ok(()), Err)
}

async fn write<K>(
    api: &Api<K>,
    mirror: &Mirror<K>,
    object: &K,
    conditions: &[Condition],
) -> Result<(), HubError>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    // With the version that was decided from: what became another meanwhile is looked at again.
    let patch = Patch::Merge(json!({
        "metadata": { "resourceVersion": object.resource_version() },
        "status": { "conditions": conditions },
    }));
    let params = PatchParams {
        field_manager: Some(SERVER_FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let name = object.name_any();
    let patching = api.patch_status(&name, &params, &patch);
    match call("write the condition of a user or token", patching).await {
        Ok(written) => {
            mirror.wait_for(&written, VISIBLE_WITHIN).await;
            Ok(())
        }
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
