//! Functions that choose between values.

use super::Type::{Any, Bool, Str};
use super::{Function, fixed, variadic};
use crate::error::CallError;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("default", &[Any], Any, |args| {
        let given = args.rest(1).first().filter(|given| given.is_true());
        Ok(given.unwrap_or_else(|| args.any(0)).clone())
    }),
    fixed("empty", &[Any], |args| {
        Ok(Value::Bool(!args.any(0).is_true()))
    }),
    variadic("coalesce", &[], Any, |args| {
        let found = args.values.iter().find(|value| value.is_true());
        Ok(found.cloned().unwrap_or(Value::Nil))
    }),
    variadic("all", &[], Any, |args| {
        Ok(Value::Bool(args.values.iter().all(Value::is_true)))
    }),
    variadic("any", &[], Any, |args| {
        Ok(Value::Bool(args.values.iter().any(Value::is_true)))
    }),
    fixed("ternary", &[Any, Any, Bool], |args| {
        Ok(args.any(usize::from(!args.bool(2))).clone())
    }),
    fixed("fail", &[Str], |args| {
        Err(CallError::Failed(args.text(0).into_owned()))
    }),
];
