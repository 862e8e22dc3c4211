//! Static types of CEL expressions. A rule is rejected with its CRD if it uses an unknown field,
//! compares a number with text, or does not return a boolean.
//!
//! The checker reports an error only if the types of the operands are known. Unknown types, such as
//! the result of most functions, are [`Type::Any`], which is compatible with all types.

use std::sync::Arc;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr};

use super::operators;
use super::values::unescape;
use crate::schema::{Node, Shape};

/// The static type of an expression.
#[derive(Debug, Clone)]
pub(super) enum Type<'n> {
    /// An unknown type, which is compatible with all types.
    Any,
    Null,
    Bool,
    Int,
    UInt,
    Double,
    Text,
    Bytes,
    Time,
    Duration,
    List(Arc<Self>),
    /// A map with string keys.
    Map(Arc<Self>),
    /// An object with the fields of a schema.
    Object(Object<'n>),
}

/// An object type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Object<'n> {
    /// An object with the fields of the schema.
    Fields(&'n Node),
    /// An object with the fields of the schema, and `apiVersion`, `kind` and `metadata`.
    Resource(&'n Node),
    /// The metadata of an object. Rules can use only `name` and `generateName`.
    Metadata(Option<&'n Node>),
}

/// A variable in scope, with its type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'s, 'n> {
    pub(super) name: &'s str,
    pub(super) is: &'s Type<'n>,
    pub(super) outer: Option<&'s Self>,
}

/// Identifiers that are not variables: names of types, and namespaces of functions.
const WORDS: [&str; 25] = [
    "base64",
    "bool",
    "bytes",
    "cidr",
    "double",
    "duration",
    "dyn",
    "format",
    "google",
    "int",
    "ip",
    "jsonpatch",
    "list",
    "lists",
    "map",
    "math",
    "null_type",
    "optional",
    "optional_type",
    "sets",
    "string",
    "strings",
    "timestamp",
    "type",
    "uint",
];

impl<'n> Type<'n> {
    /// Returns the type of the values of a schema. `root` is true for the schema of the whole
    /// object.
    pub(super) fn of(node: &'n Node, root: bool) -> Self {
        if root || node.embedded_resource {
            return Self::Object(Object::Resource(node));
        }
        match &node.shape {
            Shape::Any | Shape::IntOrString | Shape::Quantity => Self::Any,
            Shape::Boolean => Self::Bool,
            Shape::Integer { .. } => Self::Int,
            Shape::Number => Self::Double,
            Shape::String { format } => match format.as_str() {
                "byte" => Self::Bytes,
                "date" | "date-time" => Self::Time,
                "duration" => Self::Duration,
                _ => Self::Text,
            },
            Shape::Array { items, .. } => Self::List(Arc::new(Self::of(items, false))),
            Shape::Object {
                properties,
                additional,
                ..
            } => match additional {
                Some(inside) => Self::Map(Arc::new(Self::of(inside, false))),
                None if properties.is_empty() && node.preserve_unknown => Self::Any,
                None => Self::Object(Object::Fields(node)),
            },
        }
    }

    /// Returns the name of the type in messages of CEL's checker.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Any => "dyn".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int => "int".to_owned(),
            Self::UInt => "uint".to_owned(),
            Self::Double => "double".to_owned(),
            Self::Text => "string".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::Time => "timestamp".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::List(item) => format!("list({})", item.name()),
            Self::Map(value) => format!("map(string, {})", value.name()),
            Self::Object(_) => "object".to_owned(),
        }
    }

    pub(super) const fn is_bool(&self) -> bool {
        matches!(self, Self::Bool | Self::Any)
    }

    pub(super) const fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Any)
    }

    /// Reports whether values of both types can be equal.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        use Type::{Any, Double, Int, List, Map, Null, Object, UInt};
        match (self, other) {
            (Any | Null, _)
            | (_, Any | Null)
            | (Int | UInt | Double, Int | UInt | Double)
            | (Map(_) | Object(_), Map(_) | Object(_)) => true,
            (List(one), List(two)) => one.is_like(two),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Returns a type that includes the values of both types.
    pub(super) fn or(self, other: &Self) -> Self {
        match (&self, other) {
            (Self::List(one), Self::List(two)) => {
                let item = Self::clone(one).or(two);
                Self::List(Arc::new(item))
            }
            (Self::Map(one), Self::Map(two)) => {
                let value = Self::clone(one).or(two);
                Self::Map(Arc::new(value))
            }
            (Self::Object(_), _) | (_, Self::Object(_)) => Self::Any,
            _ if std::mem::discriminant(&self) == std::mem::discriminant(other) => self,
            _ => Self::Any,
        }
    }

    fn field(&self, name: &str) -> Result<Self, String> {
        let object = match self {
            Self::Any => return Ok(Self::Any),
            Self::Map(value) => return Ok(Self::clone(value)),
            Self::Object(object) => object,
            other => {
                return Err(format!(
                    "type '{}' does not support field selection",
                    other.name()
                ));
            }
        };
        object
            .field(name)
            .ok_or_else(|| format!("undefined field '{name}'"))
    }
}

