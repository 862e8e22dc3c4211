//! Field ownership of creates, updates, and patches other than server-side apply.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::error::ApplyError;
use super::kind::MergeKind;
use super::managers::{ManagerId, Managers, Operation, Owned};
use super::track::ownerless;
use super::typed::{Duplicates, validate};
use super::value::is_unprintable;

/// Options of an update: the name of the manager, and the time.
#[derive(Debug, Clone, Copy)]
pub struct UpdateOptions<'a> {
    /// The manager's name, from [`manager_name`].
    pub manager: &'a str,
    /// The time of the write, which `managedFields` contains.
    pub now: Timestamp,
}

/// Sets `metadata.managedFields` of an object that replaces `live` (`None` on create), for creates,
/// updates and all patches except apply.
///
/// Never fails: if the owners cannot be computed, the object has no managed fields, as in
/// kube-apiserver.
pub fn update(live: Option<&Value>, new: &mut Value, kind: &MergeKind, options: UpdateOptions<'_>) {
    let live = live.map_or_else(|| kind.nothing(), Value::clone);
    let mut managers = starting_point(&live, new, kind);
    strip_managers(new);
    let created = live["metadata"]["uid"].as_str().is_none_or(str::is_empty);
    // After a client has removed all owners, tracking restarts with the next apply.
    if managers.is_empty() && !created {
        return;
    }
    let live = without_managers(live);
    if track(
        &live,
        new,
        kind,
        &mut managers,
        options.manager,
        options.now,
    )
    .is_ok()
    {
        managers.write(new);
    }
}

/// Returns the managers before the update. The managers in the request have precedence over the
/// managers of the live object.
fn starting_point(live: &Value, new: &Value, kind: &MergeKind) -> Managers {
    let of_live = || Managers::of(live).unwrap_or_default();
    if !kind.subresource.is_empty() {
        return of_live();
    }
    if let Value::Array(entries) = &new["metadata"]["managedFields"] {
        let reset = match entries.as_slice() {
            [] => true,
            [one] => one.as_object().is_some_and(Map::is_empty),
            _ => false,
        };
        if reset {
            return Managers::default();
        }
    }
    match Managers::of(new) {
        Ok(managers) if !managers.is_empty() => managers,
        _ => of_live(),
    }
}

/// Records the changes of a manager.
pub(super) fn track(
    live: &Value,
    new: &Value,
    kind: &MergeKind,
    managers: &mut Managers,
    manager: &str,
    now: Timestamp,
) -> Result<(), String> {
    for (label, object) in [("new", new), ("live", live)] {
        validate(object, kind.ty(), Duplicates::Allowed).map_err(|reason| {
            let name = kind.name_of(object);
            format!("failed to convert {label} object ({name}) to smd typed: {reason}")
        })?;
    }
    let changed = kind.track_update(managers, live, new).map_err(|reason| {
        let name = kind.name_of(new);
        format!(
            "failed to update ManagedFields ({name}): {}",
            ApplyError::from(reason)
        )
    })?;
    if let Some(set) = changed.map(|set| set.difference(&ownerless()))
        && !set.is_empty()
    {
        let id = ManagerId::new(
            manager,
            Operation::Update,
            &kind.api_version,
            &kind.subresource,
        );
        let owned = managers.0.entry(id).or_insert_with(|| Owned {
            api_version: kind.api_version.clone(),
            set: super::Set::default(),
            time: None,
        });
        owned.set.absorb(&set);
        owned.time = Some(now);
    }
    managers.cap();
    Ok(())
}

pub(super) fn without_managers(mut object: Value) -> Value {
    strip_managers(&mut object);
    object
}

fn strip_managers(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

/// Restores the stored times in `managedFields` if the write changes nothing else. Such a write
/// therefore creates no new revision.
pub fn keep_times(old: &Value, new: &mut Value) {
    let managers = |object: &Value| match &object["metadata"]["managedFields"] {
        Value::Array(entries) => entries.clone(),
        _ => Vec::new(),
    };
    let (before, after) = (managers(old), managers(new));
    let timeless = |entries: &[Value]| -> Vec<Value> {
        let mut entries = entries.to_vec();
        for entry in &mut entries {
            if let Value::Object(entry) = entry {
                entry.remove("time");
            }
        }
        entries
    };
    if before == after || timeless(&before) != timeless(&after) {
        return;
    }
    if bare(old) == bare(new) {
        new["metadata"]["managedFields"] = Value::Array(before);
    }
}

/// Returns the object without the fields that change on every write.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
    }
    object
}

/// Maximum length of a manager name that is derived from the user agent, in bytes.
const MAX_NAME: usize = 128;

/// Returns the name of the manager: the query parameter `fieldManager`, or the user agent up to the
/// first slash.
pub fn manager_name(field_manager: &str, user_agent: &str) -> String {
    if !field_manager.is_empty() {
        return field_manager.to_owned();
    }
    let mut name = String::new();
    let prefix = user_agent.split('/').next().unwrap_or("");
    for letter in prefix.chars().filter(|letter| !is_unprintable(*letter)) {
        if name.len() + letter.len_utf8() > MAX_NAME {
            break;
        }
        name.push(letter);
    }
    name
}
