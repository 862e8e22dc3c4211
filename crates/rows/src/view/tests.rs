//! Tests of views with random changes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::column::{Column, Columns};
use crate::row::RowContent;
use crate::sent::SentWindow;

fn columns() -> Columns {
    let column = |name: &str| Column::new(name.to_owned(), "string", String::new(), false);
    ["Name", "Status", "Restarts"].map(column).into()
}

/// The content of a generated row.
type Cells = (usize, u8);

fn row(columns: &Columns, name: &str, (status, restarts): Cells) -> Row {
    let status = ["Running", "Error", "Pending", "Completed"][status % 4];
    let content = RowContent {
        namespace: format!("n{}", name.len() % 2),
        name: name.to_owned(),
        cells: vec![name.to_owned(), status.to_owned(), restarts.to_string()],
        ..RowContent::default()
    };
    Row::new(
        "c".into(),
        Arc::clone(columns),
        content,
        Timestamp::UNIX_EPOCH,
    )
}

/// The rows of a list with the latest versions, by name.
#[derive(Default)]
struct Model {
    items: BTreeMap<String, Arc<Item>>,
    ids: BTreeMap<String, RowId>,
    version: u64,
}

impl Model {
    fn set(&mut self, columns: &Columns, name: &str, cells: Option<Cells>) -> Change {
        self.version += 1;
        let next = self.ids.len() as RowId;
        let id = *self.ids.entry(name.to_owned()).or_insert(next);
        let new = cells.map(|cells| {
            Arc::new(Item {
                id,
                version: self.version,
                row: row(columns, name, cells),
            })
        });
        let old = match &new {
            Some(item) => self.items.insert(name.to_owned(), Arc::clone(item)),
            None => self.items.remove(name),
        };
        Change { old, new }
    }

    fn items(&self) -> Vec<Arc<Item>> {
        self.items.values().cloned().collect()
    }
}

/// Returns the rows that a page shows after it has applied all updates.
fn versions(rows: &[Arc<Item>]) -> Vec<(RowId, u64)> {
    rows.iter().map(|item| (item.id, item.version)).collect()
}

fn spec() -> impl Strategy<Value = ViewSpec> {
    let sort = prop::sample::select(vec!["", "name", "status", "restarts", "namespace", "gone"]);
    let filter = prop::sample::select(vec!["", "a", "-err", "state:fail", "namespace:n1"]);
    let severity = prop::option::of(prop::sample::select(Severity::ALL.to_vec()));
    (
        sort,
        filter,
        severity,
        any::<bool>(),
        0_usize..12,
        1_usize..6,
    )
        .prop_map(
            |(sort, filter, severity, descending, first, count)| ViewSpec {
                filter: filter.to_owned(),
                severity,
                sort: sort.to_owned(),
                descending,
                first,
                count,
            },
        )
}

/// A step of a test: a change of rows in one update, or a change of the view.
#[derive(Clone, Debug)]
enum Step {
    Rows(Vec<(String, Option<Cells>)>),
    View(ViewSpec),
}

fn step() -> impl Strategy<Value = Step> {
    let change = (
        "[a-c0-2]{1,3}",
        prop::option::weighted(0.8, (0_usize..4, 0_u8..3)),
    );
    prop_oneof![
        4 => prop::collection::vec(change, 1..8).prop_map(Step::Rows),
        1 => spec().prop_map(Step::View),
    ]
}

proptest! {
    #[test]
    fn window_of_the_page_equals_the_window_of_a_sorted_full_list(
        first in spec(),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let columns = columns();
        let (mut model, mut view) = (Model::default(), View::new(&first, &[]));
        let (mut spec, mut sent) = (first, SentWindow::default());
        let mut page: BTreeMap<RowId, u64> = BTreeMap::new();
        let mut order: Vec<RowId> = Vec::new();
        for step in steps {
            match step {
                Step::View(new) => {
                    view.set(&new);
                    spec = new;
                }
                Step::Rows(changes) => {
                    let changes: Vec<Change> = changes
                        .iter()
                        .map(|(name, cells)| model.set(&columns, name, *cells))
                        .collect();
                    view.apply(&changes);
                }
            }
            let full = View::new(&spec, &model.items());
            prop_assert_eq!(versions(view.rows()), versions(full.rows()));
            prop_assert_eq!(view.severities(), full.severities());
            prop_assert_eq!(view.len(), model.items.len());
            // The page keeps only the rows of its window.
            let new = sent.advance(&view, &spec);
            order = new.order.unwrap_or(order);
            page.extend(new.items.iter().map(|item| (item.id, item.version)));
            page.retain(|id, _| order.contains(id));
            let shown: Vec<_> = order.iter().map(|id| (*id, page[id])).collect();
            let end = (new.first + spec.count).min(full.rows().len());
            prop_assert_eq!(shown, versions(&full.rows()[new.first..end]));
        }
    }

    #[test]
    fn many_changes_have_the_same_result_as_single_changes(
        spec in spec(),
        changes in prop::collection::vec(("[a-c]{1,4}", prop::option::of((0_usize..4, 0_u8..3))), 70..200),
    ) {
        let columns = columns();
        let mut model = Model::default();
        let changes: Vec<Change> =
            changes.iter().map(|(name, cells)| model.set(&columns, name, *cells)).collect();
        let (mut once, mut single) = (View::new(&spec, &[]), View::new(&spec, &[]));
        once.apply(&changes);
        for change in changes {
            single.apply(&[change]);
        }
        prop_assert_eq!(versions(once.rows()), versions(single.rows()));
    }
}

#[test]
fn window_after_the_last_row_moves_to_the_last_rows() {
    let columns = columns();
    let mut model = Model::default();
    for name in ["a", "b", "c"] {
        model.set(&columns, name, Some((0, 0)));
    }
    let spec = ViewSpec {
        first: 10,
        count: 2,
        ..ViewSpec::default()
    };
    let view = View::new(&spec, &model.items());
    let new = SentWindow::default().advance(&view, &spec);
    assert_eq!((new.first, new.items.len()), (1, 2));
}
