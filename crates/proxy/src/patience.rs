//! How long a request may wait for the head of its answer.

use std::time::Duration;

use http::Method;

use drover_access::verb::{Verb, parameter};

/// What a request gets that says nothing itself; also what the Kubernetes API server gives.
const USUAL: Duration = Duration::from_mins(1);
/// More than the API server's own limit, so that its own, better answer wins.
const GRACE: Duration = Duration::from_secs(2);
/// Longer wishes are taken for this.
const LONGEST: Duration = Duration::from_hours(24);

/// The time limit for the head of an answer; `None` if it may take as long as it likes.
///
/// Watches and logs begin late when there is nothing to say yet, and what is behind a service's
/// proxy may think for long: those end with the client or with the tunnel. A switch of protocols
/// to a container gets a minute; others get what they ask for (`timeout=30s`,
/// `timeoutSeconds=30`), or a minute.
pub(super) fn for_head(
    verb: Verb,
    method: &Method,
    query: Option<&str>,
    upgrade: bool,
) -> Option<Duration> {
    match verb {
        // The API server agrees as soon as the container's node does; what is behind a service's
        // proxy may think first.
        _ if upgrade => (verb != Verb::Proxy).then_some(USUAL + GRACE),
        Verb::Watch => asked(query).map(|limit| limit + GRACE),
        Verb::Log | Verb::Exec | Verb::Attach | Verb::PortForward | Verb::Proxy => None,
        _ => {
            let asked = asked(query).filter(|_| method != Method::HEAD);
            Some(asked.unwrap_or(USUAL) + GRACE)
        }
    }
}

fn asked(query: Option<&str>) -> Option<Duration> {
    let seconds = parameter(query, "timeoutSeconds")
        .and_then(|text| text.parse().ok())
        .map(Duration::from_secs);
    seconds
        .or_else(|| parameter(query, "timeout").and_then(|text| go_duration(&text)))
        .filter(|limit| !limit.is_zero())
        .map(|limit| limit.min(LONGEST))
}

/// Reads a duration as Go writes it: `1h15m30.918s`, `250ms`. No sign, no fraction of units below
/// a millisecond: nobody waits that short.
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
    fn a_request_waits_as_long_as_it_asks_and_a_stream_as_long_as_it_lives() {
        let seconds = |s| Some(Duration::from_secs(s));
        for (method, target, wanted) in [
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
            assert_eq!(for_head(verb, &method, query, false), wanted, "{target}");
            let switching = for_head(verb, &method, query, true);
            let wanted = (verb != Verb::Proxy).then_some(USUAL + GRACE);
            assert_eq!(switching, wanted, "an upgrade: {target}");
        }
    }
}
