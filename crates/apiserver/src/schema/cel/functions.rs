//! CEL functions: the functions of Kubernetes, and safe replacements of functions whose arguments
//! can exhaust the server's resources.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use kube_cel::KubeCelExt as _;
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::{Context, ExecutionError, Program, Value as Cel};
use parking_lot::Mutex;
use regex::Regex;

use crate::schema::compile_pattern;

/// Maximum length of a list that `lists.range` creates.
pub(super) const MAX_RANGE: u64 = 10_000;
/// Maximum number of digits of a precision or exponent in an argument.
const MAX_DIGITS: usize = 3;
/// Maximum number of cached patterns.
const MAX_CACHED_PATTERNS: usize = 256;

type Outcome = Result<Cel, ExecutionError>;

/// The root context of all evaluations. Each evaluation adds its variables in a child scope.
pub(super) static BASE: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut context = Context::default().with_all();
    context.add_function("lists.range", range);
    context.add_function("format", format);
    context.add_function("quantity", |text: Arc<String>| quantity(&QUANTITY, &text));
    context.add_function("isQuantity", |text: Arc<String>| {
        quantity(&IS_QUANTITY, &text)
    });
    let matches = |This(text): This<Arc<String>>, pattern: Arc<String>| matches(&text, &pattern);
    context.add_function("matches", matches);
    let find = |This(text): This<Arc<String>>, pattern: Arc<String>| find(&text, &pattern);
    context.add_function("find", find);
    context.add_function("findAll", find_all);
    context.add_function("type", type_of);
    for name in TYPES {
        context.add_variable_from_value(name, Cel::String(Arc::new(name.to_owned())));
    }
    context
});

/// Names of CEL types. A type name is also a CEL value, for example in `type(self) == int`.
const TYPES: [&str; 9] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "uint",
];

/// Returns the name of a value's type. Types support comparison only.
fn type_of(Arguments(given): Arguments) -> Outcome {
    let [value] = given.as_slice() else {
        return Err(ExecutionError::function_error(
            "type",
            "expected one argument",
        ));
    };
    let name = match value {
        Cel::Bool(_) => "bool",
        Cel::Bytes(_) => "bytes",
        Cel::Float(_) => "double",
        Cel::Int(_) => "int",
        Cel::List(_) => "list",
        Cel::Map(_) => "map",
        Cel::Null => "null_type",
        Cel::String(_) => "string",
        Cel::UInt(_) => "uint",
        Cel::Timestamp(_) => "google.protobuf.Timestamp",
        Cel::Duration(_) => "google.protobuf.Duration",
        _ => "other",
    };
    Ok(Cel::String(Arc::new(name.to_owned())))
}

/// The context with the unmodified functions of the CEL library.
static LIBRARY: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

type Call = LazyLock<Option<Program>>;

static FORMAT: Call = LazyLock::new(|| Program::compile("text.format(list)").ok());
static QUANTITY: Call = LazyLock::new(|| Program::compile("quantity(text)").ok());
static IS_QUANTITY: Call = LazyLock::new(|| Program::compile("isQuantity(text)").ok());

fn call(program: &Call, text: &Arc<String>, list: Cel) -> Outcome {
    let program = program
        .as_ref()
        .ok_or_else(|| ExecutionError::function_error("call", "cannot be compiled"))?;
    let mut context = LIBRARY.new_inner_scope();
    context.add_variable_from_value("text", Cel::String(Arc::clone(text)));
    context.add_variable_from_value("list", list);
    program.execute(&context)
}

fn range(count: i64) -> Outcome {
    match u64::try_from(count) {
        Ok(length) if length <= MAX_RANGE => {
            Ok(Cel::List(Arc::new((0..count).map(Cel::Int).collect())))
        }
        Ok(_) => Err(ExecutionError::function_error(
            "lists.range",
            format!("a list may not have more than {MAX_RANGE} items"),
        )),
        Err(_) => Err(ExecutionError::function_error(
            "lists.range",
            "range argument must be non-negative",
        )),
    }
}

/// Reports whether the text contains one of the characters `behind`, followed by a number with more
/// than [`MAX_DIGITS`] digits.
fn has_long_number(text: &str, behind: &[char]) -> bool {
    text.split(behind).skip(1).any(|rest| {
        let rest = rest.trim_start_matches(['+', '-']).trim_start_matches('0');
        rest.chars().take_while(char::is_ascii_digit).count() > MAX_DIGITS
    })
}

fn format(This(text): This<Arc<String>>, Arguments(given): Arguments) -> Outcome {
    // cel-go has the same limit on precisions.
    if has_long_number(&text, &['.']) {
        return Err(ExecutionError::function_error(
            "format",
            "precision is too large",
        ));
    }
    let list = given.first().cloned().unwrap_or(Cel::Null);
    call(&FORMAT, &text, list)
}

fn quantity(program: &Call, text: &Arc<String>) -> Outcome {
    if has_long_number(text, &['e', 'E']) {
        return Err(ExecutionError::function_error(
            "quantity",
            "exponent is too large",
        ));
    }
    call(program, text, Cel::Null)
}

/// Cache of compiled patterns, because comprehensions use the same patterns repeatedly.
static COMPILED: LazyLock<Mutex<HashMap<String, Option<Regex>>>> = LazyLock::new(Mutex::default);

fn compiled(function: &str, pattern: &str) -> Result<Regex, ExecutionError> {
    let known = COMPILED.lock().get(pattern).cloned();
    let program = known.unwrap_or_else(|| {
        let program = compile_pattern(pattern);
        let mut all = COMPILED.lock();
        if all.len() >= MAX_CACHED_PATTERNS {
            all.clear();
        }
        all.insert(pattern.to_owned(), program.clone());
        program
    });
    let invalid = || ExecutionError::function_error(function, "invalid or too large pattern");
    program.ok_or_else(invalid)
}

fn matches(text: &str, pattern: &str) -> Result<bool, ExecutionError> {
    Ok(compiled("matches", pattern)?.is_match(text))
}

fn find(text: &str, pattern: &str) -> Outcome {
    let pattern = compiled("find", pattern)?;
    let found = pattern.find(text).map_or("", |found| found.as_str());
    Ok(Cel::String(Arc::new(found.to_owned())))
}

fn find_all(This(text): This<Arc<String>>, Arguments(given): Arguments) -> Outcome {
    let Some(Cel::String(pattern)) = given.first() else {
        return Err(ExecutionError::function_error(
            "findAll",
            "expected string pattern",
        ));
    };
    let most = match given.get(1) {
        // A negative number means that the number is not limited.
        Some(Cel::Int(most)) => usize::try_from(*most).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let pattern = compiled("findAll", pattern)?;
    let found = pattern.find_iter(&text).take(most);
    let found = found.map(|found| Cel::String(Arc::new(found.as_str().to_owned())));
    Ok(Cel::List(Arc::new(found.collect())))
}
