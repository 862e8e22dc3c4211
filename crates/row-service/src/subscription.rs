//! A list of a page: the rows of its sources, sorted and filtered, and the window of the page.

mod samples;

use std::sync::Arc;

use drover_api::rest::history_kind;
use drover_rows::protocol::{
    ListProblem, ListSpec, SourceState, SourceStatus, Update, ViewSpec, WireRow,
};
use drover_rows::sent::SentWindow;
use drover_rows::view::{Item, View};
use drover_rows::{Columns, Include};

use self::samples::SentSamples;
use crate::budget::Reservation;
use crate::page_access::PageAccess;
use crate::pool::path;
use crate::source::{News, Reading, SourceHandle, SourceKey};

/// Number of rows above which the server computes an update in a thread for long computations.
const FEW_ROWS: usize = 2_000;

/// The server has not enough memory for the sorted list of a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfMemory;

/// A list of a page.
pub(crate) struct Subscription {
    id: u32,
    list: ListSpec,
    spec: ViewSpec,
    members: Vec<Member>,
    view: View,
    /// The memory of the view.
    memory: Reservation,
    /// True if the last update had not enough memory.
    is_out_of_memory: bool,
    columns: Columns,
    sent: SentWindow,
    sent_samples: SentSamples,
    /// True if a source was removed, so that the view contains rows without a source.
    lost: bool,
    /// The columns of the last update.
    sent_columns: Columns,
    /// The counts of the last update.
    sent_head: Option<Update>,
    /// The states of the sources in the last update.
    sent_states: Vec<SourceStatus>,
}

/// A source of a list.
struct Member {
    cluster: Arc<str>,
    namespace: Option<String>,
    /// The source, or the reason why the page has no access to it.
    source: Result<SourceHandle, ListProblem>,
    /// The last revision of the source whose changes the view contains.
    seen: Option<u64>,
}

