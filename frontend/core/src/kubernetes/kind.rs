//! The kinds that have screens, with API paths and URL paths.

use crate::url::segment;

/// A kind of Kubernetes objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The plural, as in API paths, `kubectl get`, and URLs of the page.
    pub plural: &'static str,
    /// The kind, as in manifests (`Pod`).
    pub name: &'static str,
    /// The heading of the list (`Pods`).
    pub heading: &'static str,
    /// Group and version, as in `apiVersion`.
    pub api_version: &'static str,
    /// True if objects of this kind belong to a namespace.
    pub namespaced: bool,
}

/// Placeholder for the namespace in URLs of cluster-scoped objects.
const NO_NAMESPACE: &str = "-";

impl Kind {
    /// The kind Node.
    pub const NODES: Self = Self::new("nodes", "Node", "Nodes", "v1", false);
    /// The kind Event.
    pub const EVENTS: Self = Self::new("events", "Event", "Events", "v1", true);
    /// The kind Pod.
    pub const PODS: Self = Self::new("pods", "Pod", "Pods", "v1", true);
    /// The kinds of the navigation group “Workloads”.
    pub const WORKLOADS: [Self; 6] = [
        Self::new("deployments", "Deployment", "Deployments", "apps/v1", true),
        Self::new(
            "statefulsets",
            "StatefulSet",
            "StatefulSets",
            "apps/v1",
            true,
        ),
        Self::new("daemonsets", "DaemonSet", "DaemonSets", "apps/v1", true),
        Self::new("jobs", "Job", "Jobs", "batch/v1", true),
        Self::new("cronjobs", "CronJob", "CronJobs", "batch/v1", true),
        Self::PODS,
    ];

    const fn new(
        plural: &'static str,
        name: &'static str,
        heading: &'static str,
        api_version: &'static str,
        namespaced: bool,
    ) -> Self {
        Self {
            plural,
            name,
            heading,
            api_version,
            namespaced,
        }
    }

    /// Returns the kind with this plural. Returns `None` if the kind has no screen.
    pub fn of_plural(plural: &str) -> Option<Self> {
        Self::all().find(|kind| kind.plural == plural)
    }

    /// Returns the kind with this manifest name. Returns `None` if the kind has no screen.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name == name)
    }

    /// Returns all kinds that have screens.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = [Self::NODES, Self::EVENTS];
        Self::WORKLOADS.into_iter().chain(others)
    }

    /// Returns the kind with this API version and manifest name. Returns `None` if the kind has no
    /// screen.
    pub fn named(api_version: &str, name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name == name && kind.api_version == api_version)
    }

    /// Returns the API path of the list, through Drover's proxy.
    pub fn list_path(self, cluster: &str, namespace: Option<&str>) -> String {
        let root = match self.api_version {
            "v1" => "api",
            _ => "apis",
        };
        let place = match namespace {
            Some(namespace) if self.namespaced => format!("namespaces/{}/", segment(namespace)),
            _ => String::new(),
        };
        format!(
            "/k8s/clusters/{}/{root}/{}/{place}{}",
            segment(cluster),
            self.api_version,
            self.plural
        )
    }

    /// Returns the API path of an object, through Drover's proxy.
    pub fn object_path(self, cluster: &str, namespace: Option<&str>, name: &str) -> String {
        let list = self.list_path(cluster, namespace);
        format!("{list}/{}", segment(name))
    }

    /// Returns the URL path of the screen with the list.
    pub fn list_screen(self, cluster: &str) -> String {
        format!("/clusters/{}/{}", segment(cluster), self.plural)
    }

    /// Returns the URL path of the screen of an object.
    pub fn object_screen(self, cluster: &str, namespace: Option<&str>, name: &str) -> String {
        let namespace = match namespace {
            Some(namespace) if self.namespaced => segment(namespace),
            _ => NO_NAMESPACE.to_owned(),
        };
        format!(
            "{}/{namespace}/{}",
            self.list_screen(cluster),
            segment(name)
        )
    }

    /// Returns the namespace for a URL segment. Returns `None` for cluster-scoped objects.
    pub fn namespace_of_screen(self, part: &str) -> Option<&str> {
        (self.namespaced && part != NO_NAMESPACE).then_some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_paths_match_the_kubernetes_api() {
        let deployments = Kind::of_plural("deployments").unwrap();
        assert_eq!(
            deployments.list_path("berlin", None),
            "/k8s/clusters/berlin/apis/apps/v1/deployments"
        );
        assert_eq!(
            Kind::PODS.object_path("berlin", Some("shop"), "web-0"),
            "/k8s/clusters/berlin/api/v1/namespaces/shop/pods/web-0"
        );
        assert_eq!(
            Kind::NODES.object_path("berlin", Some("shop"), "n1"),
            "/k8s/clusters/berlin/api/v1/nodes/n1"
        );
        assert_eq!(Kind::of_plural("secrets"), None);
    }

    #[test]
    fn object_is_parsed_from_the_path_of_its_screen() {
        let path = Kind::PODS.object_screen("berlin", Some("shop"), "web-0");
        assert_eq!(path, "/clusters/berlin/pods/shop/web-0");
        assert_eq!(Kind::PODS.namespace_of_screen("shop"), Some("shop"));
        let path = Kind::NODES.object_screen("berlin", None, "n1");
        assert_eq!(path, "/clusters/berlin/nodes/-/n1");
        assert_eq!(Kind::NODES.namespace_of_screen("-"), None);
    }
}
