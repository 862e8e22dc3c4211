//! Directories: Debian's slapd, and servers that answer as no directory should.

mod configuration;
mod fake;
mod groups;
mod like_active_directory;
mod refresh;
mod sign_in;
mod transport;
mod trial;

use drover_api::kinds::{LdapGroups, LdapSpec, LdapUsers};
use drover_providers::error::Refusal;
use drover_providers::ldap::Directory;
use drover_providers::{Person, ProviderError};
use drover_testkit::slapd::{DROVER, DROVER_PASSWORD, Slapd};
use secrecy::SecretString;

fn secret(text: &str) -> SecretString {
    SecretString::from(text)
}

/// A configuration for people in `ou=people` and groups in `ou=groups`.
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

/// A configuration that reaches a directory.
fn reaching(slapd: &Slapd) -> LdapSpec {
    spec(&[slapd.ldaps()], &slapd.authority().pem())
}

fn directory(spec: &LdapSpec) -> Directory {
    Directory::new(spec, secret(DROVER_PASSWORD)).unwrap()
}

/// The names of somebody's groups, sorted.
fn groups_of(person: &Person) -> Vec<&str> {
    let groups = person.groups.iter();
    let mut names: Vec<&str> = groups.map(|group| group.name.as_str()).collect();
    names.sort_unstable();
    names
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, ProviderError>) -> Refusal {
    match answer {
        Err(ProviderError::Refused(refusal)) => refusal,
        other => panic!("it should say no: {other:?}"),
    }
}

fn field<T: std::fmt::Debug>(answer: Result<T, ProviderError>) -> (&'static str, String) {
    match answer {
        Err(ProviderError::Misconfigured { field, problem }) => (field, problem),
        other => panic!("it should name a field: {other:?}"),
    }
}

/// Asserts that nobody was refused, because nobody could be asked; the reasons in one line.
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
        other => panic!("it should be out of reach: {other:?}"),
    }
}
