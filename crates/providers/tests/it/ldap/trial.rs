//! "Test before enabling".

use drover_api::kinds::LdapSpec;
use drover_providers::ProviderError;
use drover_providers::ldap::{Check, CheckKind, ConnectionTest, Directory};

use super::{DROVER_PASSWORD, directory, secret};
use drover_testkit::authority::Authority;
use drover_testkit::slapd::{Slapd, group, person};

/// The only check that went wrong, with its field.
fn only_wrong(trial: &ConnectionTest) -> (&CheckKind, &'static str) {
    let wrong: Vec<_> = trial
        .checks
        .iter()
        .filter(|check| check.outcome.is_err())
        .collect();
    assert!(!trial.works(), "{trial:?}");
    assert_eq!(wrong.len(), 1, "{trial:?}");
    match &wrong[0].outcome {
        Err(ProviderError::Misconfigured { field, .. }) => (&wrong[0].what, field),
        Err(ProviderError::Unavailable { .. }) => (&wrong[0].what, "down"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_configuration_that_works_says_what_it_found() {
    let jane = "uid=jane,ou=people,dc=example,dc=org";
    let entries = person("jane", "") + &person("john", "") + &group("admins", &[jane]);
    let slapd = Slapd::with(&entries);
    let password = secret("password of jane");
    let trial = directory(&super::reaching(&slapd))
        .check(Some(("jane", &password)))
        .await;
    assert!(trial.works(), "{trial:?}");
    let sentences: Vec<String> = trial.checks.iter().map(Check::sentence).collect();
    let person = trial.person.unwrap();
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
async fn what_does_not_work_is_named_with_its_field() {
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
        let trial = directory(&spec).check(None).await;
        assert_eq!(only_wrong(&trial), (&what, field));
    }
}

#[tokio::test]
async fn a_server_that_is_down_beside_one_that_is_up_is_shown_and_does_no_harm() {
    let slapd = Slapd::with(&person("jane", ""));
    let mut spec = super::reaching(&slapd);
    spec.servers.insert(0, "ldaps://127.0.0.1:1".to_owned());
    let trial = Directory::new(&spec, secret(DROVER_PASSWORD))
        .unwrap()
        .check(None)
        .await;
    assert!(trial.works(), "{trial:?}");
    assert!(trial.checks[0].outcome.is_err() && trial.checks[1].outcome.is_ok());
}

#[tokio::test]
async fn a_trial_with_a_wrong_password_says_so() {
    let slapd = Slapd::with(&person("jane", ""));
    let password = secret("wrong");
    let trial = directory(&super::reaching(&slapd))
        .check(Some(("jane", &password)))
        .await;
    let last = trial.checks.last().unwrap();
    assert_eq!(last.what, CheckKind::SignIn);
    assert_eq!(last.sentence(), "wrong user name or password");
    assert!(!trial.works() && trial.person.is_none());
}
