//! Checks whether Drover's own web page sent a request with a session cookie.
//!
//! A browser adds the cookie to requests that any page causes. The cookie is `SameSite=Strict`,
//! which excludes other *sites* in supporting browsers. The following checks do not depend on
//! `SameSite`, and also reject requests from other origins of the same site:
//!
//! 1. `Sec-Fetch-Site` (Fetch Metadata, W3C), if present, is `same-origin` or `none` (an address
//!    that the user typed).
//! 2. `Origin` (RFC 6454), if present, is the origin of the server. Requests that change state must
//!    have the header. Upgrades must also have the header, because pages of other origins can read
//!    the bytes of an upgrade.
//! 3. Requests that change state contain the CSRF token. Only a page that can read the server's
//!    responses can send this token.

use http::header::{HOST, ORIGIN, UPGRADE};
use http::{HeaderMap, HeaderName, Method, Request, Uri, request};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

use crate::token::UserToken;

/// Header with the CSRF token of the session.
pub const CSRF_HEADER: HeaderName = HeaderName::from_static("x-drover-csrf");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Reasons to reject a request with a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CrossOrigin {
    /// A page of a different origin caused the request, or the `Origin` header is missing.
    #[error(
        "only Drover's own page can send requests with a browser session: programs must send \
         \"Authorization: Bearer <token>\""
    )]
    Origin,
    /// The CSRF token is missing or is not the CSRF token of the cookie's session.
    #[error(
        "the request lacks the session's CSRF token: send the token from GET /v1/session as \
         \"X-Drover-CSRF\", or reload the page"
    )]
    Csrf,
}

/// Method, target and headers of a request.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Method of the request.
    pub method: &'a Method,
    /// Target of the request.
    pub uri: &'a Uri,
    /// Headers of the request.
    pub headers: &'a HeaderMap,
}

impl<'a> From<&'a request::Parts> for Head<'a> {
    fn from(parts: &'a request::Parts) -> Self {
        Self {
            method: &parts.method,
            uri: &parts.uri,
            headers: &parts.headers,
        }
    }
}

impl<'a, B> From<&'a Request<B>> for Head<'a> {
    fn from(request: &'a Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
        }
    }
}

/// Checks a request that has no session yet, such as a sign-in. Rejects the request if a page of a
/// different origin sent the request.
pub fn check_origin(head: Head<'_>) -> Result<(), CrossOrigin> {
    let site = single(head.headers, &SEC_FETCH_SITE)?;
    let origin = single(head.headers, &ORIGIN)?;
    let from_here = site.is_none_or(|site| site == b"same-origin" || site == b"none");
    let ours = match origin {
        None => !(changes(head.method) || is_upgrade(head)),
        Some(origin) => own_origin(head).is_some_and(|own| own.as_bytes() == origin),
    };
    if from_here && ours {
        Ok(())
    } else {
        Err(CrossOrigin::Origin)
    }
}

/// Rejects a request with a session cookie unless Drover's web UI sent the request in the same
/// session.
pub fn check(head: Head<'_>, session: &UserToken) -> Result<(), CrossOrigin> {
    check_origin(head)?;
    if !changes(head.method) {
        return Ok(());
    }
    let shown = head.headers.get(CSRF_HEADER);
    let shown = shown.map_or(&b""[..], http::HeaderValue::as_bytes);
    if shown.ct_eq(session.csrf_token().as_bytes()).into() {
        Ok(())
    } else {
        Err(CrossOrigin::Csrf)
    }
}

/// Reports whether a method changes state. Returns false for upgrades, because a page cannot add
/// the CSRF token to the headers of an upgrade.
fn changes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::CONNECT)
}

/// Reports whether a request is an upgrade of HTTP/1.1 or an extended CONNECT of HTTP/2 (RFC 8441).
fn is_upgrade(head: Head<'_>) -> bool {
    *head.method == Method::CONNECT || head.headers.contains_key(UPGRADE)
}

/// Returns the value of a header that browsers send at most once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a [u8]>, CrossOrigin> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value.map(http::HeaderValue::as_bytes)),
        _ => Err(CrossOrigin::Origin),
    }
}

