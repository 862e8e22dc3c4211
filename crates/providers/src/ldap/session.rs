//! A connection on which the service account is signed in, and what it is asked.

use std::error::Error;
use std::fmt;
use std::time::SystemTime;

use secrecy::SecretString;

use super::account::{self, Account};
use super::connection::{Connection, OPERATION_TIMEOUT, OpenError};
use super::server::Server;
use super::settings::Settings;
use super::verdict::{self, SearchBase};
use super::wire::filter::Filter;
use super::wire::message::{Entry, Page, Query, Scope};
use crate::ProviderError;

/// Entries of one page; Active Directory gives 1,000 at most.
const PAGE: u32 = 500;
/// Of pages, no more are asked for, however few entries they have.
const MAX_PAGES: usize = 100;
/// Entries in one answer, of a directory that has no pages.
const MAX_AT_ONCE: usize = 10_000;
/// No attributes (RFC 4511 §4.5.1.8).
pub(super) const NO_ATTRIBUTES: &[&str] = &["1.1"];

/// A connection on which the service account is signed in.
pub(super) struct Session<'a> {
    settings: &'a Settings,
    server: &'a Server,
    connection: Connection,
}

/// What a search was able to find.
pub(super) struct Pages {
    pub(super) entries: Vec<Entry>,
    pub(super) complete: Complete,
}

/// Whether a search found all that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Complete {
    Yes,
    /// There is more than Drover takes.
    Bounded,
    /// There is more than the directory gives.
    Limited,
}

/// None of the servers can be reached; each with its reasons.
#[derive(Debug)]
struct Unreached(Vec<String>);

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl Error for Unreached {}

