//! The hub's objects of one kind in memory, and notifications of their changes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drover_hub::stores::reflector::{Form, Sink};
use kube::api::DynamicObject;
use kube::{Resource, ResourceExt as _};
use parking_lot::{Mutex, RwLock};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

/// Namespace and name of an object. The namespace of a cluster-scoped object is empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

impl Key {
    /// Creates a key.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Returns the key of an object.
    pub fn of<K: Resource>(object: &K) -> Self {
        let metadata = object.meta();
        Self::new(
            metadata.namespace.clone().unwrap_or_default(),
            metadata.name.clone().unwrap_or_default(),
        )
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A kind with a mirror.
pub(crate) trait Mirrored:
    Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static
{
    /// Removes the fields that no controller uses, so that the mirror needs less memory.
    #[must_use]
    fn trimmed(self) -> Self {
        self
    }
}

/// A change of one object. `before` and `after` are not both `None`.
pub(crate) struct Change<K> {
    pub(crate) key: Key,
    pub(crate) before: Option<Arc<K>>,
    pub(crate) after: Option<Arc<K>>,
}

type Listener<K> = Box<dyn Fn(&Change<K>) + Send + Sync>;

/// All objects of a kind in the last known state. Clones share the objects.
pub(crate) struct Mirror<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    objects: RwLock<BTreeMap<Key, Arc<K>>>,
    /// Serializes the changes, so that the listeners see them in the order of the hub.
    listeners: Mutex<Vec<Listener<K>>>,
    is_synced: AtomicBool,
    synced: Notify,
}

impl<K> Clone for Mirror<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K> Default for Mirror<K> {
    fn default() -> Self {
        Self {
            shared: Arc::new(Shared {
                objects: RwLock::default(),
                listeners: Mutex::default(),
                is_synced: AtomicBool::new(false),
                synced: Notify::new(),
            }),
        }
    }
}

impl<K: Mirrored> Mirror<K> {
    /// Returns an object.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.shared.objects.read().get(key).cloned()
    }

    /// Returns the objects of a namespace, sorted by name.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let objects = self.shared.objects.read();
        let first = Key::new(namespace, "");
        let in_namespace = objects.range(first..);
        in_namespace
            .take_while(|(key, _)| key.namespace == namespace)
            .map(|(_, object)| Arc::clone(object))
            .collect()
    }

    /// Returns all objects, sorted by namespace and name.
    pub(crate) fn all(&self) -> Vec<Arc<K>> {
        self.shared.objects.read().values().cloned().collect()
    }

    /// Stores the result of a write before the watch receives it.
    pub(crate) fn observe(&self, mut object: K) {
        object.meta_mut().managed_fields = None;
        self.apply(object.trimmed());
    }

    /// Removes an object that the caller has deleted before the watch receives the deletion.
    pub(crate) fn forget(&self, key: &Key) {
        self.set(key.clone(), None);
    }

    /// Calls `listener` for each change from now on.
    pub(crate) fn listen(&self, listener: impl Fn(&Change<K>) + Send + Sync + 'static) {
        self.shared.listeners.lock().push(Box::new(listener));
    }

    /// Waits until the kind has been listed once.
    pub(crate) async fn synced(&self) {
        loop {
            let notified = self.shared.synced.notified();
            if self.shared.is_synced.load(Ordering::Acquire) {
                return;
            }
            notified.await;
        }
    }

    fn set(&self, key: Key, after: Option<Arc<K>>) {
        let listeners = self.shared.listeners.lock();
        let before = {
            let mut objects = self.shared.objects.write();
            match &after {
                Some(object) => objects.insert(key.clone(), Arc::clone(object)),
                None => objects.remove(&key),
            }
        };
        if before.is_none() && after.is_none() {
            return;
        }
        let change = Change { key, before, after };
        for listener in &*listeners {
            listener(&change);
        }
    }
}

/// Returns the resource version of an object as a number, as the API server's watch cache does.
fn version<K: Resource>(object: &K) -> u64 {
    let version = object.meta().resource_version.as_deref();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or_default()
}

impl<K: Mirrored> Sink for Mirror<K> {
    type Object = K;
    const FORM: Form = Form::Full;

    fn read(object: DynamicObject) -> Option<K> {
        let key = Key::new(object.namespace().unwrap_or_default(), object.name_any());
        match object.try_parse::<K>() {
            Ok(object) => Some(object.trimmed()),
            Err(error) => {
                tracing::error!(
                    kind = %K::kind(&()),
                    object.key = %key,
                    error = &error as &dyn std::error::Error,
                    "cannot parse an object on the hub; ignoring the object"
                );
                None
            }
        }
    }

    fn replace(&self, objects: Vec<K>) {
        let listed: BTreeMap<Key, Arc<K>> = objects
            .into_iter()
            .map(|object| (Key::of(&object), Arc::new(object)))
            .collect();
        let known: Vec<Key> = self.shared.objects.read().keys().cloned().collect();
        for key in known.into_iter().filter(|key| !listed.contains_key(key)) {
            self.set(key, None);
        }
        for (key, object) in listed {
            self.set(key, Some(object));
        }
        self.shared.is_synced.store(true, Ordering::Release);
        self.shared.synced.notify_waiters();
    }

    fn apply(&self, object: K) {
        let key = Key::of(&object);
        // The watch can return a version that is older than the result of a write.
        let is_older = self
            .get(&key)
            .is_some_and(|known| version(&*known) > version(&object));
        if !is_older {
            self.set(key, Some(Arc::new(object)));
        }
    }

    fn remove(&self, namespace: Option<&str>, name: &str) {
        self.set(Key::new(namespace.unwrap_or_default(), name), None);
    }

    fn touch(&self) {}
}
