//! The authorization code flow (RFC 6749 §4.1) with PKCE (RFC 7636). The module creates the state
//! that Drover stores from the redirect to the provider until the callback. The module also
//! validates the callback query.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use thiserror::Error;
use url::{Origin, form_urlencoded};

/// Maximum time between the redirect to the provider and the callback. Ten minutes are the
/// recommended maximum lifetime of a code (RFC 6749 §4.1.2), and the lifetime of GitHub's codes.
pub const MAX_SIGN_IN_DURATION: SignedDuration = SignedDuration::from_mins(10);
/// Maximum clock difference between two servers.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);
/// Maximum length of a callback query, in bytes. Queries of real providers are shorter.
const MAX_QUERY_BYTES: usize = 8 * 1024;
/// Length of each random value in bytes (256 bits).
const ENTROPY_BYTES: usize = 32;

/// State of a sign-in in progress, for the validation of the callback.
///
/// The serialized form contains secrets. The server must encrypt the serialized form before the
/// server sends this form to the browser.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    #[serde(with = "exposed")]
    state: SecretString,
    #[serde(with = "exposed")]
    verifier: SecretString,
    redirect_uri: String,
    issued_at: Timestamp,
}

/// Error of a callback that does not complete the sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodeFlowError {
    /// The query is too long, lacks a parameter, or contains a parameter twice.
    #[error("{0}")]
    Malformed(&'static str),
    /// The state does not match. The check prevents forged callbacks (login CSRF).
    #[error("the state parameter does not match this sign-in")]
    StateMismatch,
    /// The sign-in started more than ten minutes ago.
    #[error("the sign-in took longer than 10 minutes")]
    Expired,
    /// The response is from a different provider. The check prevents mix-up attacks (RFC 9207
    /// §2.4).
    #[error("the response comes from a different provider")]
    OtherIssuer,
    /// The provider reports an error code such as `access_denied` (RFC 6749 §4.1.2.1).
    #[error("the provider returned the error {error:?}", error = .0)]
    Provider(String),
}

impl Pending {
    /// Starts a sign-in with a new state and a new verifier. The provider redirects the browser to
    /// `redirect_uri`.
    pub fn begin(redirect_uri: impl Into<String>, now: Timestamp) -> Self {
        Self {
            state: random(),
            verifier: random(),
            redirect_uri: redirect_uri.into(),
            issued_at: now,
        }
    }

    /// Returns the `state` parameter, 43 characters. The callback must contain the same value.
    pub fn state(&self) -> &SecretString {
        &self.state
    }

    /// Returns the PKCE code verifier for the request to the token endpoint (RFC 7636 §4.1).
    pub fn verifier(&self) -> &SecretString {
        &self.verifier
    }

    /// Returns the callback URL at Drover.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Returns the PKCE code challenge: S256 of the verifier (RFC 7636 §4.2).
    pub fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier.expose_secret().as_bytes()))
    }

    /// Reports whether a `state` parameter equals this state. Compares in constant time.
    pub(crate) fn is_state(&self, state: &str) -> bool {
        secrets_equal(state, self.state.expose_secret())
    }

    /// Reports whether the callback query contains the state of this sign-in. An attacker cannot
    /// guess the state.
    pub fn matches_state(&self, query: &str) -> bool {
        let state = unique_parameters(query, ["state"]);
        state.is_some_and(|[state]| self.is_state(&state.unwrap_or_default()))
    }

    /// Reports whether the sign-in has not expired.
    pub(crate) fn is_current(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.issued_at);
        (-CLOCK_SKEW..=MAX_SIGN_IN_DURATION).contains(&age)
    }

    /// Validates the callback and returns its authorization code.
    ///
    /// `query` is the query string without the question mark. `issuer` is the origin of the
    /// provider's pages. The function checks the state first, because an attacker can forge all
    /// other parameters.
    pub fn code(
        &self,
        query: &str,
        issuer: &Origin,
        now: Timestamp,
    ) -> Result<SecretString, CodeFlowError> {
        let parameters = CallbackParameters::read(query)?;
        if !self.is_state(&parameters.state.unwrap_or_default()) {
            return Err(CodeFlowError::StateMismatch);
        }
        if !self.is_current(now) {
            return Err(CodeFlowError::Expired);
        }
        if let Some(iss) = parameters.iss
            && url::Url::parse(&iss).map(|iss| iss.origin()).as_ref() != Ok(issuer)
        {
            return Err(CodeFlowError::OtherIssuer);
        }
        match (parameters.error, parameters.code) {
            (Some(error), _) => Err(CodeFlowError::Provider(displayable_error_code(&error))),
            (None, Some(code)) if !code.is_empty() => Ok(SecretString::from(code)),
            (None, _) => Err(CodeFlowError::Malformed("the code parameter is missing")),
        }
    }
}

