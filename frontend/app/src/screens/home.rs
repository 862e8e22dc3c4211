//! All clusters: what is wrong first.

mod columns;
mod view;

use std::sync::Arc;

use drover_ui_core::cluster::Health;
use drover_ui_core::search::Query;
use drover_ui_core::selection::Selection;
use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::Button;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::SearchField;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Absence, Nothing, Skeleton};
use drover_ui_kit::table::{Table, sorted};
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use crate::command::SameCommand;
use crate::freshness::{FreshnessMark, StaleBanner};
use crate::gate::Gate;
use crate::live::Clusters;
use crate::screens::labels::ManyLabels;
use crate::screens::list::{ChosenBar, Refused, What, counted, forget_gone, in_sight};
use crate::screens::title::title;
use columns::{ClusterRow, columns};
use view::View;

/// What a state means for who looks at it.
pub(crate) const fn tone(health: Health) -> Tone {
    match health {
        Health::Failing | Health::Disconnected => Tone::Bad,
        Health::Degraded => Tone::Warning,
        Health::Waiting => Tone::Busy,
        Health::Leaving => Tone::Neutral,
        Health::Ready => Tone::Good,
    }
}

type Rows = Memo<Arc<Vec<ClusterRow>>>;

/// The screen.
#[component]
pub(crate) fn Home() -> impl IntoView {
    title("Clusters");
    let clusters = expect_context::<Clusters>();
    let administers = expect_context::<Gate>().is_administrator();
    let view = View::of_url();
    let freshness = Signal::derive(move || clusters.freshness());
    let rows = Memo::new(move |_| {
        let items = clusters.items().unwrap_or_default();
        let rows = items.iter().cloned().map(ClusterRow::new).collect();
        Arc::new(sorted(rows, &columns(), view.sorting.get()))
    });
    let shown = Memo::new(move |_| {
        let (query, health) = (Query::read(&view.text.get()), view.health.get());
        let rows = rows.get();
        let passing = rows.iter().filter(|row| {
            health.is_none_or(|health| row.state.health == health)
                && query.passes(&(&*row.cluster, &row.state))
        });
        Arc::new(passing.cloned().collect::<Vec<_>>())
    });
    // Labels are administrators' to change, and nothing else is done to many at once.
    let selection = administers.then(|| RwSignal::new(Selection::default()));
    view! {
        <div class="page">
            <header class="page-head">
                <h1>"Clusters"</h1>
                <FreshnessMark freshness=freshness/>
                <span class="grow"></span>
                <div class="home-filter">
                    <SearchField
                        label="Filter clusters"
                        hint="name  env=prod  state:ready  version:1.36  -not"
                        value=view.text
                    />
                </div>
                {administers.then(|| view! { <a class="button primary" href="/import">"Import a cluster"</a> })}
            </header>
            <StaleBanner freshness=freshness shown=Signal::derive(move || clusters.items().is_some())/>
            <Tally label="Filter by state" counts=counts(rows) chosen=view.health/>
            {selection.map(|selection| view! { <Chosen rows=rows shown=shown selection=selection/> })}
            <List clusters=clusters rows=rows shown=shown view=view selection=selection/>
            <footer class="page-foot">
                <SameCommand line="drover cluster list".to_owned()/>
                <span>{move || counted(shown.with(|it| it.len()), rows.with(|it| it.len()))}</span>
            </footer>
        </div>
    }
}

/// What is chosen, and what can be done with it.
#[component]
fn Chosen(rows: Rows, shown: Rows, selection: RwSignal<Selection>) -> impl IntoView {
    let open = RwSignal::new(false);
    forget_gone(rows, selection);
    let chosen = Signal::derive(move || {
        let chosen = |row: &&ClusterRow| selection.with(|it| it.contains(&row.cluster.uid));
        let clusters = |rows: &Arc<Vec<ClusterRow>>| {
            let chosen = rows.iter().filter(chosen);
            chosen.map(|row| Arc::clone(&row.cluster)).collect()
        };
        rows.with(clusters)
    });
    view! {
        <ChosenBar selection=selection in_sight=in_sight(shown, selection)>
            <Button icon=Icon::Tag on_press=move |()| open.set(true)>"Labels…"</Button>
        </ChosenBar>
        <ManyLabels open=open clusters=chosen/>
    }
}

/// How many there are of each state; each is a filter.
fn counts(rows: Rows) -> Signal<Vec<Count<Health>>> {
    Signal::derive(move || {
        let of = |key: Health| Count {
            key,
            words: key.word(),
            tone: Some(tone(key)),
            count: rows.with(|rows| rows.iter().filter(|row| row.state.health == key).count()),
        };
        Health::ALL.map(of).into()
    })
}

#[component]
fn List(
    clusters: Clusters,
    rows: Rows,
    shown: Rows,
    view: View,
    selection: Option<RwSignal<Selection>>,
) -> impl IntoView {
    // What is there decides, not every change of it.
    let what = Memo::new(move |_| {
        let (all, some) = (rows.with(|it| it.len()), shown.with(|it| it.len()));
        What::of(clusters.items().is_some(), clusters.freshness(), all, some)
    });
    view! {
        <div class="home-list">
            {move || match what.get() {
                What::Loading => view! { <Skeleton lines=8/> }.into_any(),
                What::Problem(problem) => view! { <Refused problem=problem things="clusters"/> }.into_any(),
                What::Empty => view! { <NoClusters/> }.into_any(),
                What::NoMatch => view! { <NoMatch view=view/> }.into_any(),
                What::Rows => view! {
                    <Table
                        label="Clusters"
                        columns=columns()
                        rows=shown
                        sorting=view.sorting
                        selection=selection
                    />
                }.into_any(),
            }}
        </div>
    }
}

#[component]
fn NoClusters() -> impl IntoView {
    let gate = expect_context::<Gate>();
    if gate.is_administrator() {
        view! {
            <Nothing
                why=Absence::Empty
                title="No clusters yet"
                advice="Import the first one here, or on the command line: it prints a manifest, and kubectl applies it."
            >
                <Code label="Command" text="drover cluster import my-cluster | kubectl apply -f -".to_owned()/>
            </Nothing>
        }
        .into_any()
    } else {
        view! {
            <Nothing
                why=Absence::NoPermission
                title="No clusters for you yet"
                advice="You see a cluster here as soon as an owner of it, or an administrator, gives you a role in it or in one of its projects. Ask one."
            />
        }
        .into_any()
    }
}

#[component]
fn NoMatch(view: View) -> impl IntoView {
    view! {
        <Nothing why=Absence::NoMatch title="No cluster fits" advice="Fewer words, or another state, show more.">
            <Button on_press=move |()| view.show_all()>"Show all clusters"</Button>
        </Nothing>
    }
}
