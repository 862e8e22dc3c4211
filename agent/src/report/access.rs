//! Which roles and bindings of Drover's are in the cluster: the server puts right what differs, and
//! looks when it hears that somebody touched them.

use aws_lc_rs::digest::{Context, SHA256};
use drover_api::group::ACCESS_LABEL;
use futures::StreamExt as _;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use kube::api::{Api, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Resource, ResourceExt as _};
use tokio::task::JoinSet;
use tracing::debug;

use super::observed::Observed;
use super::sums::Tally;

/// Starts the watches.
pub(super) fn start(tasks: &mut JoinSet<()>, client: &kube::Client, observed: &Observed) {
    tasks.spawn(follow::<ClusterRole>(client.clone(), 0, observed.clone()));
    tasks.spawn(follow::<ClusterRoleBinding>(
        client.clone(),
        1,
        observed.clone(),
    ));
    tasks.spawn(follow::<RoleBinding>(client.clone(), 2, observed.clone()));
}

/// Metadata is all that is asked for: what the objects say, the server reads where it matters.
async fn follow<K>(client: kube::Client, kind: usize, observed: Observed)
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send,
    K: 'static,
{
    let config = watcher::Config::default().labels(ACCESS_LABEL);
    let events = kube::runtime::watcher(Api::<PartialObjectMeta<K>>::all(client), config);
    let mut events = std::pin::pin!(events.default_backoff());
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                debug!(%error, "a watch begins again");
                continue;
            }
        };
        observed.update(|state| {
            let tally = &mut state.access[kind];
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

fn seen<K: Resource<DynamicType = ()>>(object: &PartialObjectMeta<K>) -> (String, String) {
    let uid = object.metadata.uid.clone();
    let version = object.metadata.resource_version.clone();
    (uid.unwrap_or_default(), version.unwrap_or_default())
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
    let hash = hash.finish();
    let first = hash.as_ref().first_chunk().copied().unwrap_or_default();
    Some(format!("{:016x}", u64::from_be_bytes(first)))
}

#[cfg(test)]
mod tests {
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
}
