//! A connection that is bound as the service account, and its searches.

use std::error::Error;
use std::fmt;
use std::time::SystemTime;

use secrecy::SecretString;

use super::account::{self, Account};
use super::classification::{self, SearchBase};
use super::connection::{Connection, OPERATION_TIMEOUT, OpenError};
use super::server::Server;
use super::settings::Settings;
use super::wire::filter::Filter;
use super::wire::message::{Entry, Page, Query, Scope};
use crate::ProviderError;

/// Number of entries per page. Active Directory returns at most 1,000 entries per page.
const PAGE: u32 = 500;
/// Maximum number of pages per search.
const MAX_PAGES: usize = 100;
/// Maximum number of entries in a single response. Applies to directories without paging.
const MAX_ENTRIES_PER_RESPONSE: usize = 10_000;
/// Attribute list of a search that requests no attributes (RFC 4511 §4.5.1.8).
pub(super) const NO_ATTRIBUTES: &[&str] = &["1.1"];

/// A connection that is bound as the service account.
pub(super) struct Session<'a> {
    settings: &'a Settings,
    server: &'a Server,
    connection: Connection,
}

/// Entries of a paged search.
pub(super) struct Pages {
    pub(super) entries: Vec<Entry>,
    pub(super) complete: Complete,
}

/// Completeness of a search result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Complete {
    Yes,
    /// Drover's limit truncated the result.
    Bounded,
    /// The directory's limit truncated the result.
    Limited,
}

/// Error if all servers are unreachable. Contains the reason for each server.
#[derive(Debug)]
struct NoServerReachable(Vec<String>);

impl fmt::Display for NoServerReachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl Error for NoServerReachable {}

/// Formats an error and its sources as one line.
pub(super) fn reasons(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Converts the error of a connection to one server.
pub(super) fn connect_error(server: &Server, error: OpenError) -> ProviderError {
    ProviderError::Unavailable {
        provider: server.to_string(),
        action: "connect".to_owned(),
        source: Box::new(error),
    }
}

impl<'a> Session<'a> {
    /// Connects to the first reachable server and binds as the service account.
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
            action: "reach a server".to_owned(),
            source: Box::new(NoServerReachable(unreached)),
        })
    }

    async fn open_at(
        settings: &'a Settings,
        server: &'a Server,
        password: &SecretString,
    ) -> Result<Self, ProviderError> {
        let connection = Connection::open(server, &settings.tls).await;
        let connection = connection.map_err(|error| connect_error(server, error))?;
        Self::over(connection, settings, server, password).await
    }

    /// Binds as the service account on an open connection to `server`.
    pub(super) async fn over(
        mut connection: Connection,
        settings: &'a Settings,
        server: &'a Server,
        password: &SecretString,
    ) -> Result<Self, ProviderError> {
        let provider = server.to_string();
        let bound = connection.bind(&settings.bind_dn, password).await;
        let bound = bound.map_err(|failure| {
            classification::request_error(&provider, "bind as ldap.bindDn", failure)
        })?;
        classification::service_bind_result(&provider, bound)?;
        Ok(Self {
            settings,
            server,
            connection,
        })
    }

    pub(super) fn server(&self) -> &'a Server {
        self.server
    }

    /// Returns the server URL for error messages.
    pub(super) fn provider(&self) -> String {
        self.server.to_string()
    }

    /// Returns the user that matches the condition. Returns the error `ambiguous()` if several
    /// users match.
    pub(super) async fn person(
        &mut self,
        condition: Filter,
        ambiguous: impl FnOnce() -> ProviderError,
    ) -> Result<Option<Account>, ProviderError> {
        let settings = self.settings;
        let attributes = account::attributes(settings);
        let filter = settings.people.and(condition);
        let query = Query {
            size_limit: 2,
            ..self.query(SearchBase::People, Scope::Subtree, &filter, &attributes)
        };
        let found = self.connection.search(&query, None, 2).await;
        let mut found = found.map_err(|failure| {
            classification::request_error(&self.provider(), "search", failure)
        })?;
        if found.entries.len() > 1 {
            return Err(ambiguous());
        }
        let count = found.entries.len();
        classification::search_result(&self.provider(), SearchBase::People, count, found.outcome)?;
        let read =
            |entry: &Entry| Account::read(entry, settings, &self.provider(), SystemTime::now());
        found.entries.pop().map(|entry| read(&entry)).transpose()
    }

    /// Reports whether the service account can read at least one user with the ID attribute.
    ///
    /// Uses paging because Samba ignores the size limit of a search.
    pub(super) async fn has_visible_users(&mut self) -> Result<bool, ProviderError> {
        let people = &self.settings.people;
        let filter = people.and(Filter::Present(people.id.name.clone()));
        let pages = self
            .pages(SearchBase::People, &filter, NO_ATTRIBUTES, 1)
            .await?;
        Ok(!pages.entries.is_empty())
    }

    /// Returns all matching entries. Returns an error if more than `max` entries match.
    pub(super) async fn all(
        &mut self,
        search_base: SearchBase,
        filter: &Filter,
        attributes: &[&str],
        max: usize,
    ) -> Result<Vec<Entry>, ProviderError> {
        let pages = self.pages(search_base, filter, attributes, max).await?;
        match pages.complete {
            Complete::Yes => Ok(pages.entries),
            Complete::Bounded => Err(search_base.too_many(max)),
            Complete::Limited => Err(search_base.limited(pages.entries.len())),
        }
    }

    /// Returns up to `max` matching entries, with paging (RFC 2696).
    pub(super) async fn pages(
        &mut self,
        search_base: SearchBase,
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
            let query = self.query(search_base, Scope::Subtree, filter, attributes);
            // A directory without paging returns all entries in one response.
            let found = self
                .connection
                .search(&query, Some(&page), MAX_ENTRIES_PER_RESPONSE)
                .await;
            let found = found.map_err(|failure| {
                classification::request_error(&self.provider(), "search", failure)
            })?;
            entries.extend(found.entries);
            let complete = if entries.len() > max {
                entries.truncate(max);
                Complete::Bounded
            } else if classification::is_limit(&found.outcome) {
                Complete::Limited
            } else {
                classification::search_result(
                    &self.provider(),
                    search_base,
                    entries.len(),
                    found.outcome,
                )?;
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
            problem: "a search has too many pages".to_owned(),
        })
    }

    /// Reads the base entry of a search.
    pub(super) async fn base(
        &mut self,
        search_base: SearchBase,
        attributes: &[&str],
    ) -> Result<Entry, ProviderError> {
        let anything = Filter::Present("objectClass".to_owned());
        let query = self.query(search_base, Scope::Base, &anything, attributes);
        let found = self.connection.search(&query, None, 1).await;
        let mut found = found.map_err(|failure| {
            classification::request_error(&self.provider(), "search", failure)
        })?;
        let count = found.entries.len();
        classification::search_result(&self.provider(), search_base, count, found.outcome)?;
        found.entries.pop().ok_or_else(|| search_base.unreadable())
    }

    fn query<'q>(
        &self,
        search_base: SearchBase,
        scope: Scope,
        filter: &'q Filter,
        attributes: &'q [&'q str],
    ) -> Query<'q>
    where
        'a: 'q,
    {
        let groups = self.settings.groups.as_ref();
        Query {
            base: match search_base {
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
