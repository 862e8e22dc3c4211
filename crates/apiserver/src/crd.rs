//! CustomResourceDefinitions: conversion to [`Resource`]s, and validation.

mod names;
mod rules;
mod schemas;
mod served;
mod structural;
mod subresources;
mod validation;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::builtin;
use crate::json::{field, flag, list, text, texts};
use crate::resource::{GroupVersion, Origin, Resource, Scope};
use crate::schema::{Definition, Node, Reader, Shape, cel};
pub use names::{Names, accept};
pub(crate) use served::{is_readable, served_names};
use subresources::{columns, scale};
pub(crate) use validation::{validate, validate_update};

/// The reason why a CRD cannot be converted to resources. Validation rejects such a CRD before it
/// is stored.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The schema of a version cannot be parsed.
    #[error("cannot parse the schema of version {version}")]
    Schema {
        /// The name of the version.
        version: String,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
}

/// Returns the resources of a CRD's served versions, with the accepted names.
///
/// # Errors
///
/// See [`ReadError`].
pub fn resources(crd: &Value) -> Result<Vec<Resource>, ReadError> {
    let spec = field(crd, "spec");
    list(spec, "versions")
        .iter()
        .filter(|version| flag(version, "served"))
        .map(|version| Ok(resource(crd, spec, version, schema(version)?)))
        .collect()
}

/// Returns the resource of the storage version, even if the version is not served, so that stored
/// objects can be deleted. If the schema cannot be parsed, the resource allows all values.
pub(crate) fn stored_resource(crd: &Value) -> Option<Resource> {
    let spec = field(crd, "spec");
    let version = stored(spec)?;
    let schema = schema(version).unwrap_or_default();
    Some(resource(crd, spec, version, schema))
}

/// Returns the name of the storage version.
pub fn storage_version(crd: &Value) -> Option<&str> {
    stored(field(crd, "spec")).map(|version| text(version, "name"))
}

fn stored(spec: &Value) -> Option<&Value> {
    let mut versions = list(spec, "versions").iter();
    versions.find(|version| flag(version, "storage"))
}

fn resource(crd: &Value, spec: &Value, version: &Value, schema: Node) -> Resource {
    // Accepted names stay in use while new names are in conflict.
    let accepted = field(field(crd, "status"), "acceptedNames");
    let names = match text(accepted, "plural") {
        "" => field(spec, "names"),
        _ => accepted,
    };
    let owned = |name: &str| text(names, name).to_owned();
    let subresources = field(version, "subresources");
    Resource {
        group_version: GroupVersion {
            group: text(spec, "group").to_owned(),
            version: text(version, "name").to_owned(),
        },
        kind: owned("kind"),
        list_kind: match text(names, "listKind") {
            "" => format!("{}List", text(names, "kind")),
            list => list.to_owned(),
        },
        plural: owned("plural"),
        singular: match text(names, "singular") {
            "" => text(names, "kind").to_lowercase(),
            singular => singular.to_owned(),
        },
        short_names: texts(names, "shortNames").map(str::to_owned).collect(),
        categories: texts(names, "categories").map(str::to_owned).collect(),
        scope: match text(spec, "scope") {
            "Cluster" => Scope::Cluster,
            _ => Scope::Namespaced,
        },
        origin: Origin::Custom,
        // The verbs are in the order of apiextensions' discovery.
        verbs: vec![
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ],
        status: subresources.get("status").is_some(),
        scale: subresources.get("scale").map(scale),
        storage: flag(version, "storage"),
        schema: Arc::new(schema),
        columns: columns(version),
        selectable: list(version, "selectableFields")
            .iter()
            .map(|selectable| {
                text(selectable, "jsonPath")
                    .trim_start_matches('.')
                    .to_owned()
            })
            .collect(),
    }
}

/// Parses the schema of a version, and adds `apiVersion`, `kind` and `metadata`.
fn schema(version: &Value) -> Result<Node, ReadError> {
    let written = field(field(version, "schema"), "openAPIV3Schema");
    let mut node = read(written).map_err(|source| ReadError::Schema {
        version: text(version, "name").to_owned(),
        source,
    })?;
    if let Shape::Object { properties, .. } = &mut node.shape {
        let own = properties.remove("metadata");
        properties.insert("metadata".to_owned(), metadata(own.as_deref()));
        for name in ["apiVersion", "kind"] {
            properties.entry(name.to_owned()).or_insert_with(|| {
                Arc::new(Node {
                    shape: Shape::String {
                        format: String::new(),
                    },
                    ..Node::default()
                })
            });
        }
    }
    node.written = Some(Arc::new(written.clone()));
    node.cel = cel::Rules::compile(&node).map(Arc::new);
    Ok(node)
}

