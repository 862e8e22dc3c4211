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
use super::providers::sign_in::still_stands;
use super::tokens::{self, TokenError, TokenWish};
use drover_entropy::{NoRandomness, random};
use drover_http_edge::networks::has_room;
use drover_http_edge::status::Status;
use drover_hub::settings::Settings;
use drover_hub::{Hub, call};

/// A log-in can be confirmed, and then fetched, for so long.
pub const LIFE: SignedDuration = SignedDuration::from_mins(10);
/// Programs ask no more often.
pub const INTERVAL_SECONDS: u32 = 2;
/// Log-ins that wait, from everywhere and from one network.
const WAITING: (usize, usize) = (2000, 20);
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
    NoSuch,
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
            DeviceError::NoSuch => Self::new(StatusCode::NOT_FOUND, "NotFound", error.to_string()),
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
pub struct Shown {
    /// From where the program asked.
    pub source: IpAddr,
    /// When it asked.
    pub requested_at: Timestamp,
}

/// Log-ins of programs; clones share what waits.
#[derive(Clone, Debug)]
pub struct Devices {
    hub: Hub,
    settings: Settings,
    limits: LoginLimits,
    waiting: Waiting,
}

type Waiting = Arc<Mutex<HashMap<String, Wish>>>;

#[derive(Debug)]
struct Wish {
    hash: [u8; 32],
    shown: Shown,
    confirmed: Option<Confirmed>,
}

/// Who confirmed a log-in.
#[derive(Clone, Debug)]
struct Confirmed {
    user: UserUid,
    token_id: String,
    provider: Option<TokenProvider>,
}

impl Wish {
    fn waits(&self, now: Timestamp) -> bool {
        now.duration_since(self.shown.requested_at) <= LIFE
    }
}

impl Devices {
    /// Log-ins on a hub; `limits` are those of passwords.
    pub fn new(hub: Hub, settings: Settings, limits: LoginLimits) -> Self {
        Self {
            hub,
            settings,
            limits,
            waiting: Arc::default(),
        }
    }

    /// Begins a log-in.
    pub fn begin(&self, source: IpAddr, now: Timestamp) -> Result<Codes, DeviceError> {
        self.limits
            .check_begin(source)
            .map_err(DeviceError::TooMany)?;
        begin(&mut self.waiting.lock(), source, now)
    }

    /// What is about to be confirmed, and its code as it was given out.
    pub fn look(
        &self,
        code: &str,
        who: &Identity,
        now: Timestamp,
    ) -> Result<(String, Shown), DeviceError> {
        self.check_code(who)?;
        let (code, waiting) = (as_typed(code), self.waiting.lock());
        let wish = waiting.get(&code).filter(|wish| wish.waits(now));
        let wish = wish.filter(|wish| wish.confirmed.is_none());
        let shown = wish.map(|wish| wish.shown.clone());
        Ok((code, shown.ok_or(DeviceError::NoSuch)?))
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
        let mut waiting = self.waiting.lock();
        let wish = waiting.get_mut(&as_typed(code));
        let wish = wish.filter(|wish| wish.waits(now));
        let wish = wish.ok_or(DeviceError::NoSuch)?;
        if wish.confirmed.is_some() {
            return Err(DeviceError::Confirmed);
        }
        wish.confirmed = Some(Confirmed {
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
        let Some((code, wish, confirmed)) = take(&mut self.waiting.lock(), device, now)? else {
            return Ok(None);
        };
        let issued = self.issue(&confirmed, now).await;
        if let Err(DeviceError::Token(_)) = &issued {
            // The program asks again.
            self.waiting.lock().entry(code).or_insert(wish);
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
            .confirmer(confirmed, now)
            .ok_or(DeviceError::ConfirmerInvalid)?;
        let longest = now + self.settings.ttl(Setting::SessionTtl);
        let wish = TokenWish {
            purpose: TokenPurpose::Session,
            cluster: None,
            provider: confirmed.provider.clone(),
            description: None,
            expires_at: longest.min(ends),
            idle: None,
        };
        let (secret, token) = tokens::create(&self.hub, &user, wish).await?;
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
    fn confirmer(&self, confirmed: &Confirmed, now: Timestamp) -> Option<(Arc<User>, Timestamp)> {
        let stores = self.hub.stores();
        let token = stores.tokens.by_name(&confirmed.token_id)?;
        let ends = ends(&token, now)?;
        let user = stores.users.by_uid(confirmed.user.as_str())?;
        let stands = still_stands(&self.hub, &user, confirmed.provider.as_ref(), now);
        stands.then_some((user, ends))
    }

    fn check_code(&self, who: &Identity) -> Result<(), DeviceError> {
        let checked = self.limits.check_code(who.user_uid.as_str());
        checked.map_err(DeviceError::TooMany)
    }
}

/// When a token that confirms a log-in ends; `None` if it has, or is about to be deleted.
fn ends(token: &Token, now: Timestamp) -> Option<Timestamp> {
    let ends = token.spec.expires_at.0;
    let good = token.metadata.deletion_timestamp.is_none() && now < ends && !is_idle(token, now);
    good.then_some(ends)
}

fn begin(
    waiting: &mut HashMap<String, Wish>,
    source: IpAddr,
    now: Timestamp,
) -> Result<Codes, DeviceError> {
    waiting.retain(|_, wish| wish.waits(now));
    let sources = waiting.values().map(|wish| wish.shown.source);
    if !has_room(sources, source, WAITING) {
        return Err(DeviceError::TooMany(RetryAfter::A_MINUTE));
    }
    let user = code(random()?);
    let secret = URL_SAFE_NO_PAD.encode(random::<32>()?);
    let wish = Wish {
        hash: hash(&secret),
        shown: Shown {
            source,
            requested_at: now,
        },
        confirmed: None,
    };
    let device = SecretString::from(format!("{user}.{secret}"));
    // One that is taken is as good as never drawn: 20^8 codes, 2,000 of them in use.
    waiting.insert(user.clone(), wish);
    Ok(Codes { device, user })
}

/// Takes what was confirmed out, with its code; `None` while it was not.
fn take(
    waiting: &mut HashMap<String, Wish>,
    device: &SecretString,
    now: Timestamp,
) -> Result<Option<(String, Wish, Confirmed)>, DeviceError> {
    let parts = device.expose_secret().split_once('.');
    let (user, secret) = parts.ok_or(DeviceError::NoSuch)?;
    let wish = waiting.get(user).filter(|wish| {
        let is_its: bool = wish.hash.ct_eq(&hash(secret)).into();
        is_its && wish.waits(now)
    });
    let Some(confirmed) = &wish.ok_or(DeviceError::NoSuch)?.confirmed else {
        return Ok(None);
    };
    let confirmed = confirmed.clone();
    let taken = waiting.remove_entry(user);
    Ok(taken.map(|(code, wish)| (code, wish, confirmed)))
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
fn as_typed(code: &str) -> String {
    let letters = code.chars().filter(char::is_ascii_alphabetic).take(9);
    let mut text: String = letters.map(|c| c.to_ascii_uppercase()).collect();
    if text.len() > 4 {
        text.insert(4, '-');
    }
    text
}

#[cfg(test)]
mod tests;
