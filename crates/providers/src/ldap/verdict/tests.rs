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

/// What becomes of somebody, in a word.
fn word(verdict: &Result<(), ProviderError>) -> String {
    match verdict {
        Ok(()) => "yes".to_owned(),
        Err(ProviderError::Refused(refusal)) => format!("{refusal:?}"),
        Err(ProviderError::Unavailable { .. }) => "down".to_owned(),
        Err(ProviderError::Misconfigured { field, .. }) => (*field).to_owned(),
        Err(ProviderError::InvalidResponse { .. }) => "invalid_response".to_owned(),
    }
}

#[test]
fn a_directory_that_is_down_refuses_nobody() {
    // timeLimitExceeded, busy, unavailable, unwillingToPerform, operationsError, other, and codes
    // that do not exist.
    for code in [3, 51, 52, 53, 1, 80, 12_345] {
        let outcome = outcome(code, "");
        let bind = of_service_bind(PROVIDER, outcome.clone());
        assert_eq!(word(&bind), "down", "{code}");
        let search = of_search(PROVIDER, SearchBase::People, 0, outcome.clone());
        assert_eq!(word(&search), "down", "{code}");
        let person = of_person_bind(PROVIDER, LdapSchema::Posix, AccountStatus::Active, outcome);
        assert_eq!(word(&person), "down", "{code}");
    }
    for failure in [
        Failure::Broken(io::ErrorKind::ConnectionReset.into()),
        Failure::Slow,
        Failure::Ended(outcome(52, "")),
    ] {
        assert_eq!(word(&Err(unanswered(PROVIDER, "search", failure))), "down");
    }
    for failure in [
        Failure::Malformed(Malformed("it does not speak LDAP")),
        Failure::Unexpected("what is for another request"),
    ] {
        let verdict = Err(unanswered(PROVIDER, "search", failure));
        assert_eq!(word(&verdict), "invalid_response");
    }
}

#[test]
fn a_service_account_that_is_not_taken_refuses_nobody() {
    for (code, expected) in [
        (0, "yes"),
        (49, "ldap.bindPassword"),
        (32, "ldap.bindDn"),
        (34, "ldap.bindDn"),
        (48, "ldap.bindDn"),
        (8, "ldap.bindDn"),
        (13, "ldap.bindDn"),
    ] {
        let verdict = of_service_bind(PROVIDER, outcome(code, ""));
        assert_eq!(word(&verdict), expected, "{code}");
    }
}

#[test]
fn a_person_learns_that_an_account_is_disabled_by_its_right_password_only() {
    let of =
        |code, standing| of_person_bind(PROVIDER, LdapSchema::Posix, standing, outcome(code, ""));
    for (code, standing, expected) in [
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
        assert_eq!(word(&of(code, standing)), expected, "{code} {standing:?}");
    }
}

#[test]
fn active_directorys_reasons_are_told_where_it_gives_them_to_right_passwords_only() {
    let said = |code: &str| {
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
        let outcome = outcome(49, &said(code));
        let of = |schema| of_person_bind(PROVIDER, schema, AccountStatus::Active, outcome.clone());
        assert_eq!(word(&of(LdapSchema::ActiveDirectory)), expected, "{code}");
        assert_eq!(word(&of(LdapSchema::Posix)), "Credentials", "{code}");
    }
    for other in ["", " data ", "data 533", "Invalid credentials"] {
        assert_eq!(of_sub_code(other), Refusal::Credentials, "{other}");
    }
}

#[test]
fn a_search_that_cannot_be_made_names_the_field() {
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
        for (place, expected) in [(SearchBase::People, people), (SearchBase::Groups, groups)] {
            let verdict = of_search(PROVIDER, place, 0, outcome(code, ""));
            assert_eq!(word(&verdict), expected, "{code}");
        }
    }
}
