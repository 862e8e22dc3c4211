//! The live list of the objects of a kind.

use std::sync::Arc;

use drover_ui_core::column::Columns;
use drover_ui_core::feed::{Progress, Rows};
use drover_ui_core::kind::Kind;
use drover_ui_core::kubectl;
use drover_ui_core::messages::t;
use drover_ui_core::namespaces::Scope;
use drover_ui_core::quantity::count;
use drover_ui_core::row::{Row, sort};
use drover_ui_core::search::Query;
use drover_ui_core::severity::Severity;
use drover_ui_core::source::Source;
use drover_ui_core::visible::order;
use drover_ui_kit::button::Button;
use drover_ui_kit::field::Checkbox;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::table::Table;
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use super::columns::{Line, columns};
use super::filters::Filters;
use super::namespaces::ChooseNamespace;
use super::refused::Refused;
use super::tone_of;
use super::view::View;
use crate::command::CliCommand;
use crate::freshness::StaleBanner;
use crate::reflector::Store;
use crate::screens::cluster::CurrentCluster;
use crate::screens::list::{ListState, counted};

/// Shows the list with its filters.
#[component]
pub(super) fn KindList(kind: Kind, cluster: String) -> impl IntoView {
    let view = View::of_url(kind, &cluster);
    let scope = view.namespaces.scope();
    let cluster: Arc<str> = cluster.into();
    let of = Arc::clone(&cluster);
    let place = kind.namespaced.then_some(view.namespaces.chosen);
    let command = Signal::derive(move || {
        let scope = scope.get();
        let namespace = scope.namespace();
        kubectl::list(kind, &of, namespace.map(|it| &**it), view.wide.get())
    });
    let words = RwSignal::new(String::new());
    view! {
        <div class="list-bar">
            <Filters
                label=t().kinds.filter(kind.heading)
                hint=t().kinds.filter_hint()
                text=view.text
                namespace=place
            />
            <Checkbox label=t().kinds.wide() checked=view.wide/>
        </div>
        {move || {
            let scope = scope.get();
            if let Scope::Choose(names) = scope {
                words.set(String::new());
                return view! { <ChooseNamespace namespaces=view.namespaces names=names/> }.into_any();
            }
            let namespace = scope.namespace().cloned();
            let listed = Listed { kind, cluster: Arc::clone(&cluster), namespace };
            view! { <List listed=listed view=view words=words/> }.into_any()
        }}
        <footer class="page-foot">
            <CliCommand line=command/>
            <span>{words}</span>
        </footer>
    }
}

/// The kind and the namespaces of the list.
#[derive(Clone)]
struct Listed {
    kind: Kind,
    cluster: Arc<str>,
    namespace: Option<Arc<str>>,
}

type Live = Store<Arc<Row>>;
type Lines = Memo<Arc<Vec<Line>>>;

#[component]
fn List(listed: Listed, view: View, words: RwSignal<String>) -> impl IntoView {
    let source = Source::rows(listed.kind, &listed.cluster, listed.namespace.as_deref());
    let live = Live::begin::<Rows>(source);
    let freshness = Signal::derive(move || live.freshness());
    expect_context::<CurrentCluster>().follows(freshness);
    let columns = Memo::new(move |_| {
        let items = live.items().unwrap_or_default();
        items.first().map(|row| Arc::clone(&row.columns))
    });
    let rows = sorted(live, columns, view);
    let shown = passing(rows, view);
    Effect::new(move || {
        let (shown, all) = (shown.with(|it| it.len()), rows.with(|it| it.len()));
        words.set(counted(shown, all));
    });
    let list_state = Memo::new(move |_| {
        let (all, some) = (rows.with(|it| it.len()), shown.with(|it| it.len()));
        ListState::of(live.is_known(), live.freshness(), all, some)
    });
    let place = StoredValue::new(listed);
    view! {
        <StaleBanner freshness=freshness shown=Signal::derive(move || live.is_known())/>
        <ListProgress progress=Signal::derive(move || live.progress())/>
        <Cut
            cut=Signal::derive(move || live.progress().cut)
            words=t().kinds.cut()
        />
        <Tally label=t().labels.filter_by_state() counts=counts(rows) chosen=view.severity/>
        {move || match list_state.get() {
            ListState::Loading => view! { <Skeleton lines=10/> }.into_any(),
            ListState::Problem(problem) => {
                let listed = place.get_value();
                let namespace = listed.namespace.as_deref().map(str::to_owned);
                view! { <Refused problem=problem kind=listed.kind namespace=namespace/> }.into_any()
            }
            ListState::Empty => view! { <Empty listed=place.get_value()/> }.into_any(),
            ListState::NoMatch => view! { <NoMatch view=view/> }.into_any(),
            ListState::Rows => view! { <Lines listed=place.get_value() told=columns shown=shown view=view/> }.into_any(),
        }}
    }
}