impl<'n> Object<'n> {
    fn field(self, name: &str) -> Option<Type<'n>> {
        match (self, name) {
            (Self::Resource(_), "apiVersion" | "kind")
            | (Self::Metadata(_), "name" | "generateName") => Some(Type::Text),
            (Self::Resource(node), "metadata") => {
                Some(Type::Object(Object::Metadata(node.field(name))))
            }
            (Self::Metadata(None), _) => None,
            (Self::Fields(node) | Self::Resource(node) | Self::Metadata(Some(node)), name) => {
                let Shape::Object { properties, .. } = &node.shape else {
                    return None;
                };
                let found = properties.get(&unescape(name)?);
                found.map(|node| Type::of(node, false))
            }
        }
    }
}

/// Checks the types of an expression, and returns its type.
///
/// # Errors
///
/// Returns the message of the type error.
pub(super) fn check<'n>(
    expr: &IdedExpr,
    names: Option<&Names<'_, 'n>>,
) -> Result<Type<'n>, String> {
    match &expr.expr {
        Expr::Literal(literal) => Ok(match literal {
            LiteralValue::Boolean(_) => Type::Bool,
            LiteralValue::Bytes(_) => Type::Bytes,
            LiteralValue::Double(_) => Type::Double,
            LiteralValue::Int(_) => Type::Int,
            LiteralValue::Null => Type::Null,
            LiteralValue::String(_) => Type::Text,
            LiteralValue::UInt(_) => Type::UInt,
        }),
        Expr::Ident(name) => variable(name, names),
        Expr::Select(select) => selected(select, names),
        Expr::Call(call) => operators::called(call, names),
        Expr::List(list) => {
            let item = common(list.elements.iter(), names)?;
            Ok(Type::List(Arc::new(item)))
        }
        Expr::Map(map) => {
            let mut values = Vec::new();
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    check(&entry.key, names)?;
                    values.push(&entry.value);
                }
            }
            let value = common(values.into_iter(), names)?;
            Ok(Type::Map(Arc::new(value)))
        }
        Expr::Comprehension(turns) => comprehension(turns, names),
        Expr::Struct(_) | Expr::Unspecified => Ok(Type::Any),
    }
}

fn variable<'n>(name: &str, names: Option<&Names<'_, 'n>>) -> Result<Type<'n>, String> {
    let mut next = names;
    while let Some(here) = next {
        if here.name == name {
            return Ok(here.is.clone());
        }
        next = here.outer;
    }
    if WORDS.contains(&name) || name.starts_with(['@', '_']) {
        return Ok(Type::Any);
    }
    Err(format!(
        "undeclared reference to '{name}' (in container '')"
    ))
}

fn selected<'n>(select: &SelectExpr, names: Option<&Names<'_, 'n>>) -> Result<Type<'n>, String> {
    let whole = check(&select.operand, names)?;
    let field = whole.field(&select.field)?;
    Ok(if select.test { Type::Bool } else { field })
}

/// Returns a type that includes the values of all expressions.
fn common<'e, 'n>(
    mut all: impl Iterator<Item = &'e IdedExpr>,
    names: Option<&Names<'_, 'n>>,
) -> Result<Type<'n>, String> {
    let Some(first) = all.next() else {
        return Ok(Type::Any);
    };
    all.try_fold(check(first, names)?, |so_far, one| {
        Ok(so_far.or(&check(one, names)?))
    })
}

fn comprehension<'n>(
    turns: &ComprehensionExpr,
    names: Option<&Names<'_, 'n>>,
) -> Result<Type<'n>, String> {
    let range = check(&turns.iter_range, names)?;
    let (first, second) = match &range {
        Type::Any => (Type::Any, Type::Any),
        Type::List(item) if turns.iter_var2.is_some() => (Type::Int, Type::clone(item)),
        Type::List(item) => (Type::clone(item), Type::Any),
        Type::Map(value) => (Type::Text, Type::clone(value)),
        other => {
            return Err(format!(
                "expression of type '{}' cannot be range of a comprehension (must be list, map, \
                 or dynamic)",
                other.name()
            ));
        }
    };
    let init = check(&turns.accu_init, names)?;
    let accumulator = Names {
        name: &turns.accu_var,
        is: &init,
        outer: names,
    };
    let one = Names {
        name: &turns.iter_var,
        is: &first,
        outer: Some(&accumulator),
    };
    let two = Names {
        name: turns.iter_var2.as_deref().unwrap_or("@none"),
        is: &second,
        outer: Some(&one),
    };
    check(&turns.loop_cond, Some(&two))?;
    let step = check(&turns.loop_step, Some(&two))?;
    // The accumulator starts as an empty list. The iterations determine its item type.
    let is = match (&init, &step) {
        (Type::List(_), Type::List(_)) => step,
        _ => init,
    };
    let accumulator = Names {
        name: &turns.accu_var,
        is: &is,
        outer: names,
    };
    check(&turns.result, Some(&accumulator))
}
