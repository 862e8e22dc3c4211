//! Rate limits of login attempts.
//!
//! Three budgets limit password attempts: a budget per address, a budget per user and address, and
//! a budget per user for all unknown addresses together. Each budget refills steadily, so no limit
//! is permanent. The budget per address limits attempts with many user names. The budget for
//! unknown addresses limits guesses from many addresses.
//!
//! A *known* address (in the code: familiar) of a user is an address from which the user signed in
//! before. The budget per address and the budget for unknown addresses do not apply to a user at a
//! known address. Attackers therefore cannot prevent logins from known addresses.
//!
//! A directory account also has a budget of failed passwords. This budget also applies to known
//! addresses, because the directory may lock the account.

mod failures;

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, NotUntil, Quota, RateLimiter};
use icu_normalizer::DecomposingNormalizerBorrowed;
use parking_lot::Mutex;

use self::failures::{Failures, Origin, Outcome};
use drover_http_edge::networks;
use drover_http_edge::networks::{Rates, Wait, network};

/// The maximum number of password attempts per minute from an address and from its two enclosing
/// networks.
const ATTEMPTS_PER_ADDRESS: [u32; 3] = [60, 120, 240];
/// The maximum number of password attempts per minute for a user from one address.
const ATTEMPTS_PER_USER_AND_ADDRESS: NonZeroU32 = NonZeroU32::new(20).expect("20 is not zero");
/// The maximum number of password attempts per minute for a user from all unknown addresses
/// together.
const ATTEMPTS_PER_USER: NonZeroU32 = NonZeroU32::new(40).expect("40 is not zero");
/// The maximum number of provider logins per minute that clients may start or finish, from an
/// address and from its two enclosing networks.
const LOGINS_PER_ADDRESS: [u32; 3] = [120, 240, 480];
/// The maximum number of device codes per minute that a user may look up or confirm.
const CODES_PER_USER: NonZeroU32 = NonZeroU32::new(20).expect("20 is not zero");
/// The maximum number of password attempts per minute at a directory from an unknown address and
/// from its two enclosing networks. `DIRECTORY_ATTEMPTS` is the maximum from all unknown addresses
/// together. The limits prevent the directory from locking accounts.
const DIRECTORY_ATTEMPTS_PER_NETWORK: [u32; 3] = [60, 75, 150];
const DIRECTORY_ATTEMPTS: NonZeroU32 = NonZeroU32::new(300).expect("300 is not zero");
/// The number of stored budgets above which the server removes full budgets.
const MAX_BUDGETS: usize = 20_000;
/// The maximum number of users with known addresses. `MAX_FAMILIAR_ADDRESSES` is the maximum number
/// of known addresses per user.
const MAX_FAMILIAR_USERS: usize = 10_000;
const MAX_FAMILIAR_ADDRESSES: usize = 32;

/// The duration after which the client may retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryAfter(pub Duration);

impl RetryAfter {
    /// The retry delay after a short overload.
    pub const ONE_SECOND: Self = Self(Duration::ZERO);
    /// The retry delay if a queue is full.
    pub const ONE_MINUTE: Self = Self(Duration::from_mins(1));

    /// Returns the duration in seconds, rounded up, at least 1.
    pub fn seconds(self) -> u32 {
        u32::try_from(self.0.as_secs())
            .unwrap_or(u32::MAX)
            .saturating_add(1)
    }
}

/// The login rate limits. Cloning is cheap.
#[derive(Clone)]
pub struct LoginLimits(Arc<Budgets>);

struct Budgets {
    clock: DefaultClock,
    address: Rates,
    pair: DefaultKeyedRateLimiter<(String, IpAddr)>,
    user: DefaultKeyedRateLimiter<String>,
    provider_logins: Rates,
    accounts: Mutex<Failures>,
    directory: DefaultKeyedRateLimiter<String>,
    directory_by_network: Rates<String>,
    codes: DefaultKeyedRateLimiter<String>,
    familiar: Mutex<HashMap<String, HashSet<IpAddr>>>,
}

impl std::fmt::Debug for LoginLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginLimits").finish_non_exhaustive()
    }
}

