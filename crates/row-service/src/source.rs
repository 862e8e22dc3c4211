//! A source: the rows of a kind in a cluster, for all pages of users with the same identity.

mod content;
mod dropped;
mod samples;

use std::collections::HashMap;
use std::sync::Arc;

use drover_proxy::AccessKey;
use drover_rows::protocol::{ListProblem, SourceState};
use drover_rows::row::RowContent;
use drover_rows::table::Key;
use drover_rows::view::{Change, Item};
use drover_rows::{Amounts, Columns, Include, Row};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use self::content::{Content, MAX_SOURCE_BYTES, UsageState};
use self::dropped::DroppedRows;
use self::samples::SampleStore;
use crate::budget::Budget;
use crate::clusters::Credential;

/// The properties of a source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SourceKey {
    /// The identity of the pages in the cluster.
    pub(crate) identity: AccessKey,
    /// The name of the cluster.
    pub(crate) cluster: Arc<str>,
    /// The path of the list.
    pub(crate) path: String,
    /// The part of the objects that the rows need.
    pub(crate) include: Include,
}

/// The rows of a source. Pages hold references ([`SourceHandle`]).
pub(crate) struct Source {
    pub(crate) key: SourceKey,
    state: Mutex<Content>,
    samples: Mutex<SampleStore>,
    pages: Mutex<Pages>,
    /// Wakes the task that lists and watches, for example because a page has a new credential.
    pub(crate) retry: Notify,
    budget: Arc<Budget>,
}

/// The pages that use a source.
#[derive(Default)]
struct Pages {
    next: u64,
    open: Vec<Page>,
    idle_since: Option<Instant>,
}

struct Page {
    id: u64,
    credential: Arc<Credential>,
    changed: Arc<Notify>,
}

/// The changes of a source since a revision.
pub(crate) enum News {
    /// The changes in their order.
    Changes(Vec<Change>),
    /// All rows, because the page has no rows yet or missed changes.
    All(Vec<Arc<Item>>),
}

/// The state of a source for a page.
pub(crate) struct Reading {
    pub(crate) columns: Columns,
    pub(crate) state: SourceState,
    pub(crate) truncated: bool,
    /// The reason why the rows have no usage of CPU and memory.
    pub(crate) usage_problem: Option<ListProblem>,
    pub(crate) rows: usize,
    pub(crate) revision: u64,
    pub(crate) news: News,
}

impl Source {
    pub(crate) fn new(key: SourceKey, budget: Arc<Budget>) -> Arc<Self> {
        Arc::new(Self {
            key,
            state: Mutex::new(Content::empty()),
            samples: Mutex::new(SampleStore::empty(&budget)),
            pages: Mutex::default(),
            retry: Notify::new(),
            budget,
        })
    }

    /// Adds a page. `changed` is notified after each change until the handle is dropped.
    pub(crate) fn attach(
        self: &Arc<Self>,
        credential: Arc<Credential>,
        changed: Arc<Notify>,
    ) -> SourceHandle {
        let mut pages = self.pages.lock();
        pages.next += 1;
        pages.idle_since = None;
        let id = pages.next;
        pages.open.push(Page {
            id,
            credential,
            changed,
        });
        drop(pages);
        self.retry.notify_one();
        SourceHandle {
            source: Arc::clone(self),
            id,
        }
    }

    /// Returns the credentials of the open pages, at most `count`.
    pub(crate) fn credentials(&self, count: usize) -> Vec<Arc<Credential>> {
        let pages = self.pages.lock();
        let credentials = pages.open.iter().map(|page| Arc::clone(&page.credential));
        credentials.take(count).collect()
    }

