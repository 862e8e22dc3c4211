//! Cookies of port forwards.

use http::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE};

/// Cookie that gives a browser access to one port forward. Browsers store a cookie with this prefix
/// only from TLS, for the exact host and all paths (RFC 6265bis §4.1.3.2).
pub(crate) const COOKIE_NAME: &str = "__Host-drover-forward";
/// Prefix of all cookies of Drover.
const OWN_PREFIX: &str = "__Host-drover";

/// Returns the value of the only cookie of port forwards.
pub(crate) fn presented(headers: &HeaderMap) -> Option<&str> {
    let mut values = pairs(headers).filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        (name.trim() == COOKIE_NAME).then(|| value.trim())
    });
    let only = values.next()?;
    values.next().is_none().then_some(only)
}

/// Returns the `Set-Cookie` header for the browser. `SameSite=Lax` permits a link from Drover's page
/// to the port forward.
pub(crate) fn set(value: &str) -> Option<HeaderValue> {
    let text = format!("{COOKIE_NAME}={value}; Path=/; Secure; HttpOnly; SameSite=Lax");
    let mut header = HeaderValue::from_str(&text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// Removes the cookies of Drover from a request. Keeps the cookies of the program in the pod.
pub(crate) fn strip_own(headers: &mut HeaderMap) {
    let rest: Vec<&str> = pairs(headers).filter(|pair| !is_own(pair)).collect();
    let rest = HeaderValue::from_str(&rest.join("; "));
    headers.remove(COOKIE);
    if let Ok(rest) = rest
        && !rest.is_empty()
    {
        headers.insert(COOKIE, rest);
    }
}

/// Limits the cookies of a response to the host of the port forward: removes the attribute `Domain`,
/// and removes cookies with names of Drover's cookies.
pub(crate) fn limit_to_host(headers: &mut HeaderMap) {
    let limited: Vec<HeaderValue> = headers
        .get_all(SET_COOKIE)
        .iter()
        .filter_map(limited)
        .collect();
    headers.remove(SET_COOKIE);
    for cookie in limited {
        headers.append(SET_COOKIE, cookie);
    }
}

fn limited(cookie: &HeaderValue) -> Option<HeaderValue> {
    let text = std::str::from_utf8(cookie.as_bytes()).ok()?;
    let mut parts = text.split(';');
    let pair = parts.next().filter(|pair| !is_own(pair))?;
    let attributes = parts.filter(|attribute| {
        let name = attribute.split('=').next().unwrap_or_default();
        !name.trim().eq_ignore_ascii_case("domain")
    });
    let kept: Vec<&str> = std::iter::once(pair).chain(attributes).collect();
    HeaderValue::from_str(&kept.join(";")).ok()
}

/// Returns the pairs of all `Cookie` headers. HTTP/2 permits several headers (RFC 9113 §8.2.3).
fn pairs(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
        .flat_map(|value| value.split(';'))
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
}

/// Returns true for a cookie of Drover, also with other letter case. Browsers compare the prefix
/// `__Host-` without letter case.
fn is_own(pair: &str) -> bool {
    let name = pair.trim_start().as_bytes();
    let prefix = name.get(..OWN_PREFIX.len());
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(OWN_PREFIX.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_cookies(cookies: &[&str]) -> HeaderMap {
        let cookies = cookies.iter().map(|text| (COOKIE, text.parse().unwrap()));
        let mut headers = HeaderMap::new();
        for (name, value) in cookies {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn only_cookie_of_the_port_forward_is_returned() {
        for (cookies, value) in [
            (&["a=b; __Host-drover-forward=x"][..], Some("x")),
            (&["a=b", "__Host-drover-forward=x"], Some("x")),
            (
                &["__Host-drover-forward=x", "__Host-drover-forward=y"],
                None,
            ),
            (&["drover-forward=x", "__Host-drover=y"], None),
            (&[], None),
        ] {
            assert_eq!(presented(&with_cookies(cookies)), value, "{cookies:?}");
        }
    }

    #[test]
    fn cookies_of_drover_are_not_sent_to_the_pod() {
        for (cookies, sent) in [
            (&["a=b; __Host-drover-forward=x; c=d"][..], Some("a=b; c=d")),
            (&["__Host-drover=x", "a=b"], Some("a=b")),
            (&["__HOST-DROVER-forward=x;__host-drover=y"], None),
            (&["a=__Host-drover"], Some("a=__Host-drover")),
            (&[], None),
        ] {
            let mut headers = with_cookies(cookies);
            strip_own(&mut headers);
            let values: Vec<_> = headers.get_all(COOKIE).iter().collect();
            assert_eq!(values, Vec::from_iter(sent), "{cookies:?}");
        }
    }

    #[test]
    fn cookies_of_the_pod_are_limited_to_the_host_of_the_port_forward() {
        let mut headers = HeaderMap::new();
        for cookie in [
            "a=b; Domain=drover.example; Path=/; HttpOnly",
            "c=d;DOMAIN = .example;Secure",
            "__Host-drover-forward=x; Path=/; Secure",
            " __host-drover=x; Path=/; Secure",
            "plain=1",
        ] {
            headers.append(SET_COOKIE, cookie.parse().unwrap());
        }
        limit_to_host(&mut headers);
        let values: Vec<_> = headers.get_all(SET_COOKIE).iter().collect();
        assert_eq!(values, ["a=b; Path=/; HttpOnly", "c=d;Secure", "plain=1"]);
    }

    #[test]
    fn cookie_is_valid_only_for_its_host_and_hidden_from_scripts() {
        let header = set("x").unwrap();
        let text = header.to_str().unwrap();
        let expected = "__Host-drover-forward=x; Path=/; Secure; HttpOnly; SameSite=Lax";
        assert_eq!(text, expected);
    }
}
