//! Validation of ID tokens (OpenID Connect Core 1.0 §3.1.3.7, RFC 8725).
//!
//! Pure functions: keys, time and expected values are parameters.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use super::keys::{self, Algorithm, KeySet, NoKey};
use super::object::object;
use crate::code_flow::secrets_equal;

/// Maximum length of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 64 * 1024;
/// Maximum accepted difference between the provider's clock and Drover's clock.
const LEEWAY: SignedDuration = SignedDuration::from_secs(60);
/// Maximum length of a subject in bytes; the specification allows 255.
const MAX_SUBJECT_BYTES: usize = 253;

/// Values that a valid token must contain.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Issuer of the provider.
    pub issuer: &'a str,
    /// Drover's client ID at the provider.
    pub client_id: &'a str,
    /// Nonce of the authorization request; `None` for a refresh (OpenID Connect Core §12.2).
    pub nonce: Option<&'a str>,
    /// Access token of the same token response, for `at_hash`.
    pub access_token: &'a str,
}

/// Claims of a valid token.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims {
    /// The `sub` claim: 1 to 253 visible ASCII characters.
    pub subject: String,
    /// All claims of the token.
    pub all: Map<String, Value>,
}

/// Reason why an ID token is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// The token is not a JWS in compact serialization (RFC 7515 §7.1).
    #[error("the ID token is not a signed JSON Web Token")]
    Shape,
    /// The token is unsigned, or signed with a symmetric or unknown algorithm.
    #[error("the ID token has an unsupported signature algorithm")]
    Algorithm,
    /// The header has critical extensions, which Drover does not support (RFC 7515 §4.1.11).
    #[error("the ID token has critical extensions")]
    Critical,
    /// The `typ` header is not a type of ID tokens (RFC 8725 §3.11).
    #[error("the typ header of the ID token is not JWT")]
    Kind,
    /// The key set has no key with this ID. A newer key set may contain the key.
    #[error("the ID token is signed with a key that the provider does not publish")]
    UnknownKey,
    /// The type or the `alg` member of the key does not allow the algorithm of the token.
    #[error("the key of the ID token is not for signatures with this algorithm")]
    UnsuitableKey,
    /// The token has no key ID, and several keys match.
    #[error("the ID token has no key ID, and the provider has several keys")]
    AmbiguousKey,
    /// The signature does not match the key.
    #[error("the signature of the ID token is invalid")]
    Signature,
    /// `iss` is not the issuer of the provider.
    #[error("the issuer of the ID token is not the configured issuer")]
    Issuer,
    /// `aud` does not contain Drover's client ID, or `azp` is not Drover's client ID.
    #[error("the audience of the ID token is not this client")]
    Audience,
    /// `exp` is in the past or missing.
    #[error("the ID token has expired, or the clock of the provider or of the server is wrong")]
    Expired,
    /// `nbf` or `iat` is in the future, or `iat` is missing.
    #[error(
        "the ID token is not valid yet, or the clock of the provider or of the server is wrong"
    )]
    Early,
    /// `nonce` does not match the authorization request.
    #[error("the nonce of the ID token does not match this sign-in")]
    Nonce,
    /// `at_hash` does not match the access token.
    #[error("the hash in the ID token does not match the access token")]
    AccessToken,
    /// `sub` is not a valid subject.
    #[error("the subject of the ID token is not 1 to 253 visible ASCII characters")]
    Subject,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

/// Validates a token and returns its claims.
///
/// The signature is verified before any claim is read. A `sub` with unusual characters is rejected,
/// not encoded, because users write the ID in manifests. No known provider uses such characters.
pub fn verify(
    token: &str,
    keys: &KeySet,
    expected: &Expected<'_>,
    now: Timestamp,
) -> Result<Claims, TokenError> {
    let (algorithm, claims) = signed(token, keys)?;
    if text(&claims, "iss") != Some(expected.issuer) {
        return Err(TokenError::Issuer);
    }
    if !is_for(&claims, expected.client_id) {
        return Err(TokenError::Audience);
    }
    check_times(&claims, now)?;
    if let Some(nonce) = expected.nonce {
        let matches = text(&claims, "nonce").is_some_and(|claim| secrets_equal(claim, nonce));
        matches.then_some(()).ok_or(TokenError::Nonce)?;
    }
    if let Some(hash) = claims.get("at_hash") {
        let expected_hash = half_hash(algorithm, expected.access_token);
        let matches = hash
            .as_str()
            .is_some_and(|claim| secrets_equal(claim, &expected_hash));
        matches.then_some(()).ok_or(TokenError::AccessToken)?;
    }
    let subject = subject(&claims).ok_or(TokenError::Subject)?.to_owned();
    Ok(Claims {
        subject,
        all: claims,
    })
}

