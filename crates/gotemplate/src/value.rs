//! Values with Go's types.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::budget::{Budget, Clear, Limit, check_depth};
pub(crate) use time::{Civil, Time, days_from_civil};
pub(crate) use version::Version;

mod time;
mod version;

/// A Go string, which can contain invalid UTF-8.
pub(crate) type Bytes = Rc<[u8]>;
/// The entries of a dictionary. Go's maps are references, so all copies share the entries.
pub(crate) type Entries = RefCell<BTreeMap<Bytes, Value>>;

impl Clear for Entries {
    fn clear(&self) {
        // The entries are dropped after the end of the mutable borrow.
        drop(self.take());
    }
}

/// A value of a template.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Nil,
    Bool(bool),
    Int(IntType, i64),
    Uint(UintType, u64),
    Float(f64),
    Str(Bytes),
    List(List),
    Dict(Dict),
    Time(Time),
    Version(Rc<Version>),
}

/// Go's signed integer types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntType {
    Int,
    Int64,
}

/// Go's unsigned integer types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UintType {
    Uint8,
    Uint64,
}

/// The type of a list's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    /// `interface {}`
    Any,
    /// `string`
    Str,
    /// `int`
    Int,
    /// `[]interface {}`
    Lists,
}

/// A Go slice. No function changes the elements of a slice.
#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) element: Element,
    pub(crate) items: Rc<Vec<Value>>,
    /// Go distinguishes a nil slice from an empty slice.
    pub(crate) is_nil: bool,
    /// The number of nested lists, without lists in dictionaries.
    pub(crate) depth: u32,
}

impl List {
    pub(crate) fn new(element: Element, items: Vec<Value>) -> Self {
        let depths = items.iter().map(|item| match item {
            Value::List(list) => list.depth + 1,
            _ => 1,
        });
        let depth = depths.max().unwrap_or(1);
        Self {
            element,
            items: Rc::new(items),
            is_nil: false,
            depth,
        }
    }

    pub(crate) fn nil(element: Element) -> Self {
        Self {
            is_nil: true,
            ..Self::new(element, Vec::new())
        }
    }
}

/// A Go map with strings as keys.
#[derive(Debug, Clone)]
pub(crate) struct Dict {
    /// The values have the type `string` instead of `interface {}`.
    pub(crate) of_strings: bool,
    /// No entries mean a nil map.
    pub(crate) entries: Option<Rc<Entries>>,
}

impl Dict {
    pub(crate) fn new(budget: &Budget, content: BTreeMap<Bytes, Value>) -> Self {
        let entries = Rc::new(RefCell::new(content));
        budget.register(Rc::<Entries>::clone(&entries));
        Self {
            of_strings: false,
            entries: Some(entries),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Value> {
        self.entries.as_ref()?.borrow().get(key).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        let entries = self.entries.as_ref();
        entries.map_or(0, |entries| entries.borrow().len())
    }

    /// Returns a copy of the entries in the order of the keys.
    pub(crate) fn snapshot(&self, budget: &Budget) -> Result<Vec<(Bytes, Value)>, Limit> {
        budget.spend(self.len())?;
        let Some(entries) = &self.entries else {
            return Ok(Vec::new());
        };
        let entries = entries.borrow();
        let pairs = entries.iter();
        Ok(pairs.map(|(k, v)| (Rc::clone(k), v.clone())).collect())
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.entries, &other.entries) {
            (Some(one), Some(other)) => Rc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Value {
    pub(crate) fn str(text: impl AsRef<[u8]>) -> Self {
        Self::Str(Rc::from(text.as_ref()))
    }

    pub(crate) fn int(number: i64) -> Self {
        Self::Int(IntType::Int, number)
    }

    pub(crate) fn int64(number: i64) -> Self {
        Self::Int(IntType::Int64, number)
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List::new(Element::Any, items))
    }

    pub(crate) fn strings<T: AsRef<[u8]>>(items: impl IntoIterator<Item = T>) -> Self {
        let items = items.into_iter().map(Self::str).collect();
        Self::List(List::new(Element::Str, items))
    }

    /// Converts JSON as Go's `encoding/json` does.
    pub(crate) fn from_json(
        json: &serde_json::Value,
        budget: &Budget,
        depth: u32,
    ) -> Result<Self, Limit> {
        check_depth(depth)?;
        budget.spend(1)?;
        Ok(match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(truth) => Self::Bool(*truth),
            serde_json::Value::Number(number) => Self::Float(number.as_f64().unwrap_or(0.0)),
            serde_json::Value::String(text) => {
                budget.spend_bytes(text.len())?;
                Self::str(text)
            }
            serde_json::Value::Array(items) => {
                let items = items
                    .iter()
                    .map(|item| Self::from_json(item, budget, depth + 1));
                Self::list(items.collect::<Result<_, _>>()?)
            }
            serde_json::Value::Object(entries) => {
                let mut content = BTreeMap::new();
                for (key, value) in entries {
                    budget.spend_bytes(key.len())?;
                    let key = Rc::from(key.as_bytes());
                    content.insert(key, Self::from_json(value, budget, depth + 1)?);
                }
                Self::Dict(Dict::new(budget, content))
            }
        })
    }

    /// Returns Go's name of the type, as `%T` prints the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(IntType::Int, _) => "int",
            Self::Int(IntType::Int64, _) => "int64",
            Self::Uint(UintType::Uint8, _) => "uint8",
            Self::Uint(UintType::Uint64, _) => "uint64",
            Self::Float(_) => "float64",
            Self::Str(_) => "string",
            Self::List(list) => match list.element {
                Element::Any => "[]interface {}",
                Element::Str => "[]string",
                Element::Int => "[]int",
                Element::Lists => "[][]interface {}",
            },
            Self::Dict(dict) if dict.of_strings => "map[string]string",
            Self::Dict(_) => "map[string]interface {}",
            Self::Time(_) => "time.Time",
            Self::Version(_) => "*semver.Version",
        }
    }

