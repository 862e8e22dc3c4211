//! Prevents a cluster from using this server's origin in a browser.
//!
//! All paths below `/k8s/clusters/` share this server's origin, but clusters serve the content. For
//! example, any pod can return a page or a script through `…/proxy/`.

use drover_api::agent::REFUSED_HEADER;
use http::header::{
    CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, LOCATION, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, StatusCode, Uri};

/// Response headers that the proxy forwards to the client, in addition to headers with
/// [`PASSED_PREFIXES`]. These headers describe the content, its caching and the request, or are
/// necessary for Kubernetes and for protocol upgrades.
///
/// Browsers apply many headers to the complete origin (cookies, CORS, reports, storage, sign-in).
/// New browser versions add headers. Therefore the proxy removes all headers that are not in this
/// list.
const PASSED: &[&str] = &[
    "accept",
    "accept-patch",
    "accept-post",
    "accept-ranges",
    "age",
    "allow",
    "audit-id",
    "cache-control",
    "content-digest",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-security-policy",
    "content-type",
    "date",
    "deprecation",
    "digest",
    REFUSED_HEADER,
    "etag",
    "expires",
    "last-modified",
    "link",
    "location",
    "pragma",
    "range",
    "repr-digest",
    "retry-after",
    "sec-websocket-accept",
    "sec-websocket-extensions",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "server",
    "sunset",
    "vary",
    "via",
    "warning",
];
/// Prefixes of application headers, such as `X-Kubernetes-Pf-Flowschema-Uid` and
/// `X-Stream-Protocol-Version`. RFC 6648 deprecates `x-` for standards, so browsers do not assign
/// meaning to new headers with this prefix. gRPC and container registries have separate prefixes.
const PASSED_PREFIXES: &[&str] = &["x-", "grpc-", "docker-"];
/// Headers that instruct a reverse proxy in front of this server to serve one of its own files.
const OBEYED_BY_PROXIES: &[&str] = &["x-accel-", "x-sendfile", "x-lighttpd-"];

/// Removes response headers that affect this server's origin, and sandboxes the content. The media
/// type in `Content-Type` has no influence, because a browser can detect a different type.
pub(super) fn isolate(headers: &mut HeaderMap) {
    let removed: Vec<HeaderName> = headers.keys().filter(|n| !passes(n)).cloned().collect();
    for name in removed {
        headers.remove(name);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Add a second policy next to the policy of the response, because browsers enforce all
    // policies.
    headers.append(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
}

fn passes(name: &HeaderName) -> bool {
    let name = name.as_str();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    PASSED.contains(&name) || begins(PASSED_PREFIXES) && !begins(OBEYED_BY_PROXIES)
}

/// Returns true if a browser requests the response as a page, a frame or a script (Fetch Metadata,
/// W3C). Returns false for requests that a script of Drover's UI sends.
pub(super) fn is_navigation(headers: &HeaderMap) -> bool {
    let mut destinations = headers.get_all("sec-fetch-dest").iter();
    destinations.any(|dest| !matches!(dest.as_bytes(), b"empty" | b"websocket"))
}

/// Returns true if a script of Drover's page sends a query with Prometheus's API path through the proxy
/// of a Service. The path can belong to any Service. Only a script of Drover's page can send the
/// request, and the browser neither displays nor runs the response. A browser without Fetch Metadata
/// does not prove the sender, so the result is then false.
pub(super) fn is_metrics_query(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    let is = |name: &str, expected: &[u8]| {
        let mut values = headers.get_all(name).iter();
        values
            .next()
            .is_some_and(|value| value.as_bytes() == expected)
            && values.next().is_none()
    };
    let parts: Vec<&str> = path.split('/').collect();
    // The API server decodes the path.
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        !name.is_empty()
            && bytes
                .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-.:".contains(&it))
    };
    let is_query = match parts.as_slice() {
        [
            "",
            "api",
            "v1",
            "namespaces",
            namespace,
            "services",
            service,
            "proxy",
            "api",
            "v1",
            "query_range",
        ] => is_name(namespace) && is_name(service),
        _ => false,
    };
    method == Method::GET
        && is_query
        && is("sec-fetch-dest", b"empty")
        && is("sec-fetch-site", b"same-origin")
}

/// Returns true if the request is for a service worker script. A service worker runs in the origin
/// even after its page is closed.
pub(super) fn is_for_service_worker(headers: &HeaderMap) -> bool {
    headers.contains_key("service-worker")
}

/// The action for the `Location` header of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// Forward the `Location` header unchanged.
    AsIs,
    /// Add the cluster's prefix to the `Location` header, which contains a path of the cluster's
    /// API server.
    Rewritten(HeaderValue),
    /// Refuse the response. The redirect would send a client, with its credentials, to a path of
    /// this server outside the cluster's prefix.
    Elsewhere,
}

