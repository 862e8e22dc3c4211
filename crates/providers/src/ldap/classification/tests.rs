use std::io;

use super::*;
use crate::ldap::wire::Malformed;

const PROVIDER: &str = "ldaps://directory.example:636";

fn outcome(code: u32, diagnostic: &str) -> Outcome {
    Outcome {
        code,
        diagnostic: diagnostic.to_owned(),
    }
}

/// Returns a short name for a result, for comparisons in tests.
fn outcome_name(classification: &Result<(), ProviderError>) -> String {
    match classification {
        Ok(()) => "yes".to_owned(),
        Err(ProviderError::Refused(refusal)) => format!("{refusal:?}"),
        Err(ProviderError::Unavailable { .. }) => "down".to_owned(),
        Err(ProviderError::Misconfigured { field, .. }) => (*field).to_owned(),
        Err(ProviderError::InvalidResponse { .. }) => "invalid_response".to_owned(),
    }
}

#[test]
fn unavailable_directory_does_not_reject_users() {
    // timeLimitExceeded, busy, unavailable, unwillingToPerform, operationsError, other, and codes
    // that do not exist.
    for code in [3, 51, 52, 53, 1, 80, 12_345] {
        let outcome = outcome(code, "");
        let bind = service_bind_result(PROVIDER, outcome.clone());
        assert_eq!(outcome_name(&bind), "down", "{code}");
        let search = search_result(PROVIDER, SearchBase::People, 0, outcome.clone());
        assert_eq!(outcome_name(&search), "down", "{code}");
        let person = user_bind_result(PROVIDER, LdapSchema::Posix, AccountStatus::Active, outcome);
        assert_eq!(outcome_name(&person), "down", "{code}");
    }
    for failure in [
        Failure::Broken(io::ErrorKind::ConnectionReset.into()),
        Failure::Timeout,
        Failure::Ended(outcome(52, "")),
    ] {
        assert_eq!(
            outcome_name(&Err(request_error(PROVIDER, "search", failure))),
            "down"
        );
    }
    for failure in [
        Failure::Malformed(Malformed("the server does not speak LDAP")),
        Failure::Unexpected("the message ID of the response does not match the request"),
    ] {
        let classification = Err(request_error(PROVIDER, "search", failure));
        assert_eq!(outcome_name(&classification), "invalid_response");
    }
}

#[test]
fn rejected_service_account_is_a_configuration_error() {
    for (code, expected) in [
        (0, "yes"),
        (49, "ldap.bindPassword"),
        (32, "ldap.bindDn"),
        (34, "ldap.bindDn"),
        (48, "ldap.bindDn"),
        (8, "ldap.bindDn"),
        (13, "ldap.bindDn"),
    ] {
        let classification = service_bind_result(PROVIDER, outcome(code, ""));
        assert_eq!(outcome_name(&classification), expected, "{code}");
    }
}

#[test]
fn only_the_correct_password_reveals_a_disabled_account() {
    let of =
        |code, status| user_bind_result(PROVIDER, LdapSchema::Posix, status, outcome(code, ""));
    for (code, status, expected) in [
        (0, AccountStatus::Active, "yes"),
        (0, AccountStatus::Disabled, "Disabled"),
        (49, AccountStatus::Active, "Credentials"),
        (49, AccountStatus::Disabled, "Credentials"),
        (32, AccountStatus::Active, "Credentials"),
        (48, AccountStatus::Active, "Credentials"),
        (19, AccountStatus::Active, "Credentials"),
        (53, AccountStatus::Disabled, "Credentials"),
        (52, AccountStatus::Disabled, "down"),
    ] {
        assert_eq!(
            outcome_name(&of(code, status)),
            expected,
            "{code} {status:?}"
        );
    }
}

#[test]
fn active_directory_sub_codes_reveal_the_status_only_after_a_correct_password() {
    let diagnostic = |code: &str| {
        format!(
            "80090308: LdapErr: DSID-0C09042A, comment: AcceptSecurityContext error, data {code}, v4563"
        )
    };
    for (code, expected) in [
        ("525", "Credentials"),
        ("52e", "Credentials"),
        ("530", "Credentials"),
        ("532", "Disabled"),
        ("533", "Disabled"),
        ("701", "Disabled"),
        ("773", "Disabled"),
        ("775", "Credentials"),
        ("5330", "Credentials"),
        ("", "Credentials"),
    ] {
        let outcome = outcome(49, &diagnostic(code));
        let of =
            |schema| user_bind_result(PROVIDER, schema, AccountStatus::Active, outcome.clone());
        assert_eq!(
            outcome_name(&of(LdapSchema::ActiveDirectory)),
            expected,
            "{code}"
        );
        assert_eq!(
            outcome_name(&of(LdapSchema::Posix)),
            "Credentials",
            "{code}"
        );
    }
    for other in ["", " data ", "data 533", "Invalid credentials"] {
        assert_eq!(refusal_of_sub_code(other), Refusal::Credentials, "{other}");
    }
}

#[test]
fn error_of_failed_ldap_search_names_the_spec_field() {
    for (code, people, groups) in [
        (0, "yes", "yes"),
        (4, "ldap.users.filter", "ldap.groups.filter"),
        (11, "ldap.users.filter", "ldap.groups.filter"),
        (10, "ldap.users.base", "ldap.groups.base"),
        (32, "ldap.users.base", "ldap.groups.base"),
        (34, "ldap.users.base", "ldap.groups.base"),
        (50, "ldap.users.base", "ldap.groups.base"),
        (18, "ldap.users.filter", "ldap.groups.filter"),
    ] {
        for (base, expected) in [(SearchBase::People, people), (SearchBase::Groups, groups)] {
            let classification = search_result(PROVIDER, base, 0, outcome(code, ""));
            assert_eq!(outcome_name(&classification), expected, "{code}");
        }
    }
}
