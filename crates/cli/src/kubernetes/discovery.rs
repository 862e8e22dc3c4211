//! Resources of a cluster, and the names that kubectl accepts for a resource.

use drover_api::group::GROUP;
use serde::Deserialize;

use super::api::ClusterApi;
use crate::client::CallError;

/// Accepts aggregated discovery, which Kubernetes serves since version 1.26.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// A resource of an API, such as `deployments.apps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// The API group. Empty for the core group.
    pub(crate) group: String,
    /// The version of the API group, such as `v1`.
    pub(crate) version: String,
    /// The name in URLs, such as `deployments`.
    pub(crate) plural: String,
    /// The kind of the objects, such as `Deployment`.
    pub(crate) kind: String,
    /// True if the objects are in namespaces.
    pub(crate) namespaced: bool,
    singular: String,
    short_names: Vec<String>,
    categories: Vec<String>,
    verbs: Vec<String>,
}

impl Resource {
    /// Returns the segments of the path of all objects, or of the objects in a namespace. The
    /// namespace is ignored if the objects are not in namespaces.
    pub(crate) fn path(&self, namespace: Option<&str>, name: Option<&str>) -> Vec<String> {
        let mut path = if self.group.is_empty() {
            vec!["api", &self.version]
        } else {
            vec!["apis", &self.group, &self.version]
        };
        if let Some(namespace) = namespace.filter(|_| self.namespaced) {
            path.extend(["namespaces", namespace]);
        }
        path.push(&self.plural);
        path.extend(name);
        path.into_iter().map(str::to_owned).collect()
    }

    /// Returns the name for the output format `name`, such as `pod` or `deployment.apps`.
    pub(crate) fn short_kind(&self) -> String {
        let name = if self.singular.is_empty() {
            self.kind.to_ascii_lowercase()
        } else {
            self.singular.clone()
        };
        match self.group.as_str() {
            "" => name,
            group => format!("{name}.{group}"),
        }
    }

    /// Returns the `apiVersion` of the objects.
    pub(crate) fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{version}", version = self.version),
        }
    }

    fn is_in(&self, rest: Option<&str>) -> bool {
        let Some(rest) = rest else { return true };
        let versioned = rest.split_once('.').unwrap_or((rest, ""));
        self.group == rest || (self.version == versioned.0 && self.group == versioned.1)
    }

    fn supports(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }
}

/// All resources of a cluster, in the order of preference.
#[derive(Clone, Debug)]
pub(crate) struct Discovery(Vec<Resource>);

impl Discovery {
    /// Requests the resources of a cluster.
    pub(crate) async fn of(api: &ClusterApi) -> Result<Self, CallError> {
        let (core, groups) = (["api".to_owned()], ["apis".to_owned()]);
        let (core, groups): (GroupList, GroupList) = tokio::try_join!(
            api.get(&core, &[], AGGREGATED),
            api.get(&groups, &[], AGGREGATED)
        )?;
        let mut resources: Vec<Resource> = core.resources().chain(groups.resources()).collect();
        // The hub also has Fleet's Clusters: `cluster` means Drover's kind there.
        resources.sort_by_key(|resource| match resource.group.as_str() {
            "" => 0,
            GROUP => 1,
            _ => 2,
        });
        Ok(Self(resources))
    }

    /// Returns the resources with a name that a user typed: a plural, a singular, a kind or a short
    /// name, optionally with `.GROUP` or `.VERSION.GROUP`. For a category such as `all`, the result
    /// contains all resources of the category. The result is empty for unknown names.
    pub(crate) fn find(&self, typed: &str, verb: &str) -> Vec<&Resource> {
        let typed = typed.to_ascii_lowercase();
        let (name, rest) = match typed.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (typed.as_str(), None),
        };
        let usable = || {
            let all = self.0.iter();
            all.filter(|resource| resource.is_in(rest) && resource.supports(verb))
        };
        let full = |resource: &&Resource| {
            resource.plural == name
                || resource.singular == name
                || resource.kind.eq_ignore_ascii_case(name)
        };
        let short = |resource: &&Resource| resource.short_names.iter().any(|short| short == name);
        if let Some(found) = usable().find(full).or_else(|| usable().find(short)) {
            return vec![found];
        }
        let category = |resource: &&Resource| resource.categories.iter().any(|c| c == name);
        let mut found: Vec<&Resource> = Vec::new();
        for resource in usable().filter(category).filter(|_| rest.is_none()) {
            let same = |known: &&Resource| {
                known.plural == resource.plural && known.group == resource.group
            };
            if !found.iter().any(same) {
                found.push(resource);
            }
        }
        found
    }

    /// Returns the plural of each resource that supports a verb, for completion.
    pub(crate) fn names(&self, verb: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .0
            .iter()
            .filter(|resource| resource.supports(verb))
            .map(|resource| match resource.group.as_str() {
                "" | "apps" | "batch" => resource.plural.clone(),
                group => format!("{plural}.{group}", plural = resource.plural),
            })
            .collect();
        names.sort();
        names.dedup();
        names
    }
}

