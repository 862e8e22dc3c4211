//! The roles of the start are on the hub, and are what this server says they are.
//!
//! What has their label and says something else, because somebody with rights on the hub changed it
//! or another server made it, is put right. A role of such a name without the label is somebody's own
//! and is left alone. None is ever deleted: people may have it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use drover_access::roles::{
    BUILT_IN_LABEL, BuiltIn, built_in_global_roles, built_in_role_templates,
};
use drover_api::kinds::{GlobalRole, GlobalRoleSpec, RoleTemplate, RoleTemplateSpec};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use k8s_openapi::ClusterResourceScope;
use kube::{Api, Resource};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::status_writer::{Change, StatusWriter, Write};
use drover_hub::{Hub, HubError, Store, Writer};

const DEBOUNCE: Duration = Duration::from_millis(100);
/// The longest time between two reconciliations.
const INTERVAL: Duration = Duration::from_mins(5);
const MAKE: &str = "make a role of the start";
const REPAIR: &str = "put a role of the start right";

/// A kind of which some objects are there from the start.
pub(super) trait Starting:
    Resource<Scope = ClusterResourceScope, DynamicType = ()>
    + Clone
    + Debug
    + DeserializeOwned
    + Serialize
{
    /// What its objects say.
    type Spec: Serialize + PartialEq + Clone;

    /// Those of the start.
    fn of_the_start() -> Vec<BuiltIn<Self::Spec>>;

    /// A new object.
    fn make(role: &BuiltIn<Self::Spec>) -> Self;

    /// What this one says.
    fn said(&self) -> &Self::Spec;
}

impl Starting for RoleTemplate {
    type Spec = RoleTemplateSpec;

    fn of_the_start() -> Vec<BuiltIn<RoleTemplateSpec>> {
        built_in_role_templates()
    }

    fn make(role: &BuiltIn<RoleTemplateSpec>) -> Self {
        Self::new(role.name, role.spec.clone())
    }

    fn said(&self) -> &RoleTemplateSpec {
        &self.spec
    }
}

impl Starting for GlobalRole {
    type Spec = GlobalRoleSpec;

    fn of_the_start() -> Vec<BuiltIn<GlobalRoleSpec>> {
        built_in_global_roles()
    }

    fn make(role: &BuiltIn<GlobalRoleSpec>) -> Self {
        Self::new(role.name, role.spec.clone())
    }

    fn said(&self) -> &GlobalRoleSpec {
        &self.spec
    }
}

/// The names of those of one kind.
pub(super) fn names<K: Starting>() -> BTreeSet<&'static str> {
    K::of_the_start().iter().map(|role| role.name).collect()
}

/// Whether a role of somebody's own has one of these names.
pub(super) fn is_in_the_way(role: &impl Resource, names: &BTreeSet<&str>) -> bool {
    let name = role.meta().name.as_deref();
    mark(role).is_none() && name.is_some_and(|name| names.contains(name))
}

/// Keeps the built-in roles.
struct BuiltInRoles {
    hub: Hub,
    /// Roles in the way that were logged.
    logged: Mutex<BTreeSet<String>>,
}

impl Reconciler for BuiltInRoles {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        let stores = self.hub.stores();
        if stores.health().is_trusted() {
            // The global ones give some of the others.
            let results = [
                self.reconcile_kind(&stores.role_templates).await,
                self.reconcile_kind(&stores.global_roles).await,
            ];
            results.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(Action::requeue(INTERVAL))
    }
}

/// Runs the controller.
pub(crate) async fn run(hub: &Hub, runtime: &Runtime) {
    let options = Options {
        debounce: DEBOUNCE,
        ..Options::new("built-in-roles")
    };
    let reconciler = BuiltInRoles {
        hub: hub.clone(),
        logged: Mutex::default(),
    };
    let changed = hub.stores().grants.changed();
    runtime.run_single(options, reconciler, [changed]).await;
}