/// The supported callback parameters. Drover ignores all other parameters (RFC 6749 §4.1.2).
struct CallbackParameters {
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    code: Option<String>,
}

impl CallbackParameters {
    fn read(query: &str) -> Result<Self, CodeFlowError> {
        if query.len() > MAX_QUERY_BYTES {
            return Err(CodeFlowError::Malformed("the query is too long"));
        }
        let [state, iss, error, code] = unique_parameters(query, ["state", "iss", "error", "code"])
            .ok_or(CodeFlowError::Malformed("a parameter is duplicated"))?;
        Ok(Self {
            state,
            iss,
            error,
            code,
        })
    }
}

/// Returns the values of the named parameters. Returns `None` if a parameter is duplicated, because
/// two parsers can use different values (RFC 6749 §3.1).
pub(crate) fn unique_parameters<const N: usize>(
    query: &str,
    names: [&str; N],
) -> Option<[Option<String>; N]> {
    let mut values = names.map(|_| None);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let Some(place) = names.iter().position(|known| *known == name) else {
            continue;
        };
        if values[place].replace(value.into_owned()).is_some() {
            return None;
        }
    }
    Some(values)
}

/// Returns an OAuth error code for display. Replaces text that is not a valid error code, because a
/// callback link of an attacker can contain any text.
fn displayable_error_code(error: &str) -> String {
    let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
    if error.len() <= 64 && error.chars().all(is_word) {
        error.to_owned()
    } else {
        "an invalid error code".to_owned()
    }
}

