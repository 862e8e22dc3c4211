//! The headers of forwarded requests and responses.

use std::net::IpAddr;

use drover_access::credential::strip_websocket_bearer;
use drover_access::headers::strip_connection;
use drover_access::token::UserToken;
use http::header::{
    AUTHORIZATION, CONNECTION, EXPECT, FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue,
    LOCATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

use crate::cookies;

/// Headers that apply to one connection only (RFC 9110 §7.6.1).
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
];
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// Response headers that affect other host names than the host name of the port forward.
/// `Clear-Site-Data` also deletes the cookies of the parent domain. `Alt-Svc` sends the browser to
/// another server.
const BEYOND_HOST: [HeaderName; 2] = [
    HeaderName::from_static("clear-site-data"),
    HeaderName::from_static("alt-svc"),
];

/// Prepares the headers of a request for the pod: removes the headers of the connection and all
/// credentials of Drover, and sets the forwarding headers. The pod receives the host of the port
/// forward.
pub(crate) fn to_pod(headers: &mut HeaderMap, host: &HeaderValue, client: Option<IpAddr>) {
    strip_connection(headers, &HOP_BY_HOP);
    cookies::strip_own(headers);
    strip_websocket_bearer(headers);
    if headers.get_all(AUTHORIZATION).iter().any(is_drover_token) {
        headers.remove(AUTHORIZATION);
    }
    let own: Vec<HeaderName> = headers
        .keys()
        .filter(|name| is_own(name))
        .cloned()
        .collect();
    for name in own {
        headers.remove(name);
    }
    headers.remove(EXPECT);
    headers.insert(HOST, host.clone());
    headers.insert(X_FORWARDED_HOST, host.clone());
    headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static("https"));
    let client = client.and_then(|client| HeaderValue::from_str(&client.to_string()).ok());
    if let Some(client) = client {
        headers.insert(X_FORWARDED_FOR, client);
    }
}

/// Prepares the headers of a response for the browser.
pub(crate) fn to_browser(headers: &mut HeaderMap, host: &str) {
    strip_connection(headers, &HOP_BY_HOP);
    for name in BEYOND_HOST {
        headers.remove(name);
    }
    cookies::limit_to_host(headers);
    // The program in the pod does not use TLS, so that it redirects to `http`.
    let own = format!("http://{host}/");
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let path = location.and_then(|location| location.strip_prefix(&own));
    if let Some(path) = path
        && let Ok(path) = HeaderValue::from_str(&format!("https://{host}/{path}"))
    {
        headers.insert(LOCATION, path);
    }
}

fn is_drover_token(value: &HeaderValue) -> bool {
    let text = value.to_str().unwrap_or_default();
    let token = text.split_once(' ').map(|(_, token)| token.trim());
    token.is_some_and(|token| UserToken::parse(token).is_some())
}

/// Returns true for headers that only Drover, a proxy in front of Drover, or an API server uses.
fn is_own(name: &HeaderName) -> bool {
    let text = name.as_str();
    let prefixes = ["drover-", "x-drover-", "impersonate-", "x-forwarded-"];
    *name == FORWARDED
        || text == "x-real-ip"
        || prefixes.iter().any(|prefix| text.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "drover_bcdfghjkmnpq_23456789bcdfghjkmnpqrstvwxzBCDFG";

    fn map(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn credentials_of_drover_are_not_sent_to_the_pod() {
        let mut headers = map(&[
            ("authorization", &format!("Bearer {TOKEN}")),
            ("cookie", "__Host-drover=x; __Host-drover-forward=y"),
            (
                "sec-websocket-protocol",
                "base64url.bearer.authorization.k8s.io.eA",
            ),
            ("x-drover-csrf", "x"),
            ("drover-lane", "user"),
            ("impersonate-user", "x"),
        ]);
        to_pod(
            &mut headers,
            &HeaderValue::from_static("a.forwards.example"),
            None,
        );
        assert_eq!(
            names(&headers),
            ["host", "x-forwarded-host", "x-forwarded-proto"]
        );
    }

    #[test]
    fn credentials_and_cookies_of_the_program_in_the_pod_are_kept() {
        let mut headers = map(&[
            ("authorization", "Basic YTpi"),
            ("cookie", "session=1"),
            ("sec-websocket-protocol", "graphql-ws"),
        ]);
        to_pod(
            &mut headers,
            &HeaderValue::from_static("a.forwards.example"),
            None,
        );
        assert_eq!(headers[AUTHORIZATION], "Basic YTpi");
        assert_eq!(headers["cookie"], "session=1");
        assert_eq!(headers["sec-websocket-protocol"], "graphql-ws");
    }

    #[test]
    fn headers_of_the_connection_are_removed_and_forwarding_headers_are_set() {
        let mut headers = map(&[
            ("connection", "keep-alive, X-Hop"),
            ("x-hop", "1"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("expect", "100-continue"),
            ("forwarded", "for=1.2.3.4"),
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-prefix", "/"),
            ("accept", "*/*"),
        ]);
        let client = Some(IpAddr::from([192, 0, 2, 1]));
        to_pod(
            &mut headers,
            &HeaderValue::from_static("a.forwards.example:8443"),
            client,
        );
        let expected = [
            "accept",
            "host",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-proto",
        ];
        assert_eq!(names(&headers), expected);
        assert_eq!(headers["host"], "a.forwards.example:8443");
        assert_eq!(headers["x-forwarded-proto"], "https");
        assert_eq!(headers["x-forwarded-for"], "192.0.2.1");
    }

    #[test]
    fn response_affects_only_the_host_of_the_port_forward() {
        let mut headers = map(&[
            ("clear-site-data", "\"cookies\""),
            ("alt-svc", "h3=\":443\""),
            ("set-cookie", "a=b; Domain=drover.example"),
            ("connection", "close"),
            ("location", "http://a.forwards.example:8443/next?a=b"),
            ("content-security-policy", "default-src 'self'"),
        ]);
        to_browser(&mut headers, "a.forwards.example:8443");
        assert_eq!(
            names(&headers),
            ["content-security-policy", "location", "set-cookie"]
        );
        assert_eq!(headers["set-cookie"], "a=b");
        assert_eq!(
            headers[LOCATION],
            "https://a.forwards.example:8443/next?a=b"
        );
        let mut other = map(&[("location", "http://a.forwards.example:84/")]);
        to_browser(&mut other, "a.forwards.example:8443");
        assert_eq!(other[LOCATION], "http://a.forwards.example:84/");
    }
}
