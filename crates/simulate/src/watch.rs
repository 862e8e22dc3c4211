//! Watches all kinds of objects. Returns one stream of changes.

use futures::stream::{self, BoxStream, SelectAll, StreamExt as _};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};

use crate::world::{SimulatedKind, World};

/// A change of objects in the cluster.
pub(crate) type Change = Box<dyn FnOnce(&mut World) + Send>;

/// Number of objects in one page of a list.
const PAGE: u32 = 250;

/// Watches all kinds of objects. The API stores unread events in a bounded buffer.
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

fn of<K: SimulatedKind>(client: &Client) -> BoxStream<'static, Change> {
    let api: Api<K> = Api::all(client.clone());
    kube::runtime::watcher(api, watcher::Config::default().page_size(PAGE))
        .default_backoff()
        .filter_map(|event| {
            let event = event
                .inspect_err(
                    |error| tracing::debug!(%error, "restarting a watch of a simulated cluster"),
                )
                .ok();
            std::future::ready(event.map(change))
        })
        .boxed()
}

fn change<K: SimulatedKind>(event: Event<K>) -> Change {
    Box::new(move |world| {
        let objects = K::objects(world);
        match event {
            Event::Init => objects.begin_list(),
            Event::InitApply(object) | Event::Apply(object) => objects.observe(object),
            Event::InitDone => objects.finish_list(),
            Event::Delete(object) => objects.observe_deleted(&object),
        }
    })
}
