//! Sign-ins that were begun and have not ended: sealed, in the browser that began them, and good
//! once.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_api::ids::ProviderUid;
use drover_providers::code_flow::{self, MAX_SIGN_IN_DURATION};
use drover_providers::oidc;
use jiff::Timestamp;
use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use drover_entropy::{NoRandomness, random};
use drover_hub::keys::Seal;

/// Ends that are remembered; a sign-in beyond it has to wait until older ones cannot end any more.
const REMEMBERED: usize = 50_000;
/// Longest way back into the page, in bytes.
const WAY_BACK: usize = 512;

/// What the provider's own part is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Pending {
    /// At an OpenID provider.
    Oidc(oidc::Pending),
    /// At GitHub.
    Github(code_flow::Pending),
}

impl Pending {
    /// Whether what a browser brought back belongs to this sign-in.
    pub fn matches_state(&self, query: &str) -> bool {
        match self {
            Self::Oidc(pending) => pending.matches_state(query),
            Self::Github(pending) => pending.matches_state(query),
        }
    }
}

/// A login that has started and not finished.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoginState {
    /// Names it, so that it ends once.
    id: String,
    /// What the provider sends back is judged with this.
    pub pending: Pending,
    /// Where in the page the person goes on.
    #[serde(rename = "way_back")]
    pub return_path: ReturnPath,
    /// Id of the session that the browser had, which ends then: on the way back from another site
    /// browsers do not show it.
    #[serde(rename = "former")]
    pub previous_session: Option<String>,
}

impl LoginState {
    /// A sign-in that begins now.
    pub fn new(
        pending: Pending,
        return_path: ReturnPath,
        previous_session: Option<String>,
    ) -> Result<Self, NoRandomness> {
        Ok(Self {
            id: URL_SAFE_NO_PAD.encode(random::<16>()?),
            pending,
            return_path,
            previous_session,
        })
    }

    /// As the browser keeps it: nobody can read it, change it, or use it for another provider.
    pub fn seal(&self, seal: &Seal, provider: &ProviderUid) -> Result<SecretString, NoRandomness> {
        let plain = serde_json::to_vec(self).unwrap_or_default();
        let sealed = seal.close(provider.as_str(), &plain)?;
        Ok(SecretString::from(URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// What a browser kept; `None` if that is not a sign-in that was begun here, at this provider.
    pub fn open(seal: &Seal, provider: &ProviderUid, cookie: &SecretString) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(cookie.expose_secret()).ok()?;
        let plain = seal.open(provider.as_str(), &sealed)?;
        serde_json::from_slice(&plain).ok()
    }
}

/// A place in Drover's own page, and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnPath(String);

impl Default for ReturnPath {
    fn default() -> Self {
        Self("/".to_owned())
    }
}

impl ReturnPath {
    /// Takes a path with its query; `None` if that could lead a browser elsewhere.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-_.~?=&%:,@+".contains(&b);
        let stays = text.starts_with('/') && !text.starts_with("//");
        let fits = text.len() <= WAY_BACK && text.bytes().all(plain);
        (stays && fits).then(|| Self(text.to_owned()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Sign-ins that have ended, for as long as they could end again; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Ended(Arc<Mutex<HashMap<String, Timestamp>>>);

/// Why a sign-in may not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBefore {
    /// It ended before.
    Yes,
    /// Too many end at once to remember.
    Unknown,
}

/// A sign-in that ends now: it can end again if it is dropped before it [is over](Self::is_over).
#[derive(Debug)]
#[must_use = "what is not over can end again"]
pub struct Ending {
    ended: Ended,
    id: Option<String>,
}

impl Ending {
    /// The provider took the code, which is good once: nothing can end this sign-in again.
    pub fn is_over(mut self) {
        self.id = None;
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.ended.0.lock().remove(id);
        }
    }
}

impl Ended {
    /// Takes note that a sign-in ends; refused if it has ended before, or just does.
    pub fn end(&self, login_state: &LoginState, now: Timestamp) -> Result<Ending, EndedBefore> {
        let mut ended = self.0.lock();
        if ended.len() >= REMEMBERED {
            // The sealed sign-in says itself when it is too old.
            ended.retain(|_, at| now.duration_since(*at) <= MAX_SIGN_IN_DURATION * 2);
        }
        if ended.contains_key(&login_state.id) {
            return Err(EndedBefore::Yes);
        }
        if ended.len() >= REMEMBERED {
            return Err(EndedBefore::Unknown);
        }
        ended.insert(login_state.id.clone(), now);
        Ok(Ending {
            ended: self.clone(),
            id: Some(login_state.id.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_hub::Keys;

    fn login_state() -> LoginState {
        let pending = code_flow::Pending::begin("https://drover.test/back", Timestamp::now());
        LoginState::new(Pending::Github(pending), ReturnPath::default(), None).unwrap()
    }

    #[test]
    fn a_sign_in_ends_once() {
        let (ended, another, login_state, now) = (
            Ended::default(),
            login_state(),
            login_state(),
            Timestamp::now(),
        );
        ended.end(&login_state, now).unwrap().is_over();
        let again = ended.end(&login_state.clone(), now);
        assert_eq!(again.unwrap_err(), EndedBefore::Yes);
        ended.end(&another, now).unwrap().is_over();
    }

    #[test]
    fn a_sign_in_that_failed_can_end_again_and_takes_no_room() {
        let (ended, login_state, now) = (Ended::default(), login_state(), Timestamp::now());
        let first = ended.end(&login_state, now).unwrap();
        let meanwhile = ended.end(&login_state, now);
        assert_eq!(meanwhile.unwrap_err(), EndedBefore::Yes, "one at a time");
        drop(first);
        assert!(ended.0.lock().is_empty());
        ended.end(&login_state, now).unwrap().is_over();
    }

    #[test]
    fn what_a_browser_keeps_is_for_one_provider_and_shows_nothing() {
        let (keys, login_state) = (Keys::generate().unwrap(), login_state());
        let (corp, other) = (ProviderUid::new("p1"), ProviderUid::new("p2"));
        let cookie = login_state.seal(keys.login_state(), &corp).unwrap();
        let opened = LoginState::open(keys.login_state(), &corp, &cookie).unwrap();
        assert_eq!(opened.id, login_state.id);
        assert!(LoginState::open(keys.login_state(), &other, &cookie).is_none());
        let Pending::Github(pending) = &login_state.pending else {
            unreachable!("it is GitHub's");
        };
        let bytes = URL_SAFE_NO_PAD.decode(cookie.expose_secret()).unwrap();
        let verifier = pending.verifier().expose_secret().as_bytes();
        assert!(!bytes.windows(verifier.len()).any(|part| part == verifier));
        for forged in ["", "AAAA", "no base64!"] {
            assert!(LoginState::open(keys.login_state(), &corp, &forged.into()).is_none());
        }
    }

    #[test]
    fn a_way_back_leads_into_the_page_only() {
        for (text, good) in [
            ("/", true),
            ("/clusters/shop?tab=nodes&x=%20", true),
            ("", false),
            ("clusters", false),
            ("//evil.example", false),
            ("/\\evil.example", false),
            ("https://evil.example", false),
            ("/a\"><script>", false),
            ("/a\nb", false),
            ("/;url=x", false),
            ("/a b", false),
        ] {
            assert_eq!(ReturnPath::parse(text).is_some(), good, "{text:?}");
        }
        assert!(ReturnPath::parse(&format!("/{}", "a".repeat(WAY_BACK))).is_none());
    }
}
