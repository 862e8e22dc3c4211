//! A list of the row service, as the page knows it.

pub mod searched;
pub mod sparkline;
pub mod suggestions;
pub mod usage;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use drover_rows::protocol::{ListProblem, RowId, SourceState, SourceStatus, Update};
use drover_rows::{Columns, Row, Severity};
use jiff::Timestamp;

use self::usage::named;
use crate::messages::t;

/// A list of the row service, as the page knows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownList {
    /// The columns of all rows.
    pub columns: Columns,
    rows: HashMap<RowId, Arc<Row>>,
    order: Vec<RowId>,
    /// The index of the first row of the window.
    pub first: usize,
    /// The number of rows that match the filters.
    pub shown: usize,
    /// The number of rows of the list.
    pub all: usize,
    severities: [usize; Severity::ALL.len()],
    /// The states of the sources. Empty before the first update.
    pub sources: Vec<SourceStatus>,
}

/// The state of a list with one or several sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListState {
    /// No source has a complete list yet.
    Loading,
    /// At least one source has rows.
    Listed,
    /// All sources failed.
    Failed(ListProblem),
}

/// A cluster or a namespace of a list with a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceProblem {
    /// The name of the cluster.
    pub cluster: String,
    /// The namespace; empty for all namespaces.
    pub namespace: String,
    /// The time since which the rows are outdated; `None` if the list has no rows of the source.
    pub since: Option<Timestamp>,
    /// The problem.
    pub problem: ListProblem,
}

impl KnownList {
    /// Applies an update of the server.
    pub fn apply(&mut self, update: Update) {
        if let Some(columns) = update.columns {
            self.columns = columns.into();
            self.rows.clear();
        }
        for row in update.rows {
            let id = row.id;
            let mut row = row.into_row(&self.columns);
            row.samples = self.rows.get(&id).and_then(|old| old.samples.clone());
            self.rows.insert(id, Arc::new(row));
        }
        for (id, samples) in update.samples {
            if let Some(row) = self.rows.get_mut(&id) {
                Arc::make_mut(row).samples = Some(Arc::new(samples));
            }
        }
        if let Some(order) = update.order {
            self.order = order;
            let order = &self.order;
            self.rows.retain(|id, _| order.contains(id));
        }
        if let Some(sources) = update.sources {
            self.sources = sources;
        }
        self.first = update.first;
        self.shown = update.shown;
        self.all = update.all;
        self.severities = update.severities;
    }

    /// Returns the rows of the window with their IDs, in their order.
    pub fn window(&self) -> impl Iterator<Item = (RowId, &Arc<Row>)> {
        let row = |id: &RowId| self.rows.get(id).map(|row| (*id, row));
        self.order.iter().filter_map(row)
    }

    /// Returns the number of rows of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.severities[severity as usize]
    }

    /// Returns the state of the list.
    pub fn state(&self) -> ListState {
        let mut failed = None;
        for source in &self.sources {
            match &source.state {
                SourceState::Failed(problem) => failed = Some(problem),
                SourceState::Loading { .. } if source.rows == 0 => {}
                SourceState::Loading { .. } | SourceState::Live | SourceState::Stale { .. } => {
                    return ListState::Listed;
                }
            }
        }
        match failed.filter(|_| self.loading().is_none()) {
            Some(problem) => ListState::Failed(problem.clone()),
            None => ListState::Loading,
        }
    }

    /// Reports whether the list contains the rows of all sources.
    pub fn is_complete(&self) -> bool {
        let is_live = |source: &SourceStatus| source.state == SourceState::Live;
        !self.sources.is_empty() && self.sources.iter().all(is_live) && !self.is_truncated()
    }

    /// Returns the number of rows so far and the expected number of rows while a source is loading.
    pub fn loading(&self) -> Option<(usize, Option<u64>)> {
        let mut loading = self.sources.iter().filter_map(|source| match source.state {
            SourceState::Loading { expected } => Some(expected),
            _ => None,
        });
        let first = loading.next()?;
        // The sum is known only if each source reports its number.
        let expected = loading.fold(first, |sum, next| sum?.checked_add(next?));
        let complete = self
            .sources
            .iter()
            .filter(|source| source.state == SourceState::Live);
        let complete = complete.map(|source| source.rows).sum::<usize>() as u64;
        let expected = expected.map(|expected| expected.saturating_add(complete));
        Some((self.all, expected))
    }

    /// Returns the sources with problems.
    pub fn problems(&self) -> Vec<SourceProblem> {
        let problem = |source: &SourceStatus| {
            let (since, problem) = match &source.state {
                SourceState::Stale { since, problem } => (Some(*since), problem),
                SourceState::Failed(problem) => (None, problem),
                SourceState::Loading { .. } | SourceState::Live => return None,
            };
            Some(SourceProblem {
                cluster: source.cluster.clone(),
                namespace: source.namespace.clone(),
                since,
                problem: problem.clone(),
            })
        };
        self.sources.iter().filter_map(problem).collect()
    }

    /// Returns the names of the clusters whose rows the server dropped above its limits.
    pub fn truncated_clusters(&self) -> impl Iterator<Item = &str> {
        let truncated = self.sources.iter().filter(|source| source.truncated);
        truncated.map(|source| source.cluster.as_str())
    }

    /// Returns the note about clusters whose rows the server dropped above its limits.
    pub fn truncation_note(&self) -> Option<String> {
        let clusters: BTreeSet<&str> = self.truncated_clusters().collect();
        (!clusters.is_empty()).then(|| t().kinds.cut(&named(&clusters)))
    }

    /// Reports whether the server dropped rows above its limits.
    fn is_truncated(&self) -> bool {
        self.sources.iter().any(|source| source.truncated)
    }
}

