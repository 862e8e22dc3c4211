//! Functions of times. The time zone is UTC, as in the container images of Fleet.

use super::Type::{Any, Str, Time as TimeType};
use super::{Args, Function, fixed};
use crate::error::CallError;
use crate::literal::parse_int;
use crate::value::{IntType, Time, Value};

mod duration;
mod layout;

pub(super) use layout::format;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("date", &[Str, Any], |args| {
        print(args, "date", &args.text(0), args.any(1), "")
    }),
    fixed("htmlDate", &[Any], |args| {
        print(args, "htmlDate", HTML, args.any(0), "")
    }),
    fixed("date_in_zone", &[Str, Any, Str], |args| {
        in_zone(args, "date_in_zone")
    }),
    fixed("dateInZone", &[Str, Any, Str], |args| {
        in_zone(args, "dateInZone")
    }),
    fixed("htmlDateInZone", &[Any, Str], |args| {
        print(args, "htmlDateInZone", HTML, args.any(0), &args.text(1))
    }),
    fixed("date_modify", &[Str, TimeType], |args| {
        modify(args).or_else(|_| Ok(args.any(1).clone()))
    }),
    fixed("dateModify", &[Str, TimeType], |args| {
        modify(args).or_else(|_| Ok(args.any(1).clone()))
    }),
    fixed("must_date_modify", &[Str, TimeType], modify),
    fixed("mustDateModify", &[Str, TimeType], modify),
    fixed("toDate", &[Str, Str], |args| {
        parse(args).or(Ok(Value::Time(Time::ZERO)))
    }),
    fixed("mustToDate", &[Str, Str], parse),
    fixed("unixEpoch", &[TimeType], |args| match args.any(0) {
        Value::Time(time) => Ok(Value::str(time.seconds.to_string())),
        _ => Err("expected a time".into()),
    }),
    fixed("duration", &[Any], |args| {
        let seconds = match args.any(0) {
            Value::Str(text) => parse_int(&String::from_utf8_lossy(text), 10).unwrap_or(0),
            Value::Int(IntType::Int64, number) => *number,
            _ => 0,
        };
        Ok(Value::str(duration::print(
            seconds.wrapping_mul(duration::SECOND),
        )))
    }),
    fixed("durationRound", &[Any], |args| {
        let nanoseconds = match args.any(0) {
            Value::Str(text) => duration::parse(&String::from_utf8_lossy(text)).unwrap_or(0),
            Value::Int(IntType::Int64, number) => *number,
            Value::Time(_) => return Err(CallError::Unavailable("durationRound")),
            _ => 0,
        };
        Ok(Value::str(duration::round(nanoseconds.unsigned_abs())))
    }),
];

/// The layout of the value of an HTML date field.
const HTML: &str = "2006-01-02";

fn in_zone(args: &Args<'_>, function: &'static str) -> Result<Value, CallError> {
    print(args, function, &args.text(0), args.any(1), &args.text(2))
}

fn print(
    args: &Args<'_>,
    function: &'static str,
    layout: &str,
    value: &Value,
    zone: &str,
) -> Result<Value, CallError> {
    args.reserve(layout.len(), 4)?;
    if !matches!(zone, "" | "UTC" | "Local") {
        return Err(format!("the time zone {zone:?} is not available; use UTC").into());
    }
    let time = match value {
        Value::Time(time) => *time,
        Value::Int(_, seconds) => Time {
            seconds: *seconds,
            nanoseconds: 0,
        },
        _ => return Err(CallError::Unavailable(function)),
    };
    Ok(Value::str(format(time, layout)))
}

fn modify(args: &Args<'_>) -> Result<Value, CallError> {
    let Value::Time(time) = args.any(1) else {
        return Err("expected a time".into());
    };
    let change = duration::parse(&args.text(0)).ok_or("invalid duration")?;
    let nanoseconds = i64::from(time.nanoseconds) + change % duration::SECOND;
    let seconds = time.seconds.wrapping_add(change / duration::SECOND);
    let seconds = seconds.wrapping_add(nanoseconds.div_euclid(duration::SECOND));
    let nanoseconds = nanoseconds.rem_euclid(duration::SECOND);
    Ok(Value::Time(Time {
        seconds,
        nanoseconds: u32::try_from(nanoseconds).unwrap_or(0),
    }))
}

fn parse(args: &Args<'_>) -> Result<Value, CallError> {
    let time = layout::parse(&args.text(0), &args.text(1));
    Ok(Value::Time(time.ok_or("cannot parse the time")?))
}
