//! The credential of a request. The server rejects a request without exactly one credential.
//!
//! A credential has one of three sources. The first source is the header `Authorization: Bearer`
//! (RFC 6750). The second source is the subprotocol
//! `base64url.bearer.authorization.k8s.io.<token>`, for WebSocket clients that cannot set headers.
//! The third source is the cookie of the web UI, which requires the checks of
//! [`crate::same_origin`]. If a request had two credentials, a proxy and the server could choose
//! different credentials.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{AUTHORIZATION, COOKIE, SEC_WEBSOCKET_PROTOCOL};
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

/// Prefix of the subprotocol that carries a token.
pub const WEBSOCKET_BEARER: &str = "base64url.bearer.authorization.k8s.io.";

/// Cookie with a browser session. Browsers store a cookie with this prefix only from TLS, for the
/// exact host and all paths (RFC 6265bis §4.1.3.2).
pub const SESSION_COOKIE: &str = "__Host-drover";

/// A token and its source. A cookie requires more checks than a header. The reason is that a
/// browser also adds the cookie to requests that pages of other origins cause.
#[derive(Debug)]
pub enum Presented {
    /// The client sent the token in a header.
    Bearer(SecretString),
    /// A browser sent the token as a cookie.
    Cookie(SecretString),
}

/// Reasons to reject a credential before the server looks up the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CredentialError {
    /// The request has no credential.
    #[error(
        "the request has no credential: send \"Authorization: Bearer <token>\"; \"drover \
        login\" creates a token"
    )]
    Missing,
    /// The request has more than one credential.
    #[error(
        "the request has several credentials: send either one bearer token or one session cookie"
    )]
    Several,
    /// The header contains no bearer token.
    #[error("the Authorization header contains no bearer token: send \"Bearer <token>\"")]
    Malformed,
    /// The cookie contains no token.
    #[error("the session cookie contains no token: delete the cookie, then sign in again")]
    MalformedCookie,
}

/// Returns the only credential of a request.
pub fn presented(headers: &HeaderMap) -> Result<Presented, CredentialError> {
    let bearers = headers
        .get_all(AUTHORIZATION)
        .iter()
        .map(from_authorization)
        .chain(websocket_protocols(headers).filter_map(from_websocket))
        .map(|found| found.map(Presented::Bearer));
    let mut found = bearers.chain(session_cookies(headers));
    match (found.next(), found.next()) {
        (None, _) => Err(CredentialError::Missing),
        (Some(only), None) => only,
        (Some(_), Some(_)) => Err(CredentialError::Several),
    }
}

fn from_authorization(value: &HeaderValue) -> Result<SecretString, CredentialError> {
    let text = value.to_str().map_err(|_| CredentialError::Malformed)?;
    let (scheme, token) = text.split_once(' ').ok_or(CredentialError::Malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(CredentialError::Malformed);
    }
    bearer(token)
}

/// Collects the session cookies of all `Cookie` headers. HTTP/2 permits several `Cookie` headers
/// (RFC 9113 §8.2.3).
fn session_cookies(
    headers: &HeaderMap,
) -> impl Iterator<Item = Result<Presented, CredentialError>> + '_ {
    headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b';'))
        .filter_map(|pair| {
            let pair = pair.trim_ascii();
            pair.strip_prefix(SESSION_COOKIE.as_bytes())?
                .strip_prefix(b"=")
        })
        .map(|value| {
            std::str::from_utf8(value)
                .map_err(|_| CredentialError::Malformed)
                .and_then(bearer)
                .map(Presented::Cookie)
                .map_err(|_| CredentialError::MalformedCookie)
        })
}

fn from_websocket(protocol: &str) -> Option<Result<SecretString, CredentialError>> {
    let encoded = protocol.strip_prefix(WEBSOCKET_BEARER)?;
    Some(
        URL_SAFE_NO_PAD
            .decode(encoded.trim_end_matches('='))
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .map(SecretString::from)
            .ok_or(CredentialError::Malformed)
            .and_then(|token| bearer(token.expose_secret())),
    )
}

fn bearer(token: &str) -> Result<SecretString, CredentialError> {
    let visible = !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic());
    if visible {
        Ok(SecretString::from(token))
    } else {
        Err(CredentialError::Malformed)
    }
}