#[cfg(test)]
mod tests {
    use drover_rows::Column;
    use drover_rows::protocol::WireRow;
    use drover_rows::samples::UsageSamples;

    use super::*;

    fn row(id: RowId, name: &str) -> WireRow {
        WireRow {
            id,
            cluster: "a".to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
            created: None,
            observed: Timestamp::UNIX_EPOCH,
            cells: vec![name.to_owned()],
            notes: Vec::new(),
            usage: None,
            reserved: drover_rows::Amounts::default(),
        }
    }

    fn source(cluster: &str, state: SourceState, rows: usize) -> SourceStatus {
        SourceStatus {
            cluster: cluster.to_owned(),
            namespace: String::new(),
            state,
            rows,
            truncated: false,
            usage: None,
        }
    }

    fn failed() -> SourceState {
        SourceState::Failed(ListProblem {
            code: 403,
            ..ListProblem::default()
        })
    }

    #[test]
    fn update_without_an_order_changes_rows_in_place() {
        let mut list = KnownList::default();
        let column = Column::new("Name".to_owned(), "string", String::new(), false);
        list.apply(Update {
            columns: Some(vec![column]),
            order: Some(vec![2, 1]),
            rows: vec![row(1, "x"), row(2, "y")],
            ..Update::default()
        });
        list.apply(Update {
            rows: vec![row(1, "z")],
            ..Update::default()
        });
        let names = |list: &KnownList| {
            let names = list.window().map(|(_, row)| row.name().to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&list), ["y", "z"]);
        list.apply(Update {
            order: Some(vec![1]),
            ..Update::default()
        });
        assert_eq!((names(&list), list.rows.len()), (vec!["z".to_owned()], 1));
    }

    #[test]
    fn changed_row_keeps_its_samples_until_new_samples_arrive() {
        let mut list = KnownList::default();
        let samples = |seconds| UsageSamples {
            seconds,
            ..UsageSamples::default()
        };
        list.apply(Update {
            order: Some(vec![1]),
            rows: vec![row(1, "x")],
            samples: vec![(1, samples(15)), (9, samples(15))],
            ..Update::default()
        });
        list.apply(Update {
            rows: vec![row(1, "y")],
            ..Update::default()
        });
        let shown = |list: &KnownList| {
            let (_, row) = list.window().next().unwrap();
            let seconds = row.samples.as_ref().unwrap().seconds;
            (row.name().to_owned(), seconds)
        };
        assert_eq!(shown(&list), ("y".to_owned(), 15));
        list.apply(Update {
            samples: vec![(1, samples(30))],
            ..Update::default()
        });
        assert_eq!(shown(&list), ("y".to_owned(), 30));
    }

    #[test]
    fn list_with_one_working_cluster_is_listed_and_names_the_others() {
        let mut list = KnownList::default();
        assert_eq!(list.state(), ListState::Loading);
        list.sources = vec![source("a", failed(), 0), source("b", SourceState::Live, 0)];
        assert_eq!(list.state(), ListState::Listed);
        let problems = list.problems();
        assert_eq!((problems.len(), problems[0].cluster.as_str()), (1, "a"));
        list.sources.pop();
        assert!(matches!(list.state(), ListState::Failed(problem) if problem.code == 403));
    }

    #[test]
    fn note_about_dropped_rows_names_each_cluster_once() {
        let truncated = |cluster: &str| SourceStatus {
            truncated: true,
            ..source(cluster, SourceState::Live, 1)
        };
        let mut list = KnownList {
            sources: vec![source("a", SourceState::Live, 1)],
            ..KnownList::default()
        };
        assert_eq!(list.truncation_note(), None);
        let dropped = ["c", "b", "b"].map(truncated);
        list.sources.extend(dropped);
        let note = list.truncation_note().unwrap();
        assert!(
            note.starts_with("The list of b, c is incomplete,"),
            "{note}"
        );
    }

    #[test]
    fn progress_counts_the_rows_of_complete_clusters() {
        let loading = |expected| SourceState::Loading { expected };
        let mut list = KnownList {
            all: 30,
            sources: vec![
                source("a", SourceState::Live, 10),
                source("b", loading(Some(100)), 20),
            ],
            ..KnownList::default()
        };
        assert_eq!(list.loading(), Some((30, Some(110))));
        list.sources.push(source("c", loading(None), 0));
        assert_eq!(list.loading(), Some((30, None)));
    }
}
