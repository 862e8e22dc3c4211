//! The Protobuf field numbers of Kubernetes messages. The typed clients of kubectl send objects in
//! Protobuf.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{SchemasError, module};

/// Returns the fields of each message: number, JSON name (empty for an inlined message), type, and
/// cardinality (single, list `[]` or map `{}`).
pub(super) fn messages(
    definitions: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, SchemasError> {
    let mut messages = BTreeMap::new();
    for name in ["k8s.io/api", "k8s.io/apimachinery"] {
        let mut files = Vec::new();
        find(&module(name)?, &mut files)?;
        for path in files {
            let text = fs::read_to_string(&path).map_err(|source| SchemasError::File {
                operation: "read",
                path,
                source,
            })?;
            read(&text, definitions, &mut messages);
        }
    }
    Ok(messages)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), SchemasError> {
    let failed = |source| SchemasError::File {
        operation: "list",
        path: folder.to_owned(),
        source,
    };
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(failed)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            find(&path, files)?;
        } else if path.ends_with("generated.proto") {
            files.push(path);
        }
    }
    Ok(())
}

fn read(text: &str, definitions: &BTreeMap<String, Value>, messages: &mut BTreeMap<String, Value>) {
    let mut package = String::new();
    let mut open: Option<(String, Vec<Value>)> = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("package ") {
            name.trim_end_matches(';').clone_into(&mut package);
        } else if let Some(name) = line.strip_prefix("message ") {
            let name = format!("{}.{}", published(&package), name.trim_end_matches(" {"));
            open = Some((name, Vec::new()));
        } else if line == "}" {
            if let Some((name, fields)) = open.take()
                && wanted(&name, definitions)
            {
                messages.insert(name, fields.into());
            }
        } else if let Some((name, fields)) = &mut open
            && let Some(field) = field(line, name, &package, definitions)
        {
            fields.push(field);
        }
    }
}

/// Reports whether OpenAPI defines types of the message's package. Also returns true for messages
/// that OpenAPI defines as plain values, such as `Quantity`.
fn wanted(name: &str, definitions: &BTreeMap<String, Value>) -> bool {
    let package = name.rsplit_once('.').map_or("", |(package, _)| package);
    definitions.keys().any(|other| {
        other
            .rsplit_once('.')
            .is_some_and(|(other, _)| other == package)
    }) || name.ends_with(".IntOrString")
        || name.ends_with(".Quantity")
        || name.ends_with(".RawExtension")
}

fn field(
    line: &str,
    message: &str,
    package: &str,
    definitions: &BTreeMap<String, Value>,
) -> Option<Value> {
    let (declared, number) = line.trim_end_matches(';').split_once(" = ")?;
    let (kind, name) = declared.rsplit_once(' ')?;
    let (kind, many) = if let Some(kind) = kind.strip_prefix("repeated ") {
        (kind, "[]")
    } else if let Some(kind) = kind.strip_prefix("map<string, ") {
        (kind.trim_end_matches('>'), "{}")
    } else {
        (kind.strip_prefix("optional ")?, "")
    };
    let scalar = matches!(
        kind,
        "string" | "bool" | "int32" | "int64" | "bytes" | "double"
    );
    let kind = match kind.strip_prefix('.') {
        _ if scalar => kind.to_owned(),
        Some(absolute) => published(absolute),
        None => format!("{}.{kind}", published(package)),
    };
    // An inlined structure has no published property.
    let inline = !scalar
        && many.is_empty()
        && definitions
            .get(message)
            .and_then(|definition| definition.get("properties"))
            .is_some_and(|properties| properties.get(name).is_none());
    let name = if inline { "" } else { name };
    Some(json!([number.parse::<u32>().ok()?, name, kind, many]))
}

/// Returns the OpenAPI definition name of a Protobuf message.
fn published(name: &str) -> String {
    format!("io.{}", name.replace('_', "-")).replacen("io.k8s.io.", "io.k8s.", 1)
}
