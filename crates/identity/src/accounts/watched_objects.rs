//! Watches the metadata of the objects that service account tokens are bound to.
//!
//! The watch of a kind starts with the first accepted token that is bound to an object of the kind.
//! While the server watches a token's objects, the server reviews the token rarely.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drover_access::account_token::{BoundKind, BoundObject};
use k8s_openapi::api::core::v1::{Node, Pod, Secret, ServiceAccount};
use kube::api::{ApiResource, DynamicObject};
use parking_lot::RwLock;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use drover_hub::Hub;
use drover_hub::stores::reflector::{Form, Sink, reflect_into};

/// The duration without a response of the hub after which the state of the objects is unknown. A
/// watch ends normally after 45 s.
const MAX_SILENCE: Duration = Duration::from_secs(90);

/// The kinds that the server has permission to list on its hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchableKinds {
    /// All kinds that tokens can be bound to, for the embedded hub.
    All,
    /// Service accounts and Pods. On an external hub, the server has no permission to list all
    /// Secrets.
    AccountsAndPods,
}

impl WatchableKinds {
    fn includes(self, kind: BoundKind) -> bool {
        match (self, kind) {
            (Self::All, _) | (_, BoundKind::ServiceAccount | BoundKind::Pod) => true,
            (Self::AccountsAndPods, BoundKind::Secret | BoundKind::Node) => false,
        }
    }
}

/// The state of the objects that a token is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoundState {
    /// All objects exist.
    Present,
    /// An object was deleted.
    Deleted,
    /// The state is unknown, so the hub must review the token.
    Unknown,
}

/// An object that a token is bound to. The flag `was_present` is true if the watch returned the
/// object at least once.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    kind: BoundKind,
    key: String,
    uid: Option<String>,
    was_present: bool,
}

impl From<&BoundObject> for Bound {
    fn from(object: &BoundObject) -> Self {
        Self {
            kind: object.kind,
            key: key(Some(&object.namespace), &object.name),
            uid: object.uid.clone(),
            was_present: false,
        }
    }
}

/// The watched objects of all kinds. Cloning is cheap.
#[derive(Clone, Default)]
pub(super) struct WatchedObjects(Arc<[WatchedKind; BoundKind::ALL.len()]>);

#[derive(Default)]
struct WatchedKind {
    requested: AtomicBool,
    started: AtomicBool,
    state: RwLock<KindState>,
}

#[derive(Default)]
struct KindState {
    /// The time of the hub's last response to the watch.
    contact: Option<Instant>,
    objects: HashMap<String, Object>,
}

/// The metadata that the server stores for an object.
#[derive(Debug)]
pub(super) struct Object {
    uid: String,
    version: String,
    deleting: bool,
    /// The time when this version of the object arrived.
    at: Instant,
}

impl WatchedObjects {
    /// Marks the kinds of these objects for watching.
    pub(super) fn request(&self, bound: &[Bound]) {
        for one in bound {
            self.kind(one.kind).requested.store(true, Ordering::Relaxed);
        }
    }

    /// Starts a watch of each marked kind that has no watch. The watches end at `stop`.
    pub(super) fn begin(
        &self,
        hub: &Hub,
        watchable_kinds: WatchableKinds,
        stop: &CancellationToken,
    ) {
        for kind in BoundKind::ALL {
            let watched = self.kind(kind);
            if watchable_kinds.includes(kind)
                && watched.requested.load(Ordering::Relaxed)
                && !watched.started.swap(true, Ordering::Relaxed)
            {
                let (resource, sink) = (resource(kind), self.sink(kind));
                tokio::spawn(reflect_into(hub.client(), resource, sink, stop.clone()));
            }
        }
    }

    /// Returns the state of a token's objects after a review that started at `reviewed`. Also
    /// returns the time up to which the watches have confirmed all existing objects.
    ///
    /// An object is deleted if the watch returned its UID before, and the UID is now absent. For a
    /// Secret without a UID in the token, the function uses the version at the time of the review.
    pub(super) fn state(
        &self,
        bound: &mut [Bound],
        reviewed: Instant,
    ) -> (BoundState, Option<Instant>) {
        if bound.is_empty() {
            return (BoundState::Unknown, None);
        }
        let (mut strength, mut since) = (BoundState::Present, None);
        for one in bound {
            let state = self.kind(one.kind).state.read();
            match state.state(one, reviewed) {
                BoundState::Deleted => return (BoundState::Deleted, None),
                BoundState::Unknown => strength = BoundState::Unknown,
                BoundState::Present => {
                    one.was_present = true;
                    since = since.map_or(state.contact, |since| state.contact.min(Some(since)));
                }
            }
        }
        (strength, since)
    }

    /// Returns the target to which the reflector writes the objects of a kind.
    pub(super) fn sink(&self, kind: BoundKind) -> KindSink {
        KindSink(self.clone(), kind)
    }

    fn kind(&self, kind: BoundKind) -> &WatchedKind {
        let [account, secret, pod, node] = &*self.0;
        match kind {
            BoundKind::ServiceAccount => account,
            BoundKind::Secret => secret,
            BoundKind::Pod => pod,
            BoundKind::Node => node,
        }
    }
}

impl KindState {
    fn state(&self, bound: &Bound, reviewed: Instant) -> BoundState {
        let current = |at: Instant| at.elapsed() < MAX_SILENCE;
        if !self.contact.is_some_and(current) {
            return BoundState::Unknown;
        }
        let missing = if bound.was_present && bound.uid.is_some() {
            BoundState::Deleted
        } else {
            BoundState::Unknown
        };
        let Some(object) = self.objects.get(&bound.key) else {
            return missing;
        };
        match &bound.uid {
            Some(uid) if *uid != object.uid => missing,
            Some(_) if object.deleting && bound.kind == BoundKind::ServiceAccount => missing,
            // The API server accepts the token until some time after the deletion timestamp.
            _ if object.deleting => BoundState::Unknown,
            None if object.at > reviewed => BoundState::Unknown,
            Some(_) | None => BoundState::Present,
        }
    }
}

