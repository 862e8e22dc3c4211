//! Updates a store with a list and a continuous watch.
//!
//! kube's watcher hides bookmarks and successful reconnects. With kube's watcher, Drover therefore
//! cannot distinguish a kind without changes from a broken connection. Drover rejects decisions
//! from stores that are too old, so this module implements a separate reflector. Each response of
//! the hub resets the age of the store, including bookmarks and the normal end of a watch. Each
//! watch ends after `WATCH_SECONDS`, so the reflector resets the age at least at this interval.

use std::time::Duration;

use drover_api::client_error::ClientError;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{
    ApiResource, DynamicObject, ListParams, ObjectList, PartialObjectMeta, WatchEvent, WatchParams,
};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::store::Store;
use crate::error::HubError;
use crate::{CALL_TIMEOUT, call};
use drover_entropy::backoff::Backoff;

/// The requested duration of one watch in seconds.
const WATCH_SECONDS: u32 = 45;
/// The duration without events after which the reflector closes a watch. After this duration, the
/// normal end of the watch is overdue.
const MAX_SILENCE: Duration = Duration::from_mins(1);
/// The minimum duration of a watch. After a shorter watch, the reflector retries with backoff.
const MIN_WATCH: Duration = Duration::from_secs(1);
/// The page size of a list.
const PAGE_SIZE: u32 = 500;

/// A Drover kind that a store can contain.
pub trait Kind: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static {}

impl<K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static> Kind for K {}

/// The error of a reflector.
#[derive(Debug, Error)]
enum ReflectorError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("the hub's list has no resource version")]
    NoVersion,
    #[error("the watch failed")]
    Watch(#[source] ClientError),
    #[error("the hub ended the watch with {code} {reason}: {message}")]
    Ended {
        code: u16,
        reason: String,
        message: String,
    },
    #[error("the watch received no event for {seconds} s", seconds = MAX_SILENCE.as_secs())]
    Silent,
}

/// The fields of each object that the hub sends: all fields or only the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All fields of the object.
    Full,
    /// The metadata (`meta.k8s.io` PartialObjectMetadata).
    Metadata,
}

/// A store that [`reflect_into`] updates.
pub trait Sink: Send + Sync {
    /// The stored form of an object.
    type Object: Send;
    /// The fields of each object to request: all fields or only the metadata.
    const FORM: Form;

    /// Converts an object after its managed fields are removed. Returns `None` to omit the object
    /// from the store.
    fn read(object: DynamicObject) -> Option<Self::Object>;
    /// Replaces all objects with a complete list.
    fn replace(&self, objects: Vec<Self::Object>);
    /// Stores an object that was added or modified.
    fn apply(&self, object: Self::Object);
    /// Removes the object with this name. `namespace` is `None` for a cluster-scoped kind.
    fn remove(&self, namespace: Option<&str>, name: &str);
    /// Records a response of the hub to the watch. The response resets the age of the store.
    fn touch(&self);
}

impl<K: Kind> Sink for Store<K> {
    type Object = K;
    const FORM: Form = Form::Full;

    fn read(object: DynamicObject) -> Option<K> {
        let name = object.name_any();
        match object.try_parse() {
            Ok(object) => Some(object),
            Err(error) => {
                tracing::error!(
                    object.name = name,
                    error = &error as &dyn std::error::Error,
                    "cannot parse an object on the hub; ignoring the object"
                );
                None
            }
        }
    }

    fn replace(&self, objects: Vec<K>) {
        self.replace(objects);
    }

    fn apply(&self, object: K) {
        self.apply(object);
    }

    fn remove(&self, _namespace: Option<&str>, name: &str) {
        self.remove(name);
    }

    fn touch(&self) {
        self.touch();
    }
}

/// Updates a store of a Drover kind until `stop`.
pub async fn reflect<K: Kind>(client: Client, store: Store<K>, stop: CancellationToken) {
    reflect_into(client, ApiResource::erase::<K>(&()), store, stop).await;
}

/// Updates a store of all objects of one kind, in all namespaces, until `stop`.
pub async fn reflect_into<S: Sink>(
    client: Client,
    resource: ApiResource,
    sink: S,
    stop: CancellationToken,
) {
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(15));
    let reflecting = async {
        loop {
            let Err(error) = list_and_watch(&api, &sink, &mut backoff).await;
            tracing::warn!(
                kind = %resource.kind,
                error = &error as &dyn std::error::Error,
                "reflector failed; listing again"
            );
            tokio::time::sleep(backoff.next_delay()).await;
        }
    };
    stop.run_until_cancelled(reflecting).await;
}

/// Lists all objects, and watches from the version of the list. Returns when a new list is
/// necessary.
async fn list_and_watch<S: Sink>(
    api: &Api<DynamicObject>,
    sink: &S,
    backoff: &mut Backoff,
) -> Result<std::convert::Infallible, ReflectorError> {
    let (objects, mut version) = list::<S>(api).await?;
    sink.replace(objects);
    loop {
        let opened = Instant::now();
        match watch(api, sink, &mut version).await {
            Ok(()) if opened.elapsed() >= MIN_WATCH => backoff.reset(),
            Ok(()) => tokio::time::sleep(backoff.next_delay()).await,
            Err(ReflectorError::Ended {
                code,
                reason,
                message,
            }) => {
                return Err(ReflectorError::Ended {
                    code,
                    reason,
                    message,
                });
            }
            // No event is lost, because the next watch resumes at the last version.
            Err(error) => {
                tracing::info!(
                    error = &error as &dyn std::error::Error,
                    "watch failed; resuming"
                );
                tokio::time::sleep(backoff.next_delay()).await;
            }
        }
    }
}

