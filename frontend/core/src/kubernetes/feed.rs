//! The state machine of a list and its watch. The state machine stores pages and events, and
//! selects the next request.

pub(crate) mod objects;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::messages::t;
use crate::problem::{Problem, ProblemKind};

pub use objects::Objects;

/// The key of an item: its namespace (empty for cluster-scoped objects) and its name.
pub type Key = (String, String);

/// Parses list pages and watch events of a server.
pub trait Form<T>: Default {
    /// The maximum number of items that a feed keeps.
    const LIMIT: Limit<T>;

    /// Parses a page of the list.
    fn page(&mut self, body: &[u8], now: Timestamp) -> Result<Page<T>, Problem>;

    /// Parses the object of a watch event.
    fn item(&mut self, object: &RawValue, now: Timestamp) -> Result<(Head, T), Problem>;

    /// Parses the key and the resource version of an object.
    fn head(&self, object: &RawValue) -> Result<Head, Problem>;
}

/// The maximum number of items that a feed keeps. The variant selects the items that the feed drops
/// above the maximum.
#[derive(Clone, Copy, Debug)]
pub enum Limit<T> {
    /// The feed keeps the first items and drops all following items.
    First(usize),
    /// The feed keeps the newest items. Between cleanups, the feed can exceed the maximum by a
    /// quarter.
    Newest(usize, fn(&T) -> Timestamp),
}

impl<T> Limit<T> {
    /// Returns the maximum number of items.
    pub const fn most(&self) -> usize {
        match self {
            Self::First(most) | Self::Newest(most, _) => *most,
        }
    }

    /// Inserts an item, unless the feed drops the item.
    fn put(&self, items: &mut BTreeMap<Key, T>, key: Key, item: T) {
        match self {
            Self::First(most) if items.len() >= *most && !items.contains_key(&key) => {}
            Self::First(_) => {
                items.insert(key, item);
            }
            Self::Newest(most, at) => {
                items.insert(key, item);
                if items.len() > most + most / 4 {
                    keep_newest(items, *most, *at);
                }
            }
        }
    }
}

fn keep_newest<T>(items: &mut BTreeMap<Key, T>, most: usize, at: fn(&T) -> Timestamp) {
    let mut times: Vec<Timestamp> = items.values().map(at).collect();
    let dropped = times.len().saturating_sub(most);
    let (_, oldest_kept, _) = times.select_nth_unstable(dropped);
    let oldest_kept = *oldest_kept;
    items.retain(|_, item| at(item) >= oldest_kept);
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    items: Vec<(Key, T)>,
    meta: ListMeta,
}

impl<T> Page<T> {
    /// Returns the items of the page.
    #[cfg(test)]
    pub(crate) fn items(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|(_, item)| item)
    }

    /// Converts each item of the page.
    pub(crate) fn map<U>(self, other: impl Fn(T) -> U) -> Page<U> {
        let items = self.items.into_iter();
        Page {
            items: items.map(|(key, item)| (key, other(item))).collect(),
            meta: self.meta,
        }
    }
}

/// The key and the resource version of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    key: Key,
    version: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    resource_version: Option<String>,
    r#continue: Option<String>,
}

#[derive(Deserialize)]
struct WireEvent<'a> {
    r#type: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// The next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextRequest {
    /// Requests the first page of the list.
    List,
    /// Requests the next page of the list with this continue token.
    More(String),
    /// Requests a watch from this resource version.
    Watch(String),
}

/// The items of a list at a resource version.
#[derive(Clone, Debug)]
pub struct Feed<T, F = Objects> {
    items: BTreeMap<Key, T>,
    /// The items of a new list whose pages are still loading. The feed shows the previous list
    /// until the last page arrives.
    fresh: Option<BTreeMap<Key, T>>,
    next: NextRequest,
    form: F,
    now: Timestamp,
}

impl<T, F: Default> Default for Feed<T, F> {
    fn default() -> Self {
        Self {
            items: BTreeMap::new(),
            fresh: None,
            next: NextRequest::List,
            form: F::default(),
            now: Timestamp::UNIX_EPOCH,
        }
    }
}

impl<T, F: Form<T>> Feed<T, F> {
    /// Returns the next request.
    pub fn ask(&self) -> NextRequest {
        self.next.clone()
    }

    /// Returns the items, sorted by namespace and name.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.items.values()
    }

    /// Sets the arrival time of the following responses. The ages in rows are relative to the
    /// arrival time.
    pub fn set_time(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Stores a page of the list: the response to [`NextRequest::List`] or [`NextRequest::More`].
    /// The first list is shown page by page. A new list replaces the old list after its last page.
    pub fn replace(&mut self, body: &[u8]) -> Result<(), Problem> {
        let page = self.form.page(body, self.now)?;
        if self.next == NextRequest::List {
            self.fresh = (!self.items.is_empty()).then(BTreeMap::new);
        }
        let items = self.fresh.as_mut().unwrap_or(&mut self.items);
        for (key, item) in page.items {
            F::LIMIT.put(items, key, item);
        }
        let full = matches!(F::LIMIT, Limit::First(most) if items.len() >= most);
        let next = page.meta.r#continue.filter(|token| !token.is_empty());
        if let Some(token) = next.filter(|_| !full) {
            self.next = NextRequest::More(token);
            return Ok(());
        }
        if let Some(fresh) = self.fresh.take() {
            self.items = fresh;
        }
        self.next = NextRequest::List;
        let version = page.meta.resource_version.filter(|it| !it.is_empty());
        let version = version.ok_or_else(|| Problem::strange(t().problems.no_version()))?;
        self.next = NextRequest::Watch(version);
        Ok(())
    }

    /// Applies a watch event: a line of the response to [`NextRequest::Watch`]. Returns true if an
    /// item changed.
    ///
    /// An error ends the watch. If the server no longer has the resource version (410),
    /// [`Self::ask`] then returns a request for a full list.
    pub fn take(&mut self, line: &[u8]) -> Result<bool, Problem> {
        let event: WireEvent<'_> = read(line)?;
        match event.r#type.as_str() {
            "ADDED" | "MODIFIED" => {
                let (head, item) = self.form.item(event.object, self.now)?;
                F::LIMIT.put(&mut self.items, head.key, item);
                self.is_at(head.version);
                Ok(true)
            }
            "DELETED" | "BOOKMARK" => {
                let head = self.form.head(event.object)?;
                let gone = event.r#type == "DELETED" && self.items.remove(&head.key).is_some();
                self.is_at(head.version);
                Ok(gone)
            }
            "ERROR" => {
                let problem = Problem::of_status(&of(event.object)?);
                self.refused(&problem);
                Err(problem)
            }
            other => Err(Problem::strange(other)),
        }
    }

    fn is_at(&mut self, version: Option<String>) {
        if let Some(version) = version.filter(|it| !it.is_empty()) {
            self.next = NextRequest::Watch(version);
        }
    }

    /// Selects the next request after a request was rejected. After status 410, the next request
    /// lists all items.
    pub fn refused(&mut self, problem: &Problem) {
        if problem.kind == ProblemKind::Expired {
            self.next = NextRequest::List;
            self.fresh = None;
        }
    }
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(strange)
}

fn of<'a, T: Deserialize<'a>>(object: &'a RawValue) -> Result<T, Problem> {
    serde_json::from_str(object.get()).map_err(strange)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "map_err passes the error by value"
)]
fn strange(error: serde_json::Error) -> Problem {
    Problem::strange(&error.to_string())
}

#[cfg(test)]
mod tests;