/// Returns the sorted rows. A change of the text filter does not sort the rows again.
fn sorted(live: Live, columns: Memo<Option<Columns>>, view: View) -> Lines {
    Memo::new(move |_| {
        let (items, sorting) = (live.items().unwrap_or_default(), view.sorting.get());
        let order = order(&columns.get().unwrap_or_default(), &sorting.column);
        let sorted = sort(&items, order, sorting.descending).into_iter();
        Arc::new(sorted.map(Line).collect())
    })
}

fn passing(rows: Lines, view: View) -> Lines {
    Memo::new(move |_| {
        let (query, severity) = (Query::read(&view.text.get()), view.severity.get());
        let rows = rows.get();
        if query.is_empty() && severity.is_none() {
            return rows;
        }
        let passing = rows.iter().filter(|row| {
            severity.is_none_or(|severity| row.0.severity == severity) && query.passes(&*row.0)
        });
        Arc::new(passing.cloned().collect())
    })
}

/// Counts the rows per severity. The page shows the counts above the list.
fn counts(rows: Lines) -> Signal<Vec<Count<Severity>>> {
    let counts = Memo::new(move |_| {
        let of = |severity: Severity| Count {
            key: severity,
            words: t().states.severity(severity),
            tone: Some(tone_of(severity)),
            count: rows.with(|rows| rows.iter().filter(|row| row.0.severity == severity).count()),
        };
        Severity::ALL.map(of).to_vec()
    });
    counts.into()
}

/// Shows the progress of the initial list.
#[component]
pub(super) fn ListProgress(progress: Signal<Progress>) -> impl IntoView {
    move || {
        let Progress { read, about, .. } = progress.get();
        let read = read?;
        let words = match about {
            Some(about) => t().kinds.read_of(&count(read), &count(about)),
            None => t().kinds.read_so_far(&count(read)),
        };
        let bar = about.map(|about| {
            view! { <progress max=about.to_string() value=read.to_string() aria-hidden="true"></progress> }
        });
        Some(view! { <p class="loading-progress" role="status">{bar}{words}</p> })
    }
}

#[component]
fn Lines(listed: Listed, told: Memo<Option<Columns>>, shown: Lines, view: View) -> impl IntoView {
    let kind = listed.kind;
    let all_namespaces = listed.namespace.is_none();
    let shown_columns = Memo::new(move |_| {
        let told = told.get().unwrap_or_default();
        columns(
            &told,
            kind,
            &listed.cluster,
            all_namespaces,
            view.wide.get(),
        )
    });
    let class = move || {
        if view.wide.get() {
            "object-list wide"
        } else {
            "object-list"
        }
    };
    view! {
        <div class=class>
            {move || view! {
                <Table
                    label=kind.heading
                    columns=shown_columns.get()
                    rows=shown
                    sorting=view.sorting
                />
            }}
        </div>
    }
}

#[component]
fn Empty(listed: Listed) -> impl IntoView {
    let things = listed.kind.heading;
    let (place, advice) = match &listed.namespace {
        Some(namespace) => (&**namespace, t().kinds.empty_namespace_advice()),
        None => (&*listed.cluster, t().kinds.empty_advice()),
    };
    let title = t().kinds.empty(things, place);
    view! { <EmptyState reason=EmptyReason::Empty title=title advice=advice/> }
}

#[component]
fn NoMatch(view: View) -> impl IntoView {
    view! {
        <EmptyState reason=EmptyReason::NoMatch title=t().lists.no_match_title() advice=t().kinds.no_match()>
            <Button on_press=move |()| view.show_all()>{t().kinds.show_all()}</Button>
        </EmptyState>
    }
}

/// Shows a notice that the list is truncated.
#[component]
pub(super) fn Cut(
    /// True if the list is truncated.
    cut: Signal<bool>,
    /// The text of the notice.
    words: &'static str,
) -> impl IntoView {
    move || {
        cut.get()
            .then(|| view! { <Banner mood=BannerKind::Info>{words}</Banner> })
    }
}
