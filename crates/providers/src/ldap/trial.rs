//! "Test before enabling": whether a configuration works, in words for whoever sets it up.

use futures::future::join_all;
use secrecy::SecretString;

use super::Directory;
use super::connection::Connection;
use super::session::{Complete, NO_ATTRIBUTES, Session, reasons, unopened};
use super::settings::{GroupsOf, Settings};
use super::verdict::SearchBase;
use super::wire::filter::Filter;
use crate::{Person, ProviderError};

/// Nobody counts further.
const MAX_COUNTED: usize = 1_000;

/// What a trial of a configuration showed.
#[derive(Debug)]
pub struct ConnectionTest {
    /// In the order in which they were made; those that could not be made are missing.
    pub checks: Vec<Check>,
    /// Who signed in, if somebody tried to and could.
    pub person: Option<Person>,
}

impl ConnectionTest {
    /// Whether people could sign in: one server at least can be asked, and everything else is well.
    pub fn works(&self) -> bool {
        let well = |check: &Check| check.outcome.is_ok();
        let servers = |check: &&Check| matches!(check.what, CheckKind::Server(_));
        self.checks.iter().filter(servers).any(well)
            && self
                .checks
                .iter()
                .any(|check| check.what == CheckKind::People)
            && self.checks.iter().filter(|check| !servers(check)).all(well)
    }

    fn add(&mut self, what: CheckKind, outcome: Result<String, ProviderError>) -> bool {
        let well = outcome.is_ok();
        self.checks.push(Check { what, outcome });
        well
    }
}

/// One thing that was tried.
#[derive(Debug)]
pub struct Check {
    /// What.
    pub what: CheckKind,
    /// A sentence about what was found, or why it does not work.
    pub outcome: Result<String, ProviderError>,
}

/// What can be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckKind {
    /// Whether the server with this URL speaks TLS.
    Server(String),
    /// Whether the service account can sign in.
    ServiceAccount,
    /// Whether people are found.
    People,
    /// Whether groups are found.
    Groups,
    /// Whether somebody can sign in.
    SignIn,
}

impl Directory {
    /// Tries the configuration, and somebody's name and password with it if they are given.
    ///
    /// The service account signs in at one server, whatever their number, so that a wrong password
    /// does not lock it.
    pub async fn check(&self, try_login: Option<(&str, &SecretString)>) -> ConnectionTest {
        let mut trial = ConnectionTest {
            checks: Vec::new(),
            person: None,
        };
        if self.look_around(&mut trial).await
            && let Some((login, password)) = try_login
        {
            let signed_in = self.sign_in(login, password).await.map(|person| {
                let (login, groups) = (&person.login, person.groups.len());
                let sentence =
                    format!("{login} has the id {} and is in {groups} groups", person.id);
                trial.person = Some(person);
                sentence
            });
            trial.add(CheckKind::SignIn, signed_in);
        }
        trial
    }

    /// Whether nothing is in the way of signing in.
    async fn look_around(&self, trial: &mut ConnectionTest) -> bool {
        let settings = &self.settings;
        let opened = settings.servers.iter().map(|server| async move {
            let connection = Connection::open(server, &settings.tls).await;
            (server, connection.map_err(|error| unopened(server, error)))
        });
        let mut first = None;
        for (server, opened) in join_all(opened).await {
            let sentence = "answers, and TLS stands".to_owned();
            let outcome = opened.map(|connection| {
                first.get_or_insert((server, connection));
                sentence
            });
            trial.add(CheckKind::Server(server.to_string()), outcome);
        }
        let Some((server, connection)) = first else {
            return false;
        };
        match Session::over(connection, settings, server, &self.password).await {
            Ok(mut session) => {
                let sentence = format!("can sign in at {server}");
                trial.add(CheckKind::ServiceAccount, Ok(sentence));
                let people = self.in_time(people(&mut session, settings)).await;
                let well = trial.add(CheckKind::People, people);
                match &settings.groups {
                    Some(groups) => {
                        let groups = self.in_time(self::groups(&mut session, groups)).await;
                        trial.add(CheckKind::Groups, groups) && well
                    }
                    None => well,
                }
            }
            Err(error) => trial.add(CheckKind::ServiceAccount, Err(error)),
        }
    }
}

async fn people(session: &mut Session<'_>, settings: &Settings) -> Result<String, ProviderError> {
    session.base(SearchBase::People, NO_ATTRIBUTES).await?;
    let with_login = Filter::Present(settings.people.login_attribute.clone());
    let filter = settings.people.like(with_login);
    let id = [settings.people.id.name.as_str()];
    let pages = session
        .pages(SearchBase::People, &filter, &id, MAX_COUNTED)
        .await?;
    if pages.entries.is_empty() {
        return Err(ProviderError::Misconfigured {
            field: "ldap.users.filter",
            problem: format!(
                "nobody beneath ldap.users.base matches and has {}; widen it, or let ldap.bindDn \
                 read there",
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
        "people can sign in",
    ))
}

async fn groups(session: &mut Session<'_>, groups: &GroupsOf) -> Result<String, ProviderError> {
    session.base(SearchBase::Groups, NO_ATTRIBUTES).await?;
    let filter = groups.like(Filter::Present("objectClass".to_owned()));
    let pages = session
        .pages(SearchBase::Groups, &filter, NO_ATTRIBUTES, MAX_COUNTED)
        .await?;
    Ok(counted(
        pages.entries.len(),
        pages.complete,
        "entries match",
    ))
}

fn counted(count: usize, complete: Complete, what: &str) -> String {
    match complete {
        Complete::Yes => format!("{count} {what}"),
        Complete::Bounded => format!("more than {count} {what}"),
        Complete::Limited => format!("{count} {what}, and more that the directory does not list"),
    }
}

/// What went wrong, with what it comes from, as one line for a screen.
impl Check {
    /// The sentence to be shown.
    pub fn sentence(&self) -> String {
        match &self.outcome {
            Ok(sentence) => sentence.clone(),
            Err(error) => reasons(error),
        }
    }
}
