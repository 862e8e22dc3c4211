//! Program logins, which a user confirms in a browser session.
//!
//! The flow is similar to the device flow of RFC 8628. A program receives a secret device code and
//! a short user code. The user enters the user code, sees the address of the request, and confirms
//! the login. The program can fetch its token once. All state is in memory, is bounded, and expires
//! after ten minutes.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_access::identity::Identity;
use drover_access::setting::Setting;
use drover_api::ids::UserUid;
use drover_api::kinds::{Token, TokenProvider, TokenPurpose, User};
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

use super::authenticator::is_idle;
use super::limits::{LoginLimits, RetryAfter};
use super::providers::sign_in::is_login_valid;
use super::tokens::{self, NewToken, TokenError};
use drover_entropy::{NoRandomness, random};
use drover_http_edge::networks::has_room;
use drover_http_edge::status::Status;
use drover_hub::settings::Settings;
use drover_hub::{Hub, call};

/// The lifetime of a pending login. Within this time, the user must confirm the login and the
/// program must fetch its token.
pub const LOGIN_TTL: SignedDuration = SignedDuration::from_mins(10);
/// The minimum polling interval of programs in seconds.
pub const INTERVAL_SECONDS: u32 = 2;
/// The maximum number of pending logins, in total and per network.
const MAX_PENDING: (usize, usize) = (2000, 20);
/// The letters of user codes. The list has no vowels, so that codes contain no words, and no
/// letters that look similar.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// The error of a device login.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// Too many logins are pending, or the user entered too many codes.
    #[error(
        "too many pending logins or entered codes; wait {seconds} s and try again",
        seconds = .0.seconds()
    )]
    TooMany(RetryAfter),
    /// The code is not the code of a pending login.
    #[error("no login with this code is pending: the code may have expired; start the login again")]
    NotFound,
    /// The login is already confirmed.
    #[error("cannot confirm the login: the login is already confirmed")]
    Confirmed,
    /// The confirming user authenticated with a token that is not the token of a login.
    #[error(
        "a login can be confirmed only with the token of a login, not with an API token: sign \
         in, or run \"drover login\""
    )]
    NoLogin,
    /// The confirming user is disabled, or the confirming token is not valid.
    #[error(
        "the user who confirmed the login is no longer allowed to log in; start the login again"
    )]
    ConfirmerInvalid,
    /// The random generator failed.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// The server cannot create the token.
    #[error(transparent)]
    Token(#[from] TokenError),
}

impl From<DeviceError> for Status {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::TooMany(after) => {
                Self::too_many_requests(error.to_string(), after.seconds())
            }
            DeviceError::NotFound => {
                Self::new(StatusCode::NOT_FOUND, "NotFound", error.to_string())
            }
            DeviceError::Confirmed => Self::conflict(error.to_string()),
            DeviceError::NoLogin | DeviceError::ConfirmerInvalid => {
                Self::forbidden(error.to_string())
            }
            DeviceError::Random(error) => Self::internal(error.to_string()),
            DeviceError::Token(error) => error.into(),
        }
    }
}

/// The codes of a new login.
#[derive(Debug)]
pub struct Codes {
    /// The secret code for the program.
    pub device: SecretString,
    /// The short code for the user.
    pub user: String,
}

/// Details of a pending login. The user sees these details before the confirmation.
#[derive(Clone, Debug)]
pub struct LoginRequest {
    /// The network address of the program.
    pub source: IpAddr,
    /// The time of the request.
    pub requested_at: Timestamp,
}

/// Pending device logins. Clones share the state.
#[derive(Clone, Debug)]
pub struct DeviceLogins {
    hub: Hub,
    settings: Settings,
    limits: LoginLimits,
    pending: PendingLogins,
}

type PendingLogins = Arc<Mutex<HashMap<String, PendingLogin>>>;

#[derive(Debug)]
struct PendingLogin {
    hash: [u8; 32],
    shown: LoginRequest,
    confirmed: Option<Confirmed>,
}

/// The user who confirmed a login, and the token of the confirmation.
#[derive(Clone, Debug)]
struct Confirmed {
    user: UserUid,
    token_id: String,
    provider: Option<TokenProvider>,
}

