//! Stores the UIDs of named objects in bindings and projects, and writes conditions that show
//! whether each binding or project grants access.
//!
//! The controller stores a UID once, for the object that existed when the binding was created
//! ([`pin`]). The binding grants nothing until the controller stores the UIDs, so the controller
//! runs as soon as the grants change. After each change of roles, bindings or users, the controller
//! reads the stores once on a blocking thread. The controller writes an object once after its
//! creation, and once for each change of its condition.
//!
//! [`pin`]: drover_access::pin::pin

pub(crate) mod decide;
mod orphans;

use std::sync::Arc;
use std::time::Duration;

use drover_access::grants::Binding;
use drover_api::conditions::READY;
use drover_api::kinds::{
    BindingStatus, ClusterRoleTemplateBinding, GlobalRoleBinding, Project,
    ProjectRoleTemplateBinding,
};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Resource;
use serde_json::json;

use self::decide::Decision;
use self::orphans::Orphans;
use super::BATCH_TIMEOUT;
use super::changes::{Change, Write, changed_conditions, conditions_of, write_all};
use drover_hub::{Hub, HubError, Store, Stores};

/// The debounce is short, because a new binding grants no access before the controller stores its
/// UIDs.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// Maximum time between two reconciliations.
const INTERVAL: Duration = Duration::from_mins(5);
const WRITE: &str = "write the pins or condition of a binding or project";

/// The reconciler that writes UIDs and conditions of bindings and projects.
struct Bindings {
    hub: Hub,
}

impl Reconciler for Bindings {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        if self.hub.stores().health().is_trusted() {
            write_pins_and_conditions(&self.hub).await?;
        }
        Ok(Action::requeue(INTERVAL))
    }
}

/// Runs the controller of bindings and projects.
pub(super) async fn run(hub: &Hub, runtime: &Runtime) {
    let options = Options {
        debounce: DEBOUNCE,
        timeout: Some(BATCH_TIMEOUT),
        ..Options::new("bindings")
    };
    let reconciler = Bindings { hub: hub.clone() };
    let changed = hub.stores().grants.changed();
    runtime.run_single(options, reconciler, [changed]).await;
}

/// The pending writes of each kind.
struct PendingWrites {
    projects: Vec<Change<Project>>,
    global: Vec<Change<GlobalRoleBinding>>,
    in_clusters: Vec<Change<ClusterRoleTemplateBinding>>,
    in_projects: Vec<Change<ProjectRoleTemplateBinding>>,
}

async fn write_pins_and_conditions(hub: &Hub) -> Result<(), HubError> {
    let stores = hub.stores().clone();
    // The computation takes tens of milliseconds with many thousands of bindings.
    let looking = tokio::task::spawn_blocking(move || find(&stores, Timestamp::now()));
    let found = match looking.await {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(%error, "failed to check the bindings");
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
    // Projects come first, because a binding in a project needs the project's cluster. All kinds
    // are written, even if the hub rejects an object of one kind.
    let results = [
        write_all(hub, WRITE, &found.projects).await,
        write_all(hub, WRITE, &global).await,
        write_all(hub, WRITE, &in_clusters).await,
        write_all(hub, WRITE, &in_projects).await,
        orphans.end(),
    ];
    results.into_iter().collect()
}

fn find(stores: &Stores, now: Timestamp) -> PendingWrites {
    let grants = stores.grants.fresh(stores);
    let problems = grants.problems();
    let binding =
        |meta: &ObjectMeta, binding: Binding<'_>| decide::binding(stores, problems, meta, binding);
    PendingWrites {
        projects: to_write(&stores.projects, now, |project| {
            let status = project.status.as_ref();
            let conditions = conditions_of(status.map(|status| &status.conditions));
            (decide::project(stores, project), conditions)
        }),
        global: to_write(&stores.global_role_bindings, now, |it| {
            let decision = binding(&it.metadata, Binding::Global(&it.spec));
            (decision, binding_conditions(it.status.as_ref()))
        }),
        in_clusters: to_write(&stores.cluster_role_template_bindings, now, |it| {
            let decision = binding(&it.metadata, Binding::Cluster(&it.spec));
            (decision, binding_conditions(it.status.as_ref()))
        }),
        in_projects: to_write(&stores.project_role_template_bindings, now, |it| {
            let decision = binding(&it.metadata, Binding::Project(&it.spec));
            (decision, binding_conditions(it.status.as_ref()))
        }),
    }
}

fn binding_conditions(status: Option<&BindingStatus>) -> &[Condition] {
    conditions_of(status.map(|status| &status.conditions))
}

/// Returns the pending writes of one kind: UIDs first, then conditions. The UIDs are first because
/// a stored UID triggers a reconciliation.
fn to_write<K: Resource>(
    store: &Store<K>,
    now: Timestamp,
    decide: impl for<'a> Fn(&'a K) -> (Option<Decision>, &'a [Condition]),
) -> Vec<Change<K>> {
    let stay = |object: &Arc<K>| object.meta().deletion_timestamp.is_none();
    let objects = store.all().into_iter().filter(stay);
    let found =
        objects.filter_map(|object| {
            let (decision, conditions) = decide(&object);
            let write =
                match decision? {
                    Decision::Pin(spec) => Write::Patch(json!({ "spec": spec })),
                    Decision::Orphan => Write::Delete,
                    Decision::SetCondition(condition_value) => Write::Conditions(
                        changed_conditions(&*object, conditions, READY, &condition_value, now)?,
                    ),
                };
            Some(Change { object, write })
        });
    found.collect()
}

#[cfg(test)]
mod tests;
