//! Functions of decimal numbers. The computation is exact, as in the Go library decimal.

use super::Type::Any;
use super::numbers::to_float;
use super::{Args, Function, fixed, variadic};
use crate::error::CallError;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("add1f", &[Any], |args| {
        let one = Decimal {
            mantissa: 1,
            exponent: 0,
        };
        result(Decimal::of(args.any(0)).and_then(|it| it.add(one)))
    }),
    variadic("addf", &[], Any, |args| {
        let zero = Decimal {
            mantissa: 0,
            exponent: 0,
        };
        fold(Some(zero), args.values, Decimal::add)
    }),
    variadic("subf", &[Any], Any, |args| {
        fold_rest(args, |one, other| {
            one.add(Decimal {
                mantissa: -other.mantissa,
                ..other
            })
        })
    }),
    variadic("mulf", &[Any], Any, |args| {
        fold_rest(args, Decimal::multiply)
    }),
    variadic("divf", &[Any], Any, |args| fold_rest(args, Decimal::divide)),
];

/// The number of digits after the point in the result of a division.
const DIVISION_DIGITS: i32 = 16;

/// The number `mantissa` · 10^`exponent`.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    mantissa: i128,
    exponent: i32,
}

fn power(exponent: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent).ok()?)
}

impl Decimal {
    /// Returns the shortest decimal number that identifies a value.
    fn of(value: &Value) -> Option<Self> {
        let text = format!("{:e}", to_float(value));
        let (mantissa, exponent) = text.split_once('e')?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i32 = exponent.parse().ok()?;
        Some(Self {
            mantissa: format!("{whole}{fraction}").parse().ok()?,
            exponent: exponent - i32::try_from(fraction.len()).ok()?,
        })
    }

    fn add(self, other: Self) -> Option<Self> {
        if self.mantissa == 0 {
            return Some(other);
        }
        if other.mantissa == 0 {
            return Some(self);
        }
        let exponent = self.exponent.min(other.exponent);
        let scaled = |it: Self| it.mantissa.checked_mul(power(it.exponent - exponent)?);
        Some(Self {
            mantissa: scaled(self)?.checked_add(scaled(other)?)?,
            exponent,
        })
    }

    fn multiply(self, other: Self) -> Option<Self> {
        Some(Self {
            mantissa: self.mantissa.checked_mul(other.mantissa)?,
            exponent: self.exponent.checked_add(other.exponent)?,
        })
    }

    fn divide(self, other: Self) -> Option<Self> {
        let shift = self.exponent - other.exponent + DIVISION_DIGITS;
        let (mut dividend, mut divisor) = (self.mantissa, other.mantissa);
        if shift >= 0 {
            dividend = dividend.checked_mul(power(shift)?)?;
        } else {
            divisor = divisor.checked_mul(power(-shift)?)?;
        }
        let quotient = dividend.checked_div(divisor)?;
        let remainder = dividend.checked_rem(divisor)?.unsigned_abs();
        let rounds = remainder.checked_mul(2)? >= divisor.unsigned_abs();
        let away = dividend.signum() * divisor.signum();
        Some(Self {
            mantissa: quotient + if rounds { away } else { 0 },
            exponent: -DIVISION_DIGITS,
        })
    }
}

fn result(number: Option<Decimal>) -> Result<Value, CallError> {
    let number = number.ok_or("the decimal number is out of range")?;
    let text = format!("{}e{}", number.mantissa, number.exponent);
    let float = text
        .parse()
        .map_err(|_| "the decimal number is out of range")?;
    Ok(Value::Float(float))
}

fn fold(
    start: Option<Decimal>,
    values: &[Value],
    operation: fn(Decimal, Decimal) -> Option<Decimal>,
) -> Result<Value, CallError> {
    let apply = |number: Option<Decimal>, value| operation(number?, Decimal::of(value)?);
    result(values.iter().fold(start, apply))
}

fn fold_rest(
    args: &Args<'_>,
    operation: fn(Decimal, Decimal) -> Option<Decimal>,
) -> Result<Value, CallError> {
    fold(Decimal::of(args.any(0)), args.rest(1), operation)
}
