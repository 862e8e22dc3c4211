//! The Kubernetes verb of a request, from its method, path and query.
//!
//! Audit records, metrics and time limits use the verb. Permissions do not depend on the verb,
//! because the API server checks permissions. This module parses paths like the API server (Go's
//! `net/url`, and `RequestInfo` of `k8s.io/apiserver`), so that audit records contain the correct
//! verb. The module decodes segments and parameters first. The parameter `watch` has no effect if
//! the path contains an object name. The parser accepts every path that the API server accepts.

mod query;

use std::borrow::Cow;

use http::Method;
use serde::Serialize;

pub use self::query::parameter;
use self::query::{asks, unescaped};

/// Kubernetes verb of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Reads one object, or a path that is not a resource.
    Get,
    /// Reads a collection.
    List,
    /// Watches changes.
    Watch,
    /// Creates an object.
    Create,
    /// Replaces an object.
    Update,
    /// Patches or applies an object.
    Patch,
    /// Deletes one object.
    Delete,
    /// Deletes a collection.
    DeleteCollection,
    /// Reads or follows a container's log.
    Log,
    /// Runs a command in a container.
    Exec,
    /// Attaches to a container's process.
    Attach,
    /// Forwards ports of a pod.
    PortForward,
    /// Proxies HTTP to a pod, service or node.
    Proxy,
    /// `HEAD`, `OPTIONS` or an unknown method.
    Other,
}

impl Verb {
    /// All verbs, for the labels of metrics.
    pub const ALL: [Self; 14] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Create,
        Self::Update,
        Self::Patch,
        Self::Delete,
        Self::DeleteCollection,
        Self::Log,
        Self::Exec,
        Self::Attach,
        Self::PortForward,
        Self::Proxy,
        Self::Other,
    ];

    /// Returns the name of the verb in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Log => "log",
            Self::Exec => "exec",
            Self::Attach => "attach",
            Self::PortForward => "portforward",
            Self::Proxy => "proxy",
            Self::Other => "other",
        }
    }

    /// Determines the verb of a Kubernetes path in the same manner as the cluster's API server.
    /// `CONNECT` (RFC 8441) has the verb of the forwarded `GET`.
    pub fn of(method: &Method, path: &str, query: Option<&str>) -> Self {
        let method = match *method {
            Method::CONNECT => &Method::GET,
            _ => method,
        };
        // Paths with encoded slashes are rejected before, so decoding creates no new segment.
        let path = unescaped(path).unwrap_or(Cow::Borrowed(path));
        let Some(resource) = Resource::parse(&path) else {
            return of_path(method);
        };
        match resource.subresource {
            Some("exec") => return Self::Exec,
            Some("attach") => return Self::Attach,
            Some("portforward") => return Self::PortForward,
            Some("proxy") => return Self::Proxy,
            Some("log") => return Self::Log,
            _ => {}
        }
        let named = resource.name.is_some();
        match *method {
            Method::GET if resource.watched => Self::Watch,
            Method::GET if named => Self::Get,
            Method::GET if asks(query, "watch") => Self::Watch,
            Method::GET => Self::List,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE if named => Self::Delete,
            Method::DELETE => Self::DeleteCollection,
            _ => Self::Other,
        }
    }

    /// Reports whether the response may remain open indefinitely. Such a request has two audit
    /// records and no time limit.
    pub fn is_stream(self, query: Option<&str>) -> bool {
        match self {
            Self::Watch | Self::Exec | Self::Attach | Self::PortForward => true,
            Self::Log => asks(query, "follow"),
            _ => false,
        }
    }
}

fn of_path(method: &Method) -> Verb {
    match *method {
        Method::GET => Verb::Get,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE => Verb::Delete,
        _ => Verb::Other,
    }
}

/// The resource, name and subresource in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource<'a> {
    /// Plural name of the resource, such as `pods`.
    pub resource: &'a str,
    /// Name of the object.
    pub name: Option<&'a str>,
    /// Subresource, such as `log`.
    pub subresource: Option<&'a str>,
    /// True for the deprecated form `/api/v1/watch/…`.
    pub watched: bool,
}

