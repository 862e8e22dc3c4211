//! Served resources: a [`Resource`] per kind and version, and the [`Catalog`] of all resources.

mod catalog_cache;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::schema::Node;
pub(crate) use catalog_cache::CatalogCache;

/// A group and a version, such as `apps/v1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// The API group. Empty for the core group.
    pub group: String,
    /// The API version, such as `v1beta1`.
    pub version: String,
}

impl fmt::Display for GroupVersion {
    /// Formats the value of the field `apiVersion`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

/// The scope of a resource's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Objects have no namespace.
    Cluster,
    /// Each object is in a namespace.
    Namespaced,
}

/// The resource or subresource that a request writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteTarget {
    /// The resource itself. `status` is excluded for kinds with a status subresource.
    Object,
    /// The subresource `status`.
    Status,
    /// The subresource `finalize` of namespaces.
    Finalize,
    /// The subresource `ephemeralcontainers` of pods.
    EphemeralContainers,
    /// The subresource `resize` of pods: CPU and memory of containers.
    Resize,
    /// The subresource `approval` of certificate signing requests.
    Approval,
}

/// The source of a resource's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The resource is compiled into the server.
    BuiltIn,
    /// A CustomResourceDefinition defines the resource.
    Custom,
}

/// Paths of the scale subresource (apiextensions `CustomResourceSubresourceScale`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// The path of the desired number of replicas, such as `.spec.replicas`.
    pub spec_replicas: String,
    /// The path of the actual number of replicas, such as `.status.replicas`.
    pub status_replicas: String,
    /// The path of the label selector, such as `.status.selector`.
    pub label_selector: Option<String>,
}

/// A column of the resource's Table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The heading of the column.
    pub name: String,
    /// The cell type: `integer`, `number`, `string`, `boolean` or `date`.
    pub kind: String,
    /// An OpenAPI format such as `name`, or empty.
    pub format: String,
    /// A description of the column for users.
    pub description: String,
    /// The priority: 0 for columns that are always visible, larger for `-o wide`.
    pub priority: i32,
    /// The JSONPath of a CRD's column. `None` for built-in kinds.
    pub path: Option<String>,
}

/// A resource in one version.
#[derive(Debug, Clone)]
pub struct Resource {
    /// The API group and version.
    pub group_version: GroupVersion,
    /// The kind of the objects, such as `Deployment`.
    pub kind: String,
    /// The kind of lists, such as `DeploymentList`.
    pub list_kind: String,
    /// The plural name in paths, such as `deployments`.
    pub plural: String,
    /// The singular name, such as `deployment`.
    pub singular: String,
    /// The short names for kubectl, such as `deploy`.
    pub short_names: Vec<String>,
    /// The categories for kubectl, such as `all`.
    pub categories: Vec<String>,
    /// The scope of the objects: namespaced or cluster-scoped.
    pub scope: Scope,
    /// The source of the definition: built-in or custom.
    pub origin: Origin,
    /// The verbs in discovery. Reviews have `create` only.
    pub verbs: Vec<&'static str>,
    /// True if the resource has a status subresource.
    pub status: bool,
    /// The paths of the scale subresource. `None` without the subresource.
    pub scale: Option<ScalePaths>,
    /// True if this is the storage version.
    pub storage: bool,
    /// The schema of the object, metadata included.
    pub schema: Arc<Node>,
    /// Table columns. Empty for the default columns name and age.
    pub columns: Vec<Column>,
    /// The fields that field selectors support in addition to `metadata.name` and
    /// `metadata.namespace` (CRD `selectableFields`).
    pub selectable: Vec<String>,
}

/// A resource without its version, as in RBAC rules and store keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// The API group. Empty for the core group.
    pub group: String,
    /// The plural name.
    pub resource: String,
}

impl Resource {
    /// Returns the resource without its version.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource {
            group: self.group_version.group.clone(),
            resource: self.plural.clone(),
        }
    }

    /// Returns the store's key prefix of all objects, or of the objects in one namespace.
    pub fn prefix(&self, namespace: Option<&str>) -> String {
        prefix(&self.group_version.group, &self.plural, namespace)
    }

    /// Returns the store's key of an object. `namespace` is empty for cluster-scoped resources.
    pub fn key(&self, namespace: &str, name: &str) -> String {
        format!("{}{name}", self.prefix(Some(namespace)))
    }
}

/// Returns the same key prefix as [`Resource::prefix`]. Also supports resources that the server
/// does not serve.
pub fn prefix(group: &str, resource: &str, namespace: Option<&str>) -> String {
    let group = stored_group(group, resource);
    match namespace {
        None => format!("/{group}/{resource}/"),
        Some(namespace) => format!("/{group}/{resource}/{namespace}/"),
    }
}

/// Returns the same key as [`Resource::key`]. Also supports resources that the server does not
/// serve.
pub fn key(group: &str, resource: &str, namespace: &str, name: &str) -> String {
    let group = stored_group(group, resource);
    format!("/{group}/{resource}/{namespace}/{name}")
}

fn stored_group<'a>(group: &'a str, resource: &str) -> &'a str {
    match group {
        "" => "core",
        // Events of both groups are stored as core/v1.
        "events.k8s.io" if resource == "events" => "core",
        group => group,
    }
}

/// The resources that the server currently serves.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    resources: BTreeMap<GroupVersion, BTreeMap<String, Arc<Resource>>>,
}

impl Catalog {
    /// Creates a catalog of these resources.
    pub fn new(resources: impl IntoIterator<Item = Arc<Resource>>) -> Self {
        let mut catalog = Self::default();
        for resource in resources {
            catalog.insert(resource);
        }
        catalog
    }

    /// Adds a resource. Replaces the resource with the same group, version and plural.
    pub fn insert(&mut self, resource: Arc<Resource>) {
        self.resources
            .entry(resource.group_version.clone())
            .or_default()
            .insert(resource.plural.clone(), resource);
    }

    /// Finds a resource by group, version and plural.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let group_version = GroupVersion {
            group: group.to_owned(),
            version: version.to_owned(),
        };
        self.resources.get(&group_version)?.get(plural)
    }

    /// Iterates over all resources, ordered by group, version and plural.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values().flat_map(BTreeMap::values)
    }
}
