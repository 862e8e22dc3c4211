//! Functions of integers and floating-point numbers.

use super::Type::{Any, Float, Int, Str};
use super::{Args, Function, fixed, variadic};
use crate::error::CallError;
use crate::format;
use crate::literal::{parse_float, parse_int};
use crate::value::{Element, List, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("int", &[Any], |args| Ok(Value::int(to_int(args.any(0))))),
    fixed("int64", &[Any], |args| {
        Ok(Value::int64(to_int(args.any(0))))
    }),
    fixed("float64", &[Any], |args| {
        Ok(Value::Float(to_float(args.any(0))))
    }),
    fixed("atoi", &[Str], |args| Ok(Value::int(atoi(&args.text(0))))),
    fixed("toDecimal", &[Any], |args| {
        let text = format::display(args.any(0), args.budget)?;
        let number = parse_int(&String::from_utf8_lossy(&text), 8);
        Ok(Value::int64(number.unwrap_or_default()))
    }),
    fixed("add1", &[Any], |args| {
        Ok(Value::int64(to_int(args.any(0)).wrapping_add(1)))
    }),
    variadic("add", &[], Any, |args| {
        let numbers = args.values.iter().map(to_int);
        Ok(Value::int64(numbers.fold(0, i64::wrapping_add)))
    }),
    fixed("sub", &[Any, Any], |args| {
        Ok(Value::int64(
            to_int(args.any(0)).wrapping_sub(to_int(args.any(1))),
        ))
    }),
    variadic("mul", &[Any], Any, |args| {
        let numbers = args.values.iter().map(to_int);
        Ok(Value::int64(numbers.fold(1, i64::wrapping_mul)))
    }),
    fixed("div", &[Any, Any], |args| divide(args, i64::wrapping_div)),
    fixed("mod", &[Any, Any], |args| divide(args, i64::wrapping_rem)),
    variadic("max", &[Any], Any, |args| Ok(fold_int(args, i64::max))),
    variadic("biggest", &[Any], Any, |args| Ok(fold_int(args, i64::max))),
    variadic("min", &[Any], Any, |args| Ok(fold_int(args, i64::min))),
    variadic("maxf", &[Any], Any, |args| Ok(fold_float(args, f64::max))),
    variadic("minf", &[Any], Any, |args| Ok(fold_float(args, f64::min))),
    fixed("floor", &[Any], |args| {
        Ok(Value::Float(to_float(args.any(0)).floor()))
    }),
    fixed("ceil", &[Any], |args| {
        Ok(Value::Float(to_float(args.any(0)).ceil()))
    }),
    variadic("round", &[Any, Int], Float, |args| {
        Ok(Value::Float(round(args)))
    }),
    fixed("until", &[Int], |args| {
        let stop = args.int(0);
        sequence(args, 0, stop, if stop < 0 { -1 } else { 1 }).map(list)
    }),
    fixed("untilStep", &[Int, Int, Int], |args| {
        sequence(args, args.int(0), args.int(1), args.int(2)).map(list)
    }),
    variadic("seq", &[], Int, seq),
];

/// Converts a number to an integer as Go on amd64 does: numbers out of range become the minimum.
fn truncate(number: f64) -> i64 {
    if number.abs() < 9_223_372_036_854_775_808.0 {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        let integer = number as i64;
        integer
    } else {
        i64::MIN
    }
}

/// Removes a fraction that contains only zeros.
fn without_zero_fraction(text: &str) -> &str {
    let trimmed = text.trim_end_matches('0');
    let whole = trimmed.strip_suffix('.');
    whole.filter(|_| trimmed.len() < text.len()).unwrap_or(text)
}

/// Converts a value to an integer as the Go library cast does. Other values become 0.
pub(super) fn to_int(value: &Value) -> i64 {
    match value {
        Value::Bool(truth) => i64::from(*truth),
        Value::Int(_, number) => *number,
        Value::Uint(_, number) => number.cast_signed(),
        Value::Float(number) => truncate(*number),
        Value::Str(text) => std::str::from_utf8(text)
            .ok()
            .and_then(|text| parse_int(without_zero_fraction(text), 0))
            .unwrap_or_default(),
        _ => 0,
    }
}

