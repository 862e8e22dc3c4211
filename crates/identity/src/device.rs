//! Log-ins of programs that a person confirms in a browser where they are signed in.
//!
//! As the device flow of RFC 8628, of Drover's own: a program is given two codes, one that only it
//! knows and a short one to show; the person types the short one, sees from where it was asked for,
//! and confirms. What is confirmed is given to the program once. All of it is in memory, bounded,
//! and gone after ten minutes.

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

/// A log-in can be confirmed, and then fetched, for so long.
pub const LOGIN_TTL: SignedDuration = SignedDuration::from_mins(10);
/// Programs ask no more often.
pub const INTERVAL_SECONDS: u32 = 2;
/// Log-ins that wait, from everywhere and from one network.
const MAX_PENDING: (usize, usize) = (2000, 20);
/// Letters of a code that people type: none that looks like another, and no vowels to make words of.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// Why a program did not log in so.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// Too many wait, or somebody tries too many codes.
    #[error("too many log-ins, or codes of them; wait {} s and try again", .0.seconds())]
    TooMany(RetryAfter),
    /// No log-in with this code waits, or not any more.
    #[error("no log-in with this code waits to be confirmed: it may have expired; begin again")]
    NotFound,
    /// Somebody else has confirmed it.
    #[error("it is confirmed already")]
    Confirmed,
    /// A token that was not a log-in itself cannot hand on one.
    #[error("only who is logged in can confirm another log-in: sign in, or run \"drover login\"")]
    NoLogin,
    /// Who confirmed it may not use Drover any more.
    #[error("who confirmed it may not log in any more; begin again")]
    ConfirmerInvalid,
    /// The system gave no randomness.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// No token could be made.
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

/// A log-in that begins.
#[derive(Debug)]
pub struct Codes {
    /// What only the program knows.
    pub device: SecretString,
    /// What the person types.
    pub user: String,
}

/// A log-in that waits, as it is shown.
#[derive(Clone, Debug)]
pub struct LoginRequest {
    /// From where the program asked.
    pub source: IpAddr,
    /// When it asked.
    pub requested_at: Timestamp,
}

/// Log-ins of programs; clones share what waits.
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

/// Who confirmed a log-in.
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
    /// Log-ins on a hub; `limits` are those of passwords.
    pub fn new(hub: Hub, settings: Settings, limits: LoginLimits) -> Self {
        Self {
            hub,
            settings,
            limits,
            pending: Arc::default(),
        }
    }

    /// Begins a log-in.
    pub fn begin(&self, source: IpAddr, now: Timestamp) -> Result<Codes, DeviceError> {
        self.limits
            .check_begin(source)
            .map_err(DeviceError::TooMany)?;
        begin(&mut self.pending.lock(), source, now)
    }

    /// What is about to be confirmed, and its code as it was given out.
    pub fn find(
        &self,
        code: &str,
        who: &Identity,
        now: Timestamp,
    ) -> Result<(String, LoginRequest), DeviceError> {
        self.check_code(who)?;
        let (code, pending) = (normalize_code(code), self.pending.lock());
        let login = pending.get(&code).filter(|login| login.is_pending(now));
        let login = login.filter(|login| login.confirmed.is_none());
        let shown = login.map(|login| login.shown.clone());
        Ok((code, shown.ok_or(DeviceError::NotFound)?))
    }

    /// Confirms it: the program will act as who confirms.
    pub fn confirm(&self, code: &str, who: &Identity, now: Timestamp) -> Result<(), DeviceError> {
        let is_login = matches!(
            who.token.purpose,
            TokenPurpose::Session | TokenPurpose::Browser
        );
        if !is_login {
            return Err(DeviceError::NoLogin);
        }
        self.check_code(who)?;
        let mut pending = self.pending.lock();
        let login = pending.get_mut(&normalize_code(code));
        let login = login.filter(|login| login.is_pending(now));
        let login = login.ok_or(DeviceError::NotFound)?;
        if login.confirmed.is_some() {
            return Err(DeviceError::Confirmed);
        }
        login.confirmed = Some(Confirmed {
            user: who.user_uid.clone(),
            token_id: who.token.id.clone(),
            provider: who.token.provider.clone(),
        });
        Ok(())
    }

    /// The program's token, once the log-in was confirmed; it is given once.
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
            // The program asks again.
            self.pending.lock().entry(code).or_insert(login);
        }
        issued.map(Some)
    }

    /// The program's token: it ends no later than the one that confirmed it, or a log-in could renew
    /// itself for ever.
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
        // Whoever ended the log-in that confirmed it meanwhile has not seen this one.
        let found = self.hub.tokens();
        let found = call("read a token", found.get_opt(&confirmed.token_id)).await;
        if matches!(&found, Ok(Some(one)) if one.metadata.deletion_timestamp.is_none()) {
            return Ok((secret, token));
        }
        let deleted = tokens::delete(&self.hub, &token).await;
        found.and(deleted).map_err(TokenError::Hub)?;
        Err(DeviceError::ConfirmerInvalid)
    }

    /// Who confirmed a log-in and until when they are logged in themselves, if they still are.
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

    fn check_code(&self, who: &Identity) -> Result<(), DeviceError> {
        let checked = self.limits.check_code(who.user_uid.as_str());
        checked.map_err(DeviceError::TooMany)
    }
}

/// When a token that confirms a log-in ends; `None` if it has, or is about to be deleted.
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
        return Err(DeviceError::TooMany(RetryAfter::A_MINUTE));
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
    // One that is taken is as good as never drawn: 20^8 codes, 2,000 of them in use.
    pending.insert(user.clone(), login);
    Ok(Codes { device, user })
}

/// Takes what was confirmed out, with its code; `None` while it was not.
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

/// `BCDF-GHJK`, from bytes as random as it is.
fn code(bytes: [u8; 16]) -> String {
    let mut number = u128::from_be_bytes(bytes);
    let mut text = String::with_capacity(9);
    for place in 0..8 {
        if place == 4 {
            text.push('-');
        }
        let letter = usize::try_from(number % 20).expect("less than 20");
        text.push(char::from(LETTERS[letter]));
        number /= 20;
    }
    text
}

/// A code as it was given out, from however somebody types it.
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
