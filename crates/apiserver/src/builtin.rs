//! Built-in kinds. `cargo xtask apiserver-schemas` writes the published schemas and discovery
//! documents to `schemas/`. The submodules contain defaults and validation that Kubernetes
//! implements in Go.

pub(crate) mod admission;
pub(crate) mod apps;
pub(crate) mod autoscaling;
pub(crate) mod batch;
pub(crate) mod certificates;
pub(crate) mod core;
pub(crate) mod discovery;
pub(crate) mod metadata;
pub(crate) mod networking;
pub(crate) mod pod;
pub(crate) mod policy;
mod published;
pub(crate) mod rbac;
pub mod service;
pub(crate) mod storage;

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::resource::{Catalog, GroupVersion, Origin, Resource, ScalePaths, Scope};
use crate::schema::Node;
pub(crate) use published::{
    ApiResource, DEFINITIONS, PATHS, Published, committed_columns, published,
};

/// The built-in kinds that a server serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kinds {
    /// Kinds for state and access: Namespaces, ConfigMaps, Secrets, ServiceAccounts, Events,
    /// Leases, RBAC, CRDs and reviews. Workload kinds such as Pods are unknown resources of this
    /// server, so their paths return 404.
    #[default]
    Hub,
    /// All kinds with a schema, workloads included. The server stores, defaults and validates
    /// objects. The embedding program runs the controllers.
    Cluster,
}

/// Returns the built-in resources with their schemas.
pub fn catalog(kinds: Kinds) -> Catalog {
    match kinds {
        Kinds::Hub => HUB.clone(),
        Kinds::Cluster => CLUSTER.clone(),
    }
}

static HUB: LazyLock<Catalog> = LazyLock::new(|| {
    let all = CLUSTER.iter();
    Catalog::new(all.filter(|resource| is_of_hub(resource)).cloned())
});

static CLUSTER: LazyLock<Catalog> = LazyLock::new(|| {
    let published = published();
    Catalog::new(published.lists.iter().flat_map(|list| {
        list.resources
            .iter()
            .filter(|resource| !resource.name.contains('/'))
            .map(|resource| Arc::new(served(published, list, resource)))
    }))
});

/// Reports whether [`Kinds::Hub`] contains the resource.
fn is_of_hub(resource: &Resource) -> bool {
    matches!(
        (
            resource.group_version.group.as_str(),
            resource.plural.as_str()
        ),
        (
            "",
            "configmaps" | "events" | "namespaces" | "secrets" | "serviceaccounts"
        ) | (
            "apiextensions.k8s.io"
                | "authentication.k8s.io"
                | "authorization.k8s.io"
                | "coordination.k8s.io"
                | "events.k8s.io"
                | "rbac.authorization.k8s.io",
            _
        )
    )
}

/// Returns the schema of `metadata`.
pub fn object_meta() -> Arc<Node> {
    published().node("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
}

/// Returns the schema of a kind without a resource, such as `autoscaling/v1` `Scale`, `policy/v1`
/// `Eviction` and `meta/v1` `DeleteOptions`.
pub fn kind(group: &str, version: &str, kind: &str) -> Option<Arc<Node>> {
    published().kind(group, version, kind)
}

fn served(published: &Published, list: &published::List, resource: &ApiResource) -> Resource {
    let (group, version) = list.group_version();
    let has = |subresource: &str| {
        let name = format!("{}/{subresource}", resource.name);
        list.resources.iter().any(|other| other.name == name)
    };
    let group_version = GroupVersion {
        group: group.to_owned(),
        version: version.to_owned(),
    };
    Resource {
        kind: resource.kind.clone(),
        list_kind: format!("{}List", resource.kind),
        plural: resource.name.clone(),
        singular: resource.singular_name.clone(),
        short_names: resource.short_names.clone(),
        categories: resource.categories.clone(),
        scope: if resource.namespaced {
            Scope::Namespaced
        } else {
            Scope::Cluster
        },
        origin: Origin::BuiltIn,
        verbs: resource
            .verbs
            .iter()
            .filter_map(|verb| known(verb))
            .collect(),
        status: has("status"),
        scale: has("scale").then(scale_paths),
        // Events are stored as core/v1, autoscalers as autoscaling/v2.
        storage: !matches!(
            (group, version),
            ("events.k8s.io", _) | ("autoscaling", "v1")
        ),
        schema: published
            .kind(group, version, &resource.kind)
            .unwrap_or_default(),
        columns: Vec::new(),
        selectable: selectable(group, &resource.name)
            .iter()
            .map(|field| (*field).to_owned())
            .collect(),
        group_version,
    }
}

/// Returns a discovery verb as a static string, or `None` for an unknown verb.
fn known(verb: &str) -> Option<&'static str> {
    [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ]
    .into_iter()
    .find(|known| *known == verb)
}

fn scale_paths() -> ScalePaths {
    ScalePaths {
        spec_replicas: ".spec.replicas".to_owned(),
        status_replicas: ".status.replicas".to_owned(),
        // The selector is an object; Scale contains it as text.
        label_selector: Some(".spec.selector".to_owned()),
    }
}

/// Fields that field selectors may use in addition to `metadata.name` and `metadata.namespace`
/// (`SelectableFields` of the registries).
fn selectable(group: &str, plural: &str) -> &'static [&'static str] {
    match (group, plural) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "events") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        ("certificates.k8s.io", _) => &["spec.signerName"],
        _ => &[],
    }
}

