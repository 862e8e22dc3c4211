//! Connection test of an LDAP configuration, with results for administrators.

use futures::future::join_all;
use secrecy::SecretString;

use super::Directory;
use super::classification::SearchBase;
use super::connection::Connection;
use super::session::{Complete, NO_ATTRIBUTES, Session, connect_error, reasons};
use super::settings::{GroupSettings, Settings};
use super::wire::filter::Filter;
use crate::{ProviderError, ProviderUser};

/// Maximum number of counted users and groups.
const MAX_COUNTED: usize = 1_000;

/// Result of a connection test.
#[derive(Debug)]
pub struct ConnectionTest {
    /// Executed steps, in order. Does not contain steps that the test skipped.
    pub checks: Vec<Check>,
    /// The user of the test sign-in. `None` if the sign-in failed or was not tested.
    pub person: Option<ProviderUser>,
}

impl ConnectionTest {
    /// Reports whether users can sign in: at least one server is reachable, and all other steps
    /// succeeded.
    pub fn works(&self) -> bool {
        let passed = |check: &Check| check.outcome.is_ok();
        let servers = |check: &&Check| matches!(check.what, CheckKind::Server(_));
        self.checks.iter().filter(servers).any(passed)
            && self
                .checks
                .iter()
                .any(|check| check.what == CheckKind::People)
            && self
                .checks
                .iter()
                .filter(|check| !servers(check))
                .all(passed)
    }

    fn add(&mut self, what: CheckKind, outcome: Result<String, ProviderError>) -> bool {
        let passed = outcome.is_ok();
        self.checks.push(Check { what, outcome });
        passed
    }
}

/// Result of one test step.
#[derive(Debug)]
pub struct Check {
    /// The connection test step that was run.
    pub what: CheckKind,
    /// The result of the step as a sentence, or the error.
    pub outcome: Result<String, ProviderError>,
}

/// Steps of a connection test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckKind {
    /// TLS connection to the server with this URL.
    Server(String),
    /// Bind as the service account.
    ServiceAccount,
    /// Search for users.
    People,
    /// Search for groups.
    Groups,
    /// Sign-in of a user.
    SignIn,
}

impl Directory {
    /// Tests the configuration. With a login name and a password, also tests a sign-in.
    ///
    /// The service account binds at one server only, so that a wrong password does not lock the
    /// account.
    pub async fn check(&self, login: Option<(&str, &SecretString)>) -> ConnectionTest {
        let mut test = ConnectionTest {
            checks: Vec::new(),
            person: None,
        };
        if self.test_configuration(&mut test).await
            && let Some((name, password)) = login
        {
            let signed_in = self.sign_in(name, password).await.map(|user| {
                let (login, groups) = (&user.login, user.groups.len());
                let sentence = format!("{login} has the ID {} and is in {groups} groups", user.id);
                test.person = Some(user);
                sentence
            });
            test.add(CheckKind::SignIn, signed_in);
        }
        test
    }

    /// Runs the steps before a sign-in. Returns true if all steps succeeded.
    async fn test_configuration(&self, test: &mut ConnectionTest) -> bool {
        let settings = &self.settings;
        let opened = settings.servers.iter().map(|server| async move {
            let connection = Connection::open(server, &settings.tls).await;
            (
                server,
                connection.map_err(|error| connect_error(server, error)),
            )
        });
        let mut first = None;
        for (server, opened) in join_all(opened).await {
            let sentence = "the server is reachable with TLS".to_owned();
            let outcome = opened.map(|connection| {
                first.get_or_insert((server, connection));
                sentence
            });
            test.add(CheckKind::Server(server.to_string()), outcome);
        }
        let Some((server, connection)) = first else {
            return false;
        };
        match Session::over(connection, settings, server, &self.password).await {
            Ok(mut session) => {
                let sentence = format!("bind succeeded at {server}");
                test.add(CheckKind::ServiceAccount, Ok(sentence));
                let people = self.with_timeout(people(&mut session, settings)).await;
                let passed = test.add(CheckKind::People, people);
                match &settings.groups {
                    Some(groups) => {
                        let groups = self.with_timeout(self::groups(&mut session, groups)).await;
                        test.add(CheckKind::Groups, groups) && passed
                    }
                    None => passed,
                }
            }
            Err(error) => test.add(CheckKind::ServiceAccount, Err(error)),
        }
    }
}

async fn people(session: &mut Session<'_>, settings: &Settings) -> Result<String, ProviderError> {
    session.base(SearchBase::People, NO_ATTRIBUTES).await?;
    let with_login = Filter::Present(settings.people.login_attribute.clone());
    let filter = settings.people.and(with_login);
    let id = [settings.people.id.name.as_str()];
    let pages = session
        .pages(SearchBase::People, &filter, &id, MAX_COUNTED)
        .await?;
    if pages.entries.is_empty() {
        return Err(ProviderError::Misconfigured {
            field: "ldap.users.filter",
            problem: format!(
                "no user below ldap.users.base matches the filter and has {}; change the filter, or grant \
                 ldap.bindDn read access",
                settings.people.login_attribute
            ),
        });
    }
    for entry in &pages.entries {
        settings.people.id.read(entry)?;
    }
    Ok(counted(
        pages.entries.len(),
        pages.complete,
        "users can sign in",
    ))
}

async fn groups(
    session: &mut Session<'_>,
    groups: &GroupSettings,
) -> Result<String, ProviderError> {
    session.base(SearchBase::Groups, NO_ATTRIBUTES).await?;
    let filter = groups.and(Filter::Present("objectClass".to_owned()));
    let pages = session
        .pages(SearchBase::Groups, &filter, NO_ATTRIBUTES, MAX_COUNTED)
        .await?;
    Ok(counted(
        pages.entries.len(),
        pages.complete,
        "entries match",
    ))
}

fn counted(count: usize, complete: Complete, noun: &str) -> String {
    match complete {
        Complete::Yes => format!("{count} {noun}"),
        Complete::Bounded => format!("more than {count} {noun}"),
        Complete::Limited => format!("{count} {noun}; the directory limits the list"),
    }
}

/// Formats test results for administrators.
impl Check {
    /// Returns the result in one line. Returns the error with its sources if the step failed.
    pub fn sentence(&self) -> String {
        match &self.outcome {
            Ok(sentence) => sentence.clone(),
            Err(error) => reasons(error),
        }
    }
}
