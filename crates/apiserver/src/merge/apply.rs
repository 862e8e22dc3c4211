//! Server-side apply.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::error::{ApplyError, Conflict};
use super::fields;
use super::kind::{MergeKind, go_kind};
use super::managers::{ManagerId, Managers, Operation};
use super::set::Set;
use super::track::{Force, ownerless};
use super::typed::{Duplicates, compare, field_set, validate};
use super::{update, value};
use crate::resource::Origin;
use crate::schema::{Node, Shape};

/// Options of an apply request.
#[derive(Debug, Clone, Copy)]
pub struct ApplyOptions<'a> {
    /// The query parameter `fieldManager`.
    pub manager: &'a str,
    /// True if the apply takes ownership of fields that other managers own.
    pub force: bool,
    /// The time of the write, which `managedFields` contains.
    pub now: Timestamp,
}

/// The annotation with the last configuration of client-side `kubectl apply`.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The field manager of `kubectl apply`. A server-side apply by this manager takes ownership of the
/// fields that client-side `kubectl apply` has set.
const KUBECTL: &str = "kubectl";

/// The field manager of fields that existed before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Maximum size of all annotations of an object together, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// Applies a configuration to the live object (`None` on create). Returns the merged object with
/// its new field owners. Does not set defaults.
///
/// # Errors
/// [`ApplyError::Conflicts`] if other managers own applied fields with different values and `force`
/// is false. Other errors if the objects cannot be merged.
pub fn apply(
    live: Option<&Value>,
    applied: &Value,
    kind: &MergeKind,
    options: ApplyOptions<'_>,
) -> Result<Value, ApplyError> {
    let live = live.map_or_else(|| kind.nothing(), Value::clone);
    let managers = Managers::of(&live)?;
    check_kind(applied, kind)?;
    let live = update::without_managers(live);
    let managers = if managers.is_empty() {
        before_first(&live, kind, options.now)?
    } else {
        managers
    };
    let (mut object, managers) = match attempt(&live, applied, kind, &managers, options) {
        Err(ApplyError::Conflicts(conflicts)) if options.manager == KUBECTL => {
            let Some(own) = last_applied_fields(&live, kind) else {
                return Err(ApplyError::Conflicts(conflicts));
            };
            let others: Vec<Conflict> = conflicts
                .into_iter()
                .filter(|conflict| !own.has(&conflict.path))
                .collect();
            if !others.is_empty() {
                return Err(ApplyError::Conflicts(others));
            }
            let forced = ApplyOptions {
                force: true,
                ..options
            };
            attempt(&live, applied, kind, &managers, forced)?
        }
        outcome => outcome?,
    };
    if options.manager == KUBECTL {
        refresh_last_applied(&mut object, applied);
    }
    if kind.origin == Origin::BuiltIn {
        drop_nulls(&mut object, &kind.schema);
    }
    managers.write(&mut object);
    Ok(object)
}

fn check_kind(applied: &Value, kind: &MergeKind) -> Result<(), ApplyError> {
    let text = |field: &str| applied[field].as_str().unwrap_or("");
    let (api_version, name) = (text("apiVersion"), text("kind"));
    if api_version != kind.api_version || name != kind.kind {
        return Err(ApplyError::BadRequest(format!(
            "invalid object type: {}",
            go_kind(api_version, name)
        )));
    }
    if applied["metadata"]["managedFields"].is_array() {
        return Err(ApplyError::BadRequest(
            "metadata.managedFields must be nil".to_owned(),
        ));
    }
    Ok(())
}

/// Makes `before-first-apply` the owner of all existing fields.
fn before_first(live: &Value, kind: &MergeKind, now: Timestamp) -> Result<Managers, ApplyError> {
    let mut managers = Managers::default();
    update::track(
        &kind.nothing(),
        live,
        kind,
        &mut managers,
        BEFORE_FIRST_APPLY,
        now,
    )
    .map_err(|reason| {
        ApplyError::Invalid(format!(
            "failed to create manager for existing fields: {reason}"
        ))
    })?;
    Ok(managers)
}

