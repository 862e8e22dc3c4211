//! The properties of a kind that affect merges.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::path::Path;
use super::set::Set;
use super::typed::Type;
use crate::resource::{Origin, Resource};
use crate::schema::{FieldEncoding, Node, Shape};

/// A kind in the version of a request.
#[derive(Debug, Clone)]
pub struct MergeKind {
    /// The version of the request's field paths, such as `apps/v1`.
    pub api_version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The origin of the kind: built-in or custom.
    pub origin: Origin,
    /// The schema of the kind in this version.
    pub schema: Arc<Node>,
    /// Fields that the endpoint resets. A request never owns these fields.
    pub reset: Set,
    /// The schemas of all versions by `apiVersion`. A merge drops managers of unknown versions.
    /// Objects have equal fields in all versions, because the server calls no conversion webhooks.
    pub versions: BTreeMap<String, Arc<Node>>,
    /// The subresource of the request. Empty for the object itself.
    pub subresource: String,
}

impl MergeKind {
    /// Creates the merge properties of a resource at an endpoint. `versions` are all versions of
    /// the resource, including the version of `resource`.
    pub fn new<'r>(
        resource: &Resource,
        subresource: &str,
        versions: impl IntoIterator<Item = &'r Resource>,
    ) -> Self {
        let api_version = resource.group_version.to_string();
        let mut versions: BTreeMap<String, Arc<Node>> = versions
            .into_iter()
            .map(|other| (other.group_version.to_string(), Arc::clone(&other.schema)))
            .collect();
        versions.insert(api_version.clone(), Arc::clone(&resource.schema));
        Self {
            api_version,
            kind: resource.kind.clone(),
            origin: resource.origin,
            schema: Arc::clone(&resource.schema),
            reset: resource.reset_fields(subresource),
            versions,
            subresource: subresource.to_owned(),
        }
    }

    /// Creates the merge properties of a built-in kind without a resource, such as Scale, at an
    /// endpoint.
    pub fn of_schema(api_version: &str, kind: &str, schema: Arc<Node>, subresource: &str) -> Self {
        Self {
            versions: BTreeMap::from([(api_version.to_owned(), Arc::clone(&schema))]),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            origin: Origin::BuiltIn,
            schema,
            reset: Set::default(),
            subresource: subresource.to_owned(),
        }
    }

    pub(super) fn ty(&self) -> Type<'_> {
        Type::root(&self.schema)
    }

    /// Returns the type in the version `api_version`, or `None` if this version does not exist.
    pub(super) fn ty_at(&self, api_version: &str) -> Option<Type<'_>> {
        self.versions.get(api_version).map(|node| Type::root(node))
    }

    /// Returns the name of an object as in Go's error messages.
    pub(super) fn name_of(&self, object: &Value) -> String {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or("");
        format!(
            "{}/{}; {}",
            text("namespace"),
            text("name"),
            go_kind(&self.api_version, &self.kind)
        )
    }

    /// Returns the empty object that a create request is merged into. A new Go struct already
    /// contains its nested structs, so no manager owns these structs.
    pub(super) fn nothing(&self) -> Value {
        let mut object = match self.origin {
            Origin::BuiltIn => zero(&self.schema),
            Origin::Custom => Map::new(),
        };
        object.insert("apiVersion".to_owned(), self.api_version.as_str().into());
        object.insert("kind".to_owned(), self.kind.as_str().into());
        Value::Object(object)
    }
}

/// Formats group, version and kind as Go prints them.
pub(super) fn go_kind(api_version: &str, kind: &str) -> String {
    let separator = if api_version.contains('/') { "" } else { "/" };
    format!("{separator}{api_version}, Kind={kind}")
}

/// Returns the zero value of a Go struct.
fn zero(node: &Node) -> Map<String, Value> {
    let (Shape::Object { properties, .. }, Some(go)) = (&node.shape, &node.go) else {
        return Map::new();
    };
    go.fields
        .iter()
        .filter_map(|(name, written)| {
            let FieldEncoding::Always(value) = written else {
                return None;
            };
            let value = match (value, properties.get(name)) {
                (Value::Object(_), Some(node)) => Value::Object(zero(node)),
                (value, _) => value.clone(),
            };
            Some((name.clone(), value))
        })
        .collect()
}

impl Resource {
    /// Returns the fields that an endpoint resets. Requests to the endpoint never own these fields.
    /// `subresource` is empty for the object itself.
    ///
    /// See `GetResetFields` of kube-apiserver's strategies.
    pub fn reset_fields(&self, subresource: &str) -> Set {
        let set = |paths: &[&[&str]]| Set::of(paths.iter().map(|names| Path::fields(names)));
        let group = self.group_version.group.as_str();
        let certificate = group == "certificates.k8s.io";
        match subresource {
            "" if certificate => set(&[&["spec"], &["status"]]),
            "" | "finalize" if self.status => set(&[&["status"]]),
            "approval" if certificate => set(&[&["spec"], &["status", "certificate"]]),
            "status" if certificate => set(&[&["spec"], &["status", "conditions"]]),
            "status" if self.origin == Origin::Custom => set(&[&["metadata"], &["spec"]]),
            "status" => match (group, self.kind.as_str()) {
                ("", "Pod") => set(&[
                    &["spec"],
                    &["metadata", "deletionTimestamp"],
                    &["metadata", "ownerReferences"],
                ]),
                ("apps", "Deployment") => set(&[&["spec"], &["metadata", "labels"]]),
                (
                    "flowcontrol.apiserver.k8s.io"
                    | "apiregistration.k8s.io"
                    | "admissionregistration.k8s.io",
                    _,
                )
                | ("networking.k8s.io", "ServiceCIDR")
                | ("storage.k8s.io", "VolumeAttachment") => set(&[&["metadata"], &["spec"]]),
                _ => set(&[&["spec"]]),
            },
            _ => Set::default(),
        }
    }
}
