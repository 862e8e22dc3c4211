//! Decides whether a request is for Drover or for a port forward, by the requested host.

use http::header::HOST;
use http::{HeaderMap, Uri};

use crate::host_name::ForwardDomain;

/// The recipient of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The UI, the REST API or the proxy.
    Drover,
    /// The port forward with this label. `None` if the host name has no valid label.
    Forward(Option<String>),
    /// The request names several hosts, at least one of them below the forward domain.
    Ambiguous,
}

/// Returns the recipient of a request. The server calls this function before it routes a request,
/// so that no route of Drover serves a host below the forward domain, and no other host reaches a
/// port forward.
pub fn destination(domain: Option<&ForwardDomain>, uri: &Uri, headers: &HeaderMap) -> Destination {
    let Some(domain) = domain else {
        return Destination::Drover;
    };
    let authority = uri.authority().map(|host| host.as_str().as_bytes());
    let headers = headers.get_all(HOST).iter();
    let mut hosts = authority
        .into_iter()
        .chain(headers.map(http::HeaderValue::as_bytes));
    let Some(first) = hosts.next() else {
        return Destination::Drover;
    };
    let mut below = is_below(domain, first);
    let mut differ = false;
    for host in hosts {
        differ |= !host.eq_ignore_ascii_case(first);
        below |= is_below(domain, host);
    }
    match (below, differ) {
        (false, _) => Destination::Drover,
        (true, true) => Destination::Ambiguous,
        (true, false) => {
            let label = domain.label(name(first).unwrap_or_default());
            Destination::Forward(label.map(str::to_owned))
        }
    }
}

/// Returns true if a host is the domain or below the domain. A dot at the end, user information and
/// a port do not change the result.
fn is_below(domain: &ForwardDomain, host: &[u8]) -> bool {
    let after_user = host.rsplit(|byte| *byte == b'@').next().unwrap_or(host);
    let Some(name) = name(after_user) else {
        return false;
    };
    domain.contains(name.trim_end_matches('.'))
}

/// Returns a host without its port.
fn name(host: &[u8]) -> Option<&str> {
    let host = std::str::from_utf8(host).ok()?;
    Some(host.split_once(':').map_or(host, |(name, _)| name))
}

#[cfg(test)]
mod tests {
    use http::Request;
    use proptest::prelude::*;

    use super::*;

    const LABEL: &str = "0123456789abcdef0123456789abcdef";

    fn decide(uri: &str, hosts: &[&str]) -> Destination {
        let mut request = Request::get(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let request = request.body(()).unwrap();
        let domain: ForwardDomain = "forwards.example".parse().unwrap();
        destination(Some(&domain), request.uri(), request.headers())
    }

    fn forward() -> Destination {
        Destination::Forward(Some(LABEL.to_owned()))
    }

    #[test]
    fn hosts_below_the_forward_domain_reach_only_port_forwards() {
        let host = format!("{LABEL}.forwards.example");
        assert_eq!(decide("/", &[&host]), forward());
        assert_eq!(decide("/", &[&format!("{host}:8443")]), forward());
        assert_eq!(decide(&format!("https://{host}:8443/a"), &[]), forward());
        for host in [
            "forwards.example",
            "drover.forwards.example:8443",
            "a.b.forwards.example",
            "FORWARDS.EXAMPLE",
            "forwards.example.",
            "user@forwards.example",
            "forwards.example:",
        ] {
            assert_eq!(decide("/", &[host]), Destination::Forward(None), "{host}");
        }
        for host in [
            "drover.example",
            "example",
            "127.0.0.1:8443",
            "[::1]:8443",
            "",
            "xforwards.example",
        ] {
            assert_eq!(decide("/", &[host]), Destination::Drover, "{host}");
        }
        assert_eq!(decide("/", &[]), Destination::Drover);
    }

    #[test]
    fn request_with_two_different_hosts_is_ambiguous() {
        let host = format!("{LABEL}.forwards.example");
        for (uri, hosts) in [
            ("/".to_owned(), vec![&*host, "drover.example"]),
            ("/".to_owned(), vec!["drover.example", &*host]),
            (format!("https://{host}/"), vec!["drover.example"]),
            ("https://drover.example/".to_owned(), vec![&*host]),
        ] {
            assert_eq!(
                decide(&uri, &hosts),
                Destination::Ambiguous,
                "{uri} {hosts:?}"
            );
        }
        assert_eq!(decide(&format!("https://{host}/"), &[&host]), forward());
        // The checks of the proxy reject these requests.
        assert_eq!(
            decide("/", &["a.example", "b.example"]),
            Destination::Drover
        );
    }

    #[test]
    fn server_without_a_forward_domain_has_no_port_forwards() {
        let request = Request::get("/").header(HOST, format!("{LABEL}.forwards.example"));
        let request = request.body(()).unwrap();
        let decided = destination(None, request.uri(), request.headers());
        assert_eq!(decided, Destination::Drover);
    }

    proptest! {
        #[test]
        fn host_that_ends_with_the_domain_never_reaches_drover(
            prefix in "([a-z0-9.-]{0,40}[.])?", port in "(:[0-9]{0,5})?", dots in "[.]{0,2}",
        ) {
            let host = format!("{prefix}forwards.example{dots}{port}");
            let decided = decide("/", &[&host]);
            prop_assert!(decided != Destination::Drover, "{host}");
        }
    }
}
