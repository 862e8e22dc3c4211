//! Keeps a store current: list, then watch from there, for ever.
//!
//! kube's own watcher hides bookmarks and successful reconnects, so one cannot tell a quiet kind
//! from a dead connection. How old a decision is matters here, therefore this loop is our own:
//! every answer of the hub, bookmarks and a watch's orderly end included, proves the store
//! current, and short watches make that proof come at least every `WATCH_SECONDS`.

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

/// How long one watch lasts before the hub ends it.
const WATCH_SECONDS: u32 = 45;
/// Silence after which a watch counts as dead: its orderly end is overdue.
const SILENCE: Duration = Duration::from_mins(1);
/// A watch that ends sooner is opened again only after a pause.
const SHORT: Duration = Duration::from_secs(1);
/// Objects a page when listing.
const PAGE: u32 = 500;

/// What can be mirrored: any kind of ours.
pub trait Kind: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static {}

impl<K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static> Kind for K {}

/// Why the store fell out of step.
#[derive(Debug, Error)]
enum ReflectorError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("the hub's list has no resource version")]
    NoVersion,
    #[error("the watch broke")]
    Watch(#[source] ClientError),
    #[error("the hub ended the watch with {code} {reason}: {message}")]
    Ended {
        code: u16,
        reason: String,
        message: String,
    },
    #[error("the watch went silent for {} s", SILENCE.as_secs())]
    Silent,
}

/// How much of each object the hub sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All of it.
    Full,
    /// Its metadata (`meta.k8s.io` PartialObjectMetadata).
    Metadata,
}

/// A store that [`reflect_into`] keeps current.
pub trait Sink: Send + Sync {
    /// What is kept of an object.
    type Object: Send;
    /// How much of each object to ask for.
    const FORM: Form;

    /// Reads an object without managed fields; `None` hides this one object.
    fn read(object: DynamicObject) -> Option<Self::Object>;
    /// Takes a complete listing.
    fn replace(&self, objects: Vec<Self::Object>);
    /// Takes one object that was added or modified.
    fn apply(&self, object: Self::Object);
    /// Drops the object of this name; a cluster-wide kind has no namespace.
    fn remove(&self, namespace: Option<&str>, name: &str);
    /// Notes that the hub's watch is alive.
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
                    "an object on the hub cannot be read and is ignored"
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

/// Follows a kind of ours until `stop`.
pub async fn reflect<K: Kind>(client: Client, store: Store<K>, stop: CancellationToken) {
    reflect_into(client, ApiResource::erase::<K>(&()), store, stop).await;
}

/// Keeps a store of all objects of one kind, in all namespaces, current until `stop`.
pub async fn reflect_into<S: Sink>(
    client: Client,
    resource: ApiResource,
    sink: S,
    stop: CancellationToken,
) {
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(15));
    let following = async {
        loop {
            let Err(error) = list_and_watch(&api, &sink, &mut backoff).await;
            tracing::warn!(
                kind = %resource.kind,
                error = &error as &dyn std::error::Error,
                "lost step with the hub; listing again"
            );
            tokio::time::sleep(backoff.next_delay()).await;
        }
    };
    stop.run_until_cancelled(following).await;
}

/// One listing and the watches that continue it; returns only when they cannot be continued.
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
            Ok(()) if opened.elapsed() >= SHORT => backoff.reset(),
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
            // Nothing is lost: the next watch starts where this one broke.
            Err(error) => {
                tracing::info!(error = &error as &dyn std::error::Error, "watching again");
                tokio::time::sleep(backoff.next_delay()).await;
            }
        }
    }
}

async fn list<S: Sink>(
    api: &Api<DynamicObject>,
) -> Result<(Vec<S::Object>, String), ReflectorError> {
    let mut objects = Vec::new();
    let mut params = ListParams::default().limit(PAGE);
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
                items: page.items.into_iter().map(bare).collect(),
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
            let bare = |event| match event {
                WatchEvent::Added(object) => WatchEvent::Added(bare(object)),
                WatchEvent::Modified(object) => WatchEvent::Modified(bare(object)),
                WatchEvent::Deleted(object) => WatchEvent::Deleted(bare(object)),
                WatchEvent::Bookmark(mark) => WatchEvent::Bookmark(mark),
                WatchEvent::Error(status) => WatchEvent::Error(status),
            };
            Ok(events.map_ok(bare).boxed())
        }
    }
}

/// An object of which only the metadata is known.
fn bare(object: PartialObjectMeta<DynamicObject>) -> DynamicObject {
    DynamicObject {
        types: object.types,
        metadata: object.metadata,
        data: serde_json::Value::Null,
    }
}

/// One watch, to its orderly end; `version` moves along with what was taken.
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
        let next = tokio::time::timeout(SILENCE, stream.try_next()).await;
        match next.map_err(|_| ReflectorError::Silent)?? {
            None => break,
            Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                version.clone_from(&object.resource_version().unwrap_or_default());
                take(sink, object);
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

fn take<S: Sink>(sink: &S, object: DynamicObject) {
    let (namespace, name) = (object.namespace(), object.name_any());
    match read::<S>(object) {
        Some(object) => sink.apply(object),
        // What it was before must not stay in effect.
        None => sink.remove(namespace.as_deref(), &name),
    }
}

/// Reads an object; one that this version cannot read hides itself only, not its whole kind.
fn read<S: Sink>(mut object: DynamicObject) -> Option<S::Object> {
    // Who wrote which field is most of an object's size, and nothing here asks for it. A write
    // without it leaves the hub's as it is.
    object.metadata.managed_fields = None;
    S::read(object)
}

/// Tells a watch that can be resumed from one whose version the hub no longer has.
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