/// Parses the schema of a CRD.
pub(crate) fn read(written: &Value) -> Result<Node, serde_json::Error> {
    let definition: Definition = serde_json::from_value(written.clone())?;
    let mut node = Reader::alone().node(&definition);
    if matches!(node.shape, Shape::Any) && !node.preserve_unknown {
        node.shape = Shape::Object {
            properties: BTreeMap::new(),
            additional: None,
            required: Vec::new(),
            atomic: false,
        };
    }
    Ok(node)
}

/// Returns the schema of `ObjectMeta`, with the CRD's limits on `name` and `generateName`.
fn metadata(own: Option<&Node>) -> Arc<Node> {
    let published = builtin::object_meta();
    let bounds: Vec<(&str, _)> = ["name", "generateName"]
        .into_iter()
        .filter_map(|name| Some((name, own?.field(name)?.limits.clone()?)))
        .collect();
    if bounds.is_empty() {
        return published;
    }
    let mut node = (*published).clone();
    if let Shape::Object { properties, .. } = &mut node.shape {
        for (name, limits) in bounds {
            if let Some(field) = properties.get_mut(name) {
                Arc::make_mut(field).limits = Some(limits);
            }
        }
    }
    Arc::new(node)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::resources;
    use crate::resource::Resource;
    use crate::resource::WriteTarget;
    use crate::schema::findings::Findings;

    /// Returns a CRD that uses most features.
    pub(crate) fn widgets() -> Value {
        serde_json::from_str(include_str!("crd/widgets.json")).unwrap()
    }

    fn widget() -> Resource {
        resources(&widgets()).unwrap().remove(0)
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass a temporary value"
    )]
    fn object(spec: Value) -> Value {
        json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "spec": spec,
            "metadata": {"name": "w", "namespace": "default"},
        })
    }

    fn told(resource: &Resource, object: &Value) -> Vec<String> {
        let found = resource.validate_create(object);
        found.iter().map(ToString::to_string).collect()
    }

    // kube-apiserver 1.36.3 returns these messages for the same objects.

    #[test]
    fn custom_object_validation_errors_match_kube_apiserver() {
        let wrong = object(json!({
            "size": 0, "color": "green", "choice": {}, "when": "x",
            "ports": [{"name": "abcdefgh", "port": 1.5}, {"port": 3}],
            "labels": {"a": 1, "b": "2", "c": "x"},
        }));
        let mut found = told(&widget(), &wrong);
        found.sort();
        let mut expected = [
            "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
            "spec.when: Invalid value: \"x\": spec.when in body must be of type date-time: \"x\"",
            "<nil>: Invalid value: \"\": \"spec.choice\" must validate one and only one schema \
             (oneOf). Found none valid",
            "spec.choice.a: Required value",
            "spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\"",
            "spec.labels: Too many: 3: must have at most 2 items",
            "spec.labels.a: Invalid value: \"integer\": spec.labels.a in body must be of type \
             string: \"integer\"",
            "spec.ports[0].name: Too long: may not be more than 5 bytes",
            "spec.ports[0].port: Invalid value: \"number\": spec.ports[0].port in body must be of \
             type integer,string: \"number\"",
            "spec.ports[1].name: Required value",
            "<nil>: Invalid value: null: some validation rules were not checked because the \
             object was invalid; correct the existing errors to complete validation",
        ];
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn string_in_replicas_field_returns_a_scale_accessor_error() {
        let found = told(&widget(), &object(json!({"size": "5"})));
        assert!(
            found.contains(
                &".spec.size: Invalid value: 0: .spec.size accessor error: 5 is of the type \
                  string, expected int64"
                    .to_owned()
            ),
            "{found:?}"
        );
    }

    #[test]
    fn cel_rules_run_only_on_otherwise_valid_objects() {
        let found = told(&widget(), &object(json!({"size": 7})));
        assert_eq!(found, ["spec: Invalid value: seven is right out"]);
        let (old, new) = (object(json!({"size": 5})), object(json!({"size": 4})));
        let found = widget().validate_update(&new, &old, WriteTarget::Object);
        assert_eq!(found[0].to_string(), "spec: Invalid value: may not shrink");
        let twice = json!({"size": 5, "ports": [{"name": "a"}, {"name": "a"}]});
        let found = told(&widget(), &object(twice));
        assert_eq!(found[0], "spec.ports[1]: Duplicate value: {\"name\":\"a\"}");
    }

    #[test]
    fn unknown_fields_are_removed_and_reported_with_metadata_fields_first() {
        let mut object = object(json!({
            "size": 5, "bogus": 1, "color": null, "free": {"x": {"y": 1}},
            "ports": [{"name": "a", "u": 1}],
        }));
        object["bog"] = 2.into();
        object["metadata"]["extra"] = 1.into();
        let widget = widget();
        let findings = widget.read(&mut object).unwrap();
        assert_eq!(
            findings,
            [
                "unknown field \"metadata.extra\"",
                "unknown field \"bog\"",
                "unknown field \"spec.bogus\"",
                "unknown field \"spec.ports[0].u\"",
            ]
        );
        widget.fill(&mut object);
        assert_eq!(
            object["spec"],
            json!({"size": 5, "color": "red", "free": {"x": {"y": 1}}, "ports": [{"name": "a"}]})
        );
    }

    #[test]
    fn spec_change_increments_generation_and_status_is_written_only_through_its_subresource() {
        let widget = widget();
        let mut old = object(json!({"size": 5}));
        old["status"] = json!({"phase": "New"});
        widget.prepare_create(&mut old);
        assert_eq!(old["metadata"]["generation"], 1);
        assert_eq!(old.get("status"), None);
        let mut new = old.clone();
        new["spec"]["size"] = 6.into();
        new["status"] = json!({"phase": "Mine"});
        widget.prepare_update(&mut new, &old, WriteTarget::Object);
        assert_eq!(
            (&new["metadata"]["generation"], new.get("status")),
            (&json!(2), None)
        );
        let mut reported = new.clone();
        reported["spec"]["size"] = 9.into();
        reported["status"] = json!({"phase": "Ready"});
        widget.prepare_update(&mut reported, &new, WriteTarget::Status);
        assert_eq!(reported["spec"]["size"], 6);
        assert_eq!(reported["status"]["phase"], "Ready");
        assert_eq!(reported["metadata"]["generation"], 2);
    }

    fn wrong(definition: &Value) -> Vec<String> {
        let mut found = Findings::default();
        super::validate(definition, &mut found);
        found.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn crd_errors_have_field_paths() {
        let mut definition = widgets();
        let resource = crate::builtin::catalog(crate::builtin::Kinds::Cluster);
        let resource = resource
            .find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
            .unwrap();
        resource.read(&mut definition).unwrap();
        resource.fill(&mut definition);
        assert_eq!(wrong(&definition), Vec::<String>::new());
        definition["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
            "clientConfig": {"url": "https://convert.example.com"},
            "conversionReviewVersions": ["v1"],
        }});
        let spec = &mut definition["spec"]["versions"][1];
        spec["schema"]["openAPIV3Schema"] = json!({"type": "object", "properties": {
            "spec": {"properties": {"a": {"type": "string", "default": 1}}},
            "bad": {"type": "string", "x-kubernetes-validations": [{"rule": "self ++"}]},
        }});
        let found = wrong(&definition);
        let has = |start: &str| found.iter().any(|message| message.starts_with(start));
        let at = "spec.versions[1].schema.openAPIV3Schema";
        assert!(
            has(&format!(
                "{at}.properties[spec].type: Required value: must not be empty for specified \
                 object fields"
            )),
            "{found:?}"
        );
        assert!(has(
            "spec.conversion.strategy: Unsupported value: \"Webhook\": supported values: \"None\""
        ));
    }

    #[test]
    fn crd_with_names_used_by_another_crd_is_not_accepted() {
        let mut taken = widgets();
        taken["metadata"]["name"] = "gadgets.example.com".into();
        taken["status"]["acceptedNames"] =
            json!({"plural": "gadgets", "singular": "gadget", "kind": "Widget", "listKind": "L"});
        let names = super::accept(&widgets(), [&taken]);
        assert!(!names.all_accepted());
        assert_eq!(names.condition["reason"], "KindConflict");
        assert_eq!(names.condition["message"], "\"Widget\" is already in use");
        assert_eq!(names.accepted["plural"], "widgets");
        assert!(super::accept(&widgets(), []).all_accepted());
    }
}
