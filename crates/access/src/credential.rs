//! Which credential a request presents: exactly one, or the request is refused.
//!
//! Two places are read: `Authorization: Bearer` (RFC 6750) and, for browsers' WebSockets, which
//! cannot set headers, the sub-protocol `base64url.bearer.authorization.k8s.io.<token>` as in the
//! Kubernetes API server. Two credentials are refused rather than ranked: a proxy in front and
//! this server must not disagree about who asks.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

/// Start of the sub-protocol that carries a token.
pub const WEBSOCKET_BEARER: &str = "base64url.bearer.authorization.k8s.io.";

/// Why the presented credential cannot be used, before anyone looks it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CredentialError {
    /// There is none.
    #[error("no credential: send \"Authorization: Bearer <token>\"; \"drover login\" gets a token")]
    Missing,
    /// There is more than one.
    #[error("more than one credential: send exactly one bearer token")]
    Several,
    /// The header does not hold a bearer token.
    #[error("the Authorization header does not hold a bearer token: send \"Bearer <token>\"")]
    Malformed,
}

/// The one bearer token of a request.
pub fn presented(headers: &HeaderMap) -> Result<SecretString, CredentialError> {
    let mut found = headers
        .get_all(AUTHORIZATION)
        .iter()
        .map(from_authorization)
        .chain(websocket_protocols(headers).filter_map(from_websocket));
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

/// Removes the token from `Sec-WebSocket-Protocol`, so that it goes no further.
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
    fn exactly_one_bearer_is_a_credential() {
        use CredentialError::{Malformed, Missing, Several};
        let ws = format!(
            "v5.channel.k8s.io, {WEBSOCKET_BEARER}{}",
            URL_SAFE_NO_PAD.encode("tok")
        );
        let ws = ws.as_bytes();
        for (given, wanted) in [
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
            let got = presented(&given);
            let got = got
                .as_ref()
                .map(ExposeSecret::expose_secret)
                .map_err(|e| *e);
            assert_eq!(got, wanted, "{given:?}");
        }
    }

    #[test]
    fn the_websocket_token_goes_no_further() {
        let ws = format!("{WEBSOCKET_BEARER}dG9r, v5.channel.k8s.io,v4.channel.k8s.io");
        let mut given = headers(&[("sec-websocket-protocol", ws.as_bytes())]);
        strip_websocket_bearer(&mut given);
        assert_eq!(
            given[SEC_WEBSOCKET_PROTOCOL],
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
