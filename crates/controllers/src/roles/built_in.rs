//! Creates and repairs the built-in roles on the hub.
//!
//! The server restores the content of a changed role with the built-in label. A user or a different
//! version of the server can have changed the role. A role with a built-in name but without the
//! label belongs to a user, and the server does not change this role. The server never deletes a
//! built-in role, because the role may be assigned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drover_access::roles::{
    BUILT_IN_LABEL, BuiltIn, built_in_global_roles, built_in_role_templates,
};
use drover_api::kinds::{GlobalRole, GlobalRoleSpec, RoleTemplate, RoleTemplateSpec};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use kube::Resource;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::changes::{Change, Write, write_all};
use drover_hub::{Hub, HubError, StoredKind};

const DEBOUNCE: Duration = Duration::from_millis(100);
/// Maximum time between two reconciliations.
const INTERVAL: Duration = Duration::from_mins(5);
const CREATE: &str = "create a built-in role";
const REPAIR: &str = "restore a built-in role";

/// A kind of role for which the server has built-in objects.
pub(super) trait BuiltInKind: StoredKind {
    /// The type of the spec.
    type Spec: Serialize + PartialEq + Clone;

    /// Returns the built-in objects of the kind, by name.
    fn built_in() -> Vec<BuiltIn<Self::Spec>>;

    /// Creates an object with the name and the spec of a built-in role.
    fn create(role: &BuiltIn<Self::Spec>) -> Self;

    /// Returns the spec of this object.
    fn spec(&self) -> &Self::Spec;
}

impl BuiltInKind for RoleTemplate {
    type Spec = RoleTemplateSpec;

    fn built_in() -> Vec<BuiltIn<RoleTemplateSpec>> {
        built_in_role_templates()
    }

    fn create(role: &BuiltIn<RoleTemplateSpec>) -> Self {
        Self::new(role.name, role.spec.clone())
    }

    fn spec(&self) -> &RoleTemplateSpec {
        &self.spec
    }
}

impl BuiltInKind for GlobalRole {
    type Spec = GlobalRoleSpec;

    fn built_in() -> Vec<BuiltIn<GlobalRoleSpec>> {
        built_in_global_roles()
    }

    fn create(role: &BuiltIn<GlobalRoleSpec>) -> Self {
        Self::new(role.name, role.spec.clone())
    }

    fn spec(&self) -> &GlobalRoleSpec {
        &self.spec
    }
}

/// Returns the names of the built-in objects of a kind.
pub(super) fn names<K: BuiltInKind>() -> BTreeSet<&'static str> {
    K::built_in().iter().map(|role| role.name).collect()
}

/// Reports whether the role's name is in `names` and the role lacks the built-in label.
pub(super) fn has_reserved_name(role: &impl Resource, names: &BTreeSet<&str>) -> bool {
    let name = role.meta().name.as_deref();
    label_value(role).is_none() && name.is_some_and(|name| names.contains(name))
}

/// The reconciler that creates and repairs the built-in roles.
struct BuiltInRoles {
    hub: Hub,
    /// Names of the conflicting roles that the server has logged.
    logged: Mutex<BTreeSet<String>>,
}

impl Reconciler for BuiltInRoles {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        let stores = self.hub.stores();
        if stores.health().is_trusted() {
            // Some built-in global roles refer to role templates, so write the templates first.
            let results = [
                self.reconcile_kind::<RoleTemplate>().await,
                self.reconcile_kind::<GlobalRole>().await,
            ];
            results.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(Action::requeue(INTERVAL))
    }
}

/// Runs the controller of the built-in roles.
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

/// The writes that create or repair the built-in roles of one kind.
struct PendingWrites<K> {
    missing: Vec<K>,
    drifted: Vec<Change<K>>,
    conflicting: Vec<&'static str>,
}

impl BuiltInRoles {
    async fn reconcile_kind<K: BuiltInKind>(&self) -> Result<(), HubError> {
        let store = K::store(self.hub.stores());
        let planned = decide(|name| store.by_name(name));
        self.log_conflicts::<K>(&planned.conflicting);
        let created = create_all(&self.hub, &planned.missing).await;
        let repaired = write_all(&self.hub, REPAIR, &planned.drifted).await;
        created.and(repaired)
    }

    fn log_conflicts<K: BuiltInKind>(&self, names: &[&'static str]) {
        for name in names {
            let kind = K::kind(&());
            if self.logged.lock().insert(format!("{kind} {name}")) {
                tracing::warn!(
                    %kind, name,
                    "cannot create a built-in role: a custom role has the same name; copy the \
                     custom role to a different name, then delete the custom role"
                );
            }
        }
    }
}

/// Creates the built-in roles that do not exist. Continues with the next role if the hub rejects a
/// role. Returns after any other error of the hub.
async fn create_all<K: BuiltInKind>(hub: &Hub, missing: &[K]) -> Result<(), HubError> {
    let mut first = None;
    for role in missing {
        match create(hub, role).await {
            Ok(()) => {}
            Err(error) if matches!(error.code(), Some(400..=428 | 430..=499)) => {
                first.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    first.map_or(Ok(()), Err)
}

async fn create<K: BuiltInKind>(hub: &Hub, role: &K) -> Result<(), HubError> {
    let writer = hub.writer().with_manager();
    match writer.create(CREATE, role).await {
        // The role exists; the store receives it soon.
        Err(error) if error.is_conflict() => Ok(()),
        answer => answer.map(drop),
    }
}

fn decide<K: BuiltInKind>(stored: impl Fn(&str) -> Option<Arc<K>>) -> PendingWrites<K> {
    let mut writes = PendingWrites {
        missing: Vec::new(),
        drifted: Vec::new(),
        conflicting: Vec::new(),
    };
    for role in K::built_in() {
        let Some(object) = stored(role.name) else {
            let mut new = K::create(&role);
            new.meta_mut().labels = Some(labels());
            writes.missing.push(new);
            continue;
        };
        if object.meta().deletion_timestamp.is_some() {
            continue;
        }
        match label_value(&*object) {
            None => writes.conflicting.push(role.name),
            Some("true") if *object.spec() == role.spec => {}
            Some(_) => {
                // The server does not use server-side apply, because fields that others added would
                // stay.
                let spec = merge(&as_value(object.spec()), &as_value(&role.spec));
                let patch = json!({ "metadata": { "labels": labels() }, "spec": spec });
                writes.drifted.push(Change {
                    object,
                    write: Write::Patch(patch),
                });
            }
        }
    }
    writes
}

fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([(BUILT_IN_LABEL.to_owned(), "true".to_owned())])
}

/// Returns the value of the built-in label, if present.
fn label_value(role: &impl Resource) -> Option<&str> {
    let labels = role.meta().labels.as_ref()?;
    labels.get(BUILT_IN_LABEL).map(String::as_str)
}

fn as_value(spec: &impl Serialize) -> Value {
    serde_json::to_value(spec).expect("the keys of roles are strings")
}

/// Returns a merge patch (RFC 7386) that changes `from` into `to`.
fn merge(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return to.clone();
    };
    let gone = from.keys().filter(|key| !to.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    let desired = to.iter().map(|(key, value)| {
        let before = from.get(key).unwrap_or(&Value::Null);
        (key.clone(), merge(before, value))
    });
    Value::Object(gone.chain(desired).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests;