/// Returns the `sub` claim if it is a valid subject.
pub(super) fn subject(claims: &Map<String, Value>) -> Option<&str> {
    let subject = text(claims, "sub")?;
    let fits = (1..=MAX_SUBJECT_BYTES).contains(&subject.len())
        && subject.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(subject)
}

/// Verifies the signature and returns the algorithm and the claims.
fn signed(token: &str, keys: &KeySet) -> Result<(Algorithm, Map<String, Value>), TokenError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(TokenError::Shape);
    }
    let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Shape)?;
    let (header, payload) = message.split_once('.').ok_or(TokenError::Shape)?;
    let header: Header = decoded(header).ok_or(TokenError::Shape)?;
    let algorithm = keys::algorithm(&header.alg).ok_or(TokenError::Algorithm)?;
    if header.crit.is_some() {
        return Err(TokenError::Critical);
    }
    let typ = header.typ.as_deref();
    if typ.is_some_and(|typ| !typ.eq_ignore_ascii_case("JWT")) {
        return Err(TokenError::Kind);
    }
    let id = header.kid.as_deref();
    let key = keys.find(id, algorithm).map_err(|none| match none {
        NoKey::Unknown => TokenError::UnknownKey,
        NoKey::Unsuitable => TokenError::UnsuitableKey,
        NoKey::Ambiguous => TokenError::AmbiguousKey,
    })?;
    let right = jsonwebtoken::crypto::verify(signature, message.as_bytes(), key, algorithm);
    match (right, id) {
        (Ok(true), _) => {}
        // The provider may have replaced its only key.
        (_, None) => return Err(TokenError::UnknownKey),
        (_, Some(_)) => return Err(TokenError::Signature),
    }
    let claims = decoded(payload).ok_or(TokenError::Shape)?;
    Ok((algorithm, claims))
}

fn decoded<T: DeserializeOwned>(part: &str) -> Option<T> {
    let json = URL_SAFE_NO_PAD.decode(part).ok()?;
    object(&json)
}

fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    claims.get(name)?.as_str()
}

/// Reports whether the token is for this client. If the token has several audiences, `azp` must be
/// Drover's client ID, because Drover does not trust the additional audiences.
fn is_for(claims: &Map<String, Value>, client_id: &str) -> bool {
    let alone = match claims.get("aud") {
        Some(Value::String(audience)) if audience == client_id => true,
        Some(Value::Array(audiences)) if audiences.iter().any(|one| one == client_id) => {
            audiences.len() == 1
        }
        _ => return false,
    };
    match claims.get("azp") {
        None => alone,
        Some(party) => party == client_id,
    }
}

fn check_times(claims: &Map<String, Value>, now: Timestamp) -> Result<(), TokenError> {
    let at = |name: &str| claims.get(name).map(instant);
    let is_over = |end: Timestamp| now.duration_since(end) >= LEEWAY;
    let is_early = |start: Timestamp| start.duration_since(now) > LEEWAY;
    match at("exp") {
        Some(Some(end)) if !is_over(end) => {}
        _ => return Err(TokenError::Expired),
    }
    match at("iat") {
        Some(Some(created_at)) if !is_early(created_at) => {}
        _ => return Err(TokenError::Early),
    }
    match at("nbf") {
        None => Ok(()),
        Some(Some(start)) if !is_early(start) => Ok(()),
        Some(_) => Err(TokenError::Early),
    }
}

/// Converts a NumericDate (seconds since 1970, possibly with a fraction, RFC 7519 §2) to a
/// timestamp.
fn instant(value: &Value) -> Option<Timestamp> {
    if let Some(whole) = value.as_i64() {
        return Timestamp::from_second(whole).ok();
    }
    let since = SignedDuration::try_from_secs_f64(value.as_f64()?).ok()?;
    Timestamp::UNIX_EPOCH.checked_add(since).ok()
}

/// Returns the left half of the access token's hash. The signature algorithm determines the hash
/// function (OpenID Connect Core §3.1.3.6). Ed25519 uses SHA-512.
fn half_hash(algorithm: Algorithm, access_token: &str) -> String {
    let hash = match algorithm {
        Algorithm::RS384 | Algorithm::PS384 | Algorithm::ES384 => &digest::SHA384,
        Algorithm::RS512 | Algorithm::PS512 | Algorithm::EdDSA => &digest::SHA512,
        _ => &digest::SHA256,
    };
    let hash = digest::digest(hash, access_token.as_bytes());
    let hash = hash.as_ref();
    URL_SAFE_NO_PAD.encode(&hash[..hash.len() / 2])
}
