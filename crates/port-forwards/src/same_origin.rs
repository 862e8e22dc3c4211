//! Checks that a page of another origin does not use the cookie of a port forward.
//!
//! All port forwards belong to the same site, because their host names have a common domain. A
//! browser therefore sends the cookie also with requests that a page of another port forward causes.
//! The server permits such requests only if the browser displays the response as a page: a link to a
//! port forward.

use http::header::ORIGIN;
use http::{HeaderMap, Method, request};

/// Returns true if a request can use the cookie. `host` is the requested host with its port.
pub(crate) fn is_permitted(head: &request::Parts, host: &str, is_upgrade: bool) -> bool {
    let site = single(&head.headers, "sec-fetch-site");
    let origin = single(&head.headers, ORIGIN.as_str());
    let (Ok(site), Ok(origin)) = (site, origin) else {
        return false;
    };
    let is_own = origin.is_none_or(|origin| {
        let own = format!("https://{host}");
        origin.eq_ignore_ascii_case(own.as_bytes())
    });
    if is_upgrade {
        // Browsers do not apply the same-origin policy to WebSockets.
        return origin.is_some() && is_own && site.is_none_or(is_same_origin);
    }
    match site {
        Some(site) => is_same_origin(site) || is_link(head),
        None => is_own || is_read(&head.method),
    }
}

fn is_same_origin(site: &[u8]) -> bool {
    matches!(site, b"same-origin" | b"none")
}

/// Returns true if the browser displays the response as a page in a tab.
fn is_link(head: &request::Parts) -> bool {
    let is = |name, value: &str| single(&head.headers, name) == Ok(Some(value.as_bytes()));
    is_read(&head.method) && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns the value of a header that browsers send at most once.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a [u8]>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value.map(http::HeaderValue::as_bytes)),
        _ => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const HOST: &str = "a.forwards.example:8443";

    fn permitted(method: Method, headers: &[(&str, &str)], is_upgrade: bool) -> bool {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        is_permitted(&head, HOST, is_upgrade)
    }

    #[test]
    fn page_of_another_port_forward_cannot_send_requests() {
        let other = ("origin", "https://b.forwards.example:8443");
        let own = ("origin", "https://A.forwards.example:8443");
        let site = |site| ("sec-fetch-site", site);
        let mode = |mode| ("sec-fetch-mode", mode);
        let dest = |dest| ("sec-fetch-dest", dest);
        let link = [site("same-site"), mode("navigate"), dest("document")];
        let frame = [site("same-site"), mode("navigate"), dest("iframe")];
        for (method, headers, expected) in [
            (Method::GET, &[site("same-origin")][..], true),
            (Method::POST, &[site("same-origin"), own], true),
            (Method::GET, &[site("none")], true),
            (Method::GET, &[], true),
            (Method::GET, &link, true),
            (Method::POST, &link, false),
            (Method::GET, &frame, false),
            (Method::GET, &[site("same-site"), mode("no-cors")], false),
            (
                Method::GET,
                &[site("cross-site"), mode("cors"), other],
                false,
            ),
            (Method::POST, &[other], false),
            (Method::POST, &[("origin", "null")], false),
            (Method::POST, &[own], true),
            (Method::POST, &[own, other], false),
            (
                Method::GET,
                &[site("same-origin"), site("same-site")],
                false,
            ),
        ] {
            assert_eq!(
                permitted(method.clone(), headers, false),
                expected,
                "{method} {headers:?}"
            );
        }
    }

    #[test]
    fn websocket_of_another_origin_is_rejected() {
        let other = ("origin", "https://b.forwards.example:8443");
        let own = ("origin", "https://a.forwards.example:8443");
        for (headers, expected) in [
            (&[own][..], true),
            (&[own, ("sec-fetch-site", "same-origin")], true),
            (&[other], false),
            (&[own, ("sec-fetch-site", "same-site")], false),
            (&[], false),
        ] {
            assert_eq!(
                permitted(Method::GET, headers, true),
                expected,
                "{headers:?}"
            );
        }
    }
}
