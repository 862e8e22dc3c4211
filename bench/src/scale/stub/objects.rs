//! The stored objects of the stub, by path.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::{Map, Value, json};

/// The reason why the stub rejects a write.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The object does not exist.
    #[error("object not found")]
    Missing,
    /// An object with this name exists.
    #[error("an object with this name exists")]
    Exists,
    /// The value is not a supported object.
    #[error("the value is not an object with a supported kind and a name")]
    NoObject,
    /// The method is not supported.
    #[error("the stub does not support this method")]
    Method,
}

impl Refused {
    pub(super) const fn code(&self) -> StatusCode {
        match self {
            Self::Missing => StatusCode::NOT_FOUND,
            Self::Exists => StatusCode::CONFLICT,
            Self::NoObject => StatusCode::BAD_REQUEST,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
        }
    }

    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::Missing => "NotFound",
            Self::Exists => "AlreadyExists",
            Self::NoObject => "BadRequest",
            Self::Method => "MethodNotAllowed",
        }
    }
}

/// Returns the path of an object of a manifest.
pub(super) fn path_of(object: &Value) -> Result<String, Refused> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(Refused::NoObject);
    let (kind, name) = (text(&object["kind"])?, text(&object["metadata"]["name"])?);
    if kind == "Namespace" {
        return Ok(format!("/api/v1/namespaces/{name}"));
    }
    let namespace = text(&object["metadata"]["namespace"])?;
    let plural = match kind.as_str() {
        "Secret" => "secrets",
        "ConfigMap" => "configmaps",
        "ServiceAccount" => "serviceaccounts",
        _ => return Err(Refused::NoObject),
    };
    Ok(format!("/api/v1/namespaces/{namespace}/{plural}/{name}"))
}

/// Returns true if the path identifies a collection of objects.
pub(super) fn is_list(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    let rest: Vec<&str> = match parts.next() {
        Some("api") => parts.skip(1).collect(),
        Some("apis") => parts.skip(2).collect(),
        _ => return false,
    };
    matches!(rest.as_slice(), ["namespaces", _, _] | [_])
}

#[derive(Default)]
pub(super) struct Objects {
    kept: Mutex<HashMap<String, Value>>,
    version: AtomicU64,
}

impl Objects {
    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<String, Value>> {
        // Each change is a single insertion, so the value of a poisoned lock is consistent.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the metadata fields that an API server sets.
    pub(super) fn stamped(&self, mut object: Value) -> Value {
        let version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
        if !object.is_object() {
            object = json!({});
        }
        take_text(&mut object);
        let metadata = &mut object["metadata"];
        if metadata["uid"].is_null() {
            metadata["uid"] = json!(format!("stub-{version}"));
        }
        metadata["resourceVersion"] = json!(version.to_string());
        object
    }

    pub(super) fn get(&self, path: &str) -> Option<Value> {
        self.kept().get(path).cloned()
    }

    /// Returns the objects of a collection.
    pub(super) fn list(&self, path: &str) -> Vec<Value> {
        let kept = self.kept();
        let items = kept.iter().filter(|(item, _)| {
            let item = item.rsplit_once('/');
            item.is_some_and(|(collection, _)| collection == path)
        });
        items.map(|(_, object)| object.clone()).collect()
    }

    pub(super) fn put(&self, path: &str, object: Value) -> Result<Value, Refused> {
        if !object.is_object() {
            return Err(Refused::NoObject);
        }
        let object = self.stamped(object);
        self.kept().insert(path.to_owned(), object.clone());
        Ok(object)
    }

    pub(super) fn create(&self, list: &str, object: Value) -> Result<Value, Refused> {
        let name = object["metadata"]["name"].as_str();
        let path = format!("{list}/{}", name.ok_or(Refused::NoObject)?);
        let object = self.stamped(object);
        match self.kept().entry(path) {
            std::collections::hash_map::Entry::Occupied(_) => Err(Refused::Exists),
            std::collections::hash_map::Entry::Vacant(free) => Ok(free.insert(object).clone()),
        }
    }

    pub(super) fn merge(&self, path: &str, changes: &Value) -> Result<Value, Refused> {
        let mut kept = self.kept();
        let object = kept.get_mut(path).ok_or(Refused::Missing)?;
        merge(object, changes);
        *object = self.stamped(object.take());
        Ok(object.clone())
    }

    pub(super) fn delete(&self, path: &str) -> Value {
        self.kept().remove(path);
        json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})
    }
}

/// Applies a JSON merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Converts `stringData` of a Secret to `data`.
fn take_text(object: &mut Value) {
    let Some(text) = object
        .as_object_mut()
        .and_then(|object| object.remove("stringData"))
    else {
        return;
    };
    for (key, value) in text.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        object["data"][key] = json!(STANDARD.encode(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_lists_and_paths_of_objects_are_distinguished() {
        for (path, list) in [
            ("/api/v1/nodes", true),
            ("/api/v1/nodes/a", false),
            ("/api/v1/namespaces", true),
            ("/api/v1/namespaces/a", false),
            ("/api/v1/namespaces/a/secrets", true),
            ("/api/v1/namespaces/a/secrets/b", false),
            ("/apis/apps/v1/namespaces/a/deployments/b", false),
            ("/apis/rbac.authorization.k8s.io/v1/clusterroles", true),
            ("/apis/metrics.k8s.io/v1beta1/nodes", true),
            ("/metrics", false),
        ] {
            assert_eq!(is_list(path), list, "{path}");
        }
    }
}