impl Default for LoginLimits {
    fn default() -> Self {
        Self(Arc::new(Budgets {
            clock: DefaultClock::default(),
            address: rates(ATTEMPTS_PER_ADDRESS),
            pair: RateLimiter::keyed(Quota::per_minute(ATTEMPTS_PER_USER_AND_ADDRESS)),
            user: RateLimiter::keyed(Quota::per_minute(ATTEMPTS_PER_USER)),
            provider_logins: rates(LOGINS_PER_ADDRESS),
            accounts: Mutex::default(),
            directory: RateLimiter::keyed(Quota::per_minute(DIRECTORY_ATTEMPTS)),
            directory_by_network: rates(DIRECTORY_ATTEMPTS_PER_NETWORK),
            codes: RateLimiter::keyed(Quota::per_minute(CODES_PER_USER)),
            familiar: Mutex::new(HashMap::new()),
        }))
    }
}

impl LoginLimits {
    /// Counts a password attempt for an existing or unknown user. Returns an error if a budget is
    /// exhausted.
    pub fn check(&self, user: &str, address: IpAddr) -> Result<(), RetryAfter> {
        let address = network(address);
        let user = key(user);
        self.remove_full_budgets();
        let budgets = &*self.0;
        let spent =
            |not_until: NotUntil<_>| RetryAfter(not_until.wait_time_from(budgets.clock.now()));
        let familiar = self.is_familiar(&user, address);
        if !familiar {
            budgets.address.check(&(), address)?;
        }
        budgets
            .pair
            .check_key(&(user.clone(), address))
            .map_err(spent)?;
        if familiar {
            return Ok(());
        }
        budgets.user.check_key(&user).map_err(spent)
    }

    /// Counts a provider login that a client at this address starts or finishes.
    pub fn check_begin(&self, address: IpAddr) -> Result<(), RetryAfter> {
        Ok(self.0.provider_logins.check(&(), address)?)
    }

    /// Records the start of a password attempt at a directory. The accounts of a directory are
    /// separate from local users.
    ///
    /// Dropping the returned [`Attempt`] without an outcome records a failure.
    pub fn check_at(
        &self,
        provider: &str,
        login: &str,
        address: IpAddr,
    ) -> Result<Attempt, RetryAfter> {
        let account = account(provider, login);
        self.check(&account, address)?;
        let budgets = &*self.0;
        let origin = if self.is_familiar(&account, network(address)) {
            Origin::Familiar
        } else {
            Origin::Unfamiliar
        };
        let attempt = budgets
            .accounts
            .lock()
            .begin(&account, origin, Instant::now());
        attempt.map_err(RetryAfter)?;
        let mut attempt = Attempt {
            limits: self.clone(),
            account,
            origin,
            outcome: Outcome::Failed,
        };
        if origin == Origin::Unfamiliar
            && let Err(after) = self.check_directory(provider, address)
        {
            attempt.outcome = Outcome::NotSent;
            return Err(after);
        }
        Ok(attempt)
    }

    fn check_directory(&self, provider: &str, address: IpAddr) -> Result<(), RetryAfter> {
        let (budgets, provider) = (&*self.0, provider.to_owned());
        budgets.directory_by_network.check(&provider, address)?;
        let spent = budgets.directory.check_key(&provider);
        spent.map_err(|not_until| RetryAfter(not_until.wait_time_from(budgets.clock.now())))
    }

    /// Counts a device code that a user looks up or confirms.
    pub fn check_code(&self, user: &str) -> Result<(), RetryAfter> {
        let budgets = &*self.0;
        if budgets.codes.len() > MAX_BUDGETS {
            budgets.codes.retain_recent();
        }
        let spent = budgets.codes.check_key(&key(user));
        spent.map_err(|not_until| RetryAfter(not_until.wait_time_from(budgets.clock.now())))
    }

    /// Records a successful directory login from the address.
    pub fn succeeded_at(&self, provider: &str, login: &str, address: IpAddr) {
        self.succeeded(&account(provider, login), address);
    }

    /// Records a successful login of the user from the address.
    pub fn succeeded(&self, user: &str, address: IpAddr) {
        let mut familiar = self.0.familiar.lock();
        if familiar.len() >= MAX_FAMILIAR_USERS && !familiar.contains_key(&key(user)) {
            familiar.clear();
        }
        let addresses = familiar.entry(key(user)).or_default();
        if addresses.len() >= MAX_FAMILIAR_ADDRESSES {
            addresses.clear();
        }
        addresses.insert(network(address));
    }

