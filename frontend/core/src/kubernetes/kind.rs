//! The kinds of Kubernetes objects, with API paths and URL paths.

mod intern;
mod known;

use drover_rows::names::is_path_part;
use drover_rows::protocol::ListSpec;

use crate::url::segment;

/// A kind of Kubernetes objects. Kinds that the discovery of a cluster found are interned, so that
/// the type is `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The plural, as in API paths and `kubectl get`.
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
    /// Returns a kind that the discovery of a cluster found. Returns `None` for invalid names,
    /// because the names become parts of URLs, and if the page has discovered too many kinds.
    pub fn discovered(
        plural: &str,
        name: &str,
        api_version: &str,
        namespaced: bool,
    ) -> Option<Self> {
        let parts = [plural].into_iter().chain(api_version.split('/'));
        if api_version.matches('/').count() > 1 || !parts.into_iter().all(is_path_part) {
            return None;
        }
        let known = Self::named(api_version, name).filter(|kind| kind.plural == plural);
        if known.is_some() {
            return known;
        }
        Some(Self {
            plural: intern::intern(plural)?,
            name: intern::intern(name)?,
            heading: intern::intern(&heading(name, plural))?,
            api_version: intern::intern(api_version)?,
            namespaced,
        })
    }

    /// Returns the list of this kind in clusters. Without namespaces, the list contains all namespaces.
    pub fn list_of(self, clusters: Vec<String>, namespaces: Vec<String>) -> ListSpec {
        ListSpec {
            api_version: self.api_version.to_owned(),
            plural: self.plural.to_owned(),
            clusters,
            namespaces,
        }
    }

    /// Returns the API group; empty for the core group.
    pub fn group(self) -> &'static str {
        match self.api_version.split_once('/') {
            Some((group, _)) => group,
            None => "",
        }
    }

    /// Returns the segment of the kind in URLs of the page: the plural, and the group unless the
    /// kind is well-known (`pods`, `gitrepos.fleet.cattle.io`).
    pub fn url_segment(self) -> String {
        if Self::all().any(|kind| kind == self) || self.group().is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group())
        }
    }

    /// Returns the well-known kind with this plural.
    pub fn of_plural(plural: &str) -> Option<Self> {
        Self::all().find(|kind| kind.plural == plural)
    }

    /// Returns the well-known kind with this manifest name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name == name)
    }

    /// Returns the well-known kind with this API version and manifest name.
    pub fn named(api_version: &str, name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name == name && kind.api_version == api_version)
    }

    /// Returns the API path of the list, through Drover's proxy.
    pub fn list_path(self, cluster: &str, namespace: Option<&str>) -> String {
        let root = match self.group() {
            "" => "api",
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
        format!("/clusters/{}/{}", segment(cluster), self.url_segment())
    }

    /// Returns the URL path of the screen with the list of all clusters.
    pub fn everywhere_screen(self) -> String {
        format!("/objects/{}", self.url_segment())
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

/// Returns the heading of a list: the plural with the upper-case letters of the kind (`GitRepos`).
fn heading(name: &str, plural: &str) -> String {
    let lower = name.to_lowercase();
    let ending = plural.strip_prefix(lower.as_str());
    let shorter = lower
        .strip_suffix('y')
        .and_then(|stem| plural.strip_prefix(stem));
    match (ending, shorter) {
        (Some(ending), _) => format!("{name}{ending}"),
        (None, Some(ending)) => format!("{}{ending}", &name[..name.len() - 1]),
        (None, None) => name.to_owned(),
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

    #[test]
    fn discovered_kind_has_its_group_in_urls() {
        let found = Kind::discovered("gitrepos", "GitRepo", "fleet.cattle.io/v1alpha1", true);
        let found = found.unwrap();
        assert_eq!(found.url_segment(), "gitrepos.fleet.cattle.io");
        assert_eq!(found.heading, "GitRepos");
        let again = Kind::discovered("gitrepos", "GitRepo", "fleet.cattle.io/v1alpha1", true);
        assert_eq!(again, Some(found));
        assert_eq!(
            Kind::discovered("pods", "Pod", "v1", true),
            Some(Kind::PODS)
        );
        // The metrics API also has the plural `pods`.
        let metrics = Kind::discovered("pods", "PodMetrics", "metrics.k8s.io/v1beta1", true);
        assert_eq!(metrics.unwrap().url_segment(), "pods.metrics.k8s.io");
    }

    #[test]
    fn discovered_kind_cannot_name_another_path() {
        for (plural, api_version) in [
            ("x/../../v1/users", "v1"),
            ("..", "v1"),
            ("pods?x", "v1"),
            ("pods", "../v1"),
            ("pods", "a/b/v1"),
            ("pods", ""),
            ("", "v1"),
        ] {
            let kind = Kind::discovered(plural, "Pod", api_version, true);
            assert_eq!(kind, None, "{plural} {api_version}");
        }
    }

    #[test]
    fn headings_have_the_letters_of_the_kind_and_the_ending_of_the_plural() {
        for (name, plural, expected) in [
            ("GitRepo", "gitrepos", "GitRepos"),
            ("IngressClass", "ingressclasses", "IngressClasses"),
            ("NetworkPolicy", "networkpolicies", "NetworkPolicies"),
            ("Endpoints", "endpoints", "Endpoints"),
            ("PodMetrics", "pods", "PodMetrics"),
            ("Y", "ies", "ies"),
        ] {
            assert_eq!(heading(name, plural), expected);
        }
    }
}