fn websocket_protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// Removes the token from `Sec-WebSocket-Protocol`, so that the proxy does not forward the token.
pub fn strip_websocket_bearer(headers: &mut HeaderMap) {
    if !websocket_protocols(headers).any(|p| p.starts_with(WEBSOCKET_BEARER)) {
        return;
    }
    let rest = websocket_protocols(headers)
        .filter(|p| !p.starts_with(WEBSOCKET_BEARER))
        .collect::<Vec<_>>()
        .join(", ");
    headers.remove(SEC_WEBSOCKET_PROTOCOL);
    if let Ok(value) = HeaderValue::from_str(&rest)
        && !rest.is_empty()
    {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &[u8])]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        map
    }

    #[test]
    fn request_without_exactly_one_bearer_token_is_rejected() {
        use CredentialError::{Malformed, Missing, Several};
        let ws = format!(
            "v5.channel.k8s.io, {WEBSOCKET_BEARER}{}",
            URL_SAFE_NO_PAD.encode("tok")
        );
        let ws = ws.as_bytes();
        for (value, expected) in [
            (headers(&[("authorization", b"Bearer tok")]), Ok("tok")),
            (headers(&[("authorization", b"bearer tok")]), Ok("tok")),
            (headers(&[("sec-websocket-protocol", ws)]), Ok("tok")),
            (headers(&[]), Err(Missing)),
            (headers(&[("cookie", b"token=tok")]), Err(Missing)),
            (headers(&[("authorization", b"Bearer ")]), Err(Malformed)),
            (headers(&[("authorization", b"Bearer  ")]), Err(Malformed)),
            (headers(&[("authorization", b"Bearer")]), Err(Malformed)),
            (headers(&[("authorization", b"")]), Err(Malformed)),
            (headers(&[("authorization", b"Bearer a b")]), Err(Malformed)),
            (
                headers(&[("authorization", b"Bearer \xff")]),
                Err(Malformed),
            ),
            (
                headers(&[("authorization", b"Basic dG9rOg==")]),
                Err(Malformed),
            ),
            (
                headers(&[
                    ("authorization", b"Bearer a"),
                    ("authorization", b"Bearer b"),
                ]),
                Err(Several),
            ),
            (
                headers(&[
                    ("authorization", b"Bearer tok"),
                    ("authorization", b"Bearer tok"),
                ]),
                Err(Several),
            ),
            (
                headers(&[
                    ("authorization", b"Bearer a"),
                    ("sec-websocket-protocol", ws),
                ]),
                Err(Several),
            ),
            (
                headers(&[
                    ("sec-websocket-protocol", ws),
                    ("sec-websocket-protocol", ws),
                ]),
                Err(Several),
            ),
        ] {
            let got = presented(&value);
            let got = match &got {
                Ok(Presented::Bearer(token)) => Ok(token.expose_secret()),
                Ok(Presented::Cookie(_)) => panic!("no session: {value:?}"),
                Err(error) => Err(*error),
            };
            assert_eq!(got, expected, "{value:?}");
        }
    }

    #[test]
    fn request_with_session_cookie_and_second_credential_is_rejected() {
        use CredentialError::{MalformedCookie, Missing, Several};
        let bearer: (&'static str, &[u8]) = ("authorization", b"Bearer b");
        for (value, expected) in [
            (vec![("cookie", &b"__Host-drover=tok"[..])], Ok("tok")),
            (
                vec![("cookie", &b"theme=dark;__Host-drover=tok ; x=y"[..])],
                Ok("tok"),
            ),
            (
                vec![("cookie", &b"a=b"[..]), ("cookie", b"__Host-drover=tok")],
                Ok("tok"),
            ),
            (vec![("cookie", &b"x__Host-drover=tok"[..])], Err(Missing)),
            (vec![("cookie", &b"__Host-drover2=tok"[..])], Err(Missing)),
            (vec![("cookie", &b"__host-drover=tok"[..])], Err(Missing)),
            (
                vec![("cookie", &b"__Host-drover="[..])],
                Err(MalformedCookie),
            ),
            (
                vec![("cookie", &b"__Host-drover=\xff"[..])],
                Err(MalformedCookie),
            ),
            (
                vec![("cookie", &b"__Host-drover=a; __Host-drover=b"[..])],
                Err(Several),
            ),
            (
                vec![("cookie", &b"__Host-drover=a"[..]), bearer],
                Err(Several),
            ),
        ] {
            let value = headers(&value);
            let got = presented(&value);
            let got = match &got {
                Ok(Presented::Cookie(token)) => Ok(token.expose_secret()),
                Ok(Presented::Bearer(_)) => panic!("no bearer: {value:?}"),
                Err(error) => Err(*error),
            };
            assert_eq!(got, expected, "{value:?}");
        }
    }

    #[test]
    fn token_in_websocket_subprotocol_is_not_forwarded() {
        let ws = format!("{WEBSOCKET_BEARER}dG9r, v5.channel.k8s.io,v4.channel.k8s.io");
        let mut value = headers(&[("sec-websocket-protocol", ws.as_bytes())]);
        strip_websocket_bearer(&mut value);
        assert_eq!(
            value[SEC_WEBSOCKET_PROTOCOL],
            "v5.channel.k8s.io, v4.channel.k8s.io"
        );
        let mut alone = headers(&[(
            "sec-websocket-protocol",
            format!("{WEBSOCKET_BEARER}dG9r").as_bytes(),
        )]);
        strip_websocket_bearer(&mut alone);
        assert!(alone.is_empty());
    }
}
