//! Tests of the LDAP connection test.

use drover_api::kinds::LdapSpec;
use drover_providers::ProviderError;
use drover_providers::ldap::{Check, CheckKind, ConnectionTest, Directory};

use super::{DROVER_PASSWORD, directory, secret};
use drover_testkit::authority::Authority;
use drover_testkit::slapd::{Slapd, group, person};

/// Asserts that exactly one step of the connection test failed. Returns the name and the field of
/// the failed step.
fn only_failure(test: &ConnectionTest) -> (&CheckKind, &'static str) {
    let wrong: Vec<_> = test
        .checks
        .iter()
        .filter(|check| check.outcome.is_err())
        .collect();
    assert!(!test.works(), "{test:?}");
    assert_eq!(wrong.len(), 1, "{test:?}");
    match &wrong[0].outcome {
        Err(ProviderError::Misconfigured { field, .. }) => (&wrong[0].what, field),
        Err(ProviderError::Unavailable { .. }) => (&wrong[0].what, "down"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn connection_test_of_valid_ldap_configuration_reports_users_and_groups() {
    let jane = "uid=jane,ou=people,dc=example,dc=org";
    let entries = person("jane", "") + &person("john", "") + &group("admins", &[jane]);
    let slapd = Slapd::with(&entries);
    let password = secret("password of jane");
    let test = directory(&super::reaching(&slapd))
        .check(Some(("jane", &password)))
        .await;
    assert!(test.works(), "{test:?}");
    let sentences: Vec<String> = test.checks.iter().map(Check::sentence).collect();
    let person = test.person.unwrap();
    assert_eq!(
        sentences,
        [
            "the server is reachable with TLS".to_owned(),
            format!("bind succeeded at {}", slapd.ldaps()),
            "2 users can sign in".to_owned(),
            "2 entries match".to_owned(),
            format!("jane has the ID {} and is in 1 groups", person.id),
        ]
    );
    assert_eq!(person.groups[0].name, "admins");
}

#[tokio::test]
async fn failed_connection_test_step_names_the_spec_field() {
    let slapd = Slapd::with(&(person("jane", "") + &person("john", "employeeNumber: 1")));
    let people = |change: fn(&mut LdapSpec)| {
        let mut spec = super::reaching(&slapd);
        change(&mut spec);
        spec
    };
    for (spec, what, field) in [
        (
            people(|spec| spec.users.base = "ou=nowhere,dc=example,dc=org".to_owned()),
            CheckKind::People,
            "ldap.users.base",
        ),
        (
            people(|spec| spec.users.filter = Some("(sn=Nobody)".to_owned())),
            CheckKind::People,
            "ldap.users.filter",
        ),
        (
            people(|spec| spec.users.id_attribute = Some("employeeNumber".to_owned())),
            CheckKind::People,
            "ldap.users.idAttribute",
        ),
        (
            people(|spec| {
                spec.groups.as_mut().unwrap().base = "ou=no,dc=example,dc=org".to_owned();
            }),
            CheckKind::Groups,
            "ldap.groups.base",
        ),
        (
            people(|spec| spec.bind_dn = "cn=nobody,dc=example,dc=org".to_owned()),
            CheckKind::ServiceAccount,
            "ldap.bindPassword",
        ),
        (
            people(|spec| spec.ca_bundle = Some(Authority::new().pem())),
            CheckKind::Server(slapd.ldaps()),
            "down",
        ),
    ] {
        let test = directory(&spec).check(None).await;
        assert_eq!(only_failure(&test), (&what, field));
    }
}

#[tokio::test]
async fn connection_test_passes_if_one_server_is_reachable() {
    let slapd = Slapd::with(&person("jane", ""));
    let mut spec = super::reaching(&slapd);
    spec.servers.insert(0, "ldaps://127.0.0.1:1".to_owned());
    let test = Directory::new(&spec, secret(DROVER_PASSWORD))
        .unwrap()
        .check(None)
        .await;
    assert!(test.works(), "{test:?}");
    assert!(test.checks[0].outcome.is_err() && test.checks[1].outcome.is_ok());
}

#[tokio::test]
async fn connection_test_reports_a_wrong_password() {
    let slapd = Slapd::with(&person("jane", ""));
    let password = secret("wrong");
    let test = directory(&super::reaching(&slapd))
        .check(Some(("jane", &password)))
        .await;
    let last = test.checks.last().unwrap();
    assert_eq!(last.what, CheckKind::SignIn);
    assert_eq!(last.sentence(), "wrong user name or password");
    assert!(!test.works() && test.person.is_none());
}
