//! Time limits for the head of a response.

use std::time::Duration;

use http::Method;

use drover_access::verb::{Verb, parameter};

/// Time limit of requests without a `timeout` parameter. Equals the default of the Kubernetes API
/// server.
const DEFAULT: Duration = Duration::from_mins(1);
/// Time added to the timeout that the client requests. The client then receives the API server's
/// own timeout error first.
const GRACE: Duration = Duration::from_secs(2);
/// Maximum timeout that a client can request.
const MAX_TIMEOUT: Duration = Duration::from_hours(24);

/// Returns the time limit for the head of a response. `None` means no limit.
///
/// Watches, logs and requests to a service proxy have no limit, because the first data can arrive
/// late. These requests end when the client disconnects or the tunnel closes. A protocol upgrade to
/// a container gets one minute. All other requests get the timeout that the client requests
/// (`timeout=30s`, `timeoutSeconds=30`), or one minute.
pub(super) fn for_head(
    verb: Verb,
    method: &Method,
    query: Option<&str>,
    upgrade: bool,
) -> Option<Duration> {
    match verb {
        // The API server accepts an upgrade when the container's node does. An application behind a
        // service proxy may take longer.
        _ if upgrade => (verb != Verb::Proxy).then_some(DEFAULT + GRACE),
        Verb::Watch => requested_timeout(query).map(|limit| limit + GRACE),
        Verb::Log | Verb::Exec | Verb::Attach | Verb::PortForward | Verb::Proxy => None,
        _ => {
            let requested = requested_timeout(query).filter(|_| method != Method::HEAD);
            Some(requested.unwrap_or(DEFAULT) + GRACE)
        }
    }
}

fn requested_timeout(query: Option<&str>) -> Option<Duration> {
    let seconds = parameter(query, "timeoutSeconds")
        .and_then(|text| text.parse().ok())
        .map(Duration::from_secs);
    seconds
        .or_else(|| parameter(query, "timeout").and_then(|text| go_duration(&text)))
        .filter(|limit| !limit.is_zero())
        .map(|limit| limit.min(MAX_TIMEOUT))
}

/// Parses a duration in Go's format: `1h15m30.918s`, `250ms`. Signs and units below a millisecond
/// are not supported.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at_checked(digits)?;
        let number: f64 = number.parse().ok()?;
        let (unit, after) = [("ms", 0.001), ("h", 3600.0), ("m", 60.0), ("s", 1.0)]
            .into_iter()
            .find_map(|(unit, seconds)| Some((seconds, after.strip_prefix(unit)?)))?;
        total = total.checked_add(Duration::try_from_secs_f64(number * unit).ok()?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_head_timeout_is_derived_from_the_timeout_of_the_request() {
        let seconds = |s| Some(Duration::from_secs(s));
        for (method, target, expected) in [
            ("GET", "/api/v1/pods", seconds(62)),
            ("GET", "/api/v1/pods?timeoutSeconds=5", seconds(7)),
            ("POST", "/api/v1/namespaces/a/pods?timeout=34s", seconds(36)),
            (
                "POST",
                "/api/v1/namespaces/a/pods?timeout=1m1.5s",
                Some(Duration::from_millis(63_500)),
            ),
            ("GET", "/api/v1/pods?timeout=0s", seconds(62)),
            ("GET", "/api/v1/pods?timeout=soon", seconds(62)),
            (
                "GET",
                "/api/v1/pods?timeout=99999999h",
                seconds(24 * 3600 + 2),
            ),
            ("GET", "/api/v1/pods?watch=1", None),
            (
                "GET",
                "/api/v1/pods?watch=1&timeoutSeconds=300",
                seconds(302),
            ),
            ("GET", "/api/v1/namespaces/a/pods/p/log", None),
            ("POST", "/api/v1/namespaces/a/pods/p/exec", None),
            ("GET", "/api/v1/nodes/n/proxy/x?timeout=1s", None),
            ("GET", "/api/v1/pods?watch=1&timeout%53econds=5", seconds(7)),
        ] {
            let (path, query) = match target.split_once('?') {
                Some((path, query)) => (path, Some(query)),
                None => (target, None),
            };
            let method: Method = method.parse().unwrap();
            let verb = Verb::of(&method, path, query);
            assert_eq!(for_head(verb, &method, query, false), expected, "{target}");
            let switching = for_head(verb, &method, query, true);
            let expected = (verb != Verb::Proxy).then_some(DEFAULT + GRACE);
            assert_eq!(switching, expected, "an upgrade: {target}");
        }
    }
}
