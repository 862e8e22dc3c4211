//! Tokens of service accounts: JSON Web Tokens with an expiration time. A token also becomes
//! invalid when its service account or bound object is deleted.

mod claims;
mod live;
mod secret;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_rbac::quoted_list;
use futures::future::BoxFuture;
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, Header, Validation};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::authenticate::{Authenticate, AuthenticateError, Authenticated};
use super::keys::GenerateKeyError;
use super::token_request::MAX_SECONDS;
use super::{Keys, Objects};

pub use claims::{BoundTo, Claims, NameAndUid, Subject};
pub(crate) use secret::SecretSubject;

/// Tolerated clock skew, in seconds. go-jose has the same value.
const LEEWAY_SECONDS: i64 = 60;
/// Maximum number of verified tokens in the cache. Each entry takes about 1 KiB.
const MAX_VERIFIED: usize = 4096;

/// A function that returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Options for issuing and verifying tokens.
#[derive(Clone)]
pub struct TokensOptions {
    /// Accepted issuers, at least one. New tokens contain the first issuer.
    pub issuers: Vec<String>,
    /// The audiences that the server accepts. These audiences are also the default audiences of new
    /// tokens.
    pub audiences: Vec<String>,
    /// The maximum lifetime of a token, in seconds. The server shortens a longer requested
    /// lifetime, and adds a warning to the response.
    pub max_lifetime_seconds: Option<i64>,
    /// The age, in seconds, at which a new key replaces the signing key.
    pub rotate_keys_after_seconds: i64,
    /// Function that returns the current time. Tests replace this function.
    pub clock: Clock,
}

impl Default for TokensOptions {
    /// Returns the issuer and audiences that most clusters use.
    fn default() -> Self {
        let issuer = "https://kubernetes.default.svc".to_owned();
        Self {
            issuers: vec![issuer.clone()],
            audiences: vec![issuer],
            max_lifetime_seconds: None,
            rotate_keys_after_seconds: 90 * 24 * 60 * 60,
            clock: Arc::new(Timestamp::now),
        }
    }
}

/// Issues and verifies tokens of service accounts.
pub struct Tokens {
    options: TokensOptions,
    keys: ArcSwap<Keys>,
    objects: Arc<dyn Objects>,
    /// The claims of verified tokens by token digest. The cache avoids repeated verification of
    /// signatures. All other checks run for each request.
    verified: Mutex<HashMap<[u8; 32], Arc<Claims>>>,
}

