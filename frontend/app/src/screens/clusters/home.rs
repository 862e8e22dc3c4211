//! The list of clusters, failing clusters first.

mod columns;
mod summary;

use std::sync::Arc;

use drover_rows::Query;
use drover_ui_core::cluster::Health;
use drover_ui_core::messages::{Noun, t};
use drover_ui_core::rights::RequiredRight;
use drover_ui_core::search::SearchedCluster;
use drover_ui_core::selection::Selection;
use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::Button;
use drover_ui_kit::code::Code;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use crate::live::Clusters;
use crate::screens::labels::ManyLabels;
use crate::screens::list::{
    ChosenBar, Contents, Filter, ListKind, ListScreen, Rows, View, forget_gone, in_sight,
};
use crate::screens::title::title;
use crate::session::Session;
use columns::{BY_DEFAULT, ClusterRow, columns};
use summary::Summary;

/// Returns the badge color for a cluster state.
pub(crate) const fn tone(health: Health) -> Tone {
    match health {
        Health::Failing | Health::Disconnected => Tone::Bad,
        Health::Degraded => Tone::Warning,
        Health::Waiting => Tone::Busy,
        Health::Deleting => Tone::Neutral,
        Health::Ready => Tone::Good,
    }
}

const SCREEN: &str = "/";

/// The kind of the listed objects, and the number of placeholder lines during loading.
const CLUSTERS: ListKind = ListKind {
    noun: Noun::Clusters,
    lines: 8,
};

/// Shows the list of clusters.
#[component]
pub(crate) fn Home() -> impl IntoView {
    title(t().lists.heading(CLUSTERS.noun));
    let rights = expect_context::<Session>().rights();
    let chosen = RwSignal::new(None);
    let words = Health::ALL.map(|it| (it, it.label()));
    let filters = vec![Filter::one_of("state", chosen, words)];
    let view = View::of_url(SCREEN, &columns(), BY_DEFAULT, filters);
    let contents = contents(view, chosen);
    let (rows, shown) = (contents.rows, contents.shown);
    // The only action on several clusters is the change of labels.
    let selection = rights
        .may_change_clusters
        .then(|| RwSignal::new(Selection::default()));
    let import = move || {
        if rights.may_import_clusters {
            return view! { <a class="button primary" href="/import">{t().home.import()}</a> }
                .into_any();
        }
        let missing = RequiredRight::ImportClusters.unless(false);
        view! { <Button missing=missing>{t().home.import()}</Button> }.into_any()
    };
    view! {
        <ListScreen kind=CLUSTERS contents=contents command="drover cluster list" action=import empty=NoClusters selection=selection>
            <Summary/>
            <Tally label=t().labels.filter_by_state() counts=counts(rows) chosen=chosen/>
            {selection.map(|selection| view! { <Chosen rows=rows shown=shown selection=selection/> })}
        </ListScreen>
    }
}

fn contents(view: View, chosen: RwSignal<Option<Health>>) -> Contents<ClusterRow> {
    let clusters = expect_context::<Clusters>();
    let rows = move || {
        let items = clusters.items().unwrap_or_default();
        items.iter().cloned().map(ClusterRow::new).collect()
    };
    let passing = move |typed: String| {
        let (query, health) = (Query::read(&typed), chosen.get());
        move |row: &ClusterRow| {
            health.is_none_or(|health| row.state.health == health)
                && query.passes(&SearchedCluster {
                    cluster: &row.cluster,
                    state: &row.state,
                })
        }
    };
    Contents::new(clusters, view, columns(), rows, passing)
}

/// Shows the bar with actions on the selected clusters.
#[component]
fn Chosen(
    rows: Rows<ClusterRow>,
    shown: Rows<ClusterRow>,
    selection: RwSignal<Selection>,
) -> impl IntoView {
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
            <Button icon=Icon::Tag on_press=move |()| open.set(true)>{t().cluster_labels.labels()}</Button>
        </ChosenBar>
        <ManyLabels open=open clusters=chosen/>
    }
}

/// Counts the clusters per state. Each count is also a filter.
fn counts(rows: Rows<ClusterRow>) -> Signal<Vec<Count<Health>>> {
    Signal::derive(move || {
        let of = |key: Health| Count {
            key,
            words: t().cluster_states.health(key),
            tone: Some(tone(key)),
            count: rows.with(|rows| rows.iter().filter(|row| row.state.health == key).count()),
        };
        Health::ALL.map(of).into()
    })
}

#[component]
fn NoClusters() -> impl IntoView {
    let session = expect_context::<Session>();
    if session.rights().may_import_clusters {
        view! {
            <EmptyState
                reason=EmptyReason::Empty
                title=t().home.empty()
                advice=t().home.empty_advice()
            >
                <Code label=t().labels.command() text="drover cluster import my-cluster | kubectl apply -f -".to_owned()/>
            </EmptyState>
        }
        .into_any()
    } else {
        view! {
            <EmptyState
                reason=EmptyReason::NoPermission
                title=t().home.no_role()
                advice=t().home.no_role_advice()
            />
        }
        .into_any()
    }
}
