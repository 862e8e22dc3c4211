//! Reads the published OpenAPI and discovery documents, and removes unserved resources.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::{SERVED, SchemasError, Served, read_json};

const REFERENCE: &str = "#/components/schemas/";

/// The published documents of one API group version.
pub(super) struct Document {
    /// The OpenAPI definitions of the version's paths and kinds.
    pub(super) definitions: BTreeMap<String, Value>,
    /// The paths of the version.
    pub(super) paths: BTreeMap<String, Value>,
}

/// Reads a version from the published OpenAPI v3 documents.
pub(super) fn read(kubernetes: &Path, served: &Served) -> Result<Document, SchemasError> {
    let name = format!("{}_openapi.json", served.root().replace('/', "__"));
    let mut document = read_json(&kubernetes.join("api/openapi-spec/v3").join(&name))?;
    let schemas = take(&mut document, "/components/schemas", &name)?;
    let mut paths = BTreeMap::new();
    let mut expected = Vec::new();
    for (path, mut item) in take(&mut document, "/paths", &name)? {
        if is_served(&path, served) {
            drop_binary_media(&mut item);
            references(&item, &mut expected);
            paths.insert(path, item);
        }
    }
    let mut definitions = BTreeMap::new();
    while let Some(name) = expected.pop() {
        if definitions.contains_key(&name) {
            continue;
        }
        let schema = schemas.get(&name).ok_or_else(|| SchemasError::Lacks {
            document: served.root(),
            element: name.clone(),
        })?;
        references(schema, &mut expected);
        definitions.insert(name, schema.clone());
    }
    Ok(Document { definitions, paths })
}

/// Returns the published discovery documents: the resource list of each version. Omits unserved
/// resources.
pub(super) fn discovery(kubernetes: &Path) -> Result<BTreeMap<String, Value>, SchemasError> {
    let mut lists = BTreeMap::new();
    for served in SERVED {
        let name = format!("{}.json", served.root().replace('/', "__"));
        let mut list = read_json(&kubernetes.join("api/discovery").join(&name))?;
        let resources = list
            .get_mut("resources")
            .and_then(Value::as_array_mut)
            .ok_or_else(|| SchemasError::Lacks {
                document: name,
                element: "resources".to_owned(),
            })?;
        resources.retain(|resource| {
            let name = resource.get("name").and_then(Value::as_str);
            name.is_some_and(|name| served.resources.contains(&name))
        });
        lists.insert(served.root(), list);
    }
    Ok(lists)
}

fn take(
    document: &mut Value,
    pointer: &str,
    name: &str,
) -> Result<Map<String, Value>, SchemasError> {
    match document.pointer_mut(pointer).map(Value::take) {
        Some(Value::Object(map)) => Ok(map),
        _ => Err(SchemasError::Lacks {
            document: name.to_owned(),
            element: pointer.to_owned(),
        }),
    }
}

/// Reports whether a path is the path of a served resource. The deprecated `watch/` paths are not
/// served.
fn is_served(path: &str, served: &Served) -> bool {
    let root = format!("/{}/", served.root());
    let Some(rest) = path.strip_prefix(&root) else {
        return false;
    };
    if rest.is_empty() {
        return true;
    }
    let rest = match rest.strip_prefix("namespaces/{namespace}/") {
        Some(inside) => inside,
        None => rest,
    };
    let named: Vec<&str> = rest.split('/').filter(|part| *part != "{name}").collect();
    served.resources.contains(&named.join("/").as_str())
}

/// Removes all content types except JSON.
fn drop_binary_media(item: &mut Value) {
    match item {
        Value::Object(map) => {
            map.retain(|key, _| {
                !key.starts_with("application/cbor")
                    && !key.starts_with("application/vnd.kubernetes.protobuf")
                    && key != "application/apply-patch+cbor"
            });
            map.values_mut().for_each(drop_binary_media);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_binary_media),
        _ => {}
    }
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str().and_then(|text| text.strip_prefix(REFERENCE)) {
                    Some(name) if key == "$ref" => found.push(name.to_owned()),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}