/// An error and what it comes from, as one line.
pub(super) fn reasons(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// A server does not take a connection.
pub(super) fn unopened(server: &Server, error: OpenError) -> ProviderError {
    ProviderError::Unavailable {
        provider: server.to_string(),
        what: "connect".to_owned(),
        source: Box::new(error),
    }
}

impl<'a> Session<'a> {
    /// Signs in at the first server that can be asked.
    pub(super) async fn open(
        settings: &'a Settings,
        password: &SecretString,
    ) -> Result<Self, ProviderError> {
        let mut unreached = Vec::new();
        for server in &settings.servers {
            match Self::open_at(settings, server, password).await {
                Err(error @ ProviderError::Unavailable { .. }) => unreached.push(reasons(&error)),
                done => return done,
            }
        }
        Err(ProviderError::Unavailable {
            provider: settings.provider(),
            what: "reach any server".to_owned(),
            source: Box::new(Unreached(unreached)),
        })
    }

    async fn open_at(
        settings: &'a Settings,
        server: &'a Server,
        password: &SecretString,
    ) -> Result<Self, ProviderError> {
        let connection = Connection::open(server, &settings.tls).await;
        let connection = connection.map_err(|error| unopened(server, error))?;
        Self::over(connection, settings, server, password).await
    }

    /// Signs in on a connection to `server`.
    pub(super) async fn over(
        mut connection: Connection,
        settings: &'a Settings,
        server: &'a Server,
        password: &SecretString,
    ) -> Result<Self, ProviderError> {
        let provider = server.to_string();
        let bound = connection.bind(&settings.bind_dn, password).await;
        let bound = bound.map_err(|failure| {
            verdict::unanswered(&provider, "sign in with ldap.bindDn", failure)
        })?;
        verdict::of_service_bind(&provider, bound)?;
        Ok(Self {
            settings,
            server,
            connection,
        })
    }

    pub(super) fn server(&self) -> &'a Server {
        self.server
    }

    /// Which one, for errors.
    pub(super) fn provider(&self) -> String {
        self.server.to_string()
    }

    /// The only person that is like this, if there is one, with what to say if there are several.
    pub(super) async fn person(
        &mut self,
        condition: Filter,
        ambiguous: impl FnOnce() -> ProviderError,
    ) -> Result<Option<Account>, ProviderError> {
        let settings = self.settings;
        let attributes = account::attributes(settings);
        let filter = settings.people.like(condition);
        let query = Query {
            size_limit: 2,
            ..self.query(SearchBase::People, Scope::Subtree, &filter, &attributes)
        };
        let found = self.connection.search(&query, None, 2).await;
        let mut found =
            found.map_err(|failure| verdict::unanswered(&self.provider(), "search", failure))?;
        if found.entries.len() > 1 {
            return Err(ambiguous());
        }
        let count = found.entries.len();
        verdict::of_search(&self.provider(), SearchBase::People, count, found.outcome)?;
        let read =
            |entry: &Entry| Account::read(entry, settings, &self.provider(), SystemTime::now());
        found.entries.pop().map(|entry| read(&entry)).transpose()
    }

    /// Whether the service account sees anybody at all with the attribute that people are known by.
    ///
    /// By pages, although one would do: Samba heeds no limit on a search's size.
    pub(super) async fn sees_people(&mut self) -> Result<bool, ProviderError> {
        let people = &self.settings.people;
        let filter = people.like(Filter::Present(people.id.name.clone()));
        let pages = self
            .pages(SearchBase::People, &filter, NO_ATTRIBUTES, 1)
            .await?;
        Ok(!pages.entries.is_empty())
    }

    /// All that are like this, which must be no more than `max`.
    pub(super) async fn all(
        &mut self,
        place: SearchBase,
        filter: &Filter,
        attributes: &[&str],
        max: usize,
    ) -> Result<Vec<Entry>, ProviderError> {
        let pages = self.pages(place, filter, attributes, max).await?;
        match pages.complete {
            Complete::Yes => Ok(pages.entries),
            Complete::Bounded => Err(place.too_many(max)),
            Complete::Limited => Err(place.limited(pages.entries.len())),
        }
    }

    /// Those that are like this, `max` of them at most (RFC 2696).
    pub(super) async fn pages(
        &mut self,
        place: SearchBase,
        filter: &Filter,
        attributes: &[&str],
        max: usize,
    ) -> Result<Pages, ProviderError> {
        let mut entries = Vec::new();
        let mut page = Page {
            size: PAGE,
            cookie: Vec::new(),
        };
        for _ in 0..MAX_PAGES {
            let query = self.query(place, Scope::Subtree, filter, attributes);
            // A directory that has no pages gives everything at once.
            let found = self
                .connection
                .search(&query, Some(&page), MAX_AT_ONCE)
                .await;
            let found = found
                .map_err(|failure| verdict::unanswered(&self.provider(), "search", failure))?;
            entries.extend(found.entries);
            let complete = if entries.len() > max {
                entries.truncate(max);
                Complete::Bounded
            } else if verdict::is_limit(&found.outcome) {
                Complete::Limited
            } else {
                verdict::of_search(&self.provider(), place, entries.len(), found.outcome)?;
                if let Some(cookie) = found.next {
                    page.cookie = cookie;
                    continue;
                }
                Complete::Yes
            };
            return Ok(Pages { entries, complete });
        }
        Err(ProviderError::InvalidResponse {
            provider: self.provider(),
            problem: "a search has pages without end".to_owned(),
        })
    }

    /// The entry that a place begins with.
    pub(super) async fn base(
        &mut self,
        place: SearchBase,
        attributes: &[&str],
    ) -> Result<Entry, ProviderError> {
        let anything = Filter::Present("objectClass".to_owned());
        let query = self.query(place, Scope::Base, &anything, attributes);
        let found = self.connection.search(&query, None, 1).await;
        let mut found =
            found.map_err(|failure| verdict::unanswered(&self.provider(), "search", failure))?;
        let count = found.entries.len();
        verdict::of_search(&self.provider(), place, count, found.outcome)?;
        found.entries.pop().ok_or_else(|| place.unseen())
    }

    fn query<'q>(
        &self,
        place: SearchBase,
        scope: Scope,
        filter: &'q Filter,
        attributes: &'q [&'q str],
    ) -> Query<'q>
    where
        'a: 'q,
    {
        let groups = self.settings.groups.as_ref();
        Query {
            base: match place {
                SearchBase::People => &self.settings.people.base,
                SearchBase::Groups => groups.map_or("", |groups| &groups.base),
                SearchBase::Root => "",
            },
            scope,
            filter,
            attributes,
            size_limit: 0,
            time_limit: u32::try_from(OPERATION_TIMEOUT.as_secs()).unwrap_or(u32::MAX),
        }
    }
}