impl<'a> Resource<'a> {
    /// Parses `/api/v1/…` and `/apis/<group>/<version>/…`, and decodes the segments. Returns `None`
    /// for other paths.
    ///
    /// Like the API server, ignores leading and trailing empty segments only.
    pub fn parse(path: &'a str) -> Option<Self> {
        let mut segments = path.trim_matches('/').split('/');
        match segments.next()? {
            "api" => segments.next()?,
            "apis" => {
                segments.next()?;
                segments.next()?
            }
            _ => return None,
        };
        let mut first = segments.next()?;
        let watched = first == "watch";
        if watched {
            first = segments.next()?;
        }
        let named = |name: Option<&'a str>| name.filter(|name| !name.is_empty());
        let (resource, name, subresource) = if first == "namespaces" {
            let Some(namespace) = segments.next() else {
                return Some(Self {
                    resource: first,
                    name: None,
                    subresource: None,
                    watched,
                });
            };
            match segments.next() {
                None => (first, Some(namespace), None),
                Some(sub @ ("status" | "finalize")) => (first, Some(namespace), Some(sub)),
                Some(resource) => (resource, named(segments.next()), segments.next()),
            }
        } else {
            (first, named(segments.next()), segments.next())
        };
        Some(Self {
            resource,
            name,
            subresource,
            watched,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_called(method: &str, target: &str, verb: Verb, stream: bool) {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let got = Verb::of(&method.parse().unwrap(), path, query);
        assert_eq!(got, verb, "{method} {target}");
        assert_eq!(got.is_stream(query), stream, "{method} {target}");
    }

    #[test]
    fn request_verbs_match_kubernetes() {
        let pod = "/api/v1/namespaces/a/pods/p";
        for (method, target, verb, stream) in [
            ("GET", "/api/v1/pods", Verb::List, false),
            ("GET", "/api/v1/pods?watch=true", Verb::Watch, true),
            ("GET", "/api/v1/pods?limit=500&watch=1", Verb::Watch, true),
            ("GET", "/api/v1/pods?watch", Verb::Watch, true),
            ("GET", "/api/v1/pods?watch=false", Verb::List, false),
            ("GET", "/api/v1/pods?watch=faLSE&watch=1", Verb::List, false),
            ("GET", "/api/v1/watch/namespaces/a/pods", Verb::Watch, true),
            ("GET", "/api/v1/namespaces", Verb::List, false),
            ("GET", "/api/v1/namespaces/a", Verb::Get, false),
            ("PUT", "/api/v1/namespaces/a/finalize", Verb::Update, false),
            (
                "GET",
                "/apis/apps/v1/namespaces/a/deployments/d/scale",
                Verb::Get,
                false,
            ),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/a/deployments/d",
                Verb::Patch,
                false,
            ),
            ("DELETE", pod, Verb::Delete, false),
            (
                "DELETE",
                "/api/v1/namespaces/a/pods",
                Verb::DeleteCollection,
                false,
            ),
            ("POST", "/api/v1/namespaces/a/pods", Verb::Create, false),
            ("GET", "/api/v1/namespaces/a/pods/p/log", Verb::Log, false),
            (
                "GET",
                "/api/v1/namespaces/a/pods/p/log?follow=true",
                Verb::Log,
                true,
            ),
            (
                "POST",
                "/api/v1/namespaces/a/pods/p/exec?command=sh",
                Verb::Exec,
                true,
            ),
            (
                "GET",
                "/api/v1/namespaces/a/pods/p/attach",
                Verb::Attach,
                true,
            ),
            (
                "GET",
                "/api/v1/namespaces/a/pods/p/portforward",
                Verb::PortForward,
                true,
            ),
            ("GET", "/api/v1/nodes/n/proxy/metrics", Verb::Proxy, false),
            (
                "POST",
                "/api/v1/namespaces/a/services/http:s:80/proxy/x?watch=1",
                Verb::Proxy,
                false,
            ),
            ("GET", "/version", Verb::Get, false),
            ("GET", "/apis/apps", Verb::Get, false),
            ("GET", "/api", Verb::Get, false),
            ("HEAD", "/api/v1/pods", Verb::Other, false),
        ] {
            assert_called(method, target, verb, stream);
        }
    }

    #[test]
    fn request_verb_is_independent_of_path_and_query_encoding() {
        for (method, target, verb, stream) in [
            (
                "POST",
                "/api/v1/namespaces/a/pods/p/%65xec",
                Verb::Exec,
                true,
            ),
            (
                "GET",
                "/%61pi/v1/namespaces/a/pods/p/%6C%6f%67?foll%6Fw=1",
                Verb::Log,
                true,
            ),
            ("GET", "/api/v1/pods?%77atch=%74rue", Verb::Watch, true),
            ("GET", "/api/v1/pods?watch=%46alse", Verb::List, false),
            ("GET", "/api/v1/pods?watch=1;x", Verb::List, false),
            ("GET", "/api/v1/pods?watch=%zz", Verb::List, false),
            // A path with a name reads one object, even with watch parameters.
            (
                "GET",
                "/api/v1/namespaces/a/secrets/s?watch=true",
                Verb::Get,
                false,
            ),
            ("GET", "/api/v1/namespaces/a/secrets/", Verb::List, false),
            (
                "DELETE",
                "/api/v1/namespaces//pods",
                Verb::DeleteCollection,
                false,
            ),
            ("CONNECT", "/api/v1/pods?watch=1", Verb::Watch, true),
            ("CONNECT", "/version", Verb::Get, false),
        ] {
            assert_called(method, target, verb, stream);
        }
    }
}
