//! Which objects of Drover's are in the cluster, and in which version of each: the server puts right
//! what differs, and looks when it hears that somebody touched them.

use std::fmt::Debug;
use std::time::Duration;

use aws_lc_rs::digest::{Context, Digest, SHA256, digest as hash_of};
use drover_api::client_error::watch_message;
use drover_api::group::{ACCESS_LABEL, GROUP, PROJECT_LABEL};
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{LimitRange, Namespace, ResourceQuota};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, PartialObjectMeta};
use kube::runtime::watcher::{self, Event};
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tracing::debug;

use super::observed::{Observed, State};
use super::sums::Tally;

/// Before a watch that failed is tried again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The same for one that the cluster does not let the agent have.
const REFUSED_PAUSE: Duration = Duration::from_mins(5);

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
    let kept = to(|state| &mut state.projects[0]);
    tasks.spawn(follow(namespaces, namespace, kept));
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
    let (mut events, mut pause) = (std::pin::pin!(events), FIRST_PAUSE);
    let seen = |object: &K| (object.uid().unwrap_or_default(), version(object));
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                debug!(error = watch_message(&error), "a watch begins again");
                let refused = is_refused(&error);
                tokio::time::sleep(if refused { REFUSED_PAUSE } else { pause }).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
        };
        // That a list begins is no answer yet.
        if !matches!(event, Event::Init) {
            pause = FIRST_PAUSE;
        }
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

/// What Drover says of a namespace, whatever others note on it.
fn namespace(namespace: &PartialObjectMeta<Namespace>) -> String {
    let mut meta = namespace.metadata.clone();
    if let Some(annotations) = &mut meta.annotations {
        annotations.retain(|key, _| key.starts_with(GROUP));
    }
    said(&meta, &())
}

/// What a quota says, whatever is used of it: that changes with every pod.
fn quota(quota: &ResourceQuota) -> String {
    said(&quota.metadata, &quota.spec)
}

/// A version of what the server compares.
fn said(meta: &ObjectMeta, spec: &impl Serialize) -> String {
    let owned = (
        &meta.finalizers,
        &meta.owner_references,
        &meta.deletion_timestamp,
    );
    let said = serde_json::to_vec(&(&meta.labels, &meta.annotations, owned, spec));
    short(hash_of(&SHA256, &said.unwrap_or_default()))
}

/// Whether the agent's account may not look, as it has the rights of an older version until somebody
/// applies the manifest or the chart again; or whether the cluster has no such kind, as a simulated one.
fn is_refused(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(cause)
    | watcher::Error::WatchStartFailed(cause)
    | watcher::Error::WatchFailed(cause)) = error
    else {
        return false;
    };
    matches!(cause, kube::Error::Api(status) if matches!(status.code, 403 | 404))
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    #[test]
    fn a_namespace_is_another_when_drover_or_its_owner_says_so_and_not_when_others_note_something()
    {
        let of = |annotation: (&str, &str), label: &str| {
            let (key, value) = annotation;
            let object = json!({ "metadata": {
                "name": "dev", "labels": { "management.drover.dev/project": label },
                "annotations": { key: value },
            }});
            namespace(&serde_json::from_value(object).unwrap())
        };
        let noted = of(("example.com/seen", "1"), "p1");
        assert_eq!(noted, of(("example.com/seen", "2"), "p1"));
        assert_ne!(noted, of(("example.com/seen", "1"), "p2"));
        let level = "management.drover.dev/pod-security";
        assert_ne!(
            of((level, "baseline"), "p1"),
            of((level, "restricted"), "p1")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_an_account_may_not_look_at_is_asked_for_every_few_minutes() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            counted.fetch_add(1, Ordering::Relaxed);
            let no = json!({ "kind": "Status", "code": 403, "reason": "Forbidden" });
            let mut response =
                http::Response::new(kube::client::Body::from(no.to_string().into_bytes()));
            *response.status_mut() = http::StatusCode::FORBIDDEN;
            std::future::ready(Ok::<_, std::convert::Infallible>(response))
        });
        let client = Client::new(service, "default");
        let quotas = marked::<ResourceQuota>(&client, PROJECT_LABEL);
        let observed = Observed::default();
        let following = follow(quotas, quota, (observed, |state| &mut state.projects[1]));
        let hour = tokio::time::timeout(Duration::from_hours(1), following);
        assert!(hour.await.is_err());
        let asked = asked.load(Ordering::Relaxed);
        assert!((10..=13).contains(&asked), "{asked}");
    }
}