/// Returns the server's origin in the browser, from the requested host. Browsers store cookies by
/// host name. A page on a different host name that resolves to the server's address therefore has
/// no cookie.
fn own_origin(head: Head<'_>) -> Option<String> {
    let host = match head.uri.authority() {
        Some(authority) => authority.as_str(),
        None => std::str::from_utf8(single(head.headers, &HOST).ok()??).ok()?,
    };
    // Browsers omit the default port in both headers.
    Some(format!("https://{}", host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use http::Request;
    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::token::{ForUsers, issue};

    fn session() -> UserToken {
        UserToken::parse(issue::<ForUsers>(&[3; 32]).token.expose_secret()).unwrap()
    }

    fn head(method: &str, headers: &[(&str, &str)]) -> request::Parts {
        let mut request = Request::builder().method(method).uri("/v1/tokens");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn session_cookie_is_accepted_only_from_same_origin_pages() {
        let own = session().csrf_token();
        let other = UserToken::parse(issue::<ForUsers>(&[4; 32]).token.expose_secret());
        let other = other.unwrap().csrf_token();
        let host = ("host", "drover.example:8443");
        let here = ("origin", "https://drover.example:8443");
        let csrf = ("x-drover-csrf", own.as_str());
        let same = ("sec-fetch-site", "same-origin");
        let (foreign, no_csrf) = (Err(CrossOrigin::Origin), Err(CrossOrigin::Csrf));
        for (method, headers, expected) in [
            ("GET", vec![host], Ok(())),
            ("GET", vec![host, same], Ok(())),
            ("GET", vec![host, ("sec-fetch-site", "none")], Ok(())),
            ("GET", vec![host, ("sec-fetch-site", "cross-site")], foreign),
            ("GET", vec![host, ("sec-fetch-site", "same-site")], foreign),
            (
                "GET",
                vec![host, same, ("sec-fetch-site", "cross-site")],
                foreign,
            ),
            (
                "GET",
                vec![host, ("origin", "https://evil.example")],
                foreign,
            ),
            ("GET", vec![host, ("origin", "null")], foreign),
            ("POST", vec![host, here, csrf], Ok(())),
            ("POST", vec![host, here, csrf, same], Ok(())),
            ("POST", vec![host, csrf], foreign),
            ("POST", vec![host, here, here, csrf], foreign),
            ("POST", vec![here, csrf], foreign),
            ("POST", vec![host, here], no_csrf),
            (
                "POST",
                vec![host, here, ("x-drover-csrf", other.as_str())],
                no_csrf,
            ),
            ("POST", vec![host, here, ("x-drover-csrf", "")], no_csrf),
            ("DELETE", vec![host, here], no_csrf),
            ("OPTIONS", vec![host, here], no_csrf),
            (
                "POST",
                vec![host, ("origin", "http://drover.example:8443"), csrf],
                foreign,
            ),
            (
                "POST",
                vec![host, ("origin", "https://drover.example"), csrf],
                foreign,
            ),
            (
                "POST",
                vec![host, ("origin", "https://drover.example:8443.evil"), csrf],
                foreign,
            ),
            (
                "POST",
                vec![("host", "DROVER.example:8443"), here, csrf],
                Ok(()),
            ),
        ] {
            let head = head(method, &headers);
            assert_eq!(
                check((&head).into(), &session()),
                expected,
                "{method} {headers:?}"
            );
        }
    }

    #[test]
    fn websocket_with_foreign_or_missing_origin_is_rejected() {
        let upgrade = [("host", "d.example"), ("upgrade", "websocket")];
        let with = |more: &[(&'static str, &'static str)]| {
            let headers: Vec<_> = upgrade.iter().chain(more).copied().collect();
            check((&head("GET", &headers)).into(), &session())
        };
        assert_eq!(with(&[("origin", "https://d.example")]), Ok(()));
        assert_eq!(with(&[]), Err(CrossOrigin::Origin));
        assert_eq!(
            with(&[("user-agent", "kubectl/v1.36")]),
            Err(CrossOrigin::Origin)
        );
        assert_eq!(
            with(&[("origin", "https://evil.example")]),
            Err(CrossOrigin::Origin)
        );
    }

    #[test]
    fn websocket_over_http2_with_foreign_or_missing_origin_is_rejected() {
        for (origin, expected) in [
            (Some("https://d.example"), Ok(())),
            (Some("https://evil.example"), Err(CrossOrigin::Origin)),
            (None, Err(CrossOrigin::Origin)),
        ] {
            let mut request = Request::builder().method("CONNECT");
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            let request = request.uri("https://d.example/k8s/clusters/a/api").body(());
            let decision = check((&request.unwrap()).into(), &session());
            assert_eq!(decision, expected, "{origin:?}");
        }
    }

    #[test]
    fn origin_is_compared_with_the_http2_authority() {
        let (mut head, ()) = Request::post("https://d.example/v1/tokens")
            .header("origin", "https://d.example")
            .header("x-drover-csrf", session().csrf_token())
            .body(())
            .unwrap()
            .into_parts();
        assert_eq!(check((&head).into(), &session()), Ok(()));
        head.uri = "https://e.example/v1/tokens".parse().unwrap();
        let decision = check((&head).into(), &session());
        assert_eq!(decision, Err(CrossOrigin::Origin));
    }
}
