//! The encrypted state of a started login. The browser stores the state in a cookie. The state is
//! valid once.

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

/// The maximum number of finished logins in memory. At the maximum, logins cannot finish until an
/// entry expires.
const MAX_FINISHED: usize = 50_000;
/// The maximum length of a return path in bytes.
const MAX_RETURN_PATH: usize = 512;

/// The protocol-specific state of a login.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Pending {
    /// A login at an OpenID provider.
    Oidc(oidc::Pending),
    /// A login at GitHub.
    Github(code_flow::Pending),
}

impl Pending {
    /// Reports whether the query of a callback contains the `state` of this login.
    pub fn matches_state(&self, query: &str) -> bool {
        match self {
            Self::Oidc(pending) => pending.matches_state(query),
            Self::Github(pending) => pending.matches_state(query),
        }
    }
}

/// A login that has started but not finished.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoginState {
    /// The login's unique ID. The server uses the ID to reject a second completion of the login.
    id: String,
    /// The protocol state that verifies the provider's response.
    pub pending: Pending,
    /// The path in the UI to which the browser returns after the login.
    #[serde(rename = "way_back")]
    pub return_path: ReturnPath,
    /// The ID of the browser's session before the login. The server ends this session after the
    /// login. The state contains the ID, because browsers do not send the session cookie with the
    /// cross-site callback.
    #[serde(rename = "former")]
    pub previous_session: Option<String>,
}

impl LoginState {
    /// Creates the state of a new login.
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

    /// Encrypts the state for the cookie. The encryption authenticates the provider's UID, so the
    /// cookie is valid only for this provider.
    pub fn seal(&self, seal: &Seal, provider: &ProviderUid) -> Result<SecretString, NoRandomness> {
        let sealed = seal.close(provider.as_str(), &self.json())?;
        Ok(SecretString::from(URL_SAFE_NO_PAD.encode(sealed)))
    }

    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a login state can be serialized as JSON")
    }

    /// Decrypts a cookie. Returns `None` if the cookie was not created by this server or was
    /// created for a different provider.
    pub fn open(seal: &Seal, provider: &ProviderUid, cookie: &SecretString) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(cookie.expose_secret()).ok()?;
        let plain = seal.open(provider.as_str(), &sealed)?;
        serde_json::from_slice(&plain).ok()
    }
}

/// A path in Drover's own UI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnPath(String);

impl Default for ReturnPath {
    fn default() -> Self {
        Self("/".to_owned())
    }
}

impl ReturnPath {
    /// Parses a path with a query. Returns `None` if a browser could interpret the text as a URL of
    /// a different site.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-_.~?=&%:,@+".contains(&b);
        let stays = text.starts_with('/') && !text.starts_with("//");
        let fits = text.len() <= MAX_RETURN_PATH && text.bytes().all(plain);
        (stays && fits).then(|| Self(text.to_owned()))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The finished logins whose state has not expired. Clones share the logins.
#[derive(Clone, Debug, Default)]
pub struct FinishedLogins(Arc<Mutex<HashMap<String, Timestamp>>>);

/// The error of a login that cannot be finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlreadyFinished {
    /// The login has already finished.
    Yes,
    /// The server stores the maximum number of finished logins, so the server cannot detect a
    /// second completion of this login.
    Unknown,
}

/// A login that is being finished. The browser can retry the login if the value is dropped before
/// [`Self::commit`].
#[derive(Debug)]
#[must_use = "a dropped guard allows the login to finish again"]
pub struct FinishingLogin {
    ended: FinishedLogins,
    id: Option<String>,
}

impl FinishingLogin {
    /// Marks the login as finished. Call the function after the provider has accepted the one-time
    /// code.
    pub fn commit(mut self) {
        self.id = None;
    }
}

impl Drop for FinishingLogin {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.ended.0.lock().remove(id);
        }
    }
}

impl FinishedLogins {
    /// Records that a request begins to finish a login. Returns an error if the login has finished
    /// already, or if a concurrent request finishes the login.
    pub fn begin_finish(
        &self,
        login_state: &LoginState,
        now: Timestamp,
    ) -> Result<FinishingLogin, AlreadyFinished> {
        let mut ended = self.0.lock();
        if ended.len() >= MAX_FINISHED {
            // The encrypted state contains its own expiry.
            ended.retain(|_, at| now.duration_since(*at) <= MAX_SIGN_IN_DURATION * 2);
        }
        if ended.contains_key(&login_state.id) {
            return Err(AlreadyFinished::Yes);
        }
        if ended.len() >= MAX_FINISHED {
            return Err(AlreadyFinished::Unknown);
        }
        ended.insert(login_state.id.clone(), now);
        Ok(FinishingLogin {
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
    fn provider_login_can_be_completed_only_once() {
        let (ended, another, login_state, now) = (
            FinishedLogins::default(),
            login_state(),
            login_state(),
            Timestamp::now(),
        );
        ended.begin_finish(&login_state, now).unwrap().commit();
        let again = ended.begin_finish(&login_state.clone(), now);
        assert_eq!(again.unwrap_err(), AlreadyFinished::Yes);
        ended.begin_finish(&another, now).unwrap().commit();
    }

    #[test]
    fn provider_login_can_be_retried_after_a_failed_completion() {
        let (ended, login_state, now) =
            (FinishedLogins::default(), login_state(), Timestamp::now());
        let first = ended.begin_finish(&login_state, now).unwrap();
        let meanwhile = ended.begin_finish(&login_state, now);
        assert_eq!(
            meanwhile.unwrap_err(),
            AlreadyFinished::Yes,
            "a login finishes once at a time"
        );
        drop(first);
        assert!(ended.0.lock().is_empty());
        ended.begin_finish(&login_state, now).unwrap().commit();
    }

    #[test]
    fn login_cookie_is_encrypted_and_bound_to_one_provider() {
        let (keys, login_state) = (Keys::generate().unwrap(), login_state());
        let (corp, other) = (ProviderUid::new("p1"), ProviderUid::new("p2"));
        let cookie = login_state.seal(keys.login_state(), &corp).unwrap();
        let opened = LoginState::open(keys.login_state(), &corp, &cookie).unwrap();
        assert_eq!(opened.id, login_state.id);
        assert!(LoginState::open(keys.login_state(), &other, &cookie).is_none());
        let Pending::Github(pending) = &login_state.pending else {
            unreachable!("the state is GitHub's");
        };
        let bytes = URL_SAFE_NO_PAD.decode(cookie.expose_secret()).unwrap();
        let verifier = pending.verifier().expose_secret().as_bytes();
        assert!(!bytes.windows(verifier.len()).any(|part| part == verifier));
        for forged in ["", "AAAA", "no base64!"] {
            assert!(LoginState::open(keys.login_state(), &corp, &forged.into()).is_none());
        }
    }

    #[test]
    fn return_path_accepts_only_paths_of_the_ui() {
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
        assert!(ReturnPath::parse(&format!("/{}", "a".repeat(MAX_RETURN_PATH))).is_none());
    }
}
