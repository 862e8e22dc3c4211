//! Discovery documents: `/api`, `/apis`, the lists of resources, and aggregated discovery.
//!
//! The documents of built-in groups are the documents that Kubernetes publishes. The documents of
//! custom groups have the form that apiextensions generates.

mod documents;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

pub use documents::{Aggregated, Documents};

use crate::builtin::{ApiResource, published};
use crate::resource::{Catalog, Origin, Resource, Scope};

/// The media type of [`aggregated_core`] and [`aggregated_groups`].
pub const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Returns the document `/api`: the versions of the core group.
pub fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// Returns the document `/apis`: all groups except the core group.
pub fn groups(catalog: &Catalog) -> Value {
    let groups: Vec<Value> = all_groups(catalog)
        .iter()
        .filter(|group| !group.name.is_empty())
        .map(|group| group.api_group(false))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// Returns the document `/apis/{group}`, or `None` for an unknown group.
pub fn group(catalog: &Catalog, name: &str) -> Option<Value> {
    all_groups(catalog)
        .iter()
        .find(|group| group.name == name && !name.is_empty())
        .map(|group| group.api_group(true))
}

/// Returns the document `/api/v1` or `/apis/{group}/{version}`: the resources of a version.
pub fn resources(catalog: &Catalog, group: &str, version: &str) -> Option<Value> {
    let groups = all_groups(catalog);
    let group = groups.iter().find(|other| other.name == group)?;
    let (_, resources) = group.versions.iter().find(|(name, _)| name == version)?;
    let list: Vec<Value> = resources.iter().map(api_resource).collect();
    let kind = "APIResourceList";
    let group_version = group.group_version(version);
    // The core group's list has no `apiVersion`, for compatibility with old clients.
    Some(match group.name.as_str() {
        "" => json!({"kind": kind, "groupVersion": group_version, "resources": list}),
        _ => json!({
            "kind": kind, "apiVersion": "v1", "groupVersion": group_version, "resources": list,
        }),
    })
}

/// Returns the document `/api` in aggregated form.
pub fn aggregated_core(catalog: &Catalog) -> Value {
    aggregated(catalog, true)
}

/// Returns the document `/apis` in aggregated form.
pub fn aggregated_groups(catalog: &Catalog) -> Value {
    aggregated(catalog, false)
}

/// Returns SHA-512 in upper-case hexadecimal, the form of kube-apiserver's ETags.
pub(crate) fn hash(body: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, body);
    let mut text = String::with_capacity(2 * digest.as_ref().len());
    for byte in digest.as_ref() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

fn aggregated(catalog: &Catalog, core: bool) -> Value {
    let items: Vec<Value> = all_groups(catalog)
        .iter()
        .filter(|group| group.name.is_empty() == core)
        .map(Group::discovery)
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {}, "items": items,
    })
}

struct Group {
    name: String,
    /// The versions with their resources, ordered by preference.
    versions: Vec<(String, Vec<ApiResource>)>,
    origin: Origin,
}

fn all_groups(catalog: &Catalog) -> Vec<Group> {
    let mut groups = built_in(catalog);
    let mut custom: BTreeMap<&str, BTreeMap<&str, Vec<ApiResource>>> = BTreeMap::new();
    for resource in catalog.iter().filter(|one| one.origin == Origin::Custom) {
        custom
            .entry(&resource.group_version.group)
            .or_default()
            .entry(&resource.group_version.version)
            .or_default()
            .extend(of_custom(resource));
    }
    for (name, versions) in custom {
        let mut versions: Vec<(String, Vec<ApiResource>)> = versions
            .into_iter()
            .map(|(version, resources)| (version.to_owned(), resources))
            .collect();
        versions.sort_by_key(|(version, _)| std::cmp::Reverse(rank(version)));
        groups.push(Group {
            name: name.to_owned(),
            versions,
            origin: Origin::Custom,
        });
    }
    groups
}