impl PendingLogin {
    fn is_pending(&self, now: Timestamp) -> bool {
        now.duration_since(self.shown.requested_at) <= LOGIN_TTL
    }
}

impl DeviceLogins {
    /// Creates an empty list of pending device logins. Password logins use the same rate limits
    /// `limits`.
    pub fn new(hub: Hub, settings: Settings, limits: LoginLimits) -> Self {
        Self {
            hub,
            settings,
            limits,
            pending: Arc::default(),
        }
    }

    /// Starts a login and returns its codes.
    pub fn begin(&self, source: IpAddr, now: Timestamp) -> Result<Codes, DeviceError> {
        self.limits
            .check_begin(source)
            .map_err(DeviceError::TooMany)?;
        begin(&mut self.pending.lock(), source, now)
    }

    /// Finds a pending login by its code. Returns the normalized code.
    pub fn find(
        &self,
        code: &str,
        identity: &Identity,
        now: Timestamp,
    ) -> Result<(String, LoginRequest), DeviceError> {
        self.check_code(identity)?;
        let (code, pending) = (normalize_code(code), self.pending.lock());
        let login = pending.get(&code).filter(|login| login.is_pending(now));
        let login = login.filter(|login| login.confirmed.is_none());
        let shown = login.map(|login| login.shown.clone());
        Ok((code, shown.ok_or(DeviceError::NotFound)?))
    }

    /// Confirms a login. The program can then fetch a token of the confirming user.
    pub fn confirm(
        &self,
        code: &str,
        identity: &Identity,
        now: Timestamp,
    ) -> Result<(), DeviceError> {
        let is_login = matches!(
            identity.token.purpose,
            TokenPurpose::Session | TokenPurpose::Browser
        );
        if !is_login {
            return Err(DeviceError::NoLogin);
        }
        self.check_code(identity)?;
        let mut pending = self.pending.lock();
        let login = pending.get_mut(&normalize_code(code));
        let login = login.filter(|login| login.is_pending(now));
        let login = login.ok_or(DeviceError::NotFound)?;
        if login.confirmed.is_some() {
            return Err(DeviceError::Confirmed);
        }
        login.confirmed = Some(Confirmed {
            user: identity.user_uid.clone(),
            token_id: identity.token.id.clone(),
            provider: identity.token.provider.clone(),
        });
        Ok(())
    }

    /// Returns the program's token once after the confirmation. Returns `None` before the
    /// confirmation.
    pub async fn fetch(
        &self,
        device: &SecretString,
        now: Timestamp,
    ) -> Result<Option<(SecretString, Token)>, DeviceError> {
        let Some((code, login, confirmed)) = take(&mut self.pending.lock(), device, now)? else {
            return Ok(None);
        };
        let issued = self.issue(&confirmed, now).await;
        if let Err(DeviceError::Token(_)) = &issued {
            // The program retries.
            self.pending.lock().entry(code).or_insert(login);
        }
        issued.map(Some)
    }

    /// Creates the program's token. The token expires no later than the confirming token, so that a
    /// program cannot extend a session.
    async fn issue(
        &self,
        confirmed: &Confirmed,
        now: Timestamp,
    ) -> Result<(SecretString, Token), DeviceError> {
        let (user, ends) = self
            .confirming_user(confirmed, now)
            .ok_or(DeviceError::ConfirmerInvalid)?;
        let longest = now + self.settings.ttl(Setting::SessionTtl);
        let login = NewToken {
            purpose: TokenPurpose::Session,
            cluster: None,
            provider: confirmed.provider.clone(),
            description: None,
            expires_at: longest.min(ends),
            idle: None,
        };
        let (secret, token) = tokens::create(&self.hub, &user, login).await?;
        // A concurrent revocation of the confirming login does not include this token.
        let found = self.hub.tokens();
        let found = call("read a token", found.get_opt(&confirmed.token_id)).await;
        if matches!(&found, Ok(Some(one)) if one.metadata.deletion_timestamp.is_none()) {
            return Ok((secret, token));
        }
        let deleted = tokens::delete(&self.hub, &token).await;
        found.and(deleted).map_err(TokenError::Hub)?;
        Err(DeviceError::ConfirmerInvalid)
    }

