//! Watches of the objects that the server applied, by owner.

use std::fmt::Debug;
use std::time::Duration;

use drover_api::client_error::watch_message;
use drover_api::drift::{ACCESS, PROJECTS};
use drover_api::group::{ACCESS_LABEL, GROUP, PROJECT_LABEL};
use drover_apply::drift;
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

use crate::observed::Observed;

/// Minimum and maximum delay before the agent retries a failed watch.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Delay before the agent retries a forbidden watch.
const FORBIDDEN_PAUSE: Duration = Duration::from_mins(5);

/// Starts the watches of applied objects. Only the watch of quotas requests complete objects. The
/// watches of all other kinds request metadata.
pub(crate) fn start(tasks: &mut JoinSet<()>, client: &Client, observed: &Observed) {
    type Meta<K> = PartialObjectMeta<K>;
    let tally = |owner, watch| Target {
        observed: observed.clone(),
        owner,
        watch,
    };
    let roles = labelled::<Meta<ClusterRole>>(client, ACCESS_LABEL);
    tasks.spawn(follow(roles, resource_version, tally(ACCESS, 0)));
    let bindings = labelled::<Meta<ClusterRoleBinding>>(client, ACCESS_LABEL);
    tasks.spawn(follow(bindings, resource_version, tally(ACCESS, 1)));
    let bindings = labelled::<Meta<RoleBinding>>(client, ACCESS_LABEL);
    tasks.spawn(follow(bindings, resource_version, tally(ACCESS, 2)));
    let namespaces = labelled::<Meta<Namespace>>(client, PROJECT_LABEL);
    tasks.spawn(follow(namespaces, namespace_version, tally(PROJECTS, 0)));
    let quotas = labelled::<ResourceQuota>(client, PROJECT_LABEL);
    tasks.spawn(follow(quotas, quota_version, tally(PROJECTS, 1)));
    let limits = labelled::<Meta<LimitRange>>(client, PROJECT_LABEL);
    tasks.spawn(follow(limits, resource_version, tally(PROJECTS, 2)));
}

/// The [`Tally`] that a watch updates. The owner and the index of the watch identify the tally.
struct Target {
    observed: Observed,
    owner: &'static str,
    watch: usize,
}

/// Returns a watch of the objects of one kind that have one of Drover's labels.
fn labelled<K>(
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
    target: Target,
) {
    let (mut events, mut pause) = (std::pin::pin!(events), FIRST_PAUSE);
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                debug!(error = watch_message(&error), "restarting a watch");
                let forbidden = is_forbidden(&error);
                tokio::time::sleep(if forbidden { FORBIDDEN_PAUSE } else { pause }).await;
                pause = (pause * 2).min(MAX_PAUSE);
                continue;
            }
        };
        // `Init` precedes the API server's response.
        if !matches!(event, Event::Init) {
            pause = FIRST_PAUSE;
        }
        target.observed.update(|state| {
            let tally = &mut state.applied.entry(target.owner).or_default()[target.watch];
            tally.apply(event, |object| Some(version(&object)));
        });
    }
}

fn resource_version<K: Resource>(object: &K) -> String {
    object.resource_version().unwrap_or_default()
}

/// Returns a hash of a namespace's metadata and finalizers. Ignores annotations that do not belong
/// to Drover's API group.
fn namespace_version(namespace: &PartialObjectMeta<Namespace>) -> String {
    let mut meta = namespace.metadata.clone();
    if let Some(annotations) = &mut meta.annotations {
        annotations.retain(|key, _| key.starts_with(GROUP));
    }
    version(&meta, &())
}

/// Returns a hash of a quota's metadata and spec. Ignores the status, because the status changes
/// with every pod.
fn quota_version(quota: &ResourceQuota) -> String {
    version(&quota.metadata, &quota.spec)
}

/// Returns a hash of the fields that the server compares.
fn version(meta: &ObjectMeta, spec: &impl Serialize) -> String {
    let owned = (
        &meta.finalizers,
        &meta.owner_references,
        &meta.deletion_timestamp,
    );
    let fields = serde_json::to_vec(&(&meta.labels, &meta.annotations, owned, spec));
    drift::version(&fields.unwrap_or_default())
}

/// Returns true if the API server responded 403 or 404 to the watch. The agent's account may have
/// the permissions of an older agent version (403). A simulated cluster does not serve the kind
/// (404).
fn is_forbidden(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(cause)
    | watcher::Error::WatchStartFailed(cause)
    | watcher::Error::WatchFailed(cause)) = error
    else {
        return false;
    };
    matches!(cause, kube::Error::Api(status) if matches!(status.code, 403 | 404))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    #[test]
    fn drift_version_of_a_quota_changes_with_spec_and_not_with_usage() {
        let of = |hard: &str, used: &str| {
            let object = json!({
                "metadata": { "name": "drover-project", "resourceVersion": used },
                "spec": { "hard": { "pods": hard } },
                "status": { "used": { "pods": used } },
            });
            quota_version(&serde_json::from_value(object).unwrap())
        };
        assert_eq!(of("10", "1"), of("10", "2"));
        assert_ne!(of("10", "1"), of("11", "1"));
    }

    #[test]
    fn drift_version_of_a_namespace_changes_only_with_drover_labels_and_annotations() {
        let of = |annotation: (&str, &str), label: &str| {
            let (key, value) = annotation;
            let object = json!({ "metadata": {
                "name": "dev", "labels": { "management.drover.dev/project": label },
                "annotations": { key: value },
            }});
            namespace_version(&serde_json::from_value(object).unwrap())
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
    async fn forbidden_watch_is_retried_every_few_minutes() {
        let request_count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&request_count);
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            counted.fetch_add(1, Ordering::Relaxed);
            let no = json!({ "kind": "Status", "code": 403, "reason": "Forbidden" });
            let mut response =
                http::Response::new(kube::client::Body::from(no.to_string().into_bytes()));
            *response.status_mut() = http::StatusCode::FORBIDDEN;
            std::future::ready(Ok::<_, std::convert::Infallible>(response))
        });
        let client = Client::new(service, "default");
        let quotas = labelled::<ResourceQuota>(&client, PROJECT_LABEL);
        let observed = Observed::default();
        let target = Target {
            observed,
            owner: PROJECTS,
            watch: 1,
        };
        let following = follow(quotas, quota_version, target);
        let hour = tokio::time::timeout(Duration::from_hours(1), following);
        assert!(hour.await.is_err());
        let request_count = request_count.load(Ordering::Relaxed);
        assert!((10..=13).contains(&request_count), "{request_count}");
    }
}
