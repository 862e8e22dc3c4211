//! All clusters: what is wrong first.

mod columns;
mod view;

use std::sync::Arc;

use drover_ui_core::cluster::Health;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::search::Query;
use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::Button;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::SearchField;
use drover_ui_kit::notice::{Absence, Nothing, Skeleton};
use drover_ui_kit::table::{Table, sorted};
use leptos::prelude::*;

use crate::command::SameCommand;
use crate::freshness::{Freshness, FreshnessMark, StaleBanner};
use crate::gate::Gate;
use crate::live::Clusters;
use crate::title::title;
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
            <Tally rows=rows view=view/>
            <List clusters=clusters rows=rows shown=shown view=view/>
            <footer class="page-foot">
                <SameCommand line="drover cluster list".to_owned()/>
                <span>{move || counted(shown.with(|it| it.len()), rows.with(|it| it.len()))}</span>
            </footer>
        </div>
    }
}

fn counted(shown: usize, all: usize) -> String {
    match (shown, all) {
        (_, 0) => String::new(),
        (shown, all) if shown == all => format!("{all} in all"),
        (shown, all) => format!("{shown} of {all}"),
    }
}

/// How many there are of each state; each is a filter.
#[component]
fn Tally(rows: Memo<Arc<Vec<ClusterRow>>>, view: View) -> impl IntoView {
    let counts = Memo::new(move |_| {
        rows.with(|rows| {
            Health::ALL.map(|health| rows.iter().filter(|row| row.state.health == health).count())
        })
    });
    let buttons = move || {
        let counted = Health::ALL.into_iter().zip(counts.get());
        counted
            .filter(|(health, count)| *count > 0 || view.health.get() == Some(*health))
            .map(|(health, count)| {
                let pressed = move || (view.health.get() == Some(health)).to_string();
                let press = move |_| {
                    view.health.update(|chosen| {
                        *chosen = Some(health).filter(|health| *chosen != Some(*health));
                    });
                };
                view! {
                    <button type="button" aria-pressed=pressed on:click=press>
                        <span class=format!("dot {}", tone(health).class()) aria-hidden="true"></span>
                        <b>{count}</b>
                        {health.word()}
                    </button>
                }
            })
            .collect_view()
    };
    view! { <div class="tally" role="group" aria-label="Filter by state">{buttons}</div> }
}

#[component]
fn List(
    clusters: Clusters,
    rows: Memo<Arc<Vec<ClusterRow>>>,
    shown: Memo<Arc<Vec<ClusterRow>>>,
    view: View,
) -> impl IntoView {
    // What is there decides, not every change of it.
    let what = Memo::new(move |_| match (clusters.items(), clusters.freshness()) {
        (None, Freshness::Stale { problem, .. }) => What::Problem(problem),
        (None, _) => What::Loading,
        _ if rows.with(|it| it.is_empty()) => What::Empty,
        _ if shown.with(|it| it.is_empty()) => What::NoMatch,
        _ => What::Rows,
    });
    view! {
        <div class="home-list">
            {move || match what.get() {
                What::Loading => view! { <Skeleton lines=8/> }.into_any(),
                What::Problem(problem) => view! { <Refused problem=problem/> }.into_any(),
                What::Empty => view! { <NoClusters/> }.into_any(),
                What::NoMatch => view! { <NoMatch view=view/> }.into_any(),
                What::Rows => view! {
                    <Table label="Clusters" columns=columns() rows=shown sorting=view.sorting/>
                }.into_any(),
            }}
        </div>
    }
}

#[derive(Clone, PartialEq)]
enum What {
    Loading,
    Problem(Problem),
    Empty,
    NoMatch,
    Rows,
}

#[component]
fn Refused(problem: Problem) -> impl IntoView {
    let (why, title) = match problem.kind {
        ProblemKind::Offline => (Absence::Offline, "The server cannot be reached"),
        ProblemKind::Forbidden => (Absence::NoPermission, "You may not see the clusters"),
        _ => (Absence::Failed, "The clusters cannot be listed"),
    };
    let advice = format!("{} The page keeps trying.", problem.message);
    view! { <Nothing why=why title=title advice=advice/> }
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
                advice="You see a cluster here as soon as an administrator gives you a role in it. Ask one."
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
