//! The functions of `text/template` and of sprig.

use std::borrow::Cow;

use crate::budget::{Budget, Limit, MAX_VALUE_DEPTH};
use crate::error::CallError;
use crate::value::{Bytes, Dict, Value};
pub(crate) use methods::method;
pub use unavailable::UNAVAILABLE;

mod builtin;
mod case;
mod compare;
mod dates;
mod decimal;
mod defaults;
mod dicts;
mod encoding;
mod json;
mod lists;
mod methods;
mod numbers;
mod paths;
mod patterns;
mod reflection;
mod semver;
mod strings;
mod unavailable;
mod urls;
mod words;

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Any,
    Bool,
    Int,
    Float,
    Str,
    /// `map[string]interface {}`
    Dict,
    Time,
    Version,
}

/// A function of a template.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) fixed: &'static [Type],
    pub(crate) variadic: Option<Type>,
    pub(crate) call: fn(&Args<'_>) -> Result<Value, CallError>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Function {
    pub(crate) fn parameter(&self, at: usize) -> Type {
        let fixed = self.fixed.get(at).copied();
        fixed.or(self.variadic).unwrap_or(Type::Any)
    }
}

/// Declares a function with a fixed number of parameters.
const fn fixed(
    name: &'static str,
    fixed: &'static [Type],
    call: fn(&Args<'_>) -> Result<Value, CallError>,
) -> Function {
    Function {
        name,
        fixed,
        variadic: None,
        call,
    }
}

/// Declares a function whose last parameter repeats.
const fn variadic(
    name: &'static str,
    fixed: &'static [Type],
    rest: Type,
    call: fn(&Args<'_>) -> Result<Value, CallError>,
) -> Function {
    Function {
        name,
        fixed,
        variadic: Some(rest),
        call,
    }
}

/// All functions. A function of sprig has priority over a function of `text/template`.
const ALL: &[&[Function]] = &[
    case::FUNCTIONS,
    dates::FUNCTIONS,
    decimal::FUNCTIONS,
    defaults::FUNCTIONS,
    dicts::FUNCTIONS,
    encoding::FUNCTIONS,
    json::FUNCTIONS,
    lists::FUNCTIONS,
    numbers::FUNCTIONS,
    paths::FUNCTIONS,
    patterns::FUNCTIONS,
    reflection::FUNCTIONS,
    semver::FUNCTIONS,
    strings::FUNCTIONS,
    unavailable::FUNCTIONS,
    urls::FUNCTIONS,
    words::FUNCTIONS,
    builtin::FUNCTIONS,
    compare::FUNCTIONS,
];

/// Returns the function with a name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    let mut functions = ALL.iter().flat_map(|group| group.iter());
    functions.find(|function| function.name == name)
}

/// Checks that a value has the type of a parameter.
pub(crate) fn assign(value: Value, kind: Type) -> Result<Value, CallError> {
    let fits = match (&value, kind) {
        (_, Type::Any)
        | (Value::Bool(_), Type::Bool)
        | (Value::Int(crate::value::IntType::Int, _), Type::Int)
        | (Value::Float(_), Type::Float)
        | (Value::Str(_), Type::Str)
        | (Value::Time(_), Type::Time)
        | (Value::Version(_), Type::Version)
        | (Value::Nil, Type::Dict) => true,
        (Value::Dict(dict), Type::Dict) => !dict.of_strings,
        _ => false,
    };
    if fits {
        return Ok(value);
    }
    let got = value.type_name();
    Err(format!("wrong type for value; expected {kind:?}; got {got}").into())
}

/// Subtracts the steps of a function's result.
pub(crate) fn charge(value: &Value, budget: &Budget) -> Result<(), Limit> {
    match value {
        Value::Str(text) => budget.spend_bytes(text.len()),
        Value::List(list) if list.depth > MAX_VALUE_DEPTH => Err(Limit::ValueDepth),
        Value::List(list) => budget.spend(list.items.len() + 1),
        _ => budget.spend(1),
    }
}

/// The arguments of a call, whose number and types are checked.
pub(crate) struct Args<'a> {
    pub(crate) budget: &'a Budget,
    pub(crate) values: &'a [Value],
}

impl<'a> Args<'a> {
    fn any(&self, at: usize) -> &'a Value {
        self.values.get(at).unwrap_or(&Value::Nil)
    }

    /// Returns the arguments after the first `count` arguments.
    fn rest(&self, count: usize) -> &'a [Value] {
        self.values.get(count..).unwrap_or_default()
    }

    fn bytes(&self, at: usize) -> &'a [u8] {
        match self.any(at) {
            Value::Str(text) => text,
            _ => b"",
        }
    }

    /// Returns a text in which U+FFFD replaces invalid bytes.
    fn text(&self, at: usize) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes(at))
    }

    fn int(&self, at: usize) -> i64 {
        match self.any(at) {
            Value::Int(_, number) => *number,
            _ => 0,
        }
    }

    fn bool(&self, at: usize) -> bool {
        matches!(self.any(at), Value::Bool(true))
    }

    fn dict(&self, at: usize) -> Dict {
        match self.any(at) {
            Value::Dict(dict) => dict.clone(),
            _ => Dict {
                of_strings: false,
                entries: None,
            },
        }
    }

    /// Checks that the call can create a string of `count` parts with `size` bytes.
    fn reserve(&self, count: usize, size: usize) -> Result<(), Limit> {
        self.budget.spend_bytes(count.saturating_mul(size))
    }

    /// Converts a value to a string as sprig does.
    fn string_of(&self, value: &Value) -> Result<Bytes, CallError> {
        match value {
            Value::Str(text) => Ok(text.clone()),
            other => Ok(crate::format::display(other, self.budget)?.into()),
        }
    }
}