/// The reason why the server cannot sign a token.
#[derive(Debug, thiserror::Error)]
#[error("cannot sign the token")]
pub struct IssueError(#[source] jsonwebtoken::errors::Error);

impl Tokens {
    /// Creates a token issuer with these keys. `objects` reads the objects that tokens are bound
    /// to.
    pub fn new(options: TokensOptions, keys: Keys, objects: Arc<dyn Objects>) -> Self {
        Self {
            options,
            keys: ArcSwap::from_pointee(keys),
            objects,
            verified: Mutex::default(),
        }
    }

    /// Replaces the keys that sign and verify tokens.
    pub fn replace_keys(&self, keys: Keys) {
        self.keys.store(Arc::new(keys));
        self.verified.lock().clear();
    }

    /// Returns the rotated keys if the signing key is older than `rotate_keys_after_seconds`.
    pub fn renewed_keys(&self) -> Result<Option<Keys>, GenerateKeyError> {
        let longest = self.options.max_lifetime_seconds.unwrap_or(MAX_SECONDS);
        let keep = longest.saturating_add(2 * LEEWAY_SECONDS);
        let now = (self.options.clock)();
        let after = self.options.rotate_keys_after_seconds;
        self.keys.load().renewed(now, after, keep)
    }

    /// Returns the current signing key and all earlier keys.
    pub fn keys(&self) -> Arc<Keys> {
        self.keys.load_full()
    }

    /// Returns the options for issuing and verifying tokens.
    pub fn options(&self) -> &TokensOptions {
        &self.options
    }

    pub(crate) fn objects(&self) -> &dyn Objects {
        self.objects.as_ref()
    }

    /// Returns the document at `/.well-known/openid-configuration` (OpenID Connect Discovery 1.0).
    pub fn openid_configuration(&self, jwks_uri: &str) -> Value {
        json!({
            "issuer": self.options.issuers.first(),
            "jwks_uri": jwks_uri,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    }

    /// Creates a token with these claims, signed with the current signing key.
    pub fn issue(&self, claims: &Claims) -> Result<String, IssueError> {
        let keys = self.keys.load();
        let mut header = Header::new(Algorithm::ES256);
        header.typ = None;
        header.kid = Some(keys.id().to_owned());
        jsonwebtoken::encode(&header, claims, keys.signing()).map_err(IssueError)
    }

    async fn prove(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Option<Authenticated>, AuthenticateError> {
        if !self.issued(token) {
            return Ok(None);
        }
        let claims = self.verify(token)?;
        let audiences = self.shared_audiences(&claims, audiences)?;
        let now = (self.options.clock)();
        check_times(&claims, now)?;
        live::check(self.objects(), &claims, now).await?;
        Ok(Some(Authenticated {
            caller: claims.caller(),
            audiences,
        }))
    }

    /// Reports whether the token's `iss` claim is an accepted issuer of this server. Does not
    /// verify the signature.
    fn issued(&self, token: &str) -> bool {
        #[derive(Deserialize)]
        struct Issuer {
            #[serde(default)]
            iss: String,
        }
        let mut parts = token.split('.');
        let (Some(_), Some(payload), Some(_), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        URL_SAFE_NO_PAD
            .decode(payload)
            .ok()
            .and_then(|payload| serde_json::from_slice::<Issuer>(&payload).ok())
            .is_some_and(|unproven| self.options.issuers.contains(&unproven.iss))
    }

    fn verify(&self, token: &str) -> Result<Arc<Claims>, AuthenticateError> {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        if let Some(claims) = self.verified.lock().get(&key) {
            return Ok(Arc::clone(claims));
        }
        let claims = Arc::new(verify_signature(&self.keys.load(), token)?);
        // The issuer was read before the signature was verified.
        if !self.options.issuers.contains(&claims.iss) {
            let text = format!("token issuer {:?} is invalid", claims.iss);
            return Err(AuthenticateError(text));
        }
        let mut verified = self.verified.lock();
        if verified.len() >= MAX_VERIFIED {
            verified.clear();
        }
        verified.insert(key, Arc::clone(&claims));
        Ok(claims)
    }

    fn shared_audiences(
        &self,
        claims: &Claims,
        requested: &[String],
    ) -> Result<Vec<String>, AuthenticateError> {
        let requested = if requested.is_empty() {
            &self.options.audiences
        } else {
            requested
        };
        let shared: Vec<String> = claims
            .aud
            .iter()
            .filter(|own| requested.contains(own))
            .cloned()
            .collect();
        if shared.is_empty() {
            return Err(AuthenticateError(format!(
                "token audiences {} is invalid for the target audiences {}",
                quoted_list(&claims.aud),
                quoted_list(requested)
            )));
        }
        Ok(shared)
    }
}

impl Authenticate for Tokens {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Authenticated>, AuthenticateError>> {
        Box::pin(self.prove(token, audiences))
    }
}

fn verify_signature(keys: &Keys, token: &str) -> Result<Claims, AuthenticateError> {
    let failed = |text: &str| AuthenticateError(text.to_owned());
    let header = jsonwebtoken::decode_header(token)
        .map_err(|_| failed("go-jose/go-jose: compact JWS format must have three parts"))?;
    // Expiration and audiences are checked later, with the clock of the options.
    let mut validation = Validation::new(Algorithm::ES256);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    let mut candidates = keys
        .verifying(header.kid.as_deref().filter(|id| !id.is_empty()))
        .peekable();
    if candidates.peek().is_none() {
        return Err(failed("invalid signature, no keys found"));
    }
    candidates
        .find_map(|key| jsonwebtoken::decode::<Claims>(token, key.decoding(), &validation).ok())
        .map(|data| data.claims)
        .ok_or_else(|| failed("go-jose/go-jose: error in cryptographic primitive"))
}

fn check_times(claims: &Claims, now: Timestamp) -> Result<(), AuthenticateError> {
    let now = now.as_second();
    let reason = if now + LEEWAY_SECONDS < claims.nbf {
        "service account token is not valid yet"
    } else if now - LEEWAY_SECONDS > claims.exp {
        "service account token has expired"
    } else if now + LEEWAY_SECONDS < claims.iat {
        "service account token is issued in the future"
    } else {
        return Ok(());
    };
    Err(AuthenticateError(reason.to_owned()))
}
