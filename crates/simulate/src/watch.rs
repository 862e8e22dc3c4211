//! The watches of all kinds, as one stream of changes to the world.

use futures::stream::{self, BoxStream, SelectAll, StreamExt as _};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};

use crate::world::{Known, World};

/// A change of the world.
pub(crate) type Change = Box<dyn FnOnce(&mut World) + Send>;

/// Objects read at a time.
const PAGE: u32 = 250;

/// Follows everything. What is not read waits in the API's own bounded buffer.
pub(crate) fn all(client: &Client) -> SelectAll<BoxStream<'static, Change>> {
    stream::select_all([
        of::<Node>(client),
        of::<Pod>(client),
        of::<Service>(client),
        of::<DaemonSet>(client),
        of::<Deployment>(client),
        of::<ReplicaSet>(client),
        of::<StatefulSet>(client),
        of::<Job>(client),
        of::<EndpointSlice>(client),
    ])
}

fn of<K: Known>(client: &Client) -> BoxStream<'static, Change> {
    let api: Api<K> = Api::all(client.clone());
    kube::runtime::watcher(api, watcher::Config::default().page_size(PAGE))
        .default_backoff()
        .filter_map(|event| {
            let event = event
                .inspect_err(
                    |error| tracing::debug!(%error, "a simulated cluster's watch begins again"),
                )
                .ok();
            std::future::ready(event.map(change))
        })
        .boxed()
}

fn change<K: Known>(event: Event<K>) -> Change {
    Box::new(move |world| {
        let objects = K::objects(world);
        match event {
            Event::Init => objects.begin(),
            Event::InitApply(object) | Event::Apply(object) => objects.seen(object),
            Event::InitDone => objects.finish(),
            Event::Delete(object) => objects.removed(&object),
        }
    })
}