/// The target to which the reflector writes the objects of one kind.
pub(super) struct KindSink(WatchedObjects, BoundKind);

impl KindSink {
    fn state(&self) -> parking_lot::RwLockWriteGuard<'_, KindState> {
        self.0.kind(self.1).state.write()
    }
}

impl Sink for KindSink {
    type Object = (String, Object);
    const FORM: Form = Form::Metadata;

    fn read(object: DynamicObject) -> Option<(String, Object)> {
        let metadata = object.metadata;
        let key = key(metadata.namespace.as_deref(), &metadata.name?);
        let object = Object {
            uid: metadata.uid?,
            version: metadata.resource_version.unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            at: Instant::now(),
        };
        Some((key, object))
    }

    fn replace(&self, objects: Vec<(String, Object)>) {
        let mut state = self.state();
        let mut before = std::mem::take(&mut state.objects);
        for (key, object) in objects {
            let same = |old: &Object| (&old.uid, &old.version) == (&object.uid, &object.version);
            let object = before.remove(&key).filter(same).unwrap_or(object);
            state.objects.insert(key, object);
        }
        state.contact = Some(Instant::now());
    }

    fn apply(&self, (key, object): (String, Object)) {
        let mut state = self.state();
        state.objects.insert(key, object);
        state.contact = Some(Instant::now());
    }

    fn remove(&self, namespace: Option<&str>, name: &str) {
        let mut state = self.state();
        state.objects.remove(&key(namespace, name));
        state.contact = Some(Instant::now());
    }

    fn touch(&self) {
        self.state().contact = Some(Instant::now());
    }
}

/// Returns the key `namespace/name`. The key is unique within a kind, because names contain no
/// slash.
fn key(namespace: Option<&str>, name: &str) -> String {
    format!("{}/{name}", namespace.unwrap_or_default())
}

fn resource(kind: BoundKind) -> ApiResource {
    match kind {
        BoundKind::ServiceAccount => ApiResource::erase::<ServiceAccount>(&()),
        BoundKind::Secret => ApiResource::erase::<Secret>(&()),
        BoundKind::Pod => ApiResource::erase::<Pod>(&()),
        BoundKind::Node => ApiResource::erase::<Node>(&()),
    }
}

#[cfg(test)]
impl Object {
    /// Creates an object without deletion timestamp. The arrival time is the current time.
    pub(super) fn new(uid: &str, version: &str) -> Self {
        Self {
            uid: uid.to_owned(),
            version: version.to_owned(),
            deleting: false,
            at: Instant::now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(kind: BoundKind, uid: Option<&str>) -> Bound {
        Bound::from(&BoundObject {
            kind,
            namespace: "apps".to_owned(),
            name: "a".to_owned(),
            uid: uid.map(str::to_owned),
        })
    }

    fn one(object: Object) -> Vec<(String, Object)> {
        vec![("apps/a".to_owned(), object)]
    }

    #[tokio::test(start_paused = true)]
    async fn deleted_bound_object_revokes_the_token() {
        for kind in BoundKind::ALL {
            let watched = WatchedObjects::default();
            let (hub, mut bound) = (watched.sink(kind), [bound(kind, Some("u1"))]);
            let mut now = || watched.state(&mut bound, Instant::now()).0;
            assert_eq!(now(), BoundState::Unknown, "no list has arrived");
            hub.replace(Vec::new());
            assert_eq!(
                now(),
                BoundState::Unknown,
                "the list may be older than the object"
            );
            hub.replace(one(Object::new("u1", "1")));
            assert_eq!(now(), BoundState::Present);
            let mut deleting = Object::new("u1", "2");
            deleting.deleting = true;
            hub.replace(one(deleting));
            let expected = match kind {
                BoundKind::ServiceAccount => BoundState::Deleted,
                BoundKind::Secret | BoundKind::Pod | BoundKind::Node => BoundState::Unknown,
            };
            assert_eq!(now(), expected, "the object is being deleted");
            hub.replace(one(Object::new("u2", "3")));
            assert_eq!(now(), BoundState::Deleted, "another object has its name");
            hub.remove(Some("apps"), "a");
            assert_eq!(now(), BoundState::Deleted);
            tokio::time::advance(MAX_SILENCE).await;
            assert_eq!(now(), BoundState::Unknown, "the hub has not responded");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn token_of_a_secret_without_uid_is_reviewed_again_after_secret_changes() {
        let watched = WatchedObjects::default();
        let hub = watched.sink(BoundKind::Secret);
        let mut bound = [bound(BoundKind::Secret, None)];
        let mut since = |reviewed| watched.state(&mut bound, reviewed).0;
        let before = Instant::now();
        tokio::time::advance(Duration::from_secs(1)).await;
        hub.replace(one(Object::new("u1", "1")));
        assert_eq!(since(before), BoundState::Unknown);
        let reviewed = Instant::now();
        assert_eq!(since(reviewed), BoundState::Present);
        tokio::time::advance(Duration::from_secs(1)).await;
        hub.replace(one(Object::new("u1", "1")));
        assert_eq!(
            since(reviewed),
            BoundState::Present,
            "the object is listed again"
        );
        hub.replace(one(Object::new("u1", "2")));
        assert_eq!(
            since(reviewed),
            BoundState::Unknown,
            "the Secret may contain another token"
        );
        hub.remove(Some("apps"), "a");
        assert_eq!(since(Instant::now()), BoundState::Unknown);
    }
}
