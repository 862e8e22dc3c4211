//! Functions of lists.

use std::rc::Rc;

use super::Type::{Any, Int};
use super::builtin::element_of;
use super::numbers::to_int;
use super::{Args, Function, fixed, variadic};
use crate::error::CallError;
use crate::value::{Element, List, Value, deep_equal};

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("list", &[], Any, |args| {
        Ok(Value::list(args.values.to_vec()))
    }),
    variadic("tuple", &[], Any, |args| {
        Ok(Value::list(args.values.to_vec()))
    }),
    fixed("append", &[Any, Any], push),
    fixed("push", &[Any, Any], push),
    fixed("mustAppend", &[Any, Any], push),
    fixed("mustPush", &[Any, Any], push),
    fixed("prepend", &[Any, Any], prepend),
    fixed("mustPrepend", &[Any, Any], prepend),
    fixed("first", &[Any], first),
    fixed("mustFirst", &[Any], first),
    fixed("last", &[Any], last),
    fixed("mustLast", &[Any], last),
    fixed("rest", &[Any], |args| part(args, 1, 0)),
    fixed("mustRest", &[Any], |args| part(args, 1, 0)),
    fixed("initial", &[Any], |args| part(args, 0, 1)),
    fixed("mustInitial", &[Any], |args| part(args, 0, 1)),
    fixed("reverse", &[Any], reverse),
    fixed("mustReverse", &[Any], reverse),
    fixed("compact", &[Any], compact),
    fixed("mustCompact", &[Any], compact),
    fixed("uniq", &[Any], unique),
    fixed("mustUniq", &[Any], unique),
    variadic("without", &[Any], Any, without),
    variadic("mustWithout", &[Any], Any, without),
    fixed("has", &[Any, Any], has),
    fixed("mustHas", &[Any, Any], has),
    variadic("slice", &[Any], Any, slice),
    variadic("mustSlice", &[Any], Any, slice),
    variadic("concat", &[], Any, concat),
    fixed("chunk", &[Int, Any], chunk),
    fixed("mustChunk", &[Int, Any], chunk),
];

fn items<'a>(args: &Args<'a>, at: usize) -> Result<&'a [Value], CallError> {
    match args.any(at) {
        Value::List(list) => {
            args.budget.spend(list.items.len())?;
            Ok(&list.items)
        }
        other => Err(format!("{} is not a list", other.kind_name()).into()),
    }
}

fn push(args: &Args<'_>) -> Result<Value, CallError> {
    let mut list = items(args, 0)?.to_vec();
    list.push(args.any(1).clone());
    Ok(Value::list(list))
}

fn prepend(args: &Args<'_>) -> Result<Value, CallError> {
    let mut list = vec![args.any(1).clone()];
    list.extend_from_slice(items(args, 0)?);
    Ok(Value::list(list))
}

fn first(args: &Args<'_>) -> Result<Value, CallError> {
    Ok(items(args, 0)?.first().cloned().unwrap_or(Value::Nil))
}

fn last(args: &Args<'_>) -> Result<Value, CallError> {
    Ok(items(args, 0)?.last().cloned().unwrap_or(Value::Nil))
}

/// Returns a list without elements at the start and at the end.
fn part(args: &Args<'_>, start: usize, end: usize) -> Result<Value, CallError> {
    let list = items(args, 0)?;
    if list.is_empty() {
        return Ok(Value::List(List::nil(Element::Any)));
    }
    Ok(Value::list(list[start..list.len() - end].to_vec()))
}

fn reverse(args: &Args<'_>) -> Result<Value, CallError> {
    Ok(Value::list(items(args, 0)?.iter().rev().cloned().collect()))
}

fn compact(args: &Args<'_>) -> Result<Value, CallError> {
    let kept = items(args, 0)?.iter().filter(|item| item.is_true());
    Ok(Value::list(kept.cloned().collect()))
}

fn contains(args: &Args<'_>, list: &[Value], value: &Value) -> Result<bool, CallError> {
    for item in list {
        if deep_equal(value, item, args.budget, 0)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn unique(args: &Args<'_>) -> Result<Value, CallError> {
    let mut kept = Vec::new();
    for item in items(args, 0)? {
        if !contains(args, &kept, item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn without(args: &Args<'_>) -> Result<Value, CallError> {
    let mut kept = Vec::new();
    for item in items(args, 0)? {
        if !contains(args, args.rest(1), item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn has(args: &Args<'_>) -> Result<Value, CallError> {
    if matches!(args.any(1), Value::Nil) {
        return Ok(Value::Bool(false));
    }
    let list = items(args, 1)?;
    Ok(Value::Bool(contains(args, list, args.any(0))?))
}

fn slice(args: &Args<'_>) -> Result<Value, CallError> {
    let list = items(args, 0)?;
    if list.is_empty() {
        return Ok(Value::Nil);
    }
    let bound = |at: usize, default: usize| match args.rest(1).get(at) {
        Some(value) => usize::try_from(to_int(value)).ok(),
        None => Some(default),
    };
    let part = bound(0, 0).zip(bound(1, list.len()));
    let part = part.and_then(|(start, end)| list.get(start..end));
    let part = part.ok_or("slice bounds out of range")?.to_vec();
    Ok(Value::List(List::new(element_of(args.any(0)), part)))
}

fn concat(args: &Args<'_>) -> Result<Value, CallError> {
    let mut all = Vec::new();
    for at in 0..args.values.len() {
        all.extend_from_slice(items(args, at)?);
    }
    let is_nil = all.is_empty();
    let list = List::new(Element::Any, all);
    Ok(Value::List(List { is_nil, ..list }))
}

fn chunk(args: &Args<'_>) -> Result<Value, CallError> {
    let list = items(args, 1)?;
    let size = usize::try_from(args.int(0)).ok().filter(|size| *size > 0);
    let size = size.ok_or("the size of a chunk must be positive")?;
    let chunks = list.chunks(size).map(|chunk| Value::list(chunk.to_vec()));
    let list = List::new(Element::Lists, chunks.collect());
    Ok(Value::List(List {
        items: Rc::clone(&list.items),
        ..list
    }))
}
