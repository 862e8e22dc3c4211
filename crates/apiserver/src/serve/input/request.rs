//! Verb and resource of a request, parsed from method and path as in kube-apiserver.

use std::borrow::Cow;

use http::Method;

/// The properties of a request for authorization, audit and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestInfo {
    /// The verb of the request, such as `get`, `list` or `watch`. For a non-resource path, the
    /// lower-case HTTP method.
    pub verb: Cow<'static, str>,
    /// The percent-decoded path.
    pub path: String,
    /// The resource. `None` for a non-resource path.
    pub resource: Option<ResourcePath>,
}

/// The components of a path such as `/apis/apps/v1/namespaces/shop/deployments/web/scale`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourcePath {
    /// The API group. Empty for the core group.
    pub group: String,
    /// The API version, such as `v1`.
    pub version: String,
    /// The namespace. Empty for cluster-scoped resources and requests across all namespaces.
    pub namespace: String,
    /// The plural name of the resource.
    pub resource: String,
    /// The subresource. Empty without a subresource.
    pub subresource: String,
    /// The object's name. Empty for collections.
    pub name: String,
    /// The path segments after the subresource.
    pub rest: Vec<String>,
}

/// Segments after `namespaces/{name}` that are subresources of the namespace.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// A path-based watch, the deprecated form of `?watch=1`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PathWatch {
    /// The path of the collection.
    pub(crate) collection: String,
    /// The object's name. `None` for a watch of the collection.
    pub(crate) name: Option<String>,
}

/// Parses a path-based watch: `/api/v1/watch/namespaces/shop/pods/web`.
pub(crate) fn path_watch(method: &Method, path: &str) -> Option<PathWatch> {
    if *method != Method::GET {
        return None;
    }
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (head, tail) = match parts.as_slice() {
        ["api", version, "watch", tail @ ..] => (format!("/api/{version}"), tail),
        ["apis", group, version, "watch", tail @ ..] => (format!("/apis/{group}/{version}"), tail),
        _ => return None,
    };
    // Even positions are collections, odd positions objects.
    let (collection, name) = match tail {
        [] => return None,
        [collection @ .., name] if tail.len() % 2 == 0 => (collection, Some(decode(name))),
        collection => (collection, None),
    };
    Some(PathWatch {
        collection: format!("{head}/{}", collection.join("/")),
        name,
    })
}

/// Parses method, path and query as kube-apiserver does.
///
/// `watch` and `exact_name` come from the query. `watch` is true if the query requests a watch.
/// `exact_name` is the name that the field selector requires.
pub fn parse(
    method: &Method,
    raw_path: &str,
    watch: bool,
    exact_name: Option<&str>,
) -> RequestInfo {
    let path = decode(raw_path);
    let plain = RequestInfo {
        verb: method_verb(method),
        path: path.clone(),
        resource: None,
    };
    let trimmed = path.trim_matches('/');
    let parts: Vec<&str> = trimmed.split('/').collect();
    let (group, version, tail) = match parts.as_slice() {
        ["api", version, tail @ ..] if !tail.is_empty() => ("", *version, tail),
        ["apis", group, version, tail @ ..] if !tail.is_empty() => (*group, *version, tail),
        _ => return plain,
    };
    let mut resource = resource_path(tail);
    group.clone_into(&mut resource.group);
    version.clone_into(&mut resource.version);
    let verb = resource_verb(method, &mut resource, watch, exact_name);
    RequestInfo {
        verb,
        path,
        resource: Some(resource),
    }
}

fn resource_path(tail: &[&str]) -> ResourcePath {
    let mut namespace = "";
    let mut parts = tail;
    if let ["namespaces", name, rest @ ..] = tail {
        namespace = name;
        if let [first, ..] = rest
            && !NAMESPACE_SUBRESOURCES.contains(first)
        {
            parts = rest;
        }
    }
    let at = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
    ResourcePath {
        namespace: namespace.to_owned(),
        resource: at(0),
        name: at(1),
        subresource: at(2),
        rest: parts
            .iter()
            .skip(3)
            .map(|part| (*part).to_owned())
            .collect(),
        ..ResourcePath::default()
    }
}

fn resource_verb(
    method: &Method,
    path: &mut ResourcePath,
    watch: bool,
    exact_name: Option<&str>,
) -> Cow<'static, str> {
    match *method {
        Method::POST => "create".into(),
        Method::PUT => "update".into(),
        Method::PATCH => "patch".into(),
        Method::DELETE if path.name.is_empty() => "deletecollection".into(),
        Method::DELETE => "delete".into(),
        Method::GET | Method::HEAD if path.name.is_empty() => {
            if let Some(name) = exact_name.filter(|name| is_path_segment(name)) {
                name.clone_into(&mut path.name);
            }
            if watch { "watch" } else { "list" }.into()
        }
        Method::GET | Method::HEAD => "get".into(),
        _ => Cow::Borrowed(""),
    }
}

fn method_verb(method: &Method) -> Cow<'static, str> {
    match *method {
        Method::GET => "get".into(),
        Method::POST => "post".into(),
        Method::PUT => "put".into(),
        Method::PATCH => "patch".into(),
        Method::DELETE => "delete".into(),
        Method::HEAD => "head".into(),
        _ => method.as_str().to_ascii_lowercase().into(),
    }
}

