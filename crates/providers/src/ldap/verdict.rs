//! What result codes mean (RFC 4511 Appendix A): who says no, who is down, what is set up wrong.

use drover_api::kinds::LdapSchema;

use super::account::AccountStatus;
use super::connection::Failure;
use super::wire::message::Outcome;
use crate::ProviderError;
use crate::error::Refusal;

const SUCCESS: u32 = 0;
const SIZE_LIMIT_EXCEEDED: u32 = 4;
const ADMIN_LIMIT_EXCEEDED: u32 = 11;
const CONSTRAINT_VIOLATION: u32 = 19;
const NO_SUCH_OBJECT: u32 = 32;
const INVALID_DN_SYNTAX: u32 = 34;
const INAPPROPRIATE_AUTHENTICATION: u32 = 48;
const INVALID_CREDENTIALS: u32 = 49;
const INSUFFICIENT_ACCESS_RIGHTS: u32 = 50;
const UNWILLING_TO_PERFORM: u32 = 53;
const REFERRAL: u32 = 10;
const STRONGER_AUTH_REQUIRED: u32 = 8;
const CONFIDENTIALITY_REQUIRED: u32 = 13;
const UNDEFINED_ATTRIBUTE_TYPE: u32 = 17;
const INAPPROPRIATE_MATCHING: u32 = 18;

/// What was searched, for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchBase {
    People,
    Groups,
    /// The directory's own entry (RFC 4512 §5.1).
    Root,
}

impl SearchBase {
    fn base(self) -> &'static str {
        match self {
            Self::People => "ldap.users.base",
            Self::Groups => "ldap.groups.base",
            Self::Root => "ldap.servers",
        }
    }

    fn filter(self) -> &'static str {
        match self {
            Self::People => "ldap.users.filter",
            Self::Groups => "ldap.groups.filter",
            Self::Root => "ldap.servers",
        }
    }

    /// The base cannot be searched.
    pub(super) fn unseen(self) -> ProviderError {
        misconfigured(
            self.base(),
            "the directory knows no such entry, or ldap.bindDn may not see it",
        )
    }

    /// There is more than can be had.
    pub(super) fn limited(self, count: usize) -> ProviderError {
        misconfigured(
            self.filter(),
            &format!(
                "the directory has more to give than the {count} entries that it gives to \
                 ldap.bindDn; narrow the filter, or raise that account's limit (OpenLDAP: \
                 `limits dn.exact=\"…\" size.prtotal=unlimited`)"
            ),
        )
    }

    /// There is more than Drover takes.
    pub(super) fn too_many(self, max: usize) -> ProviderError {
        misconfigured(
            self.filter(),
            &format!("it matches more than the {max} that Drover takes; narrow it"),
        )
    }
}

fn misconfigured(field: &'static str, problem: &str) -> ProviderError {
    ProviderError::Misconfigured {
        field,
        problem: problem.to_owned(),
    }
}

/// What a code that Drover has no other meaning for is the source of.
#[derive(Debug, thiserror::Error)]
#[error("it answers with {0}")]
struct Answered(Outcome);

pub(super) fn unavailable(provider: &str, what: &str, outcome: Outcome) -> ProviderError {
    ProviderError::Unavailable {
        provider: provider.to_owned(),
        what: what.to_owned(),
        source: Box::new(Answered(outcome)),
    }
}

/// A request was not answered.
pub(super) fn unanswered(provider: &str, what: &str, failure: Failure) -> ProviderError {
    if failure.is_protocol_error() {
        return ProviderError::InvalidResponse {
            provider: provider.to_owned(),
            problem: match failure {
                Failure::Malformed(malformed) => malformed.to_string(),
                other => other.to_string(),
            },
        };
    }
    ProviderError::Unavailable {
        provider: provider.to_owned(),
        what: what.to_owned(),
        source: Box::new(failure),
    }
}

