//! The table of a list of the row service.

use std::sync::Arc;

use drover_rows::Columns;
use drover_rows::protocol::ListSpec;
use drover_ui_core::action::bulk_actions;
use drover_ui_core::kind::Kind;
use drover_ui_core::list::usage::usage_note;
use drover_ui_core::list::{KnownList, ListState, SourceProblem};
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, sentence};
use drover_ui_core::selection::Selection;
use drover_ui_core::visible::ListScope;
use drover_ui_core::window::Window;
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::table::{KeyHandler, ListPart, Table};
use leptos::prelude::*;

use super::columns::{Line, columns};
use super::keys::list_keys;
use super::list::{Cut, ListProgress};
use super::selected::Selected;
use super::totals::Totals;
use super::view::View;
use crate::freshness::StaleBanner;
use crate::rows::{LiveList, RowConnection};
use crate::screens::bulk::{BulkDialogs, BulkRequest};
use crate::screens::cluster::CurrentCluster;

/// The objects of a list.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) kind: Kind,
    pub(super) spec: ListSpec,
    pub(super) scope: ListScope,
}

/// The rows that the page requests before the table is rendered.
const FIRST_ROWS: usize = 75;

/// Shows the table of a list, or the reason why the list has no rows.
#[component]
pub(super) fn ObjectTable(
    listed: Listed,
    view: View,
    /// The numbers of rows, for the bar above the list.
    totals: Totals,
    /// Renders the error of the list.
    refused: Callback<Problem, AnyView>,
    /// Renders the list without objects.
    empty: Callback<(), AnyView>,
) -> impl IntoView {
    let window = RwSignal::new((0, FIRST_ROWS));
    let spec = Memo::new(move |_| view.spec(window.get()));
    let rows = expect_context::<RowConnection>();
    let live = rows.subscribe(listed.spec.clone(), spec.into());
    if let Some(cluster) = use_context::<CurrentCluster>() {
        cluster.follows(live.freshness);
    }
    let known = live.known;
    totals.follow(live);
    let loading = Signal::derive(move || known.with(KnownList::loading));
    let state = Memo::new(move |_| state(live));
    let kind = listed.kind;
    let note = Memo::new(move |_| known.with(|known| usage_note(kind, &known.sources)));
    let listed = StoredValue::new(listed);
    let selection = RwSignal::new(Selection::default());
    let chosen = RwSignal::new(None::<BulkRequest>);
    let on_key = list_keys(kind, selection, chosen);
    view! {
        <StaleBanner freshness=live.freshness shown=Signal::derive(move || known.with(|known| known.all > 0))/>
        <ListProgress loading=loading/>
        <Cut known=known/>
        <MissingClusters live=live shown=listed.with_value(|listed| listed.scope.several_clusters)/>
        {move || note.get().map(|note| view! { <p class="muted">{note}</p> })}
        <Selected listed=listed live=live view=view selection=selection chosen=chosen/>
        <BulkDialogs kind=kind chosen=chosen on_done=move |()| {
            // The screen can be disposed before the action ends.
            let _ = selection.try_update(Selection::clear);
        }/>
        {move || match state.get() {
            TableState::Loading => view! { <Skeleton lines=10/> }.into_any(),
            TableState::Problem(problem) => refused.run(problem),
            TableState::Empty => empty.run(()),
            TableState::NoMatch => view! { <NoMatch view=view/> }.into_any(),
            TableState::Rows => {
                view! { <Rows listed=listed.get_value() live=live view=view window=window selection=selection on_key=on_key/> }.into_any()
            }
        }}
    }
}

/// The state of a list.
#[derive(Clone, PartialEq)]
pub(super) enum TableState {
    /// The first rows have not arrived.
    Loading,
    /// The list has no rows because of a problem.
    Problem(Problem),
    /// The list has no objects.
    Empty,
    /// No object matches the filters.
    NoMatch,
    /// The list has rows.
    Rows,
}

/// Returns the state of a list.
pub(super) fn state(live: LiveList) -> TableState {
    if let Some(problem) = live.refused.get() {
        return TableState::Problem(problem);
    }
    let known = live.known.read();
    match known.state() {
        _ if known.shown > 0 => TableState::Rows,
        _ if known.all > 0 => TableState::NoMatch,
        ListState::Failed(problem) => TableState::Problem(Problem::of_list(&problem)),
        ListState::Loading => TableState::Loading,
        ListState::Listed if known.loading().is_some() => TableState::Loading,
        ListState::Listed => TableState::Empty,
    }
}

#[component]
fn Rows(
    listed: Listed,
    live: LiveList,
    view: View,
    window: RwSignal<(usize, usize)>,
    selection: RwSignal<Selection>,
    on_key: KeyHandler,
) -> impl IntoView {
    let selectable = (!bulk_actions(listed.kind).is_empty()).then_some(selection);
    let Listed { kind, scope, .. } = listed;
    let known = live.known;
    let told = Memo::new(move |_| known.with(|known| Columns::clone(&known.columns)));
    let shown_columns = Memo::new(move |_| columns(&told.get(), kind, scope, view.wide.get()));
    let rows = Memo::new(move |_| {
        let lines = known.with(|known| {
            let rows = known.window();
            rows.map(|(_, row)| Line::new(Arc::clone(row))).collect()
        });
        Arc::new(lines)
    });
    let part = ListPart {
        first: Memo::new(move |_| known.with(|known| known.first)).into(),
        total: Memo::new(move |_| known.with(|known| known.shown)).into(),
        on_window: Callback::new(move |rendered: Window| {
            let wanted = rendered.to_load();
            window.maybe_update(|window| std::mem::replace(window, wanted) != wanted);
        }),
    };
    let class = move || {
        if view.wide.get() {
            "object-list wide"
        } else {
            "object-list"
        }
    };
    view! {
        <div class=class>
            <Table
                label=kind.heading
                columns=shown_columns
                rows=rows
                sorting=view.sorting
                selection=selectable
                part=part
                on_key=on_key
            />
        </div>
    }
}

/// Names the clusters whose objects the list does not contain, with the reasons.
#[component]
fn MissingClusters(live: LiveList, shown: bool) -> impl IntoView {
    let missing = Memo::new(move |_| {
        let problems = live.known.with(KnownList::problems);
        let missing = problems
            .into_iter()
            .filter(|it| shown && it.since.is_none());
        missing.collect::<Vec<_>>()
    });
    move || {
        let missing = missing.get();
        (!missing.is_empty()).then(|| {
            let line = |it: SourceProblem| {
                let message = sentence(it.problem.message);
                view! { <li>{t().kinds.missing_cluster(&it.cluster, &message)}</li> }
            };
            view! {
                <Banner mood=BannerKind::Warning>
                    <details>
                        <summary>{t().kinds.missing_clusters(missing.len())}</summary>
                        <ul>{missing.into_iter().map(line).collect_view()}</ul>
                    </details>
                </Banner>
            }
        })
    }
}

#[component]
fn NoMatch(view: View) -> impl IntoView {
    view! {
        <EmptyState reason=EmptyReason::NoMatch title=t().lists.no_match_title() advice=t().kinds.no_match()>
            <Button on_press=move |()| view.show_all()>{t().kinds.show_all()}</Button>
        </EmptyState>
    }
}
