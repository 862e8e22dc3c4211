//! The selected objects of a list, watch or deletecollection.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::builtin::selected_field;
use crate::resource::{Origin, Resource, Scope};
use crate::select::{FieldSelector, LabelSelector};
use crate::serve::input::options::ListOptions;
use crate::serve::shared::Target;
use crate::status::ApiError;
use crate::store::Stored;

/// The selectors of a request, and the key prefix of possible objects.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    resource: Arc<Resource>,
    labels: LabelSelector,
    fields: FieldSelector,
    /// The key prefix of the selected objects.
    pub(crate) prefix: String,
    /// The key of the object, if only one object is possible.
    pub(crate) only: Option<String>,
}

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

impl Selection {
    /// Creates the selection for a target and its options.
    ///
    /// # Errors
    ///
    /// Returns 400 for malformed selectors or unsupported fields.
    pub(crate) fn of(target: &Target, options: &ListOptions) -> Result<Self, ApiError> {
        let labels: LabelSelector = options
            .label_selector
            .parse()
            .map_err(|error| ApiError::bad_request(format!("{error}")))?;
        let fields: FieldSelector = options
            .field_selector
            .parse()
            .map_err(|error| ApiError::bad_request(format!("{error}")))?;
        check_fields(target, &fields)?;
        let namespace = match target.namespace.as_str() {
            "" => fields.exact(NAMESPACE).unwrap_or_default(),
            namespace => namespace,
        };
        let name = match target.name.as_str() {
            "" => fields.exact(NAME).unwrap_or_default(),
            name => name,
        };
        if !target.name.is_empty()
            && !fields.is_everything()
            && fields.exact(NAME) != Some(target.name.as_str())
        {
            return Err(ApiError::bad_request(
                "fieldSelector metadata.name doesn't match requested name",
            ));
        }
        let resource = &target.resource;
        let (prefix, only) = match resource.scope {
            Scope::Cluster => (
                // The prefix has an empty namespace, so that continue tokens contain the bare name
                // as in kube-apiserver.
                resource.prefix(Some("")),
                keyed(name, || resource.key("", name)),
            ),
            Scope::Namespaced if namespace.is_empty() => (resource.prefix(None), None),
            Scope::Namespaced => (
                resource.prefix(Some(namespace)),
                keyed(name, || resource.key(namespace, name)),
            ),
        };
        Ok(Self {
            resource: Arc::clone(resource),
            labels,
            fields,
            prefix,
            only,
        })
    }

    /// Reports whether all objects below the prefix are selected.
    pub(crate) fn is_everything(&self) -> bool {
        self.only.is_none() && self.labels.is_everything() && self.fields.is_everything()
    }

    /// Reports whether an object is selected.
    ///
    /// # Errors
    ///
    /// Fails if the stored bytes are malformed.
    pub(crate) fn matches(&self, stored: &Stored) -> Result<bool, ApiError> {
        if self.only.as_ref().is_some_and(|key| **key != *stored.key) {
            return Ok(false);
        }
        if self.fields.is_everything() {
            return self.matches_labels(stored);
        }
        let object = stored.object().map_err(ApiError::internal)?;
        Ok(self.labels.matches_object(&object) && self.matches_fields(&object))
    }

    /// Reports whether the labels match the selector, without parsing the whole object.
    fn matches_labels(&self, stored: &Stored) -> Result<bool, ApiError> {
        if self.labels.is_everything() {
            return Ok(true);
        }
        let head: Head = serde_json::from_slice(&stored.value).map_err(ApiError::internal)?;
        let labels = head.metadata.labels.unwrap_or_default();
        Ok(self.labels.matches(&labels))
    }

    fn matches_fields(&self, object: &Value) -> bool {
        self.fields.matches(|path| {
            let path = path.trim_start_matches('.');
            Some(selected_field(&self.resource, object, path).into())
        })
    }
}

fn keyed(name: &str, key: impl FnOnce() -> String) -> Option<String> {
    (!name.is_empty()).then(key)
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    metadata: Labels,
}

#[derive(Default, Deserialize)]
struct Labels {
    labels: Option<Map<String, Value>>,
}

fn check_fields(target: &Target, fields: &FieldSelector) -> Result<(), ApiError> {
    let resource = &target.resource;
    for term in fields.terms() {
        let known = matches!(term.field.as_str(), NAME | NAMESPACE)
            || resource.selectable.contains(&term.field);
        if known {
            continue;
        }
        let plain = resource.origin == Origin::BuiltIn && resource.selectable.is_empty();
        return Err(ApiError::bad_request(if plain {
            format!(
                "{:?} is not a known field selector: only {NAME:?}, {NAMESPACE:?}",
                term.field
            )
        } else {
            format!("field label not supported: {}", term.field)
        }));
    }
    Ok(())
}