/// Returns the value that a field selector compares, as text. The text is empty if the field is
/// unset.
pub fn selected_field(resource: &Resource, object: &Value, field: &str) -> String {
    let group = resource.group_version.group.as_str();
    let path = match (group, resource.plural.as_str(), field) {
        // Old clients set `source.component` only, new clients `reportingComponent` only.
        ("", "events", "source") => {
            let component = text_at(object, "source.component");
            return match component.as_str() {
                "" => text_at(object, "reportingComponent"),
                _ => component,
            };
        }
        ("batch", "jobs", "status.successful") => "status.succeeded",
        _ => field,
    };
    let text = text_at(object, path);
    let unset = match (group, resource.plural.as_str(), field) {
        ("", "nodes", "spec.unschedulable") | ("", "pods", "spec.hostNetwork") => "false",
        ("apps", "replicasets", _) | ("batch", "jobs", "status.successful") => "0",
        _ => return text,
    };
    if text.is_empty() {
        unset.to_owned()
    } else {
        text
    }
}

fn text_at(object: &Value, path: &str) -> String {
    let found = path
        .split('.')
        .try_fold(object, |value, name| value.get(name));
    match found {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Kinds, catalog, selected_field};
    use crate::schema::{ListType, PatchStrategy, Shape};

    #[test]
    fn all_served_kinds_have_schemas() {
        let catalog = catalog(Kinds::Cluster);
        assert_eq!(catalog.iter().count(), 48);
        for resource in catalog.iter() {
            assert!(
                matches!(resource.schema.shape, Shape::Object { .. }),
                "{} {}",
                resource.group_version,
                resource.kind
            );
            assert!(!resource.verbs.is_empty());
        }
        let deployments = catalog.find("apps", "v1", "deployments").unwrap();
        assert!(deployments.status && deployments.scale.is_some());
        assert_eq!(deployments.short_names, ["deploy"]);
    }

    #[test]
    fn catalog_of_hub_kinds_excludes_workload_kinds() {
        let mut kinds: Vec<String> = catalog(Kinds::Hub)
            .iter()
            .map(|resource| format!("{} {}", resource.group_version, resource.plural))
            .collect();
        kinds.sort();
        assert_eq!(
            kinds,
            [
                "apiextensions.k8s.io/v1 customresourcedefinitions",
                "authentication.k8s.io/v1 selfsubjectreviews",
                "authentication.k8s.io/v1 tokenreviews",
                "authorization.k8s.io/v1 localsubjectaccessreviews",
                "authorization.k8s.io/v1 selfsubjectaccessreviews",
                "authorization.k8s.io/v1 selfsubjectrulesreviews",
                "authorization.k8s.io/v1 subjectaccessreviews",
                "coordination.k8s.io/v1 leases",
                "events.k8s.io/v1 events",
                "rbac.authorization.k8s.io/v1 clusterrolebindings",
                "rbac.authorization.k8s.io/v1 clusterroles",
                "rbac.authorization.k8s.io/v1 rolebindings",
                "rbac.authorization.k8s.io/v1 roles",
                "v1 configmaps",
                "v1 events",
                "v1 namespaces",
                "v1 secrets",
                "v1 serviceaccounts"
            ]
        );
    }

    #[test]
    fn pod_schema_contains_the_published_merge_keys() {
        let catalog = catalog(Kinds::Cluster);
        let pods = catalog.find("", "v1", "pods").unwrap();
        let containers = pods
            .schema
            .field("spec")
            .unwrap()
            .field("containers")
            .unwrap();
        let Shape::Array {
            items,
            list,
            strategy,
        } = &containers.shape
        else {
            panic!("the schema of containers is not a list");
        };
        assert_eq!(*list, ListType::Map(vec!["name".to_owned()]));
        assert!(matches!(strategy, PatchStrategy::Merge { key: Some(key), .. } if key == "name"));
        let ports = items.field("ports").unwrap();
        assert_eq!(
            ports.items().unwrap().field("protocol").unwrap().default,
            Some(json!("TCP"))
        );
    }

    #[test]
    fn decoded_object_has_the_fields_of_its_go_type() {
        let catalog = catalog(Kinds::Cluster);
        let pods = catalog.find("", "v1", "pods").unwrap();
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "bogus": 1,
            "metadata": {"name": "a", "labels": {}, "creationTimestamp": null},
            "spec": {"hostNetwork": false, "containers": [{
                "name": "c", "what": true, "env": [{"name": "A", "value": ""}],
                "resources": {"limits": {"cpu": "1000m", "memory": 1024}},
            }, {"name": "d"}]},
        });
        let unknown = pods.schema.decode(&mut pod).unwrap();
        assert_eq!(
            unknown,
            [
                r#"unknown field "bogus""#,
                r#"unknown field "spec.containers[0].what""#
            ]
        );
        assert_eq!(
            pod,
            json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "status": {},
                "spec": {"containers": [
                    {"name": "c", "env": [{"name": "A"}],
                     "resources": {"limits": {"cpu": "1", "memory": "1024"}}},
                    {"name": "d", "resources": {}},
                ]},
            })
        );
    }

    #[test]
    fn decoding_type_errors_match_go_messages() {
        let catalog = catalog(Kinds::Cluster);
        let deployments = catalog.find("apps", "v1", "deployments").unwrap();
        let mut wrong = json!({"spec": {"replicas": "3"}});
        let error = deployments.schema.decode(&mut wrong).unwrap_err();
        assert_eq!(
            error.to_string(),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of \
             type int32"
        );
    }

    #[test]
    fn field_selector_status_successful_of_job_reads_status_succeeded() {
        let catalog = catalog(Kinds::Cluster);
        let jobs = catalog.find("batch", "v1", "jobs").unwrap();
        let field = |job| selected_field(jobs, &job, "status.successful");
        assert_eq!(field(json!({"status": {"succeeded": 2}})), "2");
        assert_eq!(field(json!({})), "0");
    }
}