    /// Returns Go's name of the kind.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Self::Nil => "invalid",
            Self::List(_) => "slice",
            Self::Dict(_) => "map",
            Self::Time(_) => "struct",
            Self::Version(_) => "ptr",
            scalar => scalar.type_name(),
        }
    }

    /// Reports whether `if` takes the first branch.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(truth) => *truth,
            Self::Int(_, number) => *number != 0,
            Self::Uint(_, number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::List(list) => !list.items.is_empty(),
            Self::Dict(dict) => dict.len() > 0,
            Self::Time(_) | Self::Version(_) => true,
        }
    }

    /// Reports whether Go's `isNil` is true.
    pub(crate) fn is_nil(&self) -> bool {
        match self {
            Self::Nil => true,
            Self::List(list) => list.is_nil,
            Self::Dict(dict) => dict.entries.is_none(),
            _ => false,
        }
    }
}

/// Compares two values as Go's `reflect.DeepEqual` does.
pub(crate) fn deep_equal(
    one: &Value,
    other: &Value,
    budget: &Budget,
    depth: u32,
) -> Result<bool, Limit> {
    check_depth(depth)?;
    budget.spend(1)?;
    Ok(match (one, other) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(one), Value::Bool(other)) => one == other,
        (Value::Int(kind, one), Value::Int(other_kind, other)) => {
            kind == other_kind && one == other
        }
        (Value::Uint(kind, one), Value::Uint(other_kind, other)) => {
            kind == other_kind && one == other
        }
        #[expect(clippy::float_cmp, reason = "Go compares without a tolerance too")]
        (Value::Float(one), Value::Float(other)) => one == other,
        (Value::Str(one), Value::Str(other)) => {
            budget.spend_bytes(one.len().min(other.len()))?;
            one == other
        }
        (Value::Time(one), Value::Time(other)) => one == other,
        (Value::Version(one), Value::Version(other)) => one == other,
        (Value::List(one), Value::List(other)) => {
            if one.element != other.element
                || one.is_nil != other.is_nil
                || one.items.len() != other.items.len()
            {
                return Ok(false);
            }
            for (one, other) in one.items.iter().zip(other.items.iter()) {
                if !deep_equal(one, other, budget, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Dict(one), Value::Dict(other)) => equal_dicts(one, other, budget, depth)?,
        _ => false,
    })
}

fn equal_dicts(one: &Dict, other: &Dict, budget: &Budget, depth: u32) -> Result<bool, Limit> {
    if one.of_strings != other.of_strings
        || one.entries.is_none() != other.entries.is_none()
        || one.len() != other.len()
    {
        return Ok(false);
    }
    if one.is_same(other) {
        return Ok(true);
    }
    for (key, value) in one.snapshot(budget)? {
        let Some(other) = other.get(&key) else {
            return Ok(false);
        };
        if !deep_equal(&value, &other, budget, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}
