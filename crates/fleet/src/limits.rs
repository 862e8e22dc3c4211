//! The limits of the namespaces of tenants, from GitRepoRestrictions and Policies.

pub(crate) mod concurrency;

use drover_gitops::policy::Policies;
use drover_reconcile::Trigger;

use crate::mirror::Key;
use crate::world::World;

/// Returns the merged limits of a namespace.
pub(crate) fn of(world: &World, namespace: &str) -> Policies {
    let restrictions = world.restrictions.in_namespace(namespace);
    let policies = world.policies.in_namespace(namespace);
    Policies::merge(
        restrictions.iter().map(|it| &**it),
        policies.iter().map(|it| &**it),
    )
}

/// Enqueues the objects of a namespace after each change of its limits. `keys` returns the objects.
pub(crate) fn connect(
    world: &World,
    trigger: &Trigger<Key>,
    keys: impl Fn(&World, &str) -> Vec<Key> + Clone + Send + Sync + 'static,
) {
    let (seen, trigger) = (world.clone(), trigger.clone());
    let changed = move |change: &Key| {
        for key in keys(&seen, &change.namespace) {
            trigger.enqueue(key);
        }
    };
    let also_changed = changed.clone();
    world
        .restrictions
        .listen(move |change| changed(&change.key));
    world
        .policies
        .listen(move |change| also_changed(&change.key));
}
