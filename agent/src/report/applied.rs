//! Which objects of Drover's are in the cluster, and in which version of each: the server puts right
//! what differs, and looks when it hears that somebody touched them.

use std::fmt::Debug;

use aws_lc_rs::digest::{Context, Digest, SHA256, digest as hash_of};
use drover_api::group::{ACCESS_LABEL, PROJECT_LABEL};
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{LimitRange, Namespace, ResourceQuota};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use kube::api::{Api, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tracing::debug;

use super::observed::{Observed, State};
use super::sums::Tally;

/// Starts the watches. Metadata is all that is asked for, where it changes only with what an object
/// says: the server reads that where it matters.
pub(super) fn start(tasks: &mut JoinSet<()>, client: &Client, observed: &Observed) {
    type Meta<K> = PartialObjectMeta<K>;
    let to = |tally: Of| (observed.clone(), tally);
    let roles = marked::<Meta<ClusterRole>>(client, ACCESS_LABEL);
    tasks.spawn(follow(roles, version, to(|state| &mut state.access[0])));
    let bindings = marked::<Meta<ClusterRoleBinding>>(client, ACCESS_LABEL);
    tasks.spawn(follow(bindings, version, to(|state| &mut state.access[1])));
    let bindings = marked::<Meta<RoleBinding>>(client, ACCESS_LABEL);
    tasks.spawn(follow(bindings, version, to(|state| &mut state.access[2])));
    let namespaces = marked::<Meta<Namespace>>(client, PROJECT_LABEL);
    tasks.spawn(follow(
        namespaces,
        version,
        to(|state| &mut state.projects[0]),
    ));
    let quotas = marked::<ResourceQuota>(client, PROJECT_LABEL);
    tasks.spawn(follow(quotas, quota, to(|state| &mut state.projects[1])));
    let limits = marked::<Meta<LimitRange>>(client, PROJECT_LABEL);
    tasks.spawn(follow(limits, version, to(|state| &mut state.projects[2])));
}

/// Which of the tallies an object is in.
type Of = fn(&mut State) -> &mut Tally<String>;

/// The objects of a kind that carry one of Drover's labels.
fn marked<K>(
    client: &Client,
    label: &str,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + use<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let config = watcher::Config::default().labels(label);
    watcher::watcher(Api::all(client.clone()), config)
}

async fn follow<K: Resource>(
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send,
    version: fn(&K) -> String,
    (observed, tally): (Observed, Of),
) {
    let mut events = std::pin::pin!(events.default_backoff());
    let seen = |object: &K| (object.uid().unwrap_or_default(), version(object));
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                debug!(%error, "a watch begins again");
                continue;
            }
        };
        observed.update(|state| {
            let tally = tally(state);
            match event {
                Event::Init => tally.begin(),
                Event::InitApply(object) => {
                    let (uid, version) = seen(&object);
                    tally.listed(uid, version);
                }
                Event::InitDone => tally.finish(),
                Event::Apply(object) => {
                    let (uid, version) = seen(&object);
                    tally.put(uid, Some(version));
                }
                Event::Delete(object) => tally.put(object.uid().unwrap_or_default(), None),
            }
        });
    }
}

fn version<K: Resource>(object: &K) -> String {
    object.resource_version().unwrap_or_default()
}

/// What a quota says, whatever is used of it: that changes with every pod.
fn quota(quota: &ResourceQuota) -> String {
    let meta = &quota.metadata;
    let said = serde_json::to_vec(&(&meta.labels, &meta.annotations, &quota.spec));
    short(hash_of(&SHA256, &said.unwrap_or_default()))
}

/// The digest of what is there; `None` until everything was listed once.
pub(super) fn digest(kinds: &[Tally<String>]) -> Option<String> {
    if !kinds.iter().all(Tally::complete) {
        return None;
    }
    let mut objects: Vec<_> = kinds.iter().flat_map(Tally::iter).collect();
    objects.sort_unstable();
    let mut hash = Context::new(&SHA256);
    for (uid, version) in objects {
        hash.update(uid.as_bytes());
        hash.update(&[0]);
        hash.update(version.as_bytes());
        hash.update(&[0]);
    }
    Some(short(hash.finish()))
}

fn short(hash: Digest) -> String {
    let first = hash.as_ref().first_chunk().copied().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(first))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(objects: &[(&str, &str)]) -> Tally<String> {
        let mut tally = Tally::default();
        tally.begin();
        for (uid, version) in objects {
            tally.listed((*uid).to_owned(), (*version).to_owned());
        }
        tally.finish();
        tally
    }

    #[test]
    fn a_digest_is_another_when_anything_came_went_or_changed() {
        let of = |roles: &[(&str, &str)]| digest(&[listed(roles), listed(&[]), listed(&[])]);
        let before = of(&[("a", "1"), ("b", "1")]);
        assert!(before.is_some());
        assert_eq!(of(&[("b", "1"), ("a", "1")]), before);
        for (roles, why) in [
            (&[("a", "1"), ("b", "2")][..], "changed"),
            (&[("a", "1")], "gone"),
            (&[("a", "1"), ("b", "1"), ("c", "1")], "new"),
            (&[("a", "1"), ("c", "1")], "made again"),
        ] {
            assert_ne!(of(roles), before, "{why}");
        }
        let unlisted = digest(&[listed(&[]), Tally::default(), listed(&[])]);
        assert_eq!(unlisted, None);
    }

    #[test]
    fn a_quota_is_another_when_it_allows_something_else_and_not_when_more_of_it_is_used() {
        let of = |hard: &str, used: &str| {
            let object = json!({
                "metadata": { "name": "drover-project", "resourceVersion": used },
                "spec": { "hard": { "pods": hard } },
                "status": { "used": { "pods": used } },
            });
            quota(&serde_json::from_value(object).unwrap())
        };
        assert_eq!(of("10", "1"), of("10", "2"));
        assert_ne!(of("10", "1"), of("11", "1"));
    }
}