/// Reports whether the name is a valid path segment (`IsPathSegmentName`).
pub(crate) fn is_path_segment(name: &str) -> bool {
    !matches!(name, "." | "..") && !name.contains(['/', '%'])
}

/// Percent-decodes the path. Invalid UTF-8 becomes U+FFFD, which no name contains.
fn decode(raw: &str) -> String {
    if !raw.contains('%') {
        return raw.to_owned();
    }
    let bytes = raw.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        let escaped = (byte == b'%')
            .then(|| bytes.get(index + 1..index + 3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(escaped.unwrap_or(byte));
        index += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

impl ResourcePath {
    /// Returns the resource in the form of RBAC rules: `pods`, or `pods/status`.
    pub fn qualified(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &Method, path: &str, expect: (&str, [&str; 6])) {
        let info = parse(method, path, false, None);
        let resource = info.resource.unwrap_or_default();
        let found = [
            resource.group.as_str(),
            resource.version.as_str(),
            resource.namespace.as_str(),
            resource.resource.as_str(),
            resource.name.as_str(),
            resource.subresource.as_str(),
        ];
        assert_eq!((info.verb.as_ref(), found), expect, "{method} {path}");
    }

    #[test]
    fn request_paths_are_parsed_as_in_kube_apiserver() {
        let (get, post, put, delete) = (&Method::GET, &Method::POST, &Method::PUT, &Method::DELETE);
        check(
            get,
            "/api/v1/pods",
            ("list", ["", "v1", "", "pods", "", ""]),
        );
        check(
            get,
            "/api/v1/namespaces/shop/pods/web/log",
            ("get", ["", "v1", "shop", "pods", "web", "log"]),
        );
        check(
            get,
            "/api/v1/namespaces/shop",
            ("get", ["", "v1", "shop", "namespaces", "shop", ""]),
        );
        check(
            put,
            "/api/v1/namespaces/shop/finalize",
            (
                "update",
                ["", "v1", "shop", "namespaces", "shop", "finalize"],
            ),
        );
        check(
            put,
            "/api/v1/namespaces/shop/status",
            ("update", ["", "v1", "shop", "namespaces", "shop", "status"]),
        );
        check(
            post,
            "/api/v1/namespaces",
            ("create", ["", "v1", "", "namespaces", "", ""]),
        );
        check(
            delete,
            "/apis/apps/v1/namespaces/shop/deployments",
            (
                "deletecollection",
                ["apps", "v1", "shop", "deployments", "", ""],
            ),
        );
        check(
            &Method::PATCH,
            "/apis/apps/v1/namespaces/shop/deployments/web/scale/",
            (
                "patch",
                ["apps", "v1", "shop", "deployments", "web", "scale"],
            ),
        );
        check(
            &Method::HEAD,
            "/api/v1/nodes/n1",
            ("get", ["", "v1", "", "nodes", "n1", ""]),
        );
        check(
            &Method::OPTIONS,
            "/api/v1/nodes/n1",
            ("", ["", "v1", "", "nodes", "n1", ""]),
        );
    }

    #[test]
    fn verb_of_non_resource_path_is_the_http_method() {
        for path in [
            "/",
            "/api",
            "/api/v1",
            "/apis/apps/v1",
            "/version",
            "/livez/ping",
            "",
        ] {
            let info = parse(&Method::GET, path, false, None);
            assert_eq!((info.verb.as_ref(), info.resource), ("get", None), "{path}");
        }
    }

    #[test]
    fn deprecated_watch_path_is_parsed() {
        let old = |path| path_watch(&Method::GET, path);
        let found = old("/api/v1/watch/namespaces/shop/pods").unwrap();
        assert_eq!(found.collection, "/api/v1/namespaces/shop/pods");
        assert_eq!(found.name, None);
        let found = old("/apis/apps/v1/watch/namespaces/shop/deployments/web").unwrap();
        assert_eq!(
            found.collection,
            "/apis/apps/v1/namespaces/shop/deployments"
        );
        assert_eq!(found.name.as_deref(), Some("web"));
        assert_eq!(
            old("/api/v1/watch/nodes").unwrap().collection,
            "/api/v1/nodes"
        );
        for path in ["/api/v1/watch", "/api/v1/nodes", "/api/watch/nodes"] {
            assert_eq!(old(path), None, "{path}");
        }
        assert_eq!(path_watch(&Method::POST, "/api/v1/watch/nodes"), None);
    }

    #[test]
    fn verb_watch_and_object_name_are_derived_from_the_query() {
        let info = parse(&Method::GET, "/api/v1/nodes", true, Some("n1"));
        assert_eq!(info.verb, "watch");
        assert_eq!(info.resource.unwrap().name, "n1");
        let info = parse(&Method::GET, "/api/v1/nodes", false, Some("a/b"));
        assert_eq!(info.resource.unwrap().name, "");
    }

    #[test]
    fn escaped_slash_separates_path_segments_as_in_go() {
        check(
            &Method::GET,
            "/api/v1/namespaces/a%2Fpods/b",
            ("get", ["", "v1", "a", "pods", "b", ""]),
        );
        check(
            &Method::GET,
            "/api/v1/nodes/a%zz",
            ("get", ["", "v1", "", "nodes", "a%zz", ""]),
        );
    }
}
