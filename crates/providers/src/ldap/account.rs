//! Converts an LDAP entry to a user account.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use drover_api::kinds::LdapSchema;

use super::settings::Settings;
use super::wire::message::Entry;
use crate::ProviderError;
use crate::provider_user::is_plain;

/// `UF_ACCOUNTDISABLE` of `userAccountControl` (MS-ADTS §2.2.16).
const ACCOUNT_DISABLED: i64 = 0x2;
/// Time from 1601, the epoch of Active Directory, to 1970.
const FROM_1601: Duration = Duration::from_hours(3_234_576);
/// Value of `pwdAccountLockedTime` for an account that an administrator locked permanently
/// (draft-behera-ldap-password-policy §5.3.3).
const LOCKED_PERMANENTLY: &[u8] = b"000001010000Z";
const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;
/// Maximum length of a displayed name, in characters.
const MAX_SHOWN_CHARS: usize = 256;

/// Account status in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccountStatus {
    Active,
    /// The account is disabled or expired.
    Disabled,
}

/// A user account read from an LDAP entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    /// Distinguished name, never empty.
    pub(super) name: String,
    pub(super) id: String,
    /// Login names, sorted, at least one.
    pub(super) logins: Vec<String>,
    pub(super) display_name: Option<String>,
    pub(super) email: Option<String>,
    pub(super) status: AccountStatus,
    /// `objectSid` of the primary group. Active Directory does not list this group as a membership.
    pub(super) primary_group: Option<Vec<u8>>,
}

/// Returns the attributes that [`Account::read`] needs.
pub(super) fn attributes(settings: &Settings) -> Vec<&str> {
    let people = &settings.people;
    let mut attributes = vec![
        people.id.name.as_str(),
        people.login_attribute.as_str(),
        "displayName",
        "cn",
        "mail",
    ];
    attributes.extend_from_slice(match settings.schema {
        LdapSchema::Posix => &["pwdAccountLockedTime", "shadowExpire", "nsAccountLock"],
        LdapSchema::ActiveDirectory => &[
            "userAccountControl",
            "accountExpires",
            "objectSid",
            "primaryGroupID",
        ],
    });
    attributes
}

impl Account {
    /// Parses an entry from the directory `provider`.
    pub(super) fn read(
        entry: &Entry,
        settings: &Settings,
        provider: &str,
        now: SystemTime,
    ) -> Result<Self, ProviderError> {
        // A bind with an empty name is anonymous with any password (RFC 4513 §5.1.1).
        if entry.name.is_empty() {
            return Err(ProviderError::InvalidResponse {
                provider: provider.to_owned(),
                problem: "an entry has no distinguished name".to_owned(),
            });
        }
        let logins = entry.values(&settings.people.login_attribute).iter();
        let mut logins: Vec<String> = logins.filter_map(|value| displayable(value)).collect();
        logins.sort();
        if logins.is_empty() {
            return Err(ProviderError::Misconfigured {
                field: "ldap.users.loginAttribute",
                problem: format!(
                    "at least one entry has no displayable {} that ldap.bindDn can read; \
                     grant read access, or choose another attribute",
                    settings.people.login_attribute
                ),
            });
        }
        let one = |attribute| {
            entry
                .values(attribute)
                .iter()
                .find_map(|value| displayable(value))
        };
        Ok(Self {
            name: entry.name.clone(),
            id: settings.people.id.read(entry)?,
            logins,
            display_name: one("displayName").or_else(|| one("cn")),
            email: one("mail"),
            status: match settings.schema {
                LdapSchema::Posix => posix_status(entry, now),
                LdapSchema::ActiveDirectory => active_directory_status(entry, now)?,
            },
            primary_group: primary_group(entry),
        })
    }
}

/// Returns a value as text that is safe to display.
pub(super) fn displayable(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let good = !text.is_empty() && is_plain(text) && text.chars().count() <= MAX_SHOWN_CHARS;
    good.then(|| text.to_owned())
}

/// Reads a numeric attribute with a single value. Returns an error for a value that is not a
/// number.
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

/// Reads the status in the POSIX schema.
///
/// An account with a temporary lock after wrong passwords (a time in `pwdAccountLockedTime`) is
/// active, because password guesses must not end a user's sessions.
fn posix_status(entry: &Entry, now: SystemTime) -> AccountStatus {
    let locked = entry
        .values("pwdAccountLockedTime")
        .iter()
        .any(|time| time == LOCKED_PERMANENTLY);
    let inactive = entry
        .values("nsAccountLock")
        .iter()
        .any(|value| value.eq_ignore_ascii_case(b"true"));
    // shadowExpire is a day since 1970 (shadow(5)); a negative value means no expiry.
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

fn active_directory_status(entry: &Entry, now: SystemTime) -> Result<AccountStatus, ProviderError> {
    // Each user in Active Directory has userAccountControl, which contains the disabled flag.
    let control = number(entry, "userAccountControl").ok().flatten();
    let control = control.ok_or_else(|| ProviderError::Misconfigured {
        field: "ldap.bindDn",
        problem: "the account cannot read userAccountControl of users, which marks disabled \
                  users; grant read access, or set ldap.schema to Posix if the directory is not Active Directory"
            .to_owned(),
    })?;
    // Unit: 100 ns. The values 0 and i64::MAX mean no expiry (MS-ADA1 §2.3).
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

/// Computes the SID of the primary group: the user's `objectSid` with its last number replaced by
/// the group's number. Layout (MS-DTYP §2.4.2.2): one byte revision, one byte count, six bytes
/// authority, then little-endian numbers.
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
