//! Go's package `fmt`: `Sprint`, `Sprintln` and `Sprintf`.

pub(crate) use float::format_float;
pub(crate) use quote::{is_print, quote};

use crate::budget::Budget;
use crate::error::CallError;
use crate::value::Value;
use printer::Printer;

mod float;
mod printer;
mod quote;
mod verbs;

/// Prints the values with spaces between values that are not strings (`fmt.Sprint`).
pub(crate) fn print(values: &[Value], budget: &Budget) -> Result<Vec<u8>, CallError> {
    let mut printer = Printer::new(budget);
    let mut after_string = false;
    for (at, value) in values.iter().enumerate() {
        let is_string = matches!(value, Value::Str(_));
        if at > 0 && !is_string && !after_string {
            printer.write(b" ")?;
        }
        printer.argument(value, 'v')?;
        after_string = is_string;
    }
    Ok(printer.out)
}

/// Prints the values with spaces and a line break (`fmt.Sprintln`).
pub(crate) fn println(values: &[Value], budget: &Budget) -> Result<Vec<u8>, CallError> {
    let mut printer = Printer::new(budget);
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            printer.write(b" ")?;
        }
        printer.argument(value, 'v')?;
    }
    printer.write(b"\n")?;
    Ok(printer.out)
}

/// Prints one value as the verb `%v` does.
pub(crate) fn display(value: &Value, budget: &Budget) -> Result<Vec<u8>, CallError> {
    print(std::slice::from_ref(value), budget)
}

/// Prints the values as a format describes (`fmt.Sprintf`).
pub(crate) fn printf(
    format: &[u8],
    values: &[Value],
    budget: &Budget,
) -> Result<Vec<u8>, CallError> {
    verbs::Verbs::new(format, values, budget).print()
}
