//! What an entry says about somebody.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use drover_api::kinds::LdapSchema;

use super::settings::Settings;
use super::wire::message::Entry;
use crate::ProviderError;
use crate::person::is_plain;

/// `UF_ACCOUNTDISABLE` of `userAccountControl` (MS-ADTS §2.2.16).
const ACCOUNT_DISABLED: i64 = 0x2;
/// From 1601, where Active Directory's time begins, to 1970.
const FROM_1601: Duration = Duration::from_hours(3_234_576);
/// Locked by an administrator, for ever (draft-behera-ldap-password-policy §5.3.3).
const LOCKED_FOR_EVER: &[u8] = b"000001010000Z";
const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;
/// Longer names are not shown.
const MAX_SHOWN_CHARS: usize = 256;

/// Whether the directory lets somebody in, apart from their password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccountStatus {
    Active,
    /// Disabled or expired.
    Disabled,
}

/// Somebody, as their entry describes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    /// Distinguished name; never empty.
    pub(super) name: String,
    pub(super) id: String,
    /// What they can type to sign in, sorted; one at least.
    pub(super) logins: Vec<String>,
    pub(super) display_name: Option<String>,
    pub(super) email: Option<String>,
    pub(super) standing: AccountStatus,
    /// `objectSid` of the group that Active Directory does not list them in.
    pub(super) primary_group: Option<Vec<u8>>,
}

/// What must be asked for so that [`Account::read`] can say something.
pub(super) fn attributes(settings: &Settings) -> Vec<&str> {
    let people = &settings.people;
    let mut wanted = vec![
        people.id.name.as_str(),
        people.login_attribute.as_str(),
        "displayName",
        "cn",
        "mail",
    ];
    wanted.extend_from_slice(match settings.schema {
        LdapSchema::Posix => &["pwdAccountLockedTime", "shadowExpire", "nsAccountLock"],
        LdapSchema::ActiveDirectory => &[
            "userAccountControl",
            "accountExpires",
            "objectSid",
            "primaryGroupID",
        ],
    });
    wanted
}

impl Account {
    /// Reads an entry of `provider`.
    pub(super) fn read(
        entry: &Entry,
        settings: &Settings,
        provider: &str,
        now: SystemTime,
    ) -> Result<Self, ProviderError> {
        // A bind with an empty name is nobody's, whatever the password (RFC 4513 §5.1.1).
        if entry.name.is_empty() {
            return Err(ProviderError::InvalidResponse {
                provider: provider.to_owned(),
                problem: "somebody's entry has no name".to_owned(),
            });
        }
        let logins = entry.values(&settings.people.login_attribute).iter();
        let mut logins: Vec<String> = logins.filter_map(|value| shown(value)).collect();
        logins.sort();
        if logins.is_empty() {
            return Err(ProviderError::Misconfigured {
                field: "ldap.users.loginAttribute",
                problem: format!(
                    "{} has no value that ldap.bindDn may see and that can be shown, in one of \
                     the entries at least; let it be readable, or choose another attribute",
                    settings.people.login_attribute
                ),
            });
        }
        let one = |attribute| {
            entry
                .values(attribute)
                .iter()
                .find_map(|value| shown(value))
        };
        Ok(Self {
            name: entry.name.clone(),
            id: settings.people.id.read(entry)?,
            logins,
            display_name: one("displayName").or_else(|| one("cn")),
            email: one("mail"),
            standing: match settings.schema {
                LdapSchema::Posix => posix_standing(entry, now),
                LdapSchema::ActiveDirectory => active_directory_standing(entry, now)?,
            },
            primary_group: primary_group(entry),
        })
    }
}

/// A value that people can be shown.
pub(super) fn shown(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let good = !text.is_empty() && is_plain(text) && text.chars().count() <= MAX_SHOWN_CHARS;
    good.then(|| text.to_owned())
}

/// A number in an attribute that has one value; what is no number is `Err`.
fn number(entry: &Entry, attribute: &str) -> Result<Option<i64>, ()> {
    match entry.values(attribute) {
        [] => Ok(None),
        [value] => {
            let text = std::str::from_utf8(value).map_err(|_| ())?;
            text.trim().parse().map(Some).map_err(|_| ())
        }
        _ => Err(()),
    }
}

/// A lock after wrong guesses, which has a time in `pwdAccountLockedTime`, is no word about the
/// account: whoever guesses at somebody's password must not end what they have open.
fn posix_standing(entry: &Entry, now: SystemTime) -> AccountStatus {
    let locked = entry
        .values("pwdAccountLockedTime")
        .iter()
        .any(|time| time == LOCKED_FOR_EVER);
    let inactive = entry
        .values("nsAccountLock")
        .iter()
        .any(|value| value.eq_ignore_ascii_case(b"true"));
    // On that day, counted from 1970, the account is expired; a negative one is none (shadow(5)).
    let today = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / SECONDS_OF_A_DAY;
    let expired = match number(entry, "shadowExpire") {
        Ok(Some(day)) => u64::try_from(day).is_ok_and(|day| day <= today),
        Ok(None) => false,
        Err(()) => true,
    };
    if locked || inactive || expired {
        return AccountStatus::Disabled;
    }
    AccountStatus::Active
}

fn active_directory_standing(
    entry: &Entry,
    now: SystemTime,
) -> Result<AccountStatus, ProviderError> {
    // Everybody has it there: without it nobody could be known to be disabled.
    let control = number(entry, "userAccountControl").ok().flatten();
    let control = control.ok_or_else(|| ProviderError::Misconfigured {
        field: "ldap.bindDn",
        problem: "it may not read userAccountControl of people, which says who is disabled; let \
                  it, or set ldap.schema to Posix if this is no Active Directory"
            .to_owned(),
    })?;
    // Tenths of microseconds; these two mean never (MS-ADA1 §2.3).
    let expired = match number(entry, "accountExpires") {
        Ok(None | Some(0 | i64::MAX)) => false,
        Ok(Some(at)) => {
            let now = now.duration_since(UNIX_EPOCH).unwrap_or_default() + FROM_1601;
            u128::try_from(at).unwrap_or(0) <= now.as_nanos() / 100
        }
        Err(()) => true,
    };
    if expired || control & ACCOUNT_DISABLED != 0 {
        return Ok(AccountStatus::Disabled);
    }
    Ok(AccountStatus::Active)
}

/// The primary group has the person's `objectSid` with another last number (MS-DTYP §2.4.2.2: one
/// byte of revision, one of how many numbers, six of authority, then the numbers, little-endian).
fn primary_group(entry: &Entry) -> Option<Vec<u8>> {
    let [sid] = entry.values("objectSid") else {
        return None;
    };
    let group = number(entry, "primaryGroupID").ok()??;
    let group = u32::try_from(group).ok()?;
    let count = usize::from(*sid.get(1)?);
    if count == 0 || sid.len() != 8 + 4 * count {
        return None;
    }
    let mut found = sid[..sid.len() - 4].to_vec();
    found.extend(group.to_le_bytes());
    Some(found)
}

#[cfg(test)]
mod tests;
