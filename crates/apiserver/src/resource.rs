//! Served resources: a [`Resource`] per kind and version, and the [`Catalog`] of all.

mod catalog_cache;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::schema::Node;
pub(crate) use catalog_cache::CatalogCache;

/// A group and a version, such as `apps/v1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// Empty for the core group.
    pub group: String,
    /// A version such as `v1beta1`.
    pub version: String,
}

impl fmt::Display for GroupVersion {
    /// The form of `apiVersion`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

/// Whether objects are namespaced.
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
    /// The resource itself; `status` is excluded for kinds with a status subresource.
    Object,
    /// `status`.
    Status,
    /// `namespaces/finalize`.
    Finalize,
    /// `pods/ephemeralcontainers`.
    EphemeralContainers,
    /// `pods/resize`: cpu and memory of containers.
    Resize,
    /// `certificatesigningrequests/approval`.
    Approval,
}

/// The origin of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Compiled into the server.
    BuiltIn,
    /// A CustomResourceDefinition.
    Custom,
}

/// Paths of the scale subresource (apiextensions `CustomResourceSubresourceScale`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// A path such as `.spec.replicas`.
    pub spec_replicas: String,
    /// A path such as `.status.replicas`.
    pub status_replicas: String,
    /// A path such as `.status.selector`.
    pub label_selector: Option<String>,
}

/// A column of the resource's Table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub kind: String,
    /// An OpenAPI format such as `name`, or empty.
    pub format: String,
    /// Human-readable.
    pub description: String,
    /// 0 for columns that are always shown; larger for `-o wide`.
    pub priority: i32,
    /// The JSONPath of a CRD's column; `None` for built-in kinds.
    pub path: Option<String>,
}

/// A resource in one version.
#[derive(Debug, Clone)]
pub struct Resource {
    /// The API group and version.
    pub group_version: GroupVersion,
    /// A kind such as `Deployment`.
    pub kind: String,
    /// A kind such as `DeploymentList`.
    pub list_kind: String,
    /// The name in paths, such as `deployments`.
    pub plural: String,
    /// A name such as `deployment`.
    pub singular: String,
    /// Names such as `deploy`.
    pub short_names: Vec<String>,
    /// Categories such as `all`.
    pub categories: Vec<String>,
    /// Whether objects are namespaced.
    pub scope: Scope,
    /// Built-in or custom.
    pub origin: Origin,
    /// Verbs in discovery. Reviews have `create` only.
    pub verbs: Vec<&'static str>,
    /// Whether the resource has a status subresource.
    pub status: bool,
    /// The scale subresource.
    pub scale: Option<ScalePaths>,
    /// Whether this is the storage version.
    pub storage: bool,
    /// The schema of the object, metadata included.
    pub schema: Arc<Node>,
    /// Table columns; empty for the default columns name and age.
    pub columns: Vec<Column>,
    /// Fields that field selectors may use in addition to `metadata.name` and `metadata.namespace`
    /// (CRD `selectableFields`).
    pub selectable: Vec<String>,
}

/// A resource without its version, as in RBAC rules and store keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// Empty for the core group.
    pub group: String,
    /// The plural name.
    pub resource: String,
}

impl Resource {
    /// The resource without its version.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource {
            group: self.group_version.group.clone(),
            resource: self.plural.clone(),
        }
    }

    /// The store's key prefix of all objects, or of those in one namespace.
    pub fn prefix(&self, namespace: Option<&str>) -> String {
        prefix(&self.group_version.group, &self.plural, namespace)
    }

    /// The store's key of an object. `namespace` is empty for cluster-scoped resources.
    pub fn key(&self, namespace: &str, name: &str) -> String {
        format!("{}{name}", self.prefix(Some(namespace)))
    }
}

/// Like [`Resource::prefix`], for a resource that may not be served.
pub fn prefix(group: &str, resource: &str, namespace: Option<&str>) -> String {
    let group = stored_group(group, resource);
    match namespace {
        None => format!("/{group}/{resource}/"),
        Some(namespace) => format!("/{group}/{resource}/{namespace}/"),
    }
}

/// Like [`Resource::key`], for a resource that may not be served.
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

/// The resources that a server serves at one time.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    resources: BTreeMap<GroupVersion, BTreeMap<String, Arc<Resource>>>,
}

impl Catalog {
    /// A catalog of these resources.
    pub fn new(resources: impl IntoIterator<Item = Arc<Resource>>) -> Self {
        let mut catalog = Self::default();
        for resource in resources {
            catalog.insert(resource);
        }
        catalog
    }

    /// Adds a resource; replaces one with the same group, version and plural.
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

    /// All resources, ordered by group, version and plural.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values().flat_map(BTreeMap::values)
    }
}