/// Returns the built-in groups, with the resources that the catalog contains.
fn built_in(catalog: &Catalog) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for list in &published().lists {
        let (group, version) = list.group_version();
        let mut resources = list.resources.clone();
        resources.retain(|resource| {
            let plural = resource.name.split('/').next().unwrap_or_default();
            let found = catalog.find(group, version, plural);
            found.is_some_and(|found| found.origin == Origin::BuiltIn)
        });
        if resources.is_empty() {
            continue;
        }
        let resources = (version.to_owned(), resources);
        match groups.last_mut().filter(|last| last.name == group) {
            Some(last) => last.versions.push(resources),
            None => groups.push(Group {
                name: group.to_owned(),
                versions: vec![resources],
                origin: Origin::BuiltIn,
            }),
        }
    }
    groups
}

/// Sort key of versions as in Kubernetes: GA, beta, alpha, then by number. Other names come last.
fn rank(version: &str) -> (u8, u32, u32, std::cmp::Reverse<String>) {
    let unknown = (0, 0, 0, std::cmp::Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else {
        return unknown;
    };
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let Ok(major) = rest[..end].parse() else {
        return unknown;
    };
    let (level, minor) = match &rest[end..] {
        "" => (3, "0"),
        stage => match (stage.strip_prefix("beta"), stage.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return unknown,
        },
    };
    match minor.parse() {
        Ok(minor) => (level, major, minor, std::cmp::Reverse(String::new())),
        Err(_) => unknown,
    }
}

fn of_custom(resource: &Resource) -> Vec<ApiResource> {
    let texts = |verbs: &[&str]| verbs.iter().map(|verb| (*verb).to_owned()).collect();
    let gv = &resource.group_version;
    let main = ApiResource {
        name: resource.plural.clone(),
        singular_name: resource.singular.clone(),
        namespaced: resource.scope == Scope::Namespaced,
        kind: resource.kind.clone(),
        verbs: texts(&resource.verbs),
        short_names: resource.short_names.clone(),
        categories: resource.categories.clone(),
        storage_version_hash: storage_hash(&gv.group, &gv.version, &resource.kind),
        ..ApiResource::default()
    };
    let mut all = vec![main];
    let below = |name: &str, group: &str, version: &str, kind: &str| ApiResource {
        name: format!("{}/{name}", resource.plural),
        namespaced: resource.scope == Scope::Namespaced,
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        verbs: texts(&["get", "patch", "update"]),
        ..ApiResource::default()
    };
    if resource.status {
        all.push(below("status", "", "", &resource.kind));
    }
    if resource.scale.is_some() {
        all.push(below("scale", "autoscaling", "v1", "Scale"));
    }
    all
}

/// Returns `storageVersionHash`: the first bytes of SHA-256 of group, version and kind.
fn storage_hash(group: &str, version: &str, kind: &str) -> String {
    let text = format!("{group}/{version}/{kind}");
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    STANDARD.encode(&digest.as_ref()[..8])
}

impl Group {
    fn group_version(&self, version: &str) -> String {
        if self.name.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.name)
        }
    }

    fn api_group(&self, alone: bool) -> Value {
        let versions: Vec<Value> = self
            .versions
            .iter()
            .map(|(version, _)| {
                json!({"groupVersion": self.group_version(version), "version": version})
            })
            .collect();
        let mut group = json!({
            "name": self.name, "preferredVersion": versions.first(), "versions": versions,
        });
        if alone {
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
        }
        group
    }

    fn discovery(&self) -> Value {
        let versions: Vec<Value> = self
            .versions
            .iter()
            .map(|(version, resources)| {
                json!({
                    "version": version, "freshness": "Current",
                    "resources": self.discovery_resources(version, resources),
                })
            })
            .collect();
        let metadata = match self.name.as_str() {
            "" => json!({}),
            name => json!({"name": name}),
        };
        json!({"metadata": metadata, "versions": versions})
    }

    fn discovery_resources(&self, version: &str, resources: &[ApiResource]) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        for resource in resources {
            let kind = self.response_kind(version, resource);
            if let Some((_, subresource)) = resource.name.split_once('/') {
                let below = json!({
                    "subresource": subresource, "responseKind": kind, "verbs": resource.verbs,
                });
                if let Some(Value::Object(parent)) = all.last_mut() {
                    let list = parent.entry("subresources").or_insert_with(|| json!([]));
                    if let Some(list) = list.as_array_mut() {
                        list.push(below);
                    }
                }
                continue;
            }
            let scope = if resource.namespaced {
                "Namespaced"
            } else {
                "Cluster"
            };
            let mut entry = json!({
                "resource": resource.name, "responseKind": kind, "scope": scope,
                "singularResource": resource.singular_name, "verbs": resource.verbs,
            });
            set_lists(&mut entry, resource);
            all.push(entry);
        }
        all
    }

    /// Returns the group, version and kind of the response. A built-in resource omits the group and
    /// the version if the resource list has the same group and version. A custom resource always
    /// contains both fields, as in apiextensions.
    fn response_kind(&self, version: &str, resource: &ApiResource) -> Value {
        let (group, version) = match (self.origin, resource.version.as_str()) {
            (Origin::Custom, "") => (self.name.as_str(), version),
            _ => (resource.group.as_str(), resource.version.as_str()),
        };
        json!({"group": group, "version": version, "kind": resource.kind})
    }
}