    fn is_familiar(&self, user: &str, address: IpAddr) -> bool {
        let familiar = self.0.familiar.lock();
        familiar
            .get(user)
            .is_some_and(|addresses| addresses.contains(&address))
    }

    fn remove_full_budgets(&self) {
        let budgets = &*self.0;
        if budgets.pair.len() > MAX_BUDGETS {
            budgets.pair.retain_recent();
        }
        if budgets.user.len() > MAX_BUDGETS {
            budgets.user.retain_recent();
        }
        if budgets.directory.len() > MAX_BUDGETS {
            budgets.directory.retain_recent();
        }
    }
}

impl From<Wait> for RetryAfter {
    fn from(Wait(time): Wait) -> Self {
        Self(time)
    }
}

fn rates<K: Clone + Eq + Hash>(a_minute: [u32; 3]) -> Rates<K> {
    Rates::new(a_minute.map(networks::Quota::per_minute))
}

/// A password attempt at a directory. The attempt is recorded as failed unless [`Self::succeeded`]
/// or [`Self::not_sent`] is called.
#[must_use = "the attempt counts as failed when this is dropped"]
pub struct Attempt {
    limits: LoginLimits,
    account: String,
    origin: Origin,
    outcome: Outcome,
}

impl Attempt {
    /// Records that the directory accepted the password.
    pub fn succeeded(mut self) {
        self.outcome = Outcome::Right;
    }

    /// Records that the server did not send the password to the directory.
    pub fn not_sent(mut self) {
        self.outcome = Outcome::NotSent;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let mut accounts = self.limits.0.accounts.lock();
        accounts.end(&self.account, self.origin, self.outcome, Instant::now());
    }
}

/// Truncates a name to 64 characters, the maximum length of user names, to limit memory usage.
fn key(user: &str) -> String {
    user.chars().take(64).collect()
}

/// Returns the key of a directory account. Two logins that a directory may treat as equal have the
/// same key. The key begins with a character that user names cannot contain.
fn account(provider: &str, login: &str) -> String {
    let plain = normalize_login(login);
    let words: Vec<&str> = plain.split_whitespace().collect();
    let whole = format!("{provider} {}", words.join(" "));
    let digest = digest(&SHA256, whole.as_bytes());
    format!("\n{}", URL_SAFE_NO_PAD.encode(digest))
}

/// Normalizes a login like directories do in a comparison (RFC 4518 §2). Normalizes compatibility
/// forms and case. Removes invisible characters, and removes combining marks because Active
/// Directory ignores accents.
fn normalize_login(login: &str) -> String {
    let decomposed = DecomposingNormalizerBorrowed::new_nfkd();
    let lower = decomposed.normalize(login).to_lowercase();
    let lower = decomposed.normalize(&lower);
    lower.chars().filter(|c| !is_ignored(*c)).collect()
}

