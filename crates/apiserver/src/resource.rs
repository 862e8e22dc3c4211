//! What is served: one [`Resource`] for each kind at each version, and the [`Catalog`] of all.

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
    /// Such as `v1beta1`.
    pub version: String,
}

impl fmt::Display for GroupVersion {
    /// As in `apiVersion`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

/// Whether objects live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In none.
    Cluster,
    /// Each in one.
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

/// Where a resource comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Compiled in.
    BuiltIn,
    /// A CustomResourceDefinition.
    Custom,
}

/// Paths of the scale subresource (apiextensions `CustomResourceSubresourceScale`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// Such as `.spec.replicas`.
    pub spec_replicas: String,
    /// Such as `.status.replicas`.
    pub status_replicas: String,
    /// Such as `.status.selector`.
    pub label_selector: Option<String>,
}

/// A column of the resource's Table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub kind: String,
    /// Such as `name`, or empty.
    pub format: String,
    /// For people.
    pub description: String,
    /// 0 is always shown, more only with `-o wide`.
    pub priority: i32,
    /// JSONPath of a CRD's column; a built-in's printer needs none.
    pub path: Option<String>,
}

/// One resource at one version.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Group and version.
    pub group_version: GroupVersion,
    /// Such as `Deployment`.
    pub kind: String,
    /// Such as `DeploymentList`.
    pub list_kind: String,
    /// Such as `deployments`: the path's segment.
    pub plural: String,
    /// Such as `deployment`.
    pub singular: String,
    /// Such as `deploy`.
    pub short_names: Vec<String>,
    /// Such as `all`.
    pub categories: Vec<String>,
    /// Whether in namespaces.
    pub scope: Scope,
    /// Where from.
    pub origin: Origin,
    /// Verbs of the resource itself, as discovery lists them; no `get` means create-only reviews.
    pub verbs: Vec<&'static str>,
    /// Whether there is a status subresource.
    pub status: bool,
    /// The scale subresource, if there is one.
    pub scale: Option<ScalePaths>,
    /// Whether this is the version that is stored.
    pub storage: bool,
    /// The object's schema, metadata included.
    pub schema: Arc<Node>,
    /// Its Table; empty for the default of name and age.
    pub columns: Vec<Column>,
    /// Fields beside metadata's that a field selector may name (CRD `selectableFields`, and the
    /// built-ins' own).
    pub selectable: Vec<String>,
}

/// A resource without its version: what rights and stored keys are about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// Empty for the core group.
    pub group: String,
    /// The plural.
    pub resource: String,
}

impl Resource {
    /// Group and plural.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource {
            group: self.group_version.group.clone(),
            resource: self.plural.clone(),
        }
    }

    /// The store's prefix of all its objects, or of those in one namespace.
    pub fn prefix(&self, namespace: Option<&str>) -> String {
        prefix(&self.group_version.group, &self.plural, namespace)
    }

    /// The store's key of one object; the namespace is empty for cluster-scoped ones.
    pub fn key(&self, namespace: &str, name: &str) -> String {
        format!("{}{name}", self.prefix(Some(namespace)))
    }
}

/// The store's prefix of all objects of a kind that need not be served, or of those in one
/// namespace.
pub fn prefix(group: &str, resource: &str, namespace: Option<&str>) -> String {
    let group = stored_group(group, resource);
    match namespace {
        None => format!("/{group}/{resource}/"),
        Some(namespace) => format!("/{group}/{resource}/{namespace}/"),
    }
}

/// The store's key of one object, whose kind need not be at hand.
pub fn key(group: &str, resource: &str, namespace: &str, name: &str) -> String {
    let group = stored_group(group, resource);
    format!("/{group}/{resource}/{namespace}/{name}")
}

fn stored_group<'a>(group: &'a str, resource: &str) -> &'a str {
    match group {
        "" => "core",
        // One kind in two shapes; the core group's is stored.
        "events.k8s.io" if resource == "events" => "core",
        group => group,
    }
}

/// All that is served at one moment.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    resources: BTreeMap<GroupVersion, BTreeMap<String, Arc<Resource>>>,
}

impl Catalog {
    /// A catalog of these.
    pub fn new(resources: impl IntoIterator<Item = Arc<Resource>>) -> Self {
        let mut catalog = Self::default();
        for resource in resources {
            catalog.insert(resource);
        }
        catalog
    }

    /// Adds a resource, in the place of one with the same group, version and plural.
    pub fn insert(&mut self, resource: Arc<Resource>) {
        self.resources
            .entry(resource.group_version.clone())
            .or_default()
            .insert(resource.plural.clone(), resource);
    }

    /// The resource of this group, version and plural.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let group_version = GroupVersion {
            group: group.to_owned(),
            version: version.to_owned(),
        };
        self.resources.get(&group_version)?.get(plural)
    }

    /// All of them, by group, version and plural.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values().flat_map(BTreeMap::values)
    }
}
