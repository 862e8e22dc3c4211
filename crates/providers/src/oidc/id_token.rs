//! What is believed of an ID token (OpenID Connect Core 1.0 §3.1.3.7, RFC 8725).
//!
//! Pure: keys, time and what was asked for come in, claims or a reason come out.

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
use crate::code_flow::same;

/// Longest token that is read, in bytes.
const LONGEST: usize = 64 * 1024;
/// How far the provider's clock and ours may be apart.
const LEEWAY: SignedDuration = SignedDuration::from_secs(60);
/// Longest id of a person, in bytes; the specification has 255.
const LONGEST_SUBJECT: usize = 253;

/// What a token must say to be believed.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The provider's name of itself.
    pub issuer: &'a str,
    /// As which Drover is known there.
    pub client_id: &'a str,
    /// What was sent with the request that began the sign-in; nothing when it is renewed
    /// (OpenID Connect Core §12.2).
    pub nonce: Option<&'a str>,
    /// What came with it.
    pub access_token: &'a str,
}

/// The claims of a token that is believed.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims {
    /// Who it is about: 1 to 253 visible ASCII characters.
    pub subject: String,
    /// All that it says.
    pub all: Map<String, Value>,
}

/// Why a token is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// It is no signed token in compact form (RFC 7515 §7.1).
    #[error("its ID token is not a signed JSON Web Token")]
    Shape,
    /// It is signed with nothing, with a shared secret, or with something unknown.
    #[error("its ID token is signed with an algorithm that is not believed")]
    Algorithm,
    /// It asks for what Drover does not know (RFC 7515 §4.1.11).
    #[error("its ID token has critical extensions")]
    Critical,
    /// It is another kind of token (RFC 8725 §3.11).
    #[error("what it sent as an ID token is another kind of token")]
    Kind,
    /// No key of this id is published; newer keys could hold it.
    #[error("its ID token is signed with a key that it does not publish")]
    UnknownKey,
    /// The key is for something else.
    #[error("its ID token names a key that is for something else")]
    UnfitKey,
    /// It names no key, and there are several.
    #[error("its ID token does not say which of its keys signed it")]
    AmbiguousKey,
    /// Somebody else signed it, or it was changed.
    #[error("the signature of its ID token is wrong")]
    Signature,
    /// `iss` is another's.
    #[error("its ID token is another issuer's")]
    Issuer,
    /// `aud` or `azp` is another's.
    #[error("its ID token is for another client")]
    Audience,
    /// `exp` is over, or missing.
    #[error("its ID token has expired, or one of the clocks is wrong")]
    Expired,
    /// `nbf` or `iat` is in the future, or `iat` is missing.
    #[error("its ID token is from the future, or one of the clocks is wrong")]
    Early,
    /// `nonce` is not what was sent.
    #[error("its ID token belongs to another sign-in")]
    Nonce,
    /// `at_hash` is of another access token.
    #[error("its ID token belongs to another access token")]
    AccessToken,
    /// `sub` cannot be anybody's id.
    #[error("the subject of its ID token is not 1 to 253 visible ASCII characters")]
    Subject,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

/// Believes a token, or says why not.
///
/// A signature is checked before anything that it signs is looked at. An unusual `sub` is refused
/// and not encoded: it goes into lists and names that people write by hand, and no provider is
/// known that has one.
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
        let same = text(&claims, "nonce").is_some_and(|said| same(said, nonce));
        same.then_some(()).ok_or(TokenError::Nonce)?;
    }
    if let Some(hash) = claims.get("at_hash") {
        let wanted = half_hash(algorithm, expected.access_token);
        let same = hash.as_str().is_some_and(|said| same(said, &wanted));
        same.then_some(()).ok_or(TokenError::AccessToken)?;
    }
    let subject = subject(&claims).ok_or(TokenError::Subject)?.to_owned();
    Ok(Claims {
        subject,
        all: claims,
    })
}

/// The id of whom claims are about, if it can be one.
pub(super) fn subject(claims: &Map<String, Value>) -> Option<&str> {
    let subject = text(claims, "sub")?;
    let fits = (1..=LONGEST_SUBJECT).contains(&subject.len())
        && subject.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(subject)
}

/// The claims of a token whose signature is right.
fn signed(token: &str, keys: &KeySet) -> Result<(Algorithm, Map<String, Value>), TokenError> {
    if token.len() > LONGEST {
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
        NoKey::Unfit => TokenError::UnfitKey,
        NoKey::Ambiguous => TokenError::AmbiguousKey,
    })?;
    let right = jsonwebtoken::crypto::verify(signature, message.as_bytes(), key, algorithm);
    match (right, id) {
        (Ok(true), _) => {}
        // The only key may have been replaced by another.
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

/// Whether the client is meant, and was the one that asked: Drover trusts no other audience, so
/// where there are several, `azp` must name it.
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
        Some(Some(made)) if !is_early(made) => {}
        _ => return Err(TokenError::Early),
    }
    match at("nbf") {
        None => Ok(()),
        Some(Some(start)) if !is_early(start) => Ok(()),
        Some(_) => Err(TokenError::Early),
    }
}

/// Seconds since 1970, which may have a fraction (RFC 7519 §2).
fn instant(value: &Value) -> Option<Timestamp> {
    if let Some(whole) = value.as_i64() {
        return Timestamp::from_second(whole).ok();
    }
    let since = SignedDuration::try_from_secs_f64(value.as_f64()?).ok()?;
    Timestamp::UNIX_EPOCH.checked_add(since).ok()
}

/// The left half of the hash that belongs to the signature's algorithm (OpenID Connect Core
/// §3.1.3.6); Ed25519's is SHA-512.
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