fn attempt(
    live: &Value,
    applied: &Value,
    kind: &MergeKind,
    managers: &Managers,
    options: ApplyOptions<'_>,
) -> Result<(Value, Managers), ApplyError> {
    let id = ManagerId::new(
        options.manager,
        Operation::Apply,
        &kind.api_version,
        &kind.subresource,
    );
    validate(applied, kind.ty(), Duplicates::Refused).map_err(|reason| {
        ApplyError::Invalid(format!(
            "failed to create typed patch object ({}): {reason}",
            kind.name_of(applied)
        ))
    })?;
    validate(live, kind.ty(), Duplicates::Allowed).map_err(|reason| {
        ApplyError::Invalid(format!(
            "failed to create typed live object ({}): {reason}",
            kind.name_of(live)
        ))
    })?;
    let force = if options.force { Force::Yes } else { Force::No };
    let mut managers = managers.clone();
    let merged = kind
        .track_apply(&mut managers, live, applied, &id, force)
        .map_err(ApplyError::from)?;
    if let Some(owned) = managers.0.get_mut(&id) {
        owned.set = owned.set.difference(&ownerless());
        if !value::equal(live, &merged) {
            owned.time = Some(options.now);
        }
        if owned.set.is_empty() {
            managers.0.remove(&id);
        }
    }
    Ok((merged, managers))
}

/// Returns the fields of the last client-side apply whose values have not changed since that apply.
/// Returns `None` if the fields are unknown.
fn last_applied_fields(live: &Value, kind: &MergeKind) -> Option<Set> {
    let last = live["metadata"]["annotations"][LAST_APPLIED].as_str()?;
    let last: Value = serde_json::from_str(last).ok()?;
    if last["apiVersion"].as_str() != Some(&kind.api_version)
        || last["kind"].as_str() != Some(&kind.kind)
    {
        return None;
    }
    validate(live, kind.ty(), Duplicates::Refused).ok()?;
    validate(&last, kind.ty(), Duplicates::Refused).ok()?;
    let compared = compare(&last, live, kind.ty()).ok()?;
    let set = field_set(&last, kind.ty());
    Some(
        set.difference(&compared.modified)
            .difference(&compared.added)
            .difference(&compared.removed),
    )
}

/// Updates the annotation of client-side apply. Does not add an absent annotation.
fn refresh_last_applied(object: &mut Value, applied: &Value) {
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else {
        return;
    };
    let before = annotations.get(LAST_APPLIED).and_then(Value::as_str);
    if before.is_none_or(str::is_empty) || !coerce_texts(annotations) {
        return;
    }
    let mut applied = applied.clone();
    if let Some(Value::Object(metadata)) = applied.get_mut("metadata") {
        let own = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut);
        let kept = own.is_some_and(|own| {
            own.remove(LAST_APPLIED);
            coerce_texts(own)
        });
        // Malformed annotations are ignored.
        if !kept {
            metadata.remove("annotations");
        }
    }
    let mut text = String::new();
    fields::write_json(&applied, &mut text);
    text.push('\n');
    annotations.insert(LAST_APPLIED.to_owned(), Value::String(text));
    let size: usize = annotations
        .iter()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > MAX_ANNOTATIONS {
        annotations.remove(LAST_APPLIED);
    }
}

/// Replaces null values by empty strings. Returns false if the map contains a value that is neither
/// a string nor null.
fn coerce_texts(map: &mut Map<String, Value>) -> bool {
    let fits = map
        .values()
        .all(|value| value.is_string() || value.is_null());
    if fits {
        map.values_mut()
            .filter(|value| value.is_null())
            .for_each(|value| *value = Value::from(""));
    }
    fits
}

/// Removes named fields with the value `null`. Go structs treat these fields as unset.
pub fn drop_nulls(value: &mut Value, node: &Node) {
    match (value, &node.shape) {
        (
            Value::Object(map),
            Shape::Object {
                properties,
                additional,
                ..
            },
        ) => {
            drop_null_fields(map, properties.keys());
            for (key, item) in map {
                if let Some(node) = properties.get(key).or(additional.as_ref()) {
                    drop_nulls(item, node);
                }
            }
        }
        (Value::Array(list), Shape::Array { items, .. }) => {
            for item in list {
                drop_nulls(item, items);
            }
        }
        _ => {}
    }
}

fn drop_null_fields<'k>(map: &mut Map<String, Value>, names: impl Iterator<Item = &'k String>) {
    for name in names {
        if map.get(name).is_some_and(Value::is_null) {
            map.remove(name);
        }
    }
}
