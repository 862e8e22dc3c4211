//! Merge of lists in a strategic merge patch.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::lookup::ListField;
use super::order::normalized;
use super::{
    DIRECTIVE, Object, expected, failed, go_type, merge_object, no_merge_key, unknown_directive,
};
use crate::merge::error::PatchError;
use crate::merge::typed::go_plain;

/// The common type of list items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    Objects,
    Scalars,
}

/// Merges a patch's list into the original list.
pub(super) fn merge(
    original: Vec<Value>,
    patch: Vec<Value>,
    list: &ListField<'_>,
    deletes: bool,
) -> Result<Vec<Value>, PatchError> {
    if !list.merges && !deletes {
        return Ok(patch);
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let items = items_of(&original, &patch)?;
    let (original, patch, merged) = match items {
        Items::Scalars if deletes => {
            let patch: HashSet<&Value> = patch.iter().collect();
            let remaining = original.into_iter().filter(|item| !patch.contains(item));
            return Ok(remaining.collect());
        }
        Items::Scalars => {
            // Duplicates are reported relative to both lists.
            let mut seen = HashSet::new();
            let both = original.iter().chain(&patch);
            let merged = both.filter(|item| seen.insert(*item)).cloned().collect();
            (original, patch, merged)
        }
        Items::Objects if list.key.is_empty() => {
            return Err(failed("cannot merge lists without merge key for struct"));
        }
        Items::Objects => {
            let (original, patch) = follow_directives(original, patch, list.key)?;
            let merged = merge_items(original.clone(), &patch, list)?;
            (original, patch, merged)
        }
    };
    normalized(merged, &patch, &original, list.key, items)
}

/// Returns the common type of all items in both lists.
pub(super) fn items_of(original: &[Value], patch: &[Value]) -> Result<Items, PatchError> {
    let Some(first) = original.iter().chain(patch).next() else {
        return Err(failed("no elements in any of the given slices"));
    };
    if first.is_array() {
        return Err(PatchError::Unprocessable(
            "lists of lists are not supported".to_owned(),
        ));
    }
    if first.is_null() {
        return Err(failed("a list that is merged holds null"));
    }
    let alike = |item: &Value| go_type(item) == go_type(first);
    if !original.iter().chain(patch).all(alike) {
        let show = |items: &[Value]| go_plain(&Value::Array(items.to_vec()));
        return Err(failed(format!(
            "list element types are not identical: [{} {}]",
            show(original),
            show(patch)
        )));
    }
    Ok(if first.is_object() {
        Items::Objects
    } else {
        Items::Scalars
    })
}

/// Applies the delete and replace directives of a list. The caller merges the remaining items of
/// the patch.
fn follow_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut plain = Vec::new();
    let mut replaces = false;
    let mut deleted = HashSet::new();
    for item in patch {
        let Some((map, directive)) = item
            .as_object()
            .and_then(|map| Some((map, map.get(DIRECTIVE)?)))
        else {
            plain.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let name = map.get(key).ok_or_else(|| no_merge_key(map, key))?;
                deleted.insert(name.clone());
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(failed("merging lists cannot yet be specified in the patch"));
            }
            _ => return Err(unknown_directive(directive, map)),
        }
    }
    original.retain(|item| item.get(key).is_none_or(|name| !deleted.contains(name)));
    Ok(if replaces {
        (plain, Vec::new())
    } else {
        (original, plain)
    })
}

fn merge_items(
    mut original: Vec<Value>,
    patch: &[Value],
    list: &ListField<'_>,
) -> Result<Vec<Value>, PatchError> {
    let mut places: HashMap<Value, usize> = HashMap::new();
    for (at, item) in original.iter().enumerate() {
        if let Some(name) = item.get(list.key) {
            places.entry(name.clone()).or_insert(at);
        }
    }
    for item in patch {
        let map = object(item)?;
        let name = map
            .get(list.key)
            .ok_or_else(|| no_merge_key(map, list.key))?;
        let place = places.get(name).copied();
        if let Some(place) = place
            && let Value::Object(before) = &mut original[place]
        {
            *before = merge_object(std::mem::take(before), map.clone(), list.items)?;
            // The merge removes items with a null key.
            if before.get(list.key) != Some(name) {
                places.remove(name);
            }
        } else {
            places.insert(name.clone(), original.len());
            original.push(item.clone());
        }
    }
    Ok(original)
}

pub(super) fn object(item: &Value) -> Result<&Object, PatchError> {
    item.as_object()
        .ok_or_else(|| expected("map[string]interface {}", item))
}