fn set_lists(entry: &mut Value, resource: &ApiResource) {
    if !resource.short_names.is_empty() {
        entry["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        entry["categories"] = resource.categories.clone().into();
    }
}

fn api_resource(resource: &ApiResource) -> Value {
    let mut entry = json!({
        "name": resource.name, "singularName": resource.singular_name,
        "namespaced": resource.namespaced, "kind": resource.kind, "verbs": resource.verbs,
    });
    set_lists(&mut entry, resource);
    let mut set = Map::new();
    for (name, text) in [
        ("group", &resource.group),
        ("version", &resource.version),
        ("storageVersionHash", &resource.storage_version_hash),
    ] {
        if !text.is_empty() {
            set.insert(name.to_owned(), text.as_str().into());
        }
    }
    if let Some(entry) = entry.as_object_mut() {
        entry.extend(set);
    }
    entry
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::builtin::{Kinds, catalog};

    #[test]
    fn api_version_order_matches_kubernetes() {
        let mut versions = vec!["v1beta1", "foo", "v2alpha1", "v1", "v10", "v2", "v1beta2"];
        versions.sort_by_key(|version| std::cmp::Reverse(rank(version)));
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v1beta2", "v1beta1", "v2alpha1", "foo"]
        );
    }

    #[test]
    fn discovery_of_custom_kinds_matches_apiextensions() {
        let mut all = catalog(Kinds::Cluster);
        for resource in crate::crd::resources(&crate::crd::tests::widgets()).unwrap() {
            all.insert(resource.into());
        }
        let list = resources(&all, "example.com", "v1").unwrap();
        assert_eq!(list["resources"][0]["storageVersionHash"], "gIwvi5rymmg=");
        assert_eq!(list["resources"][2]["kind"], "Scale");
        let aggregated = aggregated_groups(&all);
        let custom = aggregated["items"].as_array().unwrap().last().unwrap();
        assert_eq!(custom["metadata"], json!({"name": "example.com"}));
        assert_eq!(
            custom["versions"][0]["resources"][0]["responseKind"],
            json!({"group": "example.com", "version": "v1", "kind": "Widget"})
        );
        assert_eq!(custom["versions"][1]["version"], "v1beta1");
    }

    #[test]
    fn aggregated_discovery_lists_subresources_below_their_resource() {
        let all = catalog(Kinds::Cluster);
        let core = aggregated_core(&all);
        let resources = core["items"][0]["versions"][0]["resources"]
            .as_array()
            .unwrap();
        let pods = resources
            .iter()
            .find(|one| one["resource"] == "pods")
            .unwrap();
        let eviction = pods["subresources"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["subresource"] == "eviction")
            .unwrap();
        assert_eq!(
            eviction["responseKind"],
            json!({"group": "policy", "version": "v1", "kind": "Eviction"})
        );
        assert!(resources.iter().all(|one| one["resource"] != "pods/log"));
        assert!(resource_names(&all, "apps").contains(&"deployments/scale".to_owned()));
        assert_eq!(super::resources(&all, "nope", "v1"), None);
    }

    fn resource_names(all: &Catalog, group: &str) -> Vec<String> {
        let list = resources(all, group, "v1").unwrap();
        let resources = list["resources"].as_array().unwrap();
        resources
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    }
}