/// What there is to do about the roles of the start of one kind.
struct ToDo<K> {
    missing: Vec<K>,
    drifted: Vec<Change<K>>,
    in_the_way: Vec<&'static str>,
}

impl BuiltInRoles {
    async fn reconcile_kind<K: Starting>(&self, store: &Store<K>) -> Result<(), HubError> {
        let to_do = decide(|name| store.by_name(name));
        self.log_in_the_way::<K>(&to_do.in_the_way);
        let api: Api<K> = Api::all(self.hub.client());
        let made = make_all(&api, store, &to_do.missing).await;
        let writer = StatusWriter {
            operation: REPAIR,
            api,
            store,
        };
        let repaired = writer.write_all(&to_do.drifted).await;
        made.and(repaired)
    }

    fn log_in_the_way<K: Starting>(&self, names: &[&'static str]) {
        for name in names {
            let kind = K::kind(&());
            if self.logged.lock().insert(format!("{kind} {name}")) {
                tracing::warn!(
                    %kind, name,
                    "cannot create a built-in role: another role has its name; create that role \
                     again under another name, and delete it"
                );
            }
        }
    }
}

/// Makes what is missing. One that the hub refuses keeps no other from being made; a hub that fails is
/// left alone.
async fn make_all<K: Starting>(
    api: &Api<K>,
    store: &Store<K>,
    missing: &[K],
) -> Result<(), HubError> {
    let mut first = None;
    for role in missing {
        match make(api, store, role).await {
            Ok(()) => {}
            Err(error) if matches!(error.code(), Some(400..=428 | 430..=499)) => {
                first.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    first.map_or(Ok(()), Err)
}

async fn make<K: Starting>(api: &Api<K>, store: &Store<K>, role: &K) -> Result<(), HubError> {
    let writer = Writer::new(api.clone(), store).with_manager();
    match writer.create(MAKE, role).await {
        // The role exists; the store receives it soon.
        Err(error) if error.is_conflict() => Ok(()),
        answer => answer.map(drop),
    }
}

fn decide<K: Starting>(stored: impl Fn(&str) -> Option<Arc<K>>) -> ToDo<K> {
    let mut to_do = ToDo {
        missing: Vec::new(),
        drifted: Vec::new(),
        in_the_way: Vec::new(),
    };
    for role in K::of_the_start() {
        let Some(object) = stored(role.name) else {
            let mut new = K::make(&role);
            new.meta_mut().labels = Some(labels());
            to_do.missing.push(new);
            continue;
        };
        if object.meta().deletion_timestamp.is_some() {
            continue;
        }
        match mark(&*object) {
            None => to_do.in_the_way.push(role.name),
            Some("true") if *object.said() == role.spec => {}
            Some(_) => {
                // Not applied by the server: what others added beside it would stay.
                let spec = merge(&as_value(object.said()), &as_value(&role.spec));
                let patch = json!({ "metadata": { "labels": labels() }, "spec": spec });
                to_do.drifted.push(Change {
                    object,
                    write: Write::Patch(patch),
                });
            }
        }
    }
    to_do
}

fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([(BUILT_IN_LABEL.to_owned(), "true".to_owned())])
}

/// What the label of the start says, if it is there.
fn mark(role: &impl Resource) -> Option<&str> {
    let labels = role.meta().labels.as_ref()?;
    labels.get(BUILT_IN_LABEL).map(String::as_str)
}

fn as_value(spec: &impl Serialize) -> Value {
    serde_json::to_value(spec).expect("what roles say has text for keys")
}

/// What makes `from` into `to` when it is merged into it (RFC 7386).
fn merge(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return to.clone();
    };
    let gone = from.keys().filter(|key| !to.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    let kept = to.iter().map(|(key, value)| {
        let before = from.get(key).unwrap_or(&Value::Null);
        (key.clone(), merge(before, value))
    });
    Value::Object(gone.chain(kept).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests;
