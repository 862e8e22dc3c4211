//! Result types of CEL operators and functions.

use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, operators};

use super::types::{Names, Type, check};

type Outcome<'n> = Result<Type<'n>, String>;

/// Functions that return text for all argument types.
const TEXTS: [&str; 10] = [
    "charAt",
    "find",
    "format",
    "join",
    "lowerAscii",
    "replace",
    "string",
    "substring",
    "trim",
    "upperAscii",
];
const NUMBERS: [&str; 15] = [
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "indexOf",
    "int",
    "lastIndexOf",
    "prefixLength",
    "size",
];
const TRUTHS: [&str; 19] = [
    "bool",
    "contains",
    "containsCIDR",
    "containsIP",
    "endsWith",
    "isCIDR",
    "isGreaterThan",
    "isIP",
    "isInteger",
    "isLessThan",
    "isLoopback",
    "isQuantity",
    "isSemver",
    "isSorted",
    "isURL",
    "isUnspecified",
    "matches",
    "startsWith",
    operators::NOT_STRICTLY_FALSE,
];
/// Functions that are defined for strings only.
const OF_TEXT: [&str; 9] = [
    "charAt",
    "endsWith",
    "lowerAscii",
    "matches",
    "replace",
    "split",
    "startsWith",
    "trim",
    "upperAscii",
];

/// Returns the result type of a call.
pub(super) fn called<'n>(call: &CallExpr, names: Option<&Names<'_, 'n>>) -> Outcome<'n> {
    let target = call.target.as_deref();
    let mut types = Vec::with_capacity(call.args.len() + 1);
    for part in target.into_iter().chain(&call.args) {
        types.push(check(part, names)?);
    }
    let name = call.func_name.as_str();
    match (name, types.as_slice()) {
        (operators::LOGICAL_AND | operators::LOGICAL_OR, [left, right]) => {
            must(name, &types, left.is_bool() && right.is_bool(), Type::Bool)
        }
        (operators::LOGICAL_NOT, [one]) => must(name, &types, one.is_bool(), Type::Bool),
        (operators::CONDITIONAL, [test, one, other]) => {
            let is = one.clone().or(other);
            must(name, &types, test.is_bool(), is)
        }
        (operators::EQUALS | operators::NOT_EQUALS, [left, right]) => {
            must(name, &types, left.is_like(right), Type::Bool)
        }
        (
            operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS,
            [left, right],
        ) => {
            let fits = left.is_like(right) && is_ordered(left) && is_ordered(right);
            must(name, &types, fits, Type::Bool)
        }
        (operators::IN, [_, within]) => {
            let fits = matches!(within, Type::Any | Type::List(_) | Type::Map(_));
            must(name, &types, fits, Type::Bool)
        }
        (operators::INDEX, [whole, _]) => Ok(match whole {
            Type::List(item) => Type::clone(item),
            Type::Map(value) => Type::clone(value),
            Type::Any | Type::Object(_) => Type::Any,
            _ => return Err(no_overload(name, &types)),
        }),
        (
            operators::ADD
            | operators::SUBSTRACT
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO,
            [left, right],
        ) => arithmetic(name, left, right).ok_or_else(|| no_overload(name, &types)),
        (operators::NEGATE, [one]) => {
            let fits = matches!(one, Type::Any | Type::Int | Type::Double);
            must(name, &types, fits, one.clone())
        }
        _ => function(name, target.is_some(), &types),
    }
}

fn must<'n>(name: &str, types: &[Type<'n>], fits: bool, is: Type<'n>) -> Outcome<'n> {
    if fits {
        Ok(is)
    } else {
        Err(no_overload(name, types))
    }
}

fn no_overload(name: &str, types: &[Type<'_>]) -> String {
    let types: Vec<String> = types.iter().map(Type::name).collect();
    format!(
        "found no matching overload for '{name}' applied to '({})'",
        types.join(", ")
    )
}

const fn is_ordered(one: &Type<'_>) -> bool {
    !matches!(
        one,
        Type::Null | Type::List(_) | Type::Map(_) | Type::Object(_)
    )
}

/// Returns the result type of an arithmetic operator, or `None` if the operator does not support
/// the operands.
fn arithmetic<'n>(name: &str, left: &Type<'n>, right: &Type<'n>) -> Option<Type<'n>> {
    let adds = name == operators::ADD;
    let subtracts = name == operators::SUBSTRACT;
    match (left, right) {
        (Type::Any, _) | (_, Type::Any) => Some(Type::Any),
        (Type::Int, Type::Int) => Some(Type::Int),
        (Type::UInt, Type::UInt) => Some(Type::UInt),
        (Type::Double, Type::Double) if name != operators::MODULO => Some(Type::Double),
        (Type::Text, Type::Text) if adds => Some(Type::Text),
        (Type::Bytes, Type::Bytes) if adds => Some(Type::Bytes),
        (Type::List(_), Type::List(_)) if adds => Some(match (left, right) {
            // An empty list takes the item type of the other list.
            (Type::List(item), _) if matches!(**item, Type::Any) => right.clone(),
            _ => left.clone().or(right),
        }),
        (Type::Time, Type::Duration) if adds || subtracts => Some(Type::Time),
        (Type::Duration, Type::Time) if adds => Some(Type::Time),
        (Type::Time, Type::Time) if subtracts => Some(Type::Duration),
        (Type::Duration, Type::Duration) if adds || subtracts => Some(Type::Duration),
        _ => None,
    }
}

fn function<'n>(name: &str, of_target: bool, types: &[Type<'n>]) -> Outcome<'n> {
    if of_target && OF_TEXT.contains(&name) && !types.first().is_none_or(Type::is_text) {
        return Err(no_overload(name, types));
    }
    if name == "size" {
        let sized = matches!(
            types,
            [Type::Any | Type::Text | Type::Bytes | Type::List(_) | Type::Map(_)]
        );
        return must(name, types, sized, Type::Int);
    }
    Ok(match name {
        "duration" => Type::Duration,
        "timestamp" => Type::Time,
        "double" => Type::Double,
        "uint" => Type::UInt,
        "split" | "findAll" => Type::List(Arc::new(Type::Text)),
        // Dates and addresses also have a function `format`.
        "format" if !of_target => Type::Any,
        _ if TEXTS.contains(&name) => Type::Text,
        _ if NUMBERS.contains(&name) => Type::Int,
        _ if TRUTHS.contains(&name) => Type::Bool,
        _ => Type::Any,
    })
}