async fn list<S: Sink>(
    api: &Api<DynamicObject>,
) -> Result<(Vec<S::Object>, String), ReflectorError> {
    let mut objects = Vec::new();
    let mut params = ListParams::default().limit(PAGE_SIZE);
    loop {
        let page = call("list objects", page(api, S::FORM, &params)).await?;
        objects.extend(page.items.into_iter().filter_map(read::<S>));
        let Some(token) = page.metadata.continue_.filter(|token| !token.is_empty()) else {
            let version = page.metadata.resource_version.filter(|v| !v.is_empty());
            return Ok((objects, version.ok_or(ReflectorError::NoVersion)?));
        };
        params = params.continue_token(&token);
    }
}

async fn page(
    api: &Api<DynamicObject>,
    form: Form,
    params: &ListParams,
) -> kube::Result<ObjectList<DynamicObject>> {
    match form {
        Form::Full => api.list(params).await,
        Form::Metadata => {
            let page = api.list_metadata(params).await?;
            Ok(ObjectList {
                types: page.types,
                metadata: page.metadata,
                items: page.items.into_iter().map(without_data).collect(),
            })
        }
    }
}

type Events = BoxStream<'static, kube::Result<WatchEvent<DynamicObject>>>;

async fn events(
    api: &Api<DynamicObject>,
    form: Form,
    params: &WatchParams,
    version: &str,
) -> kube::Result<Events> {
    match form {
        Form::Full => Ok(api.watch(params, version).await?.boxed()),
        Form::Metadata => {
            let events = api.watch_metadata(params, version).await?;
            let convert = |event| match event {
                WatchEvent::Added(object) => WatchEvent::Added(without_data(object)),
                WatchEvent::Modified(object) => WatchEvent::Modified(without_data(object)),
                WatchEvent::Deleted(object) => WatchEvent::Deleted(without_data(object)),
                WatchEvent::Bookmark(mark) => WatchEvent::Bookmark(mark),
                WatchEvent::Error(status) => WatchEvent::Error(status),
            };
            Ok(events.map_ok(convert).boxed())
        }
    }
}

/// Converts metadata to an object without data.
fn without_data(object: PartialObjectMeta<DynamicObject>) -> DynamicObject {
    DynamicObject {
        types: object.types,
        metadata: object.metadata,
        data: serde_json::Value::Null,
    }
}

/// Runs one watch to its normal end. Updates `version` with each event.
async fn watch<S: Sink>(
    api: &Api<DynamicObject>,
    sink: &S,
    version: &mut String,
) -> Result<(), ReflectorError> {
    let params = WatchParams::default().timeout(WATCH_SECONDS);
    let opening = tokio::time::timeout(CALL_TIMEOUT, events(api, S::FORM, &params, version));
    let stream = opening.await.map_err(|_| ReflectorError::Silent)?;
    let mut stream = stream.map_err(watch_error)?.map_err(watch_error);
    sink.touch();
    loop {
        let next = tokio::time::timeout(MAX_SILENCE, stream.try_next()).await;
        match next.map_err(|_| ReflectorError::Silent)?? {
            None => break,
            Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                version.clone_from(&object.resource_version().unwrap_or_default());
                apply_or_remove(sink, object);
            }
            Some(WatchEvent::Deleted(object)) => {
                version.clone_from(&object.resource_version().unwrap_or_default());
                sink.remove(object.namespace().as_deref(), &object.name_any());
            }
            Some(WatchEvent::Bookmark(mark)) => {
                version.clone_from(&mark.metadata.resource_version);
                sink.touch();
            }
            Some(WatchEvent::Error(status)) => return Err(ended(*status)),
        }
    }
    sink.touch();
    Ok(())
}

fn apply_or_remove<S: Sink>(sink: &S, object: DynamicObject) {
    let (namespace, name) = (object.namespace(), object.name_any());
    match read::<S>(object) {
        Some(object) => sink.apply(object),
        // The old object must not stay in effect.
        None => sink.remove(namespace.as_deref(), &name),
    }
}

/// Parses an object. Returns `None` for an object that this version cannot parse. The reflector
/// stores all other objects of the kind.
fn read<S: Sink>(mut object: DynamicObject) -> Option<S::Object> {
    // Managed fields are most of an object's size, and no code here uses them. A write without them
    // leaves the hub's managed fields unchanged.
    object.metadata.managed_fields = None;
    S::read(object)
}

/// Converts the error of a watch. An error response of the hub becomes [`ReflectorError::Ended`],
/// because the hub may have discarded the version. The watch can resume after all other errors.
fn watch_error(error: kube::Error) -> ReflectorError {
    match error {
        kube::Error::Api(status) => ended(*status),
        other => ReflectorError::Watch(other.into()),
    }
}

fn ended(status: kube::core::Status) -> ReflectorError {
    ReflectorError::Ended {
        code: status.code,
        reason: status.reason,
        message: status.message,
    }
}

#[cfg(test)]
mod tests;