/// Converts a value to a floating-point number as the Go library cast does.
#[expect(clippy::cast_precision_loss, reason = "Go rounds too")]
pub(super) fn to_float(value: &Value) -> f64 {
    match value {
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        Value::Int(_, number) => *number as f64,
        Value::Uint(_, number) => *number as f64,
        Value::Float(number) => *number,
        Value::Str(text) => std::str::from_utf8(text)
            .ok()
            .and_then(parse_float)
            .unwrap_or(0.0),
        _ => 0.0,
    }
}

/// Parses an integer as Go's `strconv.Atoi` does: an overflow returns the nearest integer.
fn atoi(text: &str) -> i64 {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return 0;
    }
    let nearest = if text.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    };
    text.parse().unwrap_or(nearest)
}

fn divide(args: &Args<'_>, divide: fn(i64, i64) -> i64) -> Result<Value, CallError> {
    let divisor = to_int(args.any(1));
    if divisor == 0 {
        return Err("integer divide by zero".into());
    }
    Ok(Value::int64(divide(to_int(args.any(0)), divisor)))
}

fn fold_int(args: &Args<'_>, choose: fn(i64, i64) -> i64) -> Value {
    let numbers = args.rest(1).iter().map(to_int);
    Value::int64(numbers.fold(to_int(args.any(0)), choose))
}

fn fold_float(args: &Args<'_>, choose: fn(f64, f64) -> f64) -> Value {
    let numbers = args.rest(1).iter().map(to_float);
    let choose = |one: f64, other: f64| {
        if one.is_nan() || other.is_nan() {
            f64::NAN
        } else {
            choose(one, other)
        }
    };
    Value::Float(numbers.fold(to_float(args.any(0)), choose))
}

fn round(args: &Args<'_>) -> f64 {
    let threshold = match args.rest(2).first() {
        Some(Value::Float(threshold)) => *threshold,
        _ => 0.5,
    };
    let places = to_float(args.any(1));
    let scale = 10_f64.powf(places);
    let scaled = scale * to_float(args.any(0));
    let rounded = if scaled.fract() >= threshold {
        scaled.ceil()
    } else {
        scaled.floor()
    };
    rounded / scale
}

/// Returns the numbers from `start` to `limit` without `limit`.
fn sequence(args: &Args<'_>, start: i64, limit: i64, step: i64) -> Result<Vec<i64>, CallError> {
    if (limit < start && step >= 0) || (limit >= start && step <= 0) {
        return Ok(Vec::new());
    }
    let (start, end, step) = (i128::from(start), i128::from(limit), i128::from(step));
    let count = (end - start + step - step.signum()) / step;
    args.budget
        .spend(usize::try_from(count).unwrap_or(usize::MAX))?;
    let numbers = (0..count).map(|at| start + at * step);
    Ok(numbers.filter_map(|it| i64::try_from(it).ok()).collect())
}

fn list(numbers: Vec<i64>) -> Value {
    let items = numbers.into_iter().map(Value::int).collect();
    Value::List(List::new(Element::Int, items))
}

fn seq(args: &Args<'_>) -> Result<Value, CallError> {
    let direction = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let (first, step, last) = match args.values.len() {
        1 => (1, direction(1, args.int(0)), args.int(0)),
        2 => {
            let (first, last) = (args.int(0), args.int(1));
            (first, direction(first, last), last)
        }
        3 => (args.int(0), args.int(1), args.int(2)),
        _ => return Ok(Value::str("")),
    };
    if args.values.len() == 3 && last < first && step > 0 {
        return Ok(Value::str(""));
    }
    let end = last.wrapping_add(direction(first, last));
    let numbers = sequence(args, first, end, step)?;
    let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
    Ok(Value::str(texts.join(" ")))
}