    /// Returns the time since which the source has no page.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        self.pages.lock().idle_since
    }

    /// Returns the state and the changes after the revision `seen`.
    pub(crate) fn read(&self, seen: Option<u64>) -> Reading {
        let state = self.state.lock();
        let missed = seen.and_then(|seen| usize::try_from(state.revision - seen).ok());
        let first = missed.and_then(|missed| state.changes.len().checked_sub(missed));
        let news = match first {
            Some(first) => News::Changes(state.changes.range(first..).cloned().collect()),
            None => News::All(state.rows.values().cloned().collect()),
        };
        Reading {
            columns: state.shown_columns(),
            state: state.state.clone(),
            truncated: !state.dropped.is_empty(),
            usage_problem: state.usage.problem(),
            rows: state.rows.len(),
            revision: state.revision,
            news,
        }
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.state.lock().rows.len()
    }

    /// Returns the samples of the usage of all rows.
    pub(crate) fn samples(&self) -> MutexGuard<'_, SampleStore> {
        self.samples.lock()
    }

    /// Stores a new or changed row.
    pub(crate) fn put(&self, columns: &Columns, key: Key, content: RowContent, now: Timestamp) {
        let row = self.row(columns, content, now);
        let mut state = self.state.lock();
        state.learn(columns);
        let _ = state.put(&self.budget, key, row);
    }

    /// Removes a row.
    pub(crate) fn delete(&self, key: &Key) {
        self.state.lock().delete(&self.budget, key);
    }

    /// Begins a new list, which can contain rows that previously exceeded the limits.
    pub(crate) fn begin_list(&self) {
        self.state.lock().dropped = DroppedRows::default();
    }

    /// Reports whether a new list can store rows that previously exceeded the limits.
    pub(crate) fn dropped_rows_fit(&self) -> bool {
        let state = self.state.lock();
        let of_source = MAX_SOURCE_BYTES.saturating_sub(state.bytes);
        let limit = MAX_SOURCE_BYTES.min(self.budget.row_limit());
        state.dropped.fit(of_source.min(self.budget.room()), limit)
    }

    /// Stores the rows of a page of a list. Returns the keys of the stored rows.
    pub(crate) fn add_page(
        &self,
        columns: &Columns,
        rows: Vec<(Key, RowContent)>,
        now: Timestamp,
    ) -> Vec<Key> {
        let mut state = self.state.lock();
        state.learn(columns);
        let stored = rows.into_iter().filter_map(|(key, content)| {
            let row = self.row(columns, content, now);
            state.put(&self.budget, key.clone(), row).then_some(key)
        });
        stored.collect()
    }

    /// Removes all rows that a complete list did not contain.
    pub(crate) fn keep(&self, listed: &std::collections::HashSet<Key>) {
        let mut state = self.state.lock();
        let gone = state.rows.keys().filter(|key| !listed.contains(*key));
        let gone: Vec<Key> = gone.cloned().collect();
        for key in gone {
            state.delete(&self.budget, &key);
        }
    }

    /// Sets the state, and wakes the pages.
    pub(crate) fn set_state(&self, new: SourceState) {
        self.state.lock().state = new;
        self.tell();
    }

    /// Sets the estimated number of objects while the first list is not complete.
    pub(crate) fn set_progress(&self, expected: Option<u64>) {
        let mut state = self.state.lock();
        if !matches!(state.state, SourceState::Live | SourceState::Stale { .. }) {
            state.state = SourceState::Loading { expected };
        }
        drop(state);
        self.tell();
    }

    /// Reports whether the rows are current.
    pub(crate) fn is_live(&self) -> bool {
        self.state.lock().state == SourceState::Live
    }

    /// Sets the usage of all rows, adds it to their samples, and shows the columns of the usage.
    pub(crate) fn set_usage(&self, usage: &HashMap<Key, Amounts>) {
        let mut state = self.state.lock();
        state.set_usage(usage);
        let items = state.rows.values();
        let measured = items.filter_map(|item| Some((item.id, item.row.usage?)));
        self.samples.lock().record(measured, Instant::now());
        drop(state);
        self.tell();
    }

    /// Removes the usage of all rows, because the cluster reports no usage.
    pub(crate) fn set_usage_problem(&self, problem: ListProblem) {
        let mut state = self.state.lock();
        state.set_usage(&HashMap::new());
        state.usage = UsageState::Problem(problem);
        drop(state);
        self.samples.lock().clear();
        self.tell();
    }

    /// Removes all rows, because the cluster refuses the list.
    pub(crate) fn refuse(&self, problem: ListProblem) {
        self.keep(&std::collections::HashSet::new());
        self.state.lock().dropped = DroppedRows::default();
        self.samples.lock().clear();
        self.set_state(SourceState::Failed(problem));
    }

    /// Marks the rows as outdated because of a problem.
    pub(crate) fn set_problem(&self, problem: ListProblem, now: Timestamp) {
        let mut state = self.state.lock();
        state.state = match &state.state {
            SourceState::Live => SourceState::Stale {
                since: now,
                problem,
            },
            SourceState::Stale { since, .. } => SourceState::Stale {
                since: *since,
                problem,
            },
            SourceState::Loading { .. } | SourceState::Failed(_) => SourceState::Failed(problem),
        };
        drop(state);
        self.tell();
    }

    /// Wakes the pages after changes.
    pub(crate) fn tell(&self) {
        for page in &self.pages.lock().open {
            page.changed.notify_one();
        }
    }

    fn row(&self, columns: &Columns, content: RowContent, now: Timestamp) -> Row {
        let cluster = Arc::clone(&self.key.cluster);
        Row::new(cluster, Arc::clone(columns), content, now)
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.budget.free(self.state.lock().bytes);
    }
}

/// The use of a source by a page.
pub(crate) struct SourceHandle {
    pub(crate) source: Arc<Source>,
    id: u64,
}

impl Drop for SourceHandle {
    fn drop(&mut self) {
        let mut pages = self.source.pages.lock();
        pages.open.retain(|page| page.id != self.id);
        if pages.open.is_empty() {
            pages.idle_since = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;
