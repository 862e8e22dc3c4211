//! Tests of the LDAP client against Debian's slapd and against misbehaving servers.

mod configuration;
mod connection_test;
mod fake;
mod groups;
mod like_active_directory;
mod refresh;
mod sign_in;
mod transport;

use drover_api::kinds::{LdapGroups, LdapSpec, LdapUsers};
use drover_providers::error::Refusal;
use drover_providers::ldap::Directory;
use drover_providers::{ProviderError, ProviderUser};
use drover_testkit::slapd::{DROVER, DROVER_PASSWORD, Slapd};
use secrecy::SecretString;

fn secret(text: &str) -> SecretString {
    SecretString::from(text)
}

/// Returns a configuration with users in `ou=people` and groups in `ou=groups`.
fn spec(servers: &[String], ca_bundle: &str) -> LdapSpec {
    LdapSpec {
        servers: servers.to_vec(),
        ca_bundle: Some(ca_bundle.to_owned()),
        bind_dn: DROVER.to_owned(),
        users: LdapUsers {
            base: "ou=people,dc=example,dc=org".to_owned(),
            ..LdapUsers::default()
        },
        groups: Some(LdapGroups {
            base: "ou=groups,dc=example,dc=org".to_owned(),
            ..LdapGroups::default()
        }),
        ..LdapSpec::default()
    }
}

/// Returns a configuration for the test directory `directory`.
fn reaching(slapd: &Slapd) -> LdapSpec {
    spec(&[slapd.ldaps()], &slapd.authority().pem())
}

fn directory(spec: &LdapSpec) -> Directory {
    Directory::new(spec, secret(DROVER_PASSWORD)).unwrap()
}

/// Returns the sorted names of a user's groups.
fn groups_of(person: &ProviderUser) -> Vec<&str> {
    let groups = person.groups.iter();
    let mut names: Vec<&str> = groups.map(|group| group.name.as_str()).collect();
    names.sort_unstable();
    names
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, ProviderError>) -> Refusal {
    match answer {
        Err(ProviderError::Refused(refusal)) => refusal,
        other => panic!("expected a refusal: {other:?}"),
    }
}

fn field<T: std::fmt::Debug>(answer: Result<T, ProviderError>) -> (&'static str, String) {
    match answer {
        Err(ProviderError::Misconfigured { field, problem }) => (field, problem),
        other => panic!("expected a configuration error: {other:?}"),
    }
}

/// Asserts that the result is `Unavailable`. Returns the error with its sources in one line.
fn unavailable<T: std::fmt::Debug>(answer: Result<T, ProviderError>) -> String {
    match answer {
        Err(error @ ProviderError::Unavailable { .. }) => {
            let mut text = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(error) = source {
                text = format!("{text}: {error}");
                source = error.source();
            }
            text
        }
        other => panic!("expected an unavailable directory: {other:?}"),
    }
}