/// Whether the service account was taken. It is never a person that is refused here.
pub(super) fn of_service_bind(provider: &str, outcome: Outcome) -> Result<(), ProviderError> {
    match outcome.code {
        SUCCESS => Ok(()),
        INVALID_CREDENTIALS => Err(misconfigured(
            "ldap.bindPassword",
            "the directory does not take it for ldap.bindDn; put both right, and see whether that \
             account is locked or its password has expired",
        )),
        INVALID_DN_SYNTAX | NO_SUCH_OBJECT | INAPPROPRIATE_AUTHENTICATION => Err(misconfigured(
            "ldap.bindDn",
            &format!("the directory takes no password for it ({outcome})"),
        )),
        STRONGER_AUTH_REQUIRED | CONFIDENTIALITY_REQUIRED | INSUFFICIENT_ACCESS_RIGHTS => {
            Err(misconfigured(
                "ldap.bindDn",
                &format!("the directory does not let it sign in with a password ({outcome})"),
            ))
        }
        _ => Err(unavailable(provider, "sign in with ldap.bindDn", outcome)),
    }
}

/// Whether a person's password was taken. Only a right one is told that the account is disabled.
pub(super) fn of_person_bind(
    provider: &str,
    schema: LdapSchema,
    standing: AccountStatus,
    outcome: Outcome,
) -> Result<(), ProviderError> {
    let refusal = match (outcome.code, standing) {
        (SUCCESS, AccountStatus::Active) => return Ok(()),
        (SUCCESS, AccountStatus::Disabled) => Refusal::Disabled,
        (INVALID_CREDENTIALS, _) if schema == LdapSchema::ActiveDirectory => {
            of_sub_code(&outcome.diagnostic)
        }
        (
            INVALID_CREDENTIALS
            | NO_SUCH_OBJECT
            | INAPPROPRIATE_AUTHENTICATION
            | CONSTRAINT_VIOLATION,
            _,
        )
        // 389 Directory Server says so of accounts that are switched off, before it looks at the
        // password.
        | (UNWILLING_TO_PERFORM, AccountStatus::Disabled) => Refusal::Credentials,
        _ => return Err(unavailable(provider, "check a password", outcome)),
    };
    Err(ProviderError::Refused(refusal))
}

/// Active Directory's reason, which stands in `… AcceptSecurityContext error, data 533, v4563`
/// (Windows error codes, hexadecimal). Of the codes of accounts, only those that it gives to a right
/// password are told: 775, locked, comes with a wrong one too.
fn of_sub_code(diagnostic: &str) -> Refusal {
    let code = diagnostic
        .split_once(" data ")
        .and_then(|(_, rest)| rest.split([',', ' ']).next());
    match code {
        // Password expired, disabled, account expired, password must be changed.
        Some("532" | "533" | "701" | "773") => Refusal::Disabled,
        _ => Refusal::Credentials,
    }
}

/// Whether a search found all that there is.
pub(super) fn of_search(
    provider: &str,
    place: SearchBase,
    found: usize,
    outcome: Outcome,
) -> Result<(), ProviderError> {
    match outcome.code {
        SUCCESS => Ok(()),
        SIZE_LIMIT_EXCEEDED | ADMIN_LIMIT_EXCEEDED => Err(place.limited(found)),
        NO_SUCH_OBJECT => Err(place.unseen()),
        INVALID_DN_SYNTAX => Err(misconfigured(
            place.base(),
            "the directory says that this is no distinguished name",
        )),
        INSUFFICIENT_ACCESS_RIGHTS => Err(misconfigured(
            place.base(),
            "ldap.bindDn may not search there; let it read",
        )),
        REFERRAL => Err(misconfigured(
            place.base(),
            "the directory says that another server has it; name that one in ldap.servers",
        )),
        UNDEFINED_ATTRIBUTE_TYPE | INAPPROPRIATE_MATCHING => Err(misconfigured(
            place.filter(),
            &format!("the directory cannot compare an attribute that is searched by ({outcome})"),
        )),
        _ => Err(unavailable(provider, "search", outcome)),
    }
}

/// Whether a search ended because it had found enough.
pub(super) fn is_limit(outcome: &Outcome) -> bool {
    matches!(outcome.code, SIZE_LIMIT_EXCEEDED | ADMIN_LIMIT_EXCEEDED)
}

#[cfg(test)]
mod tests;
