//! Functions of slash-separated paths.

use super::Type::Str;
use super::{Function, fixed};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("base", &[Str], |args| Ok(Value::str(base(args.bytes(0))))),
    fixed("dir", &[Str], |args| Ok(Value::str(dir(args.bytes(0))))),
    fixed("clean", &[Str], |args| Ok(Value::str(clean(args.bytes(0))))),
    fixed("ext", &[Str], |args| {
        Ok(Value::str(extension(args.bytes(0))))
    }),
    fixed("isAbs", &[Str], |args| {
        Ok(Value::Bool(args.bytes(0).starts_with(b"/")))
    }),
    fixed("osBase", &[Str], |args| Ok(Value::str(base(args.bytes(0))))),
    fixed("osDir", &[Str], |args| Ok(Value::str(dir(args.bytes(0))))),
    fixed("osClean", &[Str], |args| {
        Ok(Value::str(clean(args.bytes(0))))
    }),
    fixed("osExt", &[Str], |args| {
        Ok(Value::str(extension(args.bytes(0))))
    }),
    fixed("osIsAbs", &[Str], |args| {
        Ok(Value::Bool(args.bytes(0).starts_with(b"/")))
    }),
];

fn last_part(path: &[u8]) -> (&[u8], &[u8]) {
    let end = path.iter().rposition(|byte| *byte == b'/');
    path.split_at(end.map_or(0, |end| end + 1))
}

fn base(path: &[u8]) -> &[u8] {
    if path.is_empty() {
        return b".";
    }
    let end = path.iter().rposition(|byte| *byte != b'/');
    match end {
        None => b"/",
        Some(end) => last_part(&path[..=end]).1,
    }
}

fn dir(path: &[u8]) -> Vec<u8> {
    clean(last_part(path).0)
}

fn extension(path: &[u8]) -> &[u8] {
    let name = last_part(path).1;
    let dot = name.iter().rposition(|byte| *byte == b'.');
    dot.map_or(b"", |dot| &name[dot..])
}

fn clean(path: &[u8]) -> Vec<u8> {
    let is_absolute = path.starts_with(b"/");
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|last| *last != b"..") => {
                parts.pop();
            }
            b".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join(&b'/');
    if is_absolute {
        [b"/", joined.as_slice()].concat()
    } else if joined.is_empty() {
        b".".to_vec()
    } else {
        joined
    }
}
