//! Enqueues the bundles that a change of another object concerns.

use std::collections::BTreeSet;
use std::sync::Arc;

use drover_api::fleet::FleetCluster;
use drover_reconcile::Trigger;
use kube::ResourceExt as _;

use crate::mirror::{Change, Key};
use crate::world::{World, bundle_of};

/// Enqueues bundles after each change from now on.
pub(crate) fn connect(world: &World, bundles: &Trigger<Key>) {
    let enqueue = bundles.clone();
    world
        .bundles
        .listen(move |change| enqueue.enqueue(change.key.clone()));
    let enqueue = bundles.clone();
    world.deployments.listen(move |change| {
        let objects = [&change.before, &change.after].into_iter().flatten();
        let keys: BTreeSet<Key> = objects.filter_map(|it| bundle_of(it)).collect();
        for key in keys {
            enqueue.enqueue(key);
        }
    });
    let (enqueue, seen) = (bundles.clone(), world.clone());
    world.clusters.listen(move |change| {
        if is_relevant(change) {
            enqueue_all(&enqueue, &seen, &change.key.namespace);
        }
    });
    let (enqueue, seen) = (bundles.clone(), world.clone());
    world.groups.listen(move |change| {
        let definition = |it: &Option<Arc<drover_api::fleet::ClusterGroup>>| {
            it.as_ref().map(|it| (it.spec.clone(), it.labels().clone()))
        };
        if definition(&change.before) != definition(&change.after) {
            enqueue_all(&enqueue, &seen, &change.key.namespace);
        }
    });
    let (enqueue, seen) = (bundles.clone(), world.clone());
    world
        .mappings
        .listen(move |change| enqueue_in(&enqueue, &seen, &change.key.namespace));
    let (enqueue, seen) = (bundles.clone(), world.clone());
    world.namespaces.listen(move |change| {
        let labels = |it: &Option<Arc<k8s_openapi::api::core::v1::Namespace>>| {
            it.as_ref().map(|it| it.labels().clone())
        };
        if labels(&change.before) != labels(&change.after) {
            enqueue_mapped(&enqueue, &seen);
        }
    });
}

/// Enqueues the bundles that can target the clusters of a namespace.
fn enqueue_all(trigger: &Trigger<Key>, world: &World, namespace: &str) {
    enqueue_in(trigger, world, namespace);
    enqueue_mapped(trigger, world);
}

fn enqueue_in(trigger: &Trigger<Key>, world: &World, namespace: &str) {
    for bundle in world.bundles.in_namespace(namespace) {
        trigger.enqueue(Key::of(&*bundle));
    }
}

/// Enqueues the bundles of all namespaces with a mapping.
fn enqueue_mapped(trigger: &Trigger<Key>, world: &World) {
    let mappings = world.mappings.all();
    let namespaces: BTreeSet<String> = mappings.iter().filter_map(|it| it.namespace()).collect();
    for namespace in namespaces {
        enqueue_in(trigger, world, &namespace);
    }
}

/// Reports whether targets or rollouts depend on the change of a cluster.
fn is_relevant(change: &Change<FleetCluster>) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return true;
    };
    let facts = |cluster: &FleetCluster| {
        let status = cluster.status.as_ref();
        (
            cluster.labels().clone(),
            cluster.annotations().clone(),
            cluster.spec.template_values.clone(),
            cluster.spec.paused,
            cluster.metadata.deletion_timestamp.is_some(),
            status.map(|it| (it.namespace.clone(), it.scheduled, it.active_schedule)),
            status.is_some_and(|it| it.agent.last_seen.is_some()),
        )
    };
    facts(before) != facts(after)
}