/// Reports whether two secrets are equal. Compares in constant time.
pub(crate) fn secrets_equal(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// Returns 256 random bits as base64url text.
pub(crate) fn random() -> SecretString {
    let mut bytes = [0; ENTROPY_BYTES];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system's random number generator is available");
    SecretString::from(URL_SAFE_NO_PAD.encode(bytes))
}

/// Serde functions for secrets. The serialized structure with these secrets must be encrypted.
pub(crate) mod exposed {
    use secrecy::{ExposeSecret as _, SecretString};
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        secret: &SecretString,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.expose_secret())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<SecretString, D::Error> {
        String::deserialize(from).map(SecretString::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACK: &str = "https://drover.test/v1/sign-in/github/return";

    fn now() -> Timestamp {
        "2026-11-22T09:00:00Z".parse().unwrap()
    }

    fn provider() -> Origin {
        url::Url::parse("https://github.com").unwrap().origin()
    }

    #[test]
    fn code_challenge_is_s256_of_the_verifier() {
        // The example of RFC 7636, appendix B.
        let pending = Pending {
            verifier: SecretString::from("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            ..Pending::begin(BACK, now())
        };
        assert_eq!(
            pending.challenge(),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn each_sign_in_has_distinct_secrets_that_debug_output_hides() {
        let [one, other] = [(); 2].map(|()| Pending::begin(BACK, now()));
        let secrets = |of: &Pending| {
            [&of.state, &of.verifier].map(|secret| secret.expose_secret().to_owned())
        };
        let (one_secrets, other_secrets) = (secrets(&one), secrets(&other));
        let shown = format!("{one:?}");
        for secret in &one_secrets {
            assert_eq!(secret.len(), 43);
            assert!(!other_secrets.contains(secret) && !shown.contains(secret));
        }
        assert_ne!(one_secrets[0], one_secrets[1]);
    }

    #[test]
    fn callback_query_is_matched_to_the_sign_in_by_its_state() {
        let [one, other] = [(); 2].map(|()| Pending::begin(BACK, now()));
        let with = |pending: &Pending| format!("code=c&state={}", pending.state.expose_secret());
        assert!(one.matches_state(&with(&one)));
        let twice = format!("{}&state=x", with(&one));
        for foreign in [with(&other), twice, String::new(), "state=".to_owned()] {
            assert!(!one.matches_state(&foreign), "{foreign}");
        }
    }

    #[test]
    fn deserialized_sign_in_equals_the_serialized_sign_in() {
        let pending = Pending::begin(BACK, now());
        let sealed = serde_json::to_string(&pending).unwrap();
        let opened: Pending = serde_json::from_str(&sealed).unwrap();
        assert_eq!(serde_json::to_string(&opened).unwrap(), sealed);
        assert_eq!(opened.challenge(), pending.challenge());
    }

    #[test]
    fn only_callback_of_the_same_sign_in_returns_the_code() {
        let pending = Pending::begin(BACK, now());
        let state = pending.state.expose_secret();
        let other = Pending::begin(BACK, now()).state.expose_secret().to_owned();
        let malformed = |problem| Err(CodeFlowError::Malformed(problem));
        let failed = |word: &str| Err(CodeFlowError::Provider(word.to_owned()));
        let twice = "a parameter is duplicated";
        let table = [
            (format!("code=c&state={state}"), Ok("c")),
            (format!("state={state}&x=1&x=2&code=c%2B+d"), Ok("c+ d")),
            (
                format!("code=c&state={state}&iss=https%3A%2F%2Fgithub.com%2Flogin%2Foauth"),
                Ok("c"),
            ),
            ("code=c".to_owned(), Err(CodeFlowError::StateMismatch)),
            (
                "code=c&state=".to_owned(),
                Err(CodeFlowError::StateMismatch),
            ),
            (
                format!("code=c&state={other}"),
                Err(CodeFlowError::StateMismatch),
            ),
            (
                format!("code=c&state={}", &state[1..]),
                Err(CodeFlowError::StateMismatch),
            ),
            (
                format!("code=c&state={state}A"),
                Err(CodeFlowError::StateMismatch),
            ),
            // The error of a callback with another state is ignored.
            (
                format!("error=access_denied&state={other}"),
                Err(CodeFlowError::StateMismatch),
            ),
            (
                format!("code=c&state={state}&iss=https%3A%2F%2Fother.example%2Flogin%2Foauth"),
                Err(CodeFlowError::OtherIssuer),
            ),
            (
                format!("code=c&state={state}&iss=github.com"),
                Err(CodeFlowError::OtherIssuer),
            ),
            (
                format!("code=c&state={state}&iss="),
                Err(CodeFlowError::OtherIssuer),
            ),
            (
                format!("error=access_denied&state={state}"),
                failed("access_denied"),
            ),
            (
                format!("error=access_denied&code=c&state={state}"),
                failed("access_denied"),
            ),
            (
                format!("error=Call+0800+now%21&state={state}"),
                failed("an invalid error code"),
            ),
            (
                format!("state={state}"),
                malformed("the code parameter is missing"),
            ),
            (
                format!("code=&state={state}"),
                malformed("the code parameter is missing"),
            ),
            (format!("code=c&code=d&state={state}"), malformed(twice)),
            (
                format!("code=c&state={other}&state={state}"),
                malformed(twice),
            ),
            (
                "a".repeat(MAX_QUERY_BYTES + 1),
                malformed("the query is too long"),
            ),
            (String::new(), Err(CodeFlowError::StateMismatch)),
        ];
        for (query, expected) in table {
            let code = pending.code(&query, &provider(), now());
            let code = code.map(|code| code.expose_secret().to_owned());
            assert_eq!(code, expected.map(str::to_owned), "{query}");
        }
    }

    #[test]
    fn sign_in_expires_after_ten_minutes() {
        let pending = Pending::begin(BACK, now());
        let query = format!("code=c&state={}", pending.state.expose_secret());
        for (seconds, in_time) in [
            (-61, false),
            (-60, true),
            (0, true),
            (600, true),
            (601, false),
        ] {
            let later = now() + SignedDuration::from_secs(seconds);
            let code = pending.code(&query, &provider(), later);
            assert_eq!(code.is_ok(), in_time, "callback after {seconds} s");
        }
    }
}