impl Subscription {
    /// Creates a list without sources. [`check`](Self::check) adds the sources.
    pub(crate) fn new(id: u32, list: ListSpec, spec: ViewSpec, memory: Reservation) -> Self {
        let mut members = Vec::new();
        let (clusters, namespaces) = (distinct(&list.clusters), distinct(&list.namespaces));
        for cluster in clusters {
            let mut add = |namespace: Option<&String>| {
                members.push(Member {
                    cluster: cluster.as_str().into(),
                    namespace: namespace.cloned(),
                    source: Err(ListProblem::default()),
                    seen: None,
                });
            };
            match namespaces.as_slice() {
                [] => add(None),
                some => some.iter().for_each(|namespace| add(Some(namespace))),
            }
        }
        Self {
            id,
            view: View::new(&spec, &[]),
            memory,
            is_out_of_memory: false,
            list,
            spec,
            members,
            lost: false,
            sent_columns: Columns::from([]),
            columns: Columns::from([]),
            sent: SentWindow::default(),
            sent_samples: SentSamples::default(),
            sent_head: None,
            sent_states: Vec::new(),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Returns the number of sources.
    pub(crate) fn sources(&self) -> usize {
        self.members.len()
    }

    /// Checks the page's access to each cluster, and adds and removes sources accordingly. Returns
    /// an error if the credential of the page is no longer valid.
    pub(crate) async fn check(&mut self, access: &mut PageAccess<'_>) -> Result<(), ListProblem> {
        for member in &mut self.members {
            let identity = match access.identity(&member.cluster).await {
                Ok(identity) => identity,
                Err(problem) if problem.code == 401 => return Err(problem),
                Err(problem) => {
                    self.lost |= member.source.is_ok();
                    (member.source, member.seen) = (Err(problem), None);
                    continue;
                }
            };
            // The list determines the cluster's name and the path, which never change.
            if let Ok(handle) = &member.source
                && handle.source.key.identity == identity
            {
                continue;
            }
            self.lost |= member.source.is_ok();
            let (api_version, plural) = (&*self.list.api_version, &*self.list.plural);
            let key = SourceKey {
                identity,
                cluster: Arc::clone(&member.cluster),
                include: match history_kind(api_version, plural) {
                    Some(_) => Include::Objects,
                    None => Include::of(api_version, plural),
                },
                path: path(&self.list, &member.cluster, member.namespace.as_deref()),
            };
            (member.source, member.seen) = (access.attach(key), None);
        }
        Ok(())
    }

    /// Changes the filter, the sort order and the window.
    pub(crate) fn set_view(&mut self, spec: ViewSpec) {
        self.spec = spec;
    }

    /// Reads the changes of all sources. Returns the update for the page, if something changed.
    /// Returns `None` if the server stops.
    pub(crate) async fn update(mut self) -> Option<(Self, Result<Option<Update>, OutOfMemory>)> {
        let few = self.members.iter().filter_map(|it| it.source.as_ref().ok());
        let few = few.map(|it| it.source.rows()).sum::<usize>() <= FEW_ROWS;
        if few && self.view.len() <= FEW_ROWS {
            let update = self.compute();
            return Some((self, update));
        }
        let computing = move || {
            let update = self.compute();
            (self, update)
        };
        // The task fails only if the server stops.
        tokio::task::spawn_blocking(computing).await.ok()
    }

    fn compute(&mut self) -> Result<Option<Update>, OutOfMemory> {
        let mut readings: Vec<_> = self.members.iter().map(Member::read).collect();
        let mut complete = false;
        let is_complete = |reading: &Reading| matches!(reading.news, News::All(_));
        if std::mem::take(&mut self.lost) || readings.iter().flatten().any(is_complete) {
            // Rows that a source no longer has are unknown, so the view is created again.
            self.members.iter_mut().for_each(|it| it.seen = None);
            readings = self.members.iter().map(Member::read).collect();
            complete = true;
        }
        let count: usize = readings.iter().flatten().map(|it| it.rows).sum();
        if !self.memory.resize(View::max_bytes(count)) {
            // The next update with enough memory is sent, although its content can be equal.
            self.sent_head = None;
            let is_known = std::mem::replace(&mut self.is_out_of_memory, true);
            return if is_known { Ok(None) } else { Err(OutOfMemory) };
        }
        self.is_out_of_memory = false;
        // A cluster that no longer reports usage has fewer columns.
        let columns = readings.iter().flatten().map(|it| &it.columns);
        if let Some(columns) = columns.fold(None, wider) {
            self.columns = Arc::clone(columns);
        }
        let (mut changes, mut rows) = (Vec::new(), Vec::new());
        let mut states = Vec::with_capacity(self.members.len());
        for (member, reading) in self.members.iter_mut().zip(readings) {
            states.push(member.status(reading.as_ref()));
            let Some(reading) = reading else { continue };
            member.seen = Some(reading.revision);
            match reading.news {
                News::Changes(new) => changes.extend(new),
                News::All(items) => rows.extend(items),
            }
        }
        if complete {
            self.view.replace(&rows);
        } else {
            self.view.apply(&changes);
        }
        self.view.set(&self.spec);
        Ok(self.changes(states))
    }

    /// Returns the differences to the previous update.
    fn changes(&mut self, states: Vec<SourceStatus>) -> Option<Update> {
        let columns = !Arc::ptr_eq(&self.columns, &self.sent_columns);
        if columns {
            self.sent.clear();
            self.sent_samples.clear();
            self.sent_columns = Arc::clone(&self.columns);
        }
        let window = self.sent.advance(&self.view, &self.spec);
        let head = Update {
            id: self.id,
            shown: self.view.rows().len(),
            all: self.view.len(),
            severities: self.view.severities(),
            first: window.first,
            ..Update::default()
        };
        let shown = &self.view.rows()[window.first..window.end];
        let samples = self.sent_samples.advance(shown, &self.members);
        let rows = window.items.iter();
        let update = Update {
            columns: columns.then(|| self.columns.to_vec()),
            order: window.order,
            rows: rows
                .map(|item| WireRow::new(item.id, &item.row, &self.columns))
                .collect(),
            samples,
            sources: (states != self.sent_states).then(|| states.clone()),
            ..head.clone()
        };
        self.sent_states = states;
        let is_new = self.sent_head.as_ref() != Some(&head) || update != head;
        self.sent_head = Some(head);
        is_new.then_some(update)
    }
}

/// Returns each name once. A source that is in a list twice would count its rows twice.
fn distinct(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the columns with more entries. Lists of clusters with different Kubernetes versions show
/// the columns of one cluster.
fn wider<'a>(known: Option<&'a Columns>, new: &'a Columns) -> Option<&'a Columns> {
    match known {
        Some(known) if known.len() >= new.len() => Some(known),
        _ => Some(new).filter(|new| !new.is_empty()),
    }
}

impl Member {
    fn read(&self) -> Option<Reading> {
        let handle = self.source.as_ref().ok()?;
        Some(handle.source.read(self.seen))
    }

    /// Reports whether the source of this cluster contains a row of the cluster.
    fn contains(&self, item: &Item) -> bool {
        let namespace = self.namespace.as_deref();
        namespace.is_none_or(|namespace| item.row.namespace() == Some(namespace))
    }

    fn status(&self, reading: Option<&Reading>) -> SourceStatus {
        let state = match (reading, &self.source) {
            (Some(reading), _) => reading.state.clone(),
            (None, Err(problem)) => SourceState::Failed(problem.clone()),
            (None, Ok(_)) => SourceState::Loading { expected: None },
        };
        SourceStatus {
            cluster: self.cluster.to_string(),
            namespace: self.namespace.clone().unwrap_or_default(),
            state,
            rows: reading.map_or(0, |reading| reading.rows),
            truncated: reading.is_some_and(|reading| reading.truncated),
            usage: reading.and_then(|reading| reading.usage_problem.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
