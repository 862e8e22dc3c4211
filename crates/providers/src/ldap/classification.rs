//! Converts LDAP result codes to errors (RFC 4511 Appendix A).

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

/// Base of a search. Errors contain the spec field that configures this base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchBase {
    People,
    Groups,
    /// The root DSE (RFC 4512 §5.1).
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

    /// Returns the error for a search base that does not exist or is not readable.
    pub(super) fn unreadable(self) -> ProviderError {
        misconfigured(
            self.base(),
            "the entry does not exist, or ldap.bindDn cannot read it",
        )
    }

    /// Returns the error for a result that the directory's size limit truncated.
    pub(super) fn limited(self, count: usize) -> ProviderError {
        misconfigured(
            self.filter(),
            &format!(
                "the directory returns only {count} entries to ldap.bindDn, and more exist; \
                 narrow the filter, or raise the limit of this account (OpenLDAP: \
                 `limits dn.exact=\"…\" size.prtotal=unlimited`)"
            ),
        )
    }

    /// Returns the error for a result that exceeds Drover's limit.
    pub(super) fn too_many(self, max: usize) -> ProviderError {
        misconfigured(
            self.filter(),
            &format!(
                "the filter matches more than {max} entries, the maximum of Drover; narrow the filter"
            ),
        )
    }
}

fn misconfigured(field: &'static str, problem: &str) -> ProviderError {
    ProviderError::Misconfigured {
        field,
        problem: problem.to_owned(),
    }
}

/// Error source for a result code without a special meaning.
#[derive(Debug, thiserror::Error)]
#[error("the directory returned {outcome}", outcome = .0)]
struct UnexpectedResult(Outcome);

pub(super) fn unavailable(provider: &str, action: &str, outcome: Outcome) -> ProviderError {
    ProviderError::Unavailable {
        provider: provider.to_owned(),
        action: action.to_owned(),
        source: Box::new(UnexpectedResult(outcome)),
    }
}

/// Converts a failed request to a provider error.
pub(super) fn request_error(provider: &str, action: &str, failure: Failure) -> ProviderError {
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
        action: action.to_owned(),
        source: Box::new(failure),
    }
}

/// Converts the result of the service account's bind. Never returns `Refused`, because the service
/// account is not a user.
pub(super) fn service_bind_result(provider: &str, outcome: Outcome) -> Result<(), ProviderError> {
    match outcome.code {
        SUCCESS => Ok(()),
        INVALID_CREDENTIALS => Err(misconfigured(
            "ldap.bindPassword",
            "the directory rejects this password of ldap.bindDn; correct both fields, and check \
             whether the account is locked or the password has expired",
        )),
        INVALID_DN_SYNTAX | NO_SUCH_OBJECT | INAPPROPRIATE_AUTHENTICATION => Err(misconfigured(
            "ldap.bindDn",
            &format!("the directory accepts no password for this entry ({outcome})"),
        )),
        STRONGER_AUTH_REQUIRED | CONFIDENTIALITY_REQUIRED | INSUFFICIENT_ACCESS_RIGHTS => {
            Err(misconfigured(
                "ldap.bindDn",
                &format!(
                    "the directory does not allow this account to bind with a password ({outcome})"
                ),
            ))
        }
        _ => Err(unavailable(provider, "bind as ldap.bindDn", outcome)),
    }
}

/// Converts the result of a user's bind. The result reveals a disabled account only after a correct
/// password.
pub(super) fn user_bind_result(
    provider: &str,
    schema: LdapSchema,
    status: AccountStatus,
    outcome: Outcome,
) -> Result<(), ProviderError> {
    let refusal = match (outcome.code, status) {
        (SUCCESS, AccountStatus::Active) => return Ok(()),
        (SUCCESS, AccountStatus::Disabled) => Refusal::Disabled,
        (INVALID_CREDENTIALS, _) if schema == LdapSchema::ActiveDirectory => {
            refusal_of_sub_code(&outcome.diagnostic)
        }
        (
            INVALID_CREDENTIALS
            | NO_SUCH_OBJECT
            | INAPPROPRIATE_AUTHENTICATION
            | CONSTRAINT_VIOLATION,
            _,
        )
        // 389 Directory Server returns this code for disabled accounts before it checks the
        // password.
        | (UNWILLING_TO_PERFORM, AccountStatus::Disabled) => Refusal::Credentials,
        _ => return Err(unavailable(provider, "check a password", outcome)),
    };
    Err(ProviderError::Refused(refusal))
}

/// Parses Active Directory's sub-code in a diagnostic such as `… AcceptSecurityContext error, data
/// 533, v4563` (Windows error codes, hexadecimal).
///
/// Some codes occur only after a correct password. Only these codes reveal the account status. Code
/// 775 (locked) also occurs after a wrong password.
fn refusal_of_sub_code(diagnostic: &str) -> Refusal {
    let code = diagnostic
        .split_once(" data ")
        .and_then(|(_, rest)| rest.split([',', ' ']).next());
    match code {
        // Password expired, disabled, account expired, password must be changed.
        Some("532" | "533" | "701" | "773") => Refusal::Disabled,
        _ => Refusal::Credentials,
    }
}

/// Converts the result of a search. Returns an error for an incomplete result.
pub(super) fn search_result(
    provider: &str,
    base: SearchBase,
    count: usize,
    outcome: Outcome,
) -> Result<(), ProviderError> {
    match outcome.code {
        SUCCESS => Ok(()),
        SIZE_LIMIT_EXCEEDED | ADMIN_LIMIT_EXCEEDED => Err(base.limited(count)),
        NO_SUCH_OBJECT => Err(base.unreadable()),
        INVALID_DN_SYNTAX => Err(misconfigured(
            base.base(),
            "the directory rejects the value: enter a valid distinguished name",
        )),
        INSUFFICIENT_ACCESS_RIGHTS => Err(misconfigured(
            base.base(),
            "ldap.bindDn is not allowed to search this base; grant read access",
        )),
        REFERRAL => Err(misconfigured(
            base.base(),
            "the directory refers to another server; enter that server in ldap.servers",
        )),
        UNDEFINED_ATTRIBUTE_TYPE | INAPPROPRIATE_MATCHING => Err(misconfigured(
            base.filter(),
            &format!("the directory cannot compare an attribute of the filter ({outcome})"),
        )),
        _ => Err(unavailable(provider, "search", outcome)),
    }
}

/// Reports whether a size limit of the directory ended the search.
pub(super) fn is_limit(outcome: &Outcome) -> bool {
    matches!(outcome.code, SIZE_LIMIT_EXCEEDED | ADMIN_LIMIT_EXCEEDED)
}

#[cfg(test)]
mod tests;