/// Classifies the `Location` header of a response. Drover never follows redirects.
///
/// The cluster's API server redirects to its own paths. Without the cluster's prefix, such a path
/// would send the client to different resources of this server, for example of a different cluster.
pub(super) fn redirect(
    status: StatusCode,
    headers: &HeaderMap,
    prefix: &str,
    host: Option<&str>,
) -> Redirect {
    if !status.is_redirection() && status != StatusCode::CREATED {
        return Redirect::AsIs;
    }
    let Some(location) = headers.get(LOCATION) else {
        return Redirect::AsIs;
    };
    // Browsers remove tabs and newlines before they parse, so they read `/\t/host` as `//host`.
    let plain = |text: &&str| text.bytes().all(|b| b.is_ascii_graphic());
    let Some(text) = location.to_str().ok().filter(plain) else {
        return Redirect::Elsewhere;
    };
    // Browsers and other clients treat a backslash as a slash.
    let slashed = text.replace('\\', "/");
    if slashed.starts_with("//") {
        return absolute(&format!("https:{slashed}"), host);
    }
    if has_scheme(&slashed) {
        return absolute(&slashed, host);
    }
    if climbs(&slashed) {
        return Redirect::Elsewhere;
    }
    if !slashed.starts_with('/') {
        return Redirect::AsIs;
    }
    HeaderValue::from_str(&format!("{prefix}{slashed}"))
        .map_or(Redirect::Elsewhere, Redirect::Rewritten)
}

/// Returns true if a URL has a scheme. Also returns true for `https:/path`, which browsers resolve
/// to a path of this server.
fn has_scheme(text: &str) -> bool {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    text[..end].contains(':')
}

fn absolute(text: &str, host: Option<&str>) -> Redirect {
    let Some(uri) = text.parse::<Uri>().ok().filter(|u| u.scheme().is_some()) else {
        return Redirect::Elsewhere;
    };
    let name = |host: &str| {
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let end = host.rfind(']').map_or(0, |bracket| bracket + 1);
        let port = host[end..].find(':').map_or(host.len(), |at| end + at);
        host[..port].to_ascii_lowercase()
    };
    match (uri.host(), host) {
        (Some(theirs), Some(ours)) if name(theirs) != name(ours) => Redirect::AsIs,
        _ => Redirect::Elsewhere,
    }
}