    /// Returns the confirming user and the expiry of the confirming token, if both are still valid.
    fn confirming_user(
        &self,
        confirmed: &Confirmed,
        now: Timestamp,
    ) -> Option<(Arc<User>, Timestamp)> {
        let stores = self.hub.stores();
        let token = stores.tokens.by_name(&confirmed.token_id)?;
        let ends = expiry_of(&token, now)?;
        let user = stores.users.by_uid(confirmed.user.as_str())?;
        let stands = is_login_valid(&self.hub, &user, confirmed.provider.as_ref(), now);
        stands.then_some((user, ends))
    }

    fn check_code(&self, identity: &Identity) -> Result<(), DeviceError> {
        let checked = self.limits.check_code(identity.user_uid.as_str());
        checked.map_err(DeviceError::TooMany)
    }
}

/// Returns the expiry of a confirming token. Returns `None` if the token has expired or is being
/// deleted.
fn expiry_of(token: &Token, now: Timestamp) -> Option<Timestamp> {
    let ends = token.spec.expires_at.0;
    let good = token.metadata.deletion_timestamp.is_none() && now < ends && !is_idle(token, now);
    good.then_some(ends)
}

fn begin(
    pending: &mut HashMap<String, PendingLogin>,
    source: IpAddr,
    now: Timestamp,
) -> Result<Codes, DeviceError> {
    pending.retain(|_, login| login.is_pending(now));
    let sources = pending.values().map(|login| login.shown.source);
    if !has_room(sources, source, MAX_PENDING) {
        return Err(DeviceError::TooMany(RetryAfter::ONE_MINUTE));
    }
    let user = code(random()?);
    let secret = URL_SAFE_NO_PAD.encode(random::<32>()?);
    let login = PendingLogin {
        hash: hash(&secret),
        shown: LoginRequest {
            source,
            requested_at: now,
        },
        confirmed: None,
    };
    let device = SecretString::from(format!("{user}.{secret}"));
    // A collision is negligible: 20^8 codes and 2,000 pending logins.
    pending.insert(user.clone(), login);
    Ok(Codes { device, user })
}

/// Removes a confirmed login, and returns the login. Returns `None` if no confirmed login has this
/// code.
fn take(
    pending: &mut HashMap<String, PendingLogin>,
    device: &SecretString,
    now: Timestamp,
) -> Result<Option<(String, PendingLogin, Confirmed)>, DeviceError> {
    let parts = device.expose_secret().split_once('.');
    let (user, secret) = parts.ok_or(DeviceError::NotFound)?;
    let login = pending.get(user).filter(|login| {
        let is_its: bool = login.hash.ct_eq(&hash(secret)).into();
        is_its && login.is_pending(now)
    });
    let Some(confirmed) = &login.ok_or(DeviceError::NotFound)?.confirmed else {
        return Ok(None);
    };
    let confirmed = confirmed.clone();
    let taken = pending.remove_entry(user);
    Ok(taken.map(|(code, login)| (code, login, confirmed)))
}

fn hash(secret: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    hash
}

/// Formats random bytes as a user code like `BCDF-GHJK`.
fn code(bytes: [u8; 16]) -> String {
    let mut number = u128::from_be_bytes(bytes);
    let mut text = String::with_capacity(9);
    for place in 0..8 {
        if place == 4 {
            text.push('-');
        }
        let letter = usize::try_from(number % 20).expect("the remainder is less than 20");
        text.push(char::from(LETTERS[letter]));
        number /= 20;
    }
    text
}

/// Normalizes a user code that a user typed.
fn normalize_code(code: &str) -> String {
    let letters = code.chars().filter(char::is_ascii_alphabetic).take(9);
    let mut text: String = letters.map(|c| c.to_ascii_uppercase()).collect();
    if text.len() > 4 {
        text.insert(4, '-');
    }
    text
}

#[cfg(test)]
mod tests;
