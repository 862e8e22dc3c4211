//! The authorization code flow (RFC 6749 §4.1) with proof keys (RFC 7636): what is kept between
//! sending somebody to their provider and their coming back, and what they come back with.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use thiserror::Error;
use url::{Origin, form_urlencoded};

/// How long somebody may take at their provider; GitHub's codes live as long (RFC 6749 §4.1.2).
pub const MAX_SIGN_IN_DURATION: SignedDuration = SignedDuration::from_mins(10);
/// How far the clocks of two servers may be apart.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);
/// What comes back is longer than this only if somebody plays with it.
const MOST_QUERY_BYTES: usize = 8 * 1024;
/// Bytes of each random value: 256 bits.
const ENTROPY_BYTES: usize = 32;

/// A sign-in that was begun: what must be known when somebody comes back.
///
/// Its serialized form holds secrets, so it goes to the browser only if it is sealed.
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

/// What somebody came back with is not the end of the sign-in that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReturnError {
    /// It is not what a provider sends: a part is there twice, not there, or far too long.
    #[error("{0}")]
    Malformed(&'static str),
    /// Somebody else began the sign-in, or nobody: the defence against forged returns.
    #[error("its state is not the one that this sign-in was begun with")]
    Foreign,
    /// It was begun more than ten minutes ago.
    #[error("the sign-in was begun too long ago")]
    Late,
    /// Another provider sent it: the defence against mixing providers up (RFC 9207 §2.4).
    #[error("another provider than the one that was asked sent it")]
    OtherIssuer,
    /// The provider says that it went wrong (RFC 6749 §4.1.2.1); a word such as `access_denied`.
    #[error("the provider says {0:?}")]
    Failed(String),
}

impl Pending {
    /// Begins a sign-in whose end is sent to `redirect_uri`.
    pub fn begin(redirect_uri: impl Into<String>, now: Timestamp) -> Self {
        Self {
            state: random(),
            verifier: random(),
            redirect_uri: redirect_uri.into(),
            issued_at: now,
        }
    }

    /// What must come back as it is; 43 characters.
    pub fn state(&self) -> &SecretString {
        &self.state
    }

    /// What proves to the provider that who redeems the code is who began (RFC 7636 §4.1).
    pub fn verifier(&self) -> &SecretString {
        &self.verifier
    }

    /// Where the provider sends somebody back to.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// What the provider is told of the verifier beforehand: its S256 (RFC 7636 §4.2).
    pub fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier.expose_secret().as_bytes()))
    }

    /// Whether what came back is the state that was sent.
    pub(crate) fn is_state(&self, state: &str) -> bool {
        same(state, self.state.expose_secret())
    }

    /// Whether what somebody came back with belongs to this sign-in: a stranger cannot forge that.
    pub fn matches_state(&self, query: &str) -> bool {
        let state = once(query, ["state"]);
        state.is_some_and(|[state]| self.is_state(&state.unwrap_or_default()))
    }

    /// Whether it may still end.
    pub(crate) fn is_current(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.issued_at);
        (-CLOCK_SKEW..=MAX_SIGN_IN_DURATION).contains(&age)
    }

    /// The code in what somebody came back with, if it is the end of this very sign-in.
    ///
    /// `query` is what stands behind the question mark; `issuer` is where the provider's own pages
    /// are. The order is that of trust: what a stranger can forge is looked at after the state.
    pub fn code(
        &self,
        query: &str,
        issuer: &Origin,
        now: Timestamp,
    ) -> Result<SecretString, ReturnError> {
        let returned = Returned::read(query)?;
        if !self.is_state(&returned.state.unwrap_or_default()) {
            return Err(ReturnError::Foreign);
        }
        if !self.is_current(now) {
            return Err(ReturnError::Late);
        }
        if let Some(iss) = returned.iss
            && url::Url::parse(&iss).map(|iss| iss.origin()).as_ref() != Ok(issuer)
        {
            return Err(ReturnError::OtherIssuer);
        }
        match (returned.error, returned.code) {
            (Some(error), _) => Err(ReturnError::Failed(word(&error))),
            (None, Some(code)) if !code.is_empty() => Ok(SecretString::from(code)),
            (None, _) => Err(ReturnError::Malformed("it has no code")),
        }
    }
}

/// The parameters that are looked at; all others are ignored (RFC 6749 §4.1.2).
struct Returned {
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    code: Option<String>,
}

impl Returned {
    fn read(query: &str) -> Result<Self, ReturnError> {
        if query.len() > MOST_QUERY_BYTES {
            return Err(ReturnError::Malformed("it is too long"));
        }
        let [state, iss, error, code] = once(query, ["state", "iss", "error", "code"])
            .ok_or(ReturnError::Malformed("a parameter is there twice"))?;
        Ok(Self {
            state,
            iss,
            error,
            code,
        })
    }
}