fn climbs(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    path.to_ascii_lowercase()
        .replace("%2e", ".")
        .replace("%2f", "/")
        .replace("%5c", "/")
        .split('/')
        .any(|segment| segment.split(';').next() == Some(".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxied_page_cannot_access_the_origin_of_drover() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", "text/html".parse().unwrap());
        headers.insert("set-cookie", "drover_session=x".parse().unwrap());
        headers.append("set-cookie", "b=c".parse().unwrap());
        headers.insert("clear-site-data", "\"*\"".parse().unwrap());
        headers.insert("access-control-allow-origin", "*".parse().unwrap());
        headers.insert("content-security-policy", "default-src *".parse().unwrap());
        headers.insert("x-mine", "stays".parse().unwrap());
        // The list contains known headers, headers of proxies, and one header that no browser
        // supports yet.
        for name in [
            "accept-ch",
            "activate-storage-access",
            "alt-svc",
            "integrity-policy",
            "nel",
            "no-vary-search",
            "origin-trial",
            "refresh",
            "report-to",
            "service-worker-allowed",
            "set-login",
            "sourcemap",
            "speculation-rules",
            "strict-transport-security",
            "supports-loading-mode",
            "use-as-dictionary",
            "www-authenticate",
            "x-accel-redirect",
            "x-sendfile",
            "header-of-the-future",
        ] {
            headers.insert(name, "x".parse().unwrap());
        }
        isolate(&mut headers);
        let policies: Vec<_> = headers.get_all(CONTENT_SECURITY_POLICY).iter().collect();
        assert_eq!(policies, ["default-src *", "sandbox"]);
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["x-mine"], "stays");
        assert_eq!(headers.len(), 5);
    }

    #[test]
    fn response_headers_for_kubernetes_clients_are_forwarded() {
        for name in [
            "allow",
            "audit-id",
            "cache-control",
            "content-encoding",
            "content-length",
            "content-type",
            "date",
            "drover-refused",
            "etag",
            "grpc-status",
            "last-modified",
            "location",
            "retry-after",
            "sec-websocket-accept",
            "sec-websocket-protocol",
            "vary",
            "warning",
            "x-kubernetes-pf-flowschema-uid",
            "x-kubernetes-pf-prioritylevel-uid",
            "x-stream-protocol-version",
        ] {
            let mut headers = HeaderMap::new();
            headers.append(name, "one".parse().unwrap());
            headers.append(name, "two".parse().unwrap());
            isolate(&mut headers);
            let values: Vec<_> = headers.get_all(name).iter().collect();
            assert_eq!(values, ["one", "two"], "{name}");
        }
    }

    #[test]
    fn every_cluster_response_is_sandboxed() {
        for content in [
            &["application/json"][..],
            &["application/json;,text/html"],
            &["application/json", "text/html"],
            &["text/html"],
            &[],
        ] {
            let mut headers = HeaderMap::new();
            for one in content {
                headers.append("content-type", one.parse().unwrap());
            }
            isolate(&mut headers);
            assert_eq!(headers[CONTENT_SECURITY_POLICY], "sandbox", "{content:?}");
            assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff", "{content:?}");
        }
    }

    #[test]
    fn redirect_of_a_cluster_is_rewritten_to_its_proxy_path() {
        let read = |location: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(LOCATION, location.parse().unwrap());
            let found = redirect(
                StatusCode::FOUND,
                &headers,
                "/k8s/clusters/a",
                Some("drover.example:8443"),
            );
            match found {
                Redirect::AsIs => "as is".to_owned(),
                Redirect::Elsewhere => "elsewhere".to_owned(),
                Redirect::Rewritten(value) => value.to_str().unwrap().to_owned(),
            }
        };
        for (location, expected) in [
            ("/api/v1/x/", "/k8s/clusters/a/api/v1/x/"),
            ("/k8s/clusters/b/api", "/k8s/clusters/a/k8s/clusters/b/api"),
            ("next", "as is"),
            ("?page=2", "as is"),
            ("https://elsewhere.example/x", "as is"),
            ("//elsewhere.example/x", "as is"),
            ("https://drover.example/k8s/clusters/b", "elsewhere"),
            ("https://DROVER.example:8443/v1/users", "elsewhere"),
            ("https://me@drover.example:8443/v1/users", "elsewhere"),
            ("//drover.example:8443/v1/users", "elsewhere"),
            ("\\\\drover.example:8443/v1/users", "elsewhere"),
            ("https:/k8s/clusters/b", "elsewhere"),
            ("https:k8s/clusters/b", "elsewhere"),
            ("/\t/drover.example/v1", "elsewhere"),
            ("javascript:alert(1)", "elsewhere"),
            ("../../b/api", "elsewhere"),
            ("/x/%2e%2e/%2E./%2e%2e/b", "elsewhere"),
            ("/x/..%2f..%2fb", "elsewhere"),
        ] {
            assert_eq!(read(location), expected, "{location}");
        }
    }

    proptest::proptest! {
        /// Tests that a redirect of a hostile cluster causes no panic. A forwarded redirect leads
        /// to the same cluster or to a different host.
        #[test]
        fn location_header_never_refers_to_a_path_outside_its_cluster(
            location in "[/\\\\.%25eEfFcC;:@a-c?#-]{0,24}|(https?:)?//[a-z@:.\\[\\]]{0,16}/[./a-c]{0,8}",
        ) {
            let mut headers = HeaderMap::new();
            headers.insert(LOCATION, location.parse().unwrap());
            let prefix = "/k8s/clusters/a";
            let found = redirect(StatusCode::FOUND, &headers, prefix, Some("a.b"));
            let base = url_like("https://a.b/k8s/clusters/a/x/y");
            match found {
                Redirect::Elsewhere => {}
                Redirect::Rewritten(value) => {
                    let text = value.to_str().unwrap();
                    proptest::prop_assert!(text.starts_with("/k8s/clusters/a/"), "{text}");
                    proptest::prop_assert!(!climbs(text), "{text}");
                }
                Redirect::AsIs => proptest::prop_assert!(
                    !base.leaves_its_cluster(&location),
                    "{location}"
                ),
            }
        }
    }

    /// The URL of a page. Models how a browser resolves a `Location` header relative to this URL.
    struct Base(&'static str);

    fn url_like(text: &'static str) -> Base {
        Base(text)
    }

    impl Base {
        fn leaves_its_cluster(&self, location: &str) -> bool {
            let slashed = location.replace('\\', "/");
            let same_host = |rest: &str| {
                let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
                let host = authority.rsplit('@').next().unwrap_or_default();
                self.0.contains(&format!(
                    "//{}/",
                    host.split(':').next().unwrap_or_default()
                ))
            };
            match slashed.split_once("//") {
                Some((scheme, rest)) if scheme.is_empty() || scheme.ends_with(':') => {
                    same_host(rest)
                }
                _ => slashed.starts_with('/') || slashed.split(['?', '#']).next() == Some(".."),
            }
        }
    }
}