/// Reports whether directories ignore the character. Directories ignore combining marks of Latin,
/// Greek and Cyrillic, and Unicode's default ignorable characters.
fn is_ignored(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{61c}' | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_directory_login_share_one_password_attempt_limit() {
        let limits = LoginLimits::default();
        let spellings = ["ann", "Ann", " ÁNN ", "a\u{200b}n\u{ad}ｎ\t"];
        let tried = (0..60).filter(|n| {
            let from = address(u8::try_from(*n).unwrap());
            limits.check_at("corp", spellings[n % 4], from).is_ok()
        });
        assert_eq!(tried.count(), 2, "fewer attempts than lock an account");
        assert!(limits.check_at("other", "ann", address(1)).is_ok());
        assert!(
            limits.check("ann", address(1)).is_ok(),
            "a local user is not limited"
        );
    }

    #[test]
    fn password_attempts_from_unknown_addresses_do_not_block_directory_user_at_known_address() {
        let limits = LoginLimits::default();
        limits.succeeded_at("corp", "ann", address(200));
        let tried = (0..100).filter(|n| limits.check_at("corp", "ann", address(*n)).is_ok());
        assert_eq!(tried.count(), 2);
        // The owner enters one wrong password and continues.
        assert!(limits.check_at("corp", "ann", address(200)).is_ok());
        for _ in 0..10 {
            let attempt = limits.check_at("corp", "ann", address(200)).unwrap();
            attempt.succeeded();
        }
    }

    #[test]
    fn password_attempts_from_known_address_cannot_lock_a_directory_account() {
        let limits = LoginLimits::default();
        limits.succeeded_at("corp", "ann", address(1));
        let tried = (0..10).filter(|_| limits.check_at("corp", "ann", address(1)).is_ok());
        assert!(
            tried.count() < 5,
            "many directories lock an account after five failures"
        );
        let refused = limits.check_at("corp", "ann", address(1)).err().unwrap();
        assert!(refused.seconds() > 25 * 60);
        assert!(
            limits.check("ann", address(1)).is_ok(),
            "a local user is not limited"
        );
    }

    #[test]
    fn password_attempts_rejected_by_directory_limit_do_not_count_toward_account_limit() {
        let limits = LoginLimits::default();
        let mut last = None;
        for n in 0..400_u16 {
            let [high, low] = n.to_be_bytes();
            let from = IpAddr::from([low, high, 0, 1]);
            last = limits.check_at("corp", &format!("user{n}"), from).err();
        }
        assert!(
            last.unwrap().seconds() <= 60,
            "the directory's budget is exhausted"
        );
        let (account, now) = (account("corp", "user399"), Instant::now());
        let mut accounts = limits.0.accounts.lock();
        let accepted = (0..20).filter(|_| accounts.begin(&account, Origin::Familiar, now).is_ok());
        assert_eq!(accepted.count(), 4);
    }

    #[test]
    fn device_code_attempts_are_rate_limited() {
        let limits = LoginLimits::default();
        let guessed = (0..100).filter(|_| limits.check_code("u1").is_ok());
        assert_eq!(guessed.count(), CODES_PER_USER.get() as usize);
        assert!(limits.check_code("u2").is_ok());
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn allowed(limits: &LoginLimits, user: &str, from: IpAddr, attempts: u32) -> u32 {
        (0..attempts)
            .map(|_| u32::from(limits.check(user, from).is_ok()))
            .sum()
    }

    #[test]
    fn password_attempts_from_one_address_are_rate_limited() {
        let limits = LoginLimits::default();
        assert_eq!(
            allowed(&limits, "ann", address(1), 100),
            ATTEMPTS_PER_USER_AND_ADDRESS.get()
        );
        assert!(limits.check("ann", address(1)).unwrap_err().seconds() <= 60);
        assert!(
            limits.check("ann", address(2)).is_ok(),
            "another address is not limited"
        );
    }

    #[test]
    fn password_attempts_with_many_names_from_one_address_are_rate_limited() {
        let limits = LoginLimits::default();
        let passed = (0..200).filter(|i| limits.check(&format!("u{i}"), address(1)).is_ok());
        assert_eq!(passed.count(), ATTEMPTS_PER_ADDRESS[0] as usize);
    }

    #[test]
    fn password_attempts_from_one_ipv6_slash_48_prefix_do_not_exhaust_the_directory_limit() {
        let limits = LoginLimits::default();
        let of_site = |site, n| IpAddr::from([0x2001, 0xdb8, site, n, 0, 0, 0, 1]);
        let passed = (0..5000).filter(|n| {
            let login = format!("u{n}");
            limits.check_at("corp", &login, of_site(0, *n)).is_ok()
        });
        let passed = passed.count();
        assert!(passed <= 160, "{passed} of 300 a minute");
        assert!(limits.check_at("corp", "ann", of_site(1, 0)).is_ok());
    }

    #[test]
    fn password_attempts_from_unknown_addresses_do_not_block_local_user_at_known_address() {
        let limits = LoginLimits::default();
        limits.succeeded("ann", address(200));
        let passed: u32 = (0..100)
            .map(|i| allowed(&limits, "ann", address(i), 10))
            .sum();
        assert_eq!(
            passed,
            ATTEMPTS_PER_USER.get(),
            "attempts from many addresses are limited"
        );
        assert!(limits.check("ann", address(201)).is_err());
        assert!(limits.check("ann", address(200)).is_ok());
    }

    #[test]
    fn password_attempts_of_other_users_at_the_same_address_do_not_block_the_user() {
        let limits = LoginLimits::default();
        limits.succeeded("ann", address(1));
        for n in 0..200 {
            let _ = limits.check(&format!("u{n}"), address(1));
        }
        assert!(limits.check("ann", address(1)).is_ok());
    }

    #[test]
    fn long_user_name_is_truncated_in_rate_limit_key() {
        assert_eq!(key(&"x".repeat(100_000)).len(), 64);
    }
}
