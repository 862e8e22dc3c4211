//! Functions of dictionaries.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Type::{Any, Dict as Map, Str};
use super::{Args, Function, fixed, variadic};
use crate::budget::{Budget, Limit, check_depth};
use crate::error::CallError;
use crate::value::{Bytes, Dict, List, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("dict", &[], Any, dict),
    fixed("get", &[Map, Str], |args| {
        Ok(args
            .dict(0)
            .get(args.bytes(1))
            .unwrap_or_else(|| Value::str("")))
    }),
    fixed("set", &[Map, Str, Any], set),
    fixed("unset", &[Map, Str], |args| {
        let dict = args.dict(0);
        if let Some(entries) = &dict.entries {
            entries.borrow_mut().remove(args.bytes(1));
        }
        Ok(Value::Dict(dict))
    }),
    fixed("hasKey", &[Map, Str], |args| {
        Ok(Value::Bool(args.dict(0).get(args.bytes(1)).is_some()))
    }),
    variadic("pluck", &[Str], Map, |args| {
        let dicts = (1..args.values.len()).map(|at| args.dict(at));
        let values = dicts.filter_map(|dict| dict.get(args.bytes(0)));
        Ok(Value::list(values.collect()))
    }),
    variadic("keys", &[], Map, |args| {
        let mut keys = Vec::new();
        for at in 0..args.values.len() {
            let pairs = args.dict(at).snapshot(args.budget)?;
            keys.extend(pairs.into_iter().map(|(key, _)| key));
        }
        Ok(Value::strings(keys))
    }),
    fixed("values", &[Map], |args| {
        let pairs = args.dict(0).snapshot(args.budget)?;
        Ok(Value::list(
            pairs.into_iter().map(|(_, value)| value).collect(),
        ))
    }),
    variadic("pick", &[Map], Str, |args| select(args, true)),
    variadic("omit", &[Map], Str, |args| select(args, false)),
    variadic("merge", &[Map], Map, |args| merge_all(args, false)),
    variadic("mustMerge", &[Map], Map, |args| merge_all(args, false)),
    variadic("mergeOverwrite", &[Map], Map, |args| merge_all(args, true)),
    variadic("mustMergeOverwrite", &[Map], Map, |args| {
        merge_all(args, true)
    }),
    fixed("deepCopy", &[Any], copy),
    fixed("mustDeepCopy", &[Any], copy),
    variadic("dig", &[], Any, dig),
];

fn new_dict(args: &Args<'_>, entries: BTreeMap<Bytes, Value>) -> Value {
    Value::Dict(Dict::new(args.budget, entries))
}

fn dict(args: &Args<'_>) -> Result<Value, CallError> {
    let mut entries = BTreeMap::new();
    for pair in args.values.chunks(2) {
        let [key, rest @ ..] = pair else { continue };
        let value = rest.first().cloned().unwrap_or_else(|| Value::str(""));
        entries.insert(args.string_of(key)?, value);
    }
    Ok(new_dict(args, entries))
}

fn set(args: &Args<'_>) -> Result<Value, CallError> {
    let dict = args.dict(0);
    let entries = dict.entries.as_ref();
    let entries = entries.ok_or("assignment to entry in nil map")?;
    let key = Rc::from(args.bytes(1));
    entries.borrow_mut().insert(key, args.any(2).clone());
    Ok(Value::Dict(dict))
}

/// Returns the entries whose keys are arguments, or all other entries.
fn select(args: &Args<'_>, listed: bool) -> Result<Value, CallError> {
    let names: std::collections::BTreeSet<&[u8]> =
        (1..args.values.len()).map(|at| args.bytes(at)).collect();
    let pairs = args.dict(0).snapshot(args.budget)?.into_iter();
    let kept = pairs.filter(|(key, _)| names.contains(key.as_ref()) == listed);
    Ok(new_dict(args, kept.collect()))
}

fn merge_all(args: &Args<'_>, overwrites: bool) -> Result<Value, CallError> {
    let mut target = args.dict(0);
    for at in 1..args.values.len() {
        let source = args.dict(at);
        if target.entries.is_none() && source.entries.is_some() {
            target = Dict::new(args.budget, BTreeMap::new());
        }
        merge(&target, &source, overwrites, args.budget, 0)?;
    }
    Ok(Value::Dict(target))
}

/// Merges dictionaries as the Go library mergo does: empty values of the target get the value of
/// the source, and dictionaries are merged recursively.
fn merge(
    target: &Dict,
    source: &Dict,
    overwrites: bool,
    budget: &Budget,
    depth: u32,
) -> Result<(), CallError> {
    check_depth(depth)?;
    let Some(entries) = &target.entries else {
        return Ok(());
    };
    for (key, value) in source.snapshot(budget)? {
        let existing = target.get(&key);
        if let (Some(Value::Dict(existing)), Value::Dict(value)) = (&existing, &value) {
            if existing.of_strings != value.of_strings {
                return Err("cannot merge dictionaries of different types".into());
            }
            merge(existing, value, overwrites, budget, depth + 1)?;
            if existing.len() > 0 {
                continue;
            }
        }
        let is_empty = existing.as_ref().is_none_or(|existing| !existing.is_true());
        let replaces = match value {
            Value::Nil => overwrites,
            _ => overwrites || is_empty,
        };
        if replaces {
            entries.borrow_mut().insert(key, value);
        }
    }
    Ok(())
}

fn copy(args: &Args<'_>) -> Result<Value, CallError> {
    if matches!(args.any(0), Value::Nil) {
        return Err("cannot copy nil".into());
    }
    Ok(deep_copy(args.any(0), args.budget, 0)?)
}

fn deep_copy(value: &Value, budget: &Budget, depth: u32) -> Result<Value, Limit> {
    check_depth(depth)?;
    budget.spend(1)?;
    Ok(match value {
        Value::List(list) => {
            let items = list.items.iter();
            let items = items.map(|item| deep_copy(item, budget, depth + 1));
            Value::List(List {
                is_nil: list.is_nil,
                ..List::new(list.element, items.collect::<Result<_, _>>()?)
            })
        }
        Value::Dict(dict) if dict.entries.is_some() => {
            let pairs = dict.snapshot(budget)?.into_iter();
            let pairs = pairs.map(|(key, value)| Ok((key, deep_copy(&value, budget, depth + 1)?)));
            Value::Dict(Dict {
                of_strings: dict.of_strings,
                ..Dict::new(budget, pairs.collect::<Result<_, Limit>>()?)
            })
        }
        other => other.clone(),
    })
}

fn dig(args: &Args<'_>) -> Result<Value, CallError> {
    let [path @ .., default, dict] = args.values else {
        return Err("dig needs at least three arguments".into());
    };
    if path.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let strings = path.iter().map(|key| match key {
        Value::Str(key) => Ok(key),
        other => Err(format!("a key has type {}, not string", other.type_name())),
    });
    let mut current = dict.clone();
    for key in strings.collect::<Result<Vec<_>, _>>()? {
        args.budget.spend(1)?;
        let next = match &current {
            Value::Dict(dict) if !dict.of_strings => dict.get(key),
            other => return Err(format!("{} is not a dictionary", other.type_name()).into()),
        };
        match next {
            Some(next) => current = next,
            None => return Ok(default.clone()),
        }
    }
    Ok(current)
}