#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: GroupName,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Default, Deserialize)]
struct GroupName {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    resource: String,
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

impl GroupList {
    fn resources(self) -> impl Iterator<Item = Resource> {
        self.items.into_iter().flat_map(|group| {
            let name = group.metadata.name;
            group.versions.into_iter().flat_map(move |version| {
                let (name, number) = (name.clone(), version.version);
                let entries = version.resources.into_iter();
                entries.map(move |entry| Resource {
                    group: name.clone(),
                    version: number.clone(),
                    kind: entry
                        .response_kind
                        .map(|kind| kind.kind)
                        .unwrap_or_default(),
                    plural: entry.resource,
                    namespaced: entry.scope == "Namespaced",
                    singular: entry.singular_resource,
                    short_names: entry.short_names,
                    categories: entry.categories,
                    verbs: entry.verbs,
                })
            })
        })
    }
}

/// Returns the resource `pods` for tests.
#[cfg(test)]
pub(crate) fn tests_resource() -> Resource {
    Resource {
        group: String::new(),
        version: "v1".to_owned(),
        plural: "pods".to_owned(),
        kind: "Pod".to_owned(),
        namespaced: true,
        singular: "pod".to_owned(),
        short_names: vec!["po".to_owned()],
        categories: vec!["all".to_owned()],
        verbs: vec!["get".to_owned(), "list".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discovery() -> Discovery {
        let entry = |name: &str, kind: &str, short: &str, categories: &[&str]| {
            serde_json::json!({"resource": name, "scope": "Namespaced",
                "responseKind": {"group": "", "version": "", "kind": kind},
                "singularResource": kind.to_lowercase(), "verbs": ["get", "list"],
                "shortNames": [short], "categories": categories})
        };
        let list = serde_json::json!({"kind": "APIGroupDiscoveryList", "items": [
            {"versions": [{"version": "v1", "resources": [
                entry("pods", "Pod", "po", &["all"]), entry("events", "Event", "ev", &[])]}]},
            {"metadata": {"name": "apps"}, "versions": [
                {"version": "v1", "resources": [entry("deployments", "Deployment", "deploy", &["all"])]},
                {"version": "v1beta1", "resources": [entry("deployments", "Deployment", "deploy", &["all"])]}]},
            {"metadata": {"name": "events.k8s.io"}, "versions": [
                {"version": "v1", "resources": [entry("events", "Event", "ev", &[])]}]},
            {"metadata": {"name": "example.org"}, "versions": [
                {"version": "v1", "resources": [entry("posts", "Post", "po", &[])]}]},
        ]});
        let list: GroupList = serde_json::from_value(list).unwrap();
        Discovery(list.resources().collect())
    }

    #[test]
    fn typed_names_are_resolved_like_in_kubectl() {
        let discovery = discovery();
        for (typed, expected) in [
            ("pods", "v1 pods"),
            ("Pod", "v1 pods"),
            ("po", "v1 pods"),
            ("posts", "example.org/v1 posts"),
            ("po.example.org", "example.org/v1 posts"),
            ("events", "v1 events"),
            ("events.events.k8s.io", "events.k8s.io/v1 events"),
            ("deploy", "apps/v1 deployments"),
            ("deployments.apps", "apps/v1 deployments"),
            ("deployments.v1beta1.apps", "apps/v1beta1 deployments"),
            ("pods.v1", "v1 pods"),
            ("pods.v1.", "v1 pods"),
            ("all", "v1 pods, apps/v1 deployments"),
            ("nothing", ""),
            ("pods.apps", ""),
        ] {
            let found = discovery.find(typed, "list");
            let found: Vec<_> = found
                .iter()
                .map(|found| format!("{} {}", found.api_version(), found.plural))
                .collect();
            assert_eq!(found.join(", "), expected, "{typed}");
        }
        assert!(discovery.find("pods", "delete").is_empty());
    }

    #[test]
    fn path_of_objects_contains_group_version_and_namespace() {
        let discovery = discovery();
        let deployments = discovery.find("deploy", "list")[0];
        assert_eq!(
            deployments.path(Some("shop"), Some("web")).join("/"),
            "apis/apps/v1/namespaces/shop/deployments/web"
        );
        let pods = discovery.find("pods", "list")[0];
        assert_eq!(pods.path(None, None).join("/"), "api/v1/pods");
        assert_eq!(pods.short_kind(), "pod");
        assert_eq!(deployments.short_kind(), "deployment.apps");
    }
}