/// The values of these parameters; `None` if one is there twice, because two readers could each
/// believe another one (RFC 6749 §3.1).
pub(crate) fn once<const N: usize>(query: &str, names: [&str; N]) -> Option<[Option<String>; N]> {
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

/// What a provider calls an error, as far as it is a word of the protocol: whoever makes the link can
/// write anything else there, and it is shown.
fn word(error: &str) -> String {
    let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
    if error.len() <= 64 && error.chars().all(is_word) {
        error.to_owned()
    } else {
        "something that is no error code".to_owned()
    }
}

/// Whether two secrets are one, in a time that tells nothing of where they differ.
pub(crate) fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// 256 random bits as text that needs no escaping.
pub(crate) fn random() -> SecretString {
    let mut bytes = [0; ENTROPY_BYTES];
    aws_lc_rs::rand::fill(&mut bytes).expect("Linux gives random bytes once it has started");
    SecretString::from(URL_SAFE_NO_PAD.encode(bytes))
}

/// Secrets of what is sealed as a whole.
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
    fn a_challenge_is_the_hash_of_the_verifier() {
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
    fn no_two_sign_ins_share_a_secret_and_none_shows_one() {
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
    fn only_what_has_its_state_belongs_to_a_sign_in() {
        let [one, other] = [(); 2].map(|()| Pending::begin(BACK, now()));
        let with = |pending: &Pending| format!("code=c&state={}", pending.state.expose_secret());
        assert!(one.matches_state(&with(&one)));
        let twice = format!("{}&state=x", with(&one));
        for foreign in [with(&other), twice, String::new(), "state=".to_owned()] {
            assert!(!one.matches_state(&foreign), "{foreign}");
        }
    }

    #[test]
    fn a_sealed_sign_in_is_the_same_when_it_is_opened() {
        let pending = Pending::begin(BACK, now());
        let sealed = serde_json::to_string(&pending).unwrap();
        let opened: Pending = serde_json::from_str(&sealed).unwrap();
        assert_eq!(serde_json::to_string(&opened).unwrap(), sealed);
        assert_eq!(opened.challenge(), pending.challenge());
    }

    #[test]
    fn only_the_end_of_the_same_sign_in_has_a_code() {
        let pending = Pending::begin(BACK, now());
        let state = pending.state.expose_secret();
        let other = Pending::begin(BACK, now()).state.expose_secret().to_owned();
        let malformed = |what| Err(ReturnError::Malformed(what));
        let failed = |word: &str| Err(ReturnError::Failed(word.to_owned()));
        let twice = "a parameter is there twice";
        let table = [
            (format!("code=c&state={state}"), Ok("c")),
            (format!("state={state}&x=1&x=2&code=c%2B+d"), Ok("c+ d")),
            (
                format!("code=c&state={state}&iss=https%3A%2F%2Fgithub.com%2Flogin%2Foauth"),
                Ok("c"),
            ),
            ("code=c".to_owned(), Err(ReturnError::Foreign)),
            ("code=c&state=".to_owned(), Err(ReturnError::Foreign)),
            (format!("code=c&state={other}"), Err(ReturnError::Foreign)),
            (
                format!("code=c&state={}", &state[1..]),
                Err(ReturnError::Foreign),
            ),
            (format!("code=c&state={state}A"), Err(ReturnError::Foreign)),
            // What a stranger says went wrong is not even read.
            (
                format!("error=access_denied&state={other}"),
                Err(ReturnError::Foreign),
            ),
            (
                format!("code=c&state={state}&iss=https%3A%2F%2Fother.example%2Flogin%2Foauth"),
                Err(ReturnError::OtherIssuer),
            ),
            (
                format!("code=c&state={state}&iss=github.com"),
                Err(ReturnError::OtherIssuer),
            ),
            (
                format!("code=c&state={state}&iss="),
                Err(ReturnError::OtherIssuer),
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
                failed("something that is no error code"),
            ),
            (format!("state={state}"), malformed("it has no code")),
            (format!("code=&state={state}"), malformed("it has no code")),
            (format!("code=c&code=d&state={state}"), malformed(twice)),
            (
                format!("code=c&state={other}&state={state}"),
                malformed(twice),
            ),
            (
                "a".repeat(MOST_QUERY_BYTES + 1),
                malformed("it is too long"),
            ),
            (String::new(), Err(ReturnError::Foreign)),
        ];
        for (query, expected) in table {
            let code = pending.code(&query, &provider(), now());
            let code = code.map(|code| code.expose_secret().to_owned());
            assert_eq!(code, expected.map(str::to_owned), "{query}");
        }
    }

    #[test]
    fn a_sign_in_ends_within_ten_minutes() {
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
            assert_eq!(code.is_ok(), in_time, "after {seconds} s");
        }
    }
}
