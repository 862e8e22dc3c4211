//! The OpenAPI document of a custom group and version.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{REFERENCE, built_in, entries};
use crate::builtin;
use crate::json::{field, flag, text};
use crate::resource::{Resource, Scope};

const API: &str = "/apis/apps/v1/";
const TYPE_META: [(&str, &str); 2] = [
    (
        "apiVersion",
        "APIVersion defines the versioned schema of this representation of an object. Servers \
         should convert recognized schemas to the latest internal value, and may reject \
         unrecognized values. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    ),
    (
        "kind",
        "Kind is a string value representing the REST resource this object represents. Servers \
         may infer this from the endpoint the client submits requests to. Cannot be updated. In \
         CamelCase. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
    ),
];

pub(super) fn document(resources: &[&Arc<Resource>]) -> Vec<u8> {
    let mut paths = Vec::new();
    let mut own = BTreeMap::new();
    for resource in resources {
        paths.extend(custom_paths(resource));
        let (one, list) = schemas(resource);
        let name = definition_name(resource);
        own.insert(format!("{name}List"), list.to_string());
        own.insert(name, one.to_string());
    }
    paths.sort();
    let paths: Vec<(&str, &str)> = paths
        .iter()
        .map(|(path, item)| (path.as_str(), item.as_str()))
        .collect();
    built_in(&paths, &own)
}

/// Returns the name of a definition, such as `com.example.v1.Widget`.
fn definition_name(resource: &Resource) -> String {
    let gv = &resource.group_version;
    let mut group: Vec<&str> = gv.group.split('.').collect();
    group.reverse();
    format!("{}.{}.{}", group.join("."), gv.version, resource.kind)
}

/// Returns the paths of a custom resource. The paths have the form of the published paths of
/// Deployment, as in apiextensions.
fn custom_paths(resource: &Resource) -> Vec<(String, String)> {
    let lines = builtin::PATHS
        .iter()
        .find(|(path, _)| *path == "apis/apps/v1")
        .map_or("", |(_, lines)| lines);
    let has = |subresource: &str| match subresource {
        "status" => resource.status,
        "scale" => resource.scale.is_some(),
        _ => subresource.is_empty(),
    };
    let cluster = resource.scope == Scope::Cluster;
    entries(lines)
        .filter_map(|(path, item)| {
            let rest = path.strip_prefix(API)?;
            let in_namespace = rest.strip_prefix("namespaces/{namespace}/");
            let tail = in_namespace.unwrap_or(rest).strip_prefix("deployments")?;
            let subresource = tail.strip_prefix("/{name}").unwrap_or(tail);
            if !has(subresource.trim_start_matches('/')) || cluster && in_namespace.is_none() {
                return None;
            }
            let mut path = renamed(path, resource);
            let mut item = renamed(item, resource);
            if cluster {
                path = path.replace("namespaces/{namespace}/", "");
                item = item.replace("Namespaced", "");
            }
            Some((path, cut(&item, cluster)))
        })
        .collect()
}

fn renamed(text: &str, resource: &Resource) -> String {
    let gv = &resource.group_version;
    let words: Vec<&str> = gv.group.split(['.', '-']).collect();
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| {
            first.to_uppercase().chain(letters).collect()
        })
    };
    let camel: String = words.iter().map(|word| capital(word)).collect();
    let first = words.first().copied().unwrap_or_default();
    let lower = format!("{first}{}", &camel[first.len().min(camel.len())..]);
    text.replace("io.k8s.api.apps.v1.Deployment", &definition_name(resource))
        .replace(API, &format!("/apis/{gv}/"))
        .replace(
            "{\"group\":\"apps\",\"kind\":\"Deployment\",\"version\":\"v1\"}",
            &json!({"group": gv.group, "kind": resource.kind, "version": gv.version}).to_string(),
        )
        .replace("apps_v1", &format!("{lower}_{}", gv.version))
        .replace("AppsV1", &format!("{camel}{}", capital(&gv.version)))
        .replace("deployments", &resource.plural)
        .replace("Deployment", &resource.kind)
}

/// Removes strategic merge patches from an OpenAPI path, because custom resources do not support
/// this type of patch. For cluster-scoped resources, also removes the namespace.
fn cut(item: &str, cluster: bool) -> String {
    let Ok(mut item) = serde_json::from_str::<Value>(item) else {
        return item.to_owned();
    };
    if let Some(patches) = item
        .pointer_mut("/patch/requestBody/content")
        .and_then(Value::as_object_mut)
    {
        patches.remove("application/strategic-merge-patch+json");
    }
    let parameters = item.get_mut("parameters").and_then(Value::as_array_mut);
    if let Some(parameters) = parameters.filter(|_| cluster) {
        parameters.retain(|parameter| text(parameter, "name") != "namespace");
    }
    item.to_string()
}

/// Returns the definitions of a custom kind and of its list kind.
fn schemas(resource: &Resource) -> (Value, Value) {
    let gv = &resource.group_version;
    let kind = |kind: &str| json!([{"group": gv.group, "kind": kind, "version": gv.version}]);
    let mut one = match &resource.schema.written {
        Some(written) => published(written),
        None => json!({"type": "object"}),
    };
    one["x-kubernetes-group-version-kind"] = kind(&resource.kind);
    if field(&one, "properties").is_null() {
        one["properties"] = json!({});
    }
    for (name, description) in TYPE_META {
        one["properties"][name] = json!({"type": "string", "description": description});
    }
    one["properties"]["metadata"] = metadata(
        "ObjectMeta",
        "Standard object's metadata. More info: \
        https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    );
    let mut list = json!({
        "type": "object", "required": ["items"],
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "properties": {
            "items": {
                "type": "array", "items": {"$ref": format!("{REFERENCE}{}", definition_name(resource))},
                "description": format!("List of {}. More info: \
                    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
                    resource.plural),
            },
            "metadata": metadata("ListMeta", "Standard list metadata. More info: \
                https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"),
        },
        "x-kubernetes-group-version-kind": kind(&resource.list_kind),
    });
    for (name, description) in TYPE_META {
        list["properties"][name] = json!({"type": "string", "description": description});
    }
    if !resource.selectable.is_empty() {
        let fields: Vec<Value> = resource
            .selectable
            .iter()
            .map(|path| json!({"fieldPath": path}))
            .collect();
        for schema in [&mut one, &mut list] {
            schema["x-kubernetes-selectable-fields"] = fields.clone().into();
        }
    }
    (one, list)
}

fn metadata(definition: &str, description: &str) -> Value {
    let reference = format!("{REFERENCE}io.k8s.apimachinery.pkg.apis.meta.v1.{definition}");
    json!({"allOf": [{"$ref": reference}], "description": description})
}

/// Converts the schema of a CRD: int-or-string becomes `anyOf`.
fn published(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if flag(&schema, "x-kubernetes-int-or-string") && field(&schema, "anyOf").is_null() {
        schema["anyOf"] = json!([{"type": "integer"}, {"type": "string"}]);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(name).filter(|inner| inner.is_object()) {
            schema[name] = published(inner);
        }
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for property in properties.values_mut() {
            *property = published(property);
        }
    }
    schema
}
