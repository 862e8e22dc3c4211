//! What a request does, in Kubernetes' words, read from its method, path and query.
//!
//! Used for audit, metrics and time limits, never for a decision about rights: those are the
//! API server's. So that nobody has one thing done and another recorded, everything is read as
//! the API server reads it (Go's `net/url`, and `RequestInfo` of `k8s.io/apiserver`): segments and
//! parameters are decoded first, and `watch` counts only where no object is named. Nothing that
//! it accepts is refused for its spelling.

mod query;

use std::borrow::Cow;

use http::Method;
use serde::Serialize;

pub use self::query::parameter;
use self::query::{asks, unescaped};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Reads one object, or a path that is no resource.
    Get,
    /// Reads a collection.
    List,
    /// Follows changes.
    Watch,
    /// Makes an object.
    Create,
    /// Replaces an object.
    Update,
    /// Changes a part of an object; also apply.
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
    /// Carries a pod's ports.
    PortForward,
    /// Speaks HTTP to a pod, service or node.
    Proxy,
    /// `HEAD`, `OPTIONS` or something unknown.
    Other,
}

impl Verb {
    /// All of them.
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

    /// The verb in lower case.
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

    /// Reads a Kubernetes path, as the cluster's API server will see it.
    ///
    /// `CONNECT` (RFC 8441) is the `GET` that it goes on as.
    pub fn of(method: &Method, path: &str, query: Option<&str>) -> Self {
        let method = match *method {
            Method::CONNECT => &Method::GET,
            _ => method,
        };
        // An encoded slash is refused before, so decoding makes no new segment.
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

    /// Whether the answer may stay open as long as the client likes, so that its beginning and
    /// its end are both worth a record, and no time limit fits.
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

/// The parts of a resource's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource<'a> {
    /// `pods`
    pub resource: &'a str,
    /// Name of the object.
    pub name: Option<&'a str>,
    /// `log`
    pub subresource: Option<&'a str>,
    /// The old form `/api/v1/watch/…`.
    pub watched: bool,
}

impl<'a> Resource<'a> {
    /// Reads `/api/v1/…` and `/apis/<group>/<version>/…`, decoded; `None` for any other path.
    ///
    /// Empty segments count, as they do for the API server, but not at either end.
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
    fn a_request_is_called_what_kubernetes_calls_it() {
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
    fn another_spelling_of_a_request_is_called_the_same() {
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
            // One object is read, whatever else is asked.
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
