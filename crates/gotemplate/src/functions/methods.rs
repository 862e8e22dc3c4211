//! Methods of Go types.

use std::cmp::Ordering;

use super::Type::{Str, Time as TimeType, Version as VersionType};
use super::{Args, Function, dates, fixed};
use crate::error::CallError;
use crate::value::{Time, UintType, Value, Version};

/// Returns the method of a value with a name. The first parameter is the value.
pub(crate) fn method(value: &Value, name: &str) -> Option<&'static Function> {
    let methods = match value {
        Value::Time(_) => TIME,
        Value::Version(_) => VERSION,
        _ => return None,
    };
    methods.iter().find(|method| method.name == name)
}

const VERSION: &[Function] = &[
    fixed("Major", &[VersionType], |args| number(args, |it| it.major)),
    fixed("Minor", &[VersionType], |args| number(args, |it| it.minor)),
    fixed("Patch", &[VersionType], |args| number(args, |it| it.patch)),
    fixed("Prerelease", &[VersionType], |args| {
        text(args, |it| it.prerelease.clone())
    }),
    fixed("Metadata", &[VersionType], |args| {
        text(args, |it| it.metadata.clone())
    }),
    fixed("Original", &[VersionType], |args| {
        text(args, |it| it.original.clone())
    }),
    fixed("String", &[VersionType], |args| {
        text(args, ToString::to_string)
    }),
    fixed("Compare", &[VersionType, VersionType], |args| {
        Ok(Value::int(match order(args)? {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }))
    }),
    fixed("Equal", &[VersionType, VersionType], |args| {
        Ok(Value::Bool(order(args)?.is_eq()))
    }),
    fixed("LessThan", &[VersionType, VersionType], |args| {
        Ok(Value::Bool(order(args)?.is_lt()))
    }),
    fixed("LessThanEqual", &[VersionType, VersionType], |args| {
        Ok(Value::Bool(order(args)?.is_le()))
    }),
    fixed("GreaterThan", &[VersionType, VersionType], |args| {
        Ok(Value::Bool(order(args)?.is_gt()))
    }),
    fixed("GreaterThanEqual", &[VersionType, VersionType], |args| {
        Ok(Value::Bool(order(args)?.is_ge()))
    }),
];

const TIME: &[Function] = &[
    fixed("Format", &[TimeType, Str], |args| {
        Ok(Value::str(dates::format(time(args)?, &args.text(1))))
    }),
    fixed("String", &[TimeType], |args| {
        Ok(Value::str(time(args)?.to_string()))
    }),
    fixed("Unix", &[TimeType], |args| {
        Ok(Value::int64(time(args)?.seconds))
    }),
    fixed("Year", &[TimeType], |args| {
        Ok(Value::int(time(args)?.civil().year))
    }),
    fixed("Day", &[TimeType], |args| {
        Ok(Value::int(time(args)?.civil().day.into()))
    }),
    fixed("Hour", &[TimeType], |args| {
        Ok(Value::int(time(args)?.civil().hour.into()))
    }),
    fixed("Minute", &[TimeType], |args| {
        Ok(Value::int(time(args)?.civil().minute.into()))
    }),
    fixed("Second", &[TimeType], |args| {
        Ok(Value::int(time(args)?.civil().second.into()))
    }),
    fixed("YearDay", &[TimeType], |args| {
        Ok(Value::int(time(args)?.civil().year_day.into()))
    }),
    fixed("IsZero", &[TimeType], |args| {
        Ok(Value::Bool(time(args)? == Time::ZERO))
    }),
];

fn version<'a>(args: &Args<'a>, at: usize) -> Result<&'a Version, CallError> {
    match args.any(at) {
        Value::Version(version) => Ok(version),
        _ => Err("expected a version".into()),
    }
}

fn time(args: &Args<'_>) -> Result<Time, CallError> {
    match args.any(0) {
        Value::Time(time) => Ok(*time),
        _ => Err("expected a time".into()),
    }
}

fn number(args: &Args<'_>, get: fn(&Version) -> u64) -> Result<Value, CallError> {
    Ok(Value::Uint(UintType::Uint64, get(version(args, 0)?)))
}

fn text(args: &Args<'_>, get: fn(&Version) -> String) -> Result<Value, CallError> {
    Ok(Value::str(get(version(args, 0)?)))
}

fn order(args: &Args<'_>) -> Result<Ordering, CallError> {
    Ok(version(args, 0)?.compare(version(args, 1)?))
}
