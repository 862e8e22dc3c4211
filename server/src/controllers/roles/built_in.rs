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
use drover_api::group::SERVER_FIELD_MANAGER;
use drover_api::kinds::{GlobalRole, GlobalRoleSpec, RoleTemplate, RoleTemplateSpec};
use k8s_openapi::ClusterResourceScope;
use kube::api::PostParams;
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::controllers::outdated::{Due, Outdated, Pace, write_all};
use drover_hub::{Hub, HubError, Mirror, call};

const SETTLE: Duration = Duration::from_millis(100);
/// The longest time between two looks, should the hub have been out of reach.
const LOOK_EVERY: Duration = Duration::from_mins(5);
/// Longest to wait until memory shows what was made.
const VISIBLE_WITHIN: Duration = Duration::from_secs(5);
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

/// Keeps the roles of the start for as long as it is polled.
pub(in crate::controllers) async fn keep(hub: &Hub) {
    let stores = hub.stores();
    let mut pace = Pace::new(stores.grants.changed(), SETTLE, "roles of the start are");
    let mut told = BTreeSet::new();
    loop {
        pace.turn(stores, look(hub, &mut told), || Instant::now() + LOOK_EVERY)
            .await;
    }
}

async fn look(hub: &Hub, told: &mut BTreeSet<String>) -> Result<(), HubError> {
    let stores = hub.stores();
    // The global ones give some of the others.
    let results = [
        keep_each(hub, &stores.role_templates, told).await,
        keep_each(hub, &stores.global_roles, told).await,
    ];
    results.into_iter().collect()
}

/// What there is to do about the roles of the start of one kind.
struct ToDo<K> {
    missing: Vec<K>,
    drifted: Vec<Outdated<K>>,
    in_the_way: Vec<&'static str>,
}

async fn keep_each<K: Starting>(
    hub: &Hub,
    mirror: &Mirror<K>,
    told: &mut BTreeSet<String>,
) -> Result<(), HubError> {
    let to_do = decide(|name| mirror.by_name(name));
    for name in to_do.in_the_way {
        let kind = K::kind(&());
        if told.insert(format!("{kind} {name}")) {
            tracing::warn!(
                %kind, name,
                "a role of the start cannot be made: somebody's own role has its name; make that \
                 one anew under another name, and delete it"
            );
        }
    }
    let api: Api<K> = Api::all(hub.client());
    let made = make_all(&api, mirror, &to_do.missing).await;
    let repaired = write_all(REPAIR, &api, mirror, &to_do.drifted).await;
    made.and(repaired)
}

/// Makes what is missing. One that the hub refuses keeps no other from being made; a hub that fails is
/// left alone.
async fn make_all<K: Starting>(
    api: &Api<K>,
    mirror: &Mirror<K>,
    missing: &[K],
) -> Result<(), HubError> {
    let mut first = None;
    for role in missing {
        match make(api, mirror, role).await {
            Ok(()) => {}
            Err(error) if matches!(error.code(), Some(400..=428 | 430..=499)) => {
                first.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    first.map_or(Ok(()), Err)
}

async fn make<K: Starting>(api: &Api<K>, mirror: &Mirror<K>, role: &K) -> Result<(), HubError> {
    let params = PostParams {
        field_manager: Some(SERVER_FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    match call(MAKE, api.create(&params, role)).await {
        Ok(made) => {
            mirror.wait_for(&made, VISIBLE_WITHIN).await;
            Ok(())
        }
        // It is there, and memory will say so.
        Err(error) if error.is_conflict() => Ok(()),
        Err(error) => Err(error),
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
                to_do.drifted.push(Outdated {
                    object,
                    due: Due::Patch(patch),
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
