//! Functions of types.

use super::Type::{Any, Str};
use super::{Function, fixed};
use crate::value::{Value, deep_equal};

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("typeOf", &[Any], |args| {
        Ok(Value::str(args.any(0).type_name()))
    }),
    fixed("typeIs", &[Str, Any], |args| {
        Ok(Value::Bool(
            args.bytes(0) == args.any(1).type_name().as_bytes(),
        ))
    }),
    fixed("typeIsLike", &[Str, Any], |args| {
        let name = args.any(1).type_name();
        let target = args.bytes(0);
        let is_pointer = name
            .strip_prefix('*')
            .is_some_and(|it| it.as_bytes() == target);
        Ok(Value::Bool(is_pointer || target == name.as_bytes()))
    }),
    fixed("kindOf", &[Any], |args| {
        Ok(Value::str(args.any(0).kind_name()))
    }),
    fixed("kindIs", &[Str, Any], |args| {
        Ok(Value::Bool(
            args.bytes(0) == args.any(1).kind_name().as_bytes(),
        ))
    }),
    fixed("deepEqual", &[Any, Any], |args| {
        Ok(Value::Bool(deep_equal(
            args.any(0),
            args.any(1),
            args.budget,
            0,
        )?))
    }),
];
