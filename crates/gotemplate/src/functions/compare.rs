//! The comparisons of `text/template`.

use std::cmp::Ordering;

use super::Type::Any;
use super::{Args, Function, fixed, variadic};
use crate::error::CallError;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("eq", &[Any], Any, |args| equal(args).map(Value::Bool)),
    fixed("ne", &[Any, Any], |args| {
        equal(args).map(|equal| Value::Bool(!equal))
    }),
    fixed("lt", &[Any, Any], |args| order(args, Ordering::is_lt)),
    fixed("le", &[Any, Any], |args| {
        Ok(Value::Bool(is_less_or_equal(args)?))
    }),
    fixed("gt", &[Any, Any], |args| {
        Ok(Value::Bool(!is_less_or_equal(args)?))
    }),
    fixed("ge", &[Any, Any], |args| {
        let less = compare(args.any(0), args.any(1))? == Some(Ordering::Less);
        Ok(Value::Bool(!less))
    }),
];

/// Go's groups of comparable types.
#[derive(PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    Str,
    Other,
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Bool(_) => Kind::Bool,
        Value::Int(..) => Kind::Int,
        Value::Uint(..) => Kind::Uint,
        Value::Float(_) => Kind::Float,
        Value::Str(_) => Kind::Str,
        _ => Kind::Other,
    }
}

fn incompatible(one: &Value, other: &Value) -> CallError {
    let (one, other) = (one.type_name(), other.type_name());
    format!("incompatible types for comparison: {one} and {other}").into()
}

fn equal(args: &Args<'_>) -> Result<bool, CallError> {
    let first = args.any(0);
    if args.values.len() < 2 {
        return Err("missing argument for comparison".into());
    }
    for other in args.rest(1) {
        args.budget.spend(1)?;
        if equal_pair(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[expect(
    clippy::float_cmp,
    reason = "Go compares numbers without a tolerance too"
)]
fn equal_pair(one: &Value, other: &Value) -> Result<bool, CallError> {
    Ok(match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one == other,
        (Value::Int(_, one), Value::Int(_, other)) => one == other,
        (Value::Uint(_, one), Value::Uint(_, other)) => one == other,
        (Value::Int(_, int), Value::Uint(_, uint)) | (Value::Uint(_, uint), Value::Int(_, int)) => {
            u64::try_from(*int).is_ok_and(|int| int == *uint)
        }
        (Value::Float(one), Value::Float(other)) => one == other,
        (Value::Str(one), Value::Str(other)) => one == other,
        (Value::Nil, other) | (other, Value::Nil) if kind(other) != Kind::Other => false,
        (one, other) if kind(one) != kind(other) => return Err(incompatible(one, other)),
        (one, other) => {
            let same_kind = one.kind_name() == other.kind_name();
            let has_nil = matches!(one, Value::Nil) || matches!(other, Value::Nil);
            if !same_kind && !has_nil {
                return Err(incompatible(one, other));
            }
            if one.is_nil() || other.is_nil() {
                return Ok(one.is_nil() == other.is_nil());
            }
            match (one, other) {
                (Value::Time(one), Value::Time(other)) => one == other,
                (Value::Version(one), Value::Version(other)) => std::rc::Rc::ptr_eq(one, other),
                _ => return Err(format!("non-comparable type {}", one.type_name()).into()),
            }
        }
    })
}

/// Compares two values. NaN has no order.
fn compare(one: &Value, other: &Value) -> Result<Option<Ordering>, CallError> {
    Ok(match (one, other) {
        (Value::Int(_, one), Value::Int(_, other)) => Some(one.cmp(other)),
        (Value::Uint(_, one), Value::Uint(_, other)) => Some(one.cmp(other)),
        (Value::Int(_, int), Value::Uint(_, uint)) => Some(i128::from(*int).cmp(&(*uint).into())),
        (Value::Uint(_, uint), Value::Int(_, int)) => Some(i128::from(*uint).cmp(&(*int).into())),
        (Value::Float(one), Value::Float(other)) => one.partial_cmp(other),
        (Value::Str(one), Value::Str(other)) => Some(one.cmp(other)),
        (one, other) if kind(one) == kind(other) || kind(one) == Kind::Other => {
            return Err("invalid type for comparison".into());
        }
        (one, other) => return Err(incompatible(one, other)),
    })
}

fn order(args: &Args<'_>, is_true: fn(Ordering) -> bool) -> Result<Value, CallError> {
    let order = compare(args.any(0), args.any(1))?;
    Ok(Value::Bool(order.is_some_and(is_true)))
}

fn is_less_or_equal(args: &Args<'_>) -> Result<bool, CallError> {
    let order = compare(args.any(0), args.any(1))?;
    Ok(order.is_some_and(Ordering::is_le))
}
