//! Pins what bindings and projects name, and says on each whether it gives what it says.
//!
//! A name is pinned once, to what was there when the binding was made ([`pin`]); until then the
//! binding gives nothing, so this looks as soon as the grants change. What it costs: a look at memory
//! after each change of roles, bindings or people, on a thread where nobody waits; a write for each
//! object when it is made, and one when what it comes to changes.
//!
//! [`pin`]: drover_access::pin::pin

pub mod decide;
mod orphans;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use drover_access::grants::Binding;
use drover_api::conditions::READY;
use drover_api::kinds::{
    BindingStatus, ClusterRoleTemplateBinding, GlobalRoleBinding, Project,
    ProjectRoleTemplateBinding,
};
use jiff::Timestamp;
use k8s_openapi::ClusterResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

use self::decide::Judged;
use self::orphans::Orphans;
use super::outdated::{Due, Outdated, Pace, due, held, write_all};
use drover_hub::{Hub, HubError, Mirror, Stores};

/// Short: what is bound just now counts when it is pinned.
const SETTLE: Duration = Duration::from_millis(50);
/// The longest time between two looks, should the hub have been out of reach.
const LOOK_EVERY: Duration = Duration::from_mins(5);
const WRITE: &str = "write what a binding or project comes to";

/// Keeps pins and conditions for as long as it is polled.
pub(super) async fn keep(hub: &Hub) {
    let stores = hub.stores();
    let what = "pins and conditions of bindings and projects are";
    let mut pace = Pace::new(stores.grants.changed(), SETTLE, what);
    loop {
        pace.turn(stores, look(hub), || Instant::now() + LOOK_EVERY)
            .await;
    }
}

/// What has to be written, of each kind.
struct Found {
    projects: Vec<Outdated<Project>>,
    global: Vec<Outdated<GlobalRoleBinding>>,
    in_clusters: Vec<Outdated<ClusterRoleTemplateBinding>>,
    in_projects: Vec<Outdated<ProjectRoleTemplateBinding>>,
}

async fn look(hub: &Hub) -> Result<(), HubError> {
    let stores = hub.stores().clone();
    // It takes tens of milliseconds where there are many thousands of bindings.
    let looking = tokio::task::spawn_blocking(move || find(&stores, Timestamp::now()));
    let found = match looking.await {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(%error, "bindings could not be looked at");
            return Ok(());
        }
    };
    let stores = hub.stores();
    let mut orphans = Orphans::new(hub.client(), stores);
    let global = orphans.only(found.global, |it| Binding::Global(&it.spec));
    let global = global.await;
    let in_clusters = orphans.only(found.in_clusters, |it| Binding::Cluster(&it.spec));
    let in_clusters = in_clusters.await;
    let in_projects = orphans.only(found.in_projects, |it| Binding::Project(&it.spec));
    let in_projects = in_projects.await;
    // Projects first: a binding in a project means nothing before the project is somewhere. And all
    // of them: an object that the hub refuses shall not keep others from being written.
    let results = [
        write_each(hub, &stores.projects, &found.projects).await,
        write_each(hub, &stores.global_role_bindings, &global).await,
        write_each(hub, &stores.cluster_role_template_bindings, &in_clusters).await,
        write_each(hub, &stores.project_role_template_bindings, &in_projects).await,
        orphans.end(),
    ];
    results.into_iter().collect()
}

async fn write_each<K>(
    hub: &Hub,
    mirror: &Mirror<K>,
    outdated: &[Outdated<K>],
) -> Result<(), HubError>
where
    K: Resource<Scope = ClusterResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(hub.client());
    write_all(WRITE, &api, mirror, outdated).await
}

fn find(stores: &Stores, now: Timestamp) -> Found {
    let grants = stores.grants.fresh(stores);
    let problems = grants.problems();
    let binding =
        |meta: &ObjectMeta, said: Binding<'_>| decide::binding(stores, problems, meta, said);
    Found {
        projects: to_write(&stores.projects, now, |project| {
            let status = project.status.as_ref();
            let conditions = held(status.map(|status| &status.conditions));
            (decide::project(stores, project), conditions)
        }),
        global: to_write(&stores.global_role_bindings, now, |it| {
            let judged = binding(&it.metadata, Binding::Global(&it.spec));
            (judged, says(it.status.as_ref()))
        }),
        in_clusters: to_write(&stores.cluster_role_template_bindings, now, |it| {
            let judged = binding(&it.metadata, Binding::Cluster(&it.spec));
            (judged, says(it.status.as_ref()))
        }),
        in_projects: to_write(&stores.project_role_template_bindings, now, |it| {
            let judged = binding(&it.metadata, Binding::Project(&it.spec));
            (judged, says(it.status.as_ref()))
        }),
    }
}

fn says(status: Option<&BindingStatus>) -> &[Condition] {
    held(status.map(|status| &status.conditions))
}

/// The objects of one kind that are to be written, pins before conditions: what is pinned is looked
/// at again.
fn to_write<K: Resource>(
    mirror: &Mirror<K>,
    now: Timestamp,
    judge: impl for<'a> Fn(&'a K) -> (Option<Judged>, &'a [Condition]),
) -> Vec<Outdated<K>> {
    let stay = |object: &Arc<K>| object.meta().deletion_timestamp.is_none();
    let objects = mirror.all().into_iter().filter(stay);
    let found = objects.filter_map(|object| {
        let (judged, conditions) = judge(&object);
        let due = match judged? {
            Judged::Pin(spec) => Due::Patch(json!({ "spec": spec })),
            Judged::Orphan => Due::Deletion,
            Judged::Says(verdict) => {
                Due::Conditions(due(&*object, conditions, READY, &verdict, now)?)
            }
        };
        Some(Outdated { object, due })
    });
    found.collect()
}

#[cfg(test)]
mod tests;
