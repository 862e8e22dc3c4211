//! The order of merged lists. Items in `$setElementOrder` have the order of the patch. Other items
//! keep their relative positions.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::lists::{Items, items_of, merge, object};
use super::lookup::list_field;
use super::{
    DIRECTIVE, Object, SET_ORDER, directed, expected, failed, no_merge_key, without_directives,
};
use crate::merge::error::PatchError;
use crate::merge::typed::go_plain;
use crate::schema::Node;

const LIST: &str = "[]interface {}";

/// Merges the lists that have `$setElementOrder`.
pub(super) fn set_orders(
    original: &mut Object,
    patch: &mut Object,
    schema: &Node,
) -> Result<(), PatchError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(SET_ORDER))
        .cloned()
        .collect();
    for key in directives {
        let Some(order) = patch.remove(&key) else {
            continue;
        };
        let Value::Array(order) = order else {
            return Err(expected(LIST, &order));
        };
        let name = directed(&key, SET_ORDER, "setElementOrder list")?;
        if let Some(merged) = set_order(original.get(name), patch.get(name), &order, schema, name)?
        {
            original.insert(name.to_owned(), Value::Array(merged));
            patch.remove(name);
        }
    }
    Ok(())
}

fn set_order(
    original: Option<&Value>,
    patch: Option<&Value>,
    order: &[Value],
    schema: &Node,
    name: &str,
) -> Result<Option<Vec<Value>>, PatchError> {
    let list = |value: Option<&Value>| match value {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items.clone()),
        Some(other) => Err(expected(LIST, other)),
    };
    let (before, after) = (list(original)?, list(patch)?);
    let field = list_field(schema, name)?;
    check_order(&after, order, field.key)?;
    let merged = match (original, patch) {
        (None, None) => return Ok(None),
        (Some(_), None) => before.clone(),
        (None, Some(patch)) => match without_directives(patch.clone()) {
            Some(Value::Array(items)) => items,
            _ => return Ok(None),
        },
        (Some(_), Some(_)) => merge(before.clone(), after.clone(), &field, false)?,
    };
    let items = items_of(&before, &after)?;
    let known = match (patch, items) {
        (Some(_), Items::Objects) if field.merges => overwritten(before, &after, field.key),
        _ => before,
    };
    normalized(merged, order, &known, field.key, items).map(Some)
}

/// Returns the original list as kube-apiserver reads it after the merge. The merge changes the
/// array of the original list: deletions shift items, and new items overwrite deleted items.
fn overwritten(list: Vec<Value>, patch: &[Value], key: &str) -> Vec<Value> {
    let directive = |item: &Value| item.get(DIRECTIVE).cloned();
    let (mut list, mut used) = without_deleted(list, patch, key);
    let replaces = patch
        .iter()
        .any(|item| directive(item) == Some("replace".into()));
    if replaces {
        return list;
    }
    let mut known: HashSet<Option<Value>> = list[..used]
        .iter()
        .map(|item| item.get(key).cloned())
        .collect();
    for item in patch.iter().filter(|item| directive(item).is_none()) {
        if used < list.len() && known.insert(item.get(key).cloned()) {
            list[used] = item.clone();
            used += 1;
        }
    }
    list
}

/// Returns the array and its length after deletions. Each deletion shifts later items towards the
/// start, and leaves a copy of the last item at its old position.
fn without_deleted(list: Vec<Value>, patch: &[Value], key: &str) -> (Vec<Value>, usize) {
    let mut places: HashMap<Option<&Value>, Vec<usize>> = HashMap::new();
    for (at, item) in list.iter().enumerate() {
        places.entry(item.get(key)).or_default().push(at);
    }
    let mut gone = vec![false; list.len()];
    let mut end = list.len();
    let mut left_over = Vec::new();
    let deletes = patch
        .iter()
        .filter(|item| item.get(DIRECTIVE) == Some(&Value::from("delete")));
    for item in deletes {
        for at in places.remove(&item.get(key)).unwrap_or_default() {
            while end > 0 && gone[end - 1] {
                end -= 1;
            }
            left_over.extend(end.checked_sub(1).map(|last| list[last].clone()));
            gone[at] = true;
        }
    }
    let kept = list.into_iter().zip(gone).filter(|(_, gone)| !gone);
    let mut kept: Vec<Value> = kept.map(|(item, _)| item).collect();
    let used = kept.len();
    kept.extend(left_over.into_iter().rev());
    (kept, used)
}

/// Checks that the patch lists items in the requested order.
fn check_order(patch: &[Value], order: &[Value], key: &str) -> Result<(), PatchError> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(patch.len());
    for item in patch {
        if key.is_empty() || object(item)?.get(DIRECTIVE) != Some(&Value::from("delete")) {
            kept.push(item);
        }
    }
    let mut kept = kept.into_iter().peekable();
    let mut desired = order.iter().peekable();
    while let (Some(item), Some(next)) = (kept.peek(), desired.peek()) {
        // Items with other directives have no order.
        if item.get(DIRECTIVE).is_some() {
            kept.next();
            continue;
        }
        if named(item, key)? == named(next, key)? {
            kept.next();
        }
        desired.next();
    }
    if kept.next().is_none() {
        return Ok(());
    }
    Err(failed(format!(
        "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
        go_plain(&Value::Array(patch.to_vec())),
        go_plain(&Value::Array(order.to_vec()))
    )))
}

/// Returns the identity of an item: the value of its merge key, or the item itself.
fn named<'v>(item: &'v Value, key: &str) -> Result<&'v Value, PatchError> {
    if key.is_empty() {
        return Ok(item);
    }
    let map = object(item)?;
    map.get(key).ok_or_else(|| no_merge_key(map, key))
}

/// Sorts the items that the order contains, and inserts the remaining items between them.
pub(super) fn normalized(
    merged: Vec<Value>,
    listed: &[Value],
    original: &[Value],
    key: &str,
    items: Items,
) -> Result<Vec<Value>, PatchError> {
    let names = |list: &[Value]| -> Result<Vec<Value>, PatchError> {
        list.iter().map(|item| named(item, key).cloned()).collect()
    };
    if items == Items::Objects && key.is_empty() {
        return Err(failed("cannot order objects without merge key"));
    }
    let (desired, known) = (names(listed)?, names(original)?);
    let (desired, known) = (places(&desired), places(&known));
    let place = |order: &HashMap<&Value, usize>, item: &Value| -> Option<usize> {
        order.get(named(item, key).ok()?).copied()
    };
    names(&merged)?;
    let (mut ours, mut others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| place(&desired, item).is_some());
    ours.sort_by_cached_key(|item| place(&desired, item));
    others.sort_by_cached_key(|item| place(&known, item));
    let mut out = Vec::with_capacity(ours.len() + others.len());
    let mut ours = ours.into_iter().peekable();
    let mut others = others.into_iter().peekable();
    loop {
        let other_first = match (others.peek(), ours.peek()) {
            (None, None) => return Ok(out),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(other), Some(our)) => {
                matches!((place(&known, other), place(&known, our)), (Some(l), Some(r)) if l < r)
            }
        };
        out.extend(if other_first {
            others.next()
        } else {
            ours.next()
        });
    }
}

/// Returns the position of the first item with each identity.
fn places(names: &[Value]) -> HashMap<&Value, usize> {
    let mut places = HashMap::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        places.entry(name).or_insert(at);
    }
    places
}
