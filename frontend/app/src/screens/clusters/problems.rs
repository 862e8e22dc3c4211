//! The problems of all clusters: clusters, nodes, certificates, capacity, workloads, pods by cause, and
//! warnings. The page also shows the last rollouts, because many problems begin with a rollout.

mod clusters;
mod rollouts;

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_rows::protocol::ViewSpec;
use drover_rows::{Content, Row};
use drover_ui_core::age::age;
use drover_ui_core::causes::{Cause, causes};
use drover_ui_core::cluster::is_connected;
use drover_ui_core::kind::Kind;
use drover_ui_core::list::ListState;
use drover_ui_core::messages::t;
use drover_ui_core::problem::sentence;
use drover_ui_core::url::with_query;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use leptos::prelude::*;

use crate::clock::Clock;
use crate::live::Clusters;
use crate::rows::{LiveList, RowConnection};
use crate::screens::head::PageHead;
use crate::screens::kinds::tone_of;
use crate::screens::title::title;
use clusters::{Reported, ReportedProblems};
use rollouts::Rollouts;

/// The filter for objects with problems.
const PROBLEMS: &str = "-state:healthy -state:idle -state:progressing";
/// The filter for events with warnings.
const WARNINGS: &str = "warning";
/// The number of objects that the page loads for each kind.
const LOADED: usize = 200;
/// The number of objects that the page shows for each cause. The list of the kind shows all objects.
const SHOWN: usize = 5;
/// The maximum number of clusters whose objects the page reads. In larger installations, the page
/// reads the clusters whose agents report problems.
const FEW_CLUSTERS: usize = 60;

/// Shows the problems of all clusters.
#[component]
pub(crate) fn Problems() -> impl IntoView {
    title(t().problems_page.title());
    let clusters = expect_context::<Clusters>();
    let names = Memo::new(move |_| clusters.items().map(|items| to_read(&items)));
    let reported = Memo::new(move |_| Reported::of(&clusters.items().unwrap_or_default()));
    let connected = Memo::new(move |_| {
        let items = clusters.items().unwrap_or_default();
        items.iter().filter(|cluster| is_connected(cluster)).count()
    });
    let complete = Memo::new(move |_| {
        let read = names.with(|names| names.as_ref().map_or(0, Vec::len));
        read == connected.get() && reported.with(Reported::is_empty)
    });
    view! {
        <div class="page">
            <PageHead title=t().problems_page.title()/>
            {move || match names.get() {
                None => view! { <Skeleton lines=8/> }.into_any(),
                Some(names) => view! {
                    <div class="problem-cards">
                        {part(names.len(), connected.get())}
                        <ReportedProblems reported=reported/>
                        <Lists clusters=names.clone() complete=complete/>
                        <Rollouts clusters=names/>
                    </div>
                }
                .into_any(),
            }}
        </div>
    }
}

/// Shows that the page reads only a part of the clusters.
fn part(read: usize, connected: usize) -> Option<AnyView> {
    let words = (read < connected).then(|| t().problems_page.part(read, connected))?;
    Some(view! { <Banner mood=BannerKind::Info>{words}</Banner> }.into_any())
}

/// Returns the names of the clusters whose objects the page reads.
fn to_read(clusters: &[Arc<ClusterView>]) -> Vec<String> {
    let connected: Vec<&Arc<ClusterView>> = clusters
        .iter()
        .filter(|cluster| is_connected(cluster))
        .collect();
    let few = connected.len() <= FEW_CLUSTERS;
    let reports = |cluster: &&&Arc<ClusterView>| {
        let pods = cluster
            .pods
            .as_ref()
            .is_some_and(|it| it.failing + it.unschedulable > 0);
        few || pods || !cluster.not_ready_nodes.is_empty()
    };
    let read = connected.iter().filter(reports).take(FEW_CLUSTERS);
    read.map(|cluster| cluster.name.clone()).collect()
}

/// The lists of the page with their filters.
fn kinds() -> [(Kind, &'static str); 7] {
    [
        (Kind::NODES, PROBLEMS),
        (Kind::DEPLOYMENTS, PROBLEMS),
        (Kind::STATEFUL_SETS, PROBLEMS),
        (Kind::DAEMON_SETS, PROBLEMS),
        (Kind::JOBS, PROBLEMS),
        (Kind::PODS, PROBLEMS),
        (Kind::EVENTS, WARNINGS),
    ]
}

#[component]
fn Lists(
    clusters: Vec<String>,
    /// True if all clusters are connected, and the page reads all clusters.
    complete: Memo<bool>,
) -> impl IntoView {
    if clusters.is_empty() {
        return ().into_any();
    }
    let rows = expect_context::<RowConnection>();
    let lists = kinds().map(|(kind, filter)| {
        let spec = kind.list_of(clusters.clone(), Vec::new());
        let sort = if kind == Kind::EVENTS {
            "last-seen"
        } else {
            ""
        };
        let view = ViewSpec {
            filter: filter.to_owned(),
            sort: sort.to_owned(),
            count: LOADED,
            ..ViewSpec::default()
        };
        let live = rows.subscribe(spec, Signal::derive(move || view.clone()));
        (kind, filter, live)
    });
    // An incomplete list can hide problems.
    let none = Memo::new(move |_| {
        let mut known = lists.iter().map(|(_, _, live)| live.known.read());
        known.all(|known| known.shown == 0 && known.is_complete())
    });
    let loading = Memo::new(move |_| {
        let mut known = lists.iter().map(|(_, _, live)| live.known.read());
        known.all(|known| known.state() == ListState::Loading)
    });
    let cards =
        lists.map(|(kind, filter, live)| view! { <Card kind=kind filter=filter live=live/> });
    view! {
        {move || loading.get().then(|| view! { <Skeleton lines=6/> })}
        {move || (none.get() && complete.get()).then(|| view! { <NoProblem/> })}
        <Incomplete lists=lists/>
        {cards.into_iter().collect_view()}
    }
    .into_any()
}

/// Names the clusters whose lists are missing, outdated or incomplete.
#[component]
fn Incomplete(lists: [(Kind, &'static str, LiveList); 7]) -> impl IntoView {
    let problems = Memo::new(move |_| {
        let mut found: Vec<(String, String)> = Vec::new();
        for (kind, _, live) in &lists {
            if let Some(problem) = live.refused.get() {
                found.push((kind.heading.to_owned(), problem.message));
            }
            for it in live.known.read().problems() {
                if !found.iter().any(|(cluster, _)| *cluster == it.cluster) {
                    found.push((it.cluster, sentence(it.problem.message)));
                }
            }
        }
        found
    });
    move || {
        let problems = problems.get();
        (!problems.is_empty()).then(|| {
            let line = |(place, message): (String, String)| {
                view! { <li>{t().kinds.missing_cluster(&place, &message)}</li> }
            };
            view! {
                <Banner mood=BannerKind::Warning>
                    <details>
                        <summary>{t().problems_page.incomplete()}</summary>
                        <ul>{problems.into_iter().map(line).collect_view()}</ul>
                    </details>
                </Banner>
            }
        })
    }
}

#[component]
fn NoProblem() -> impl IntoView {
    view! {
        <EmptyState reason=EmptyReason::Empty title=t().problems_page.none() advice=t().problems_page.none_advice()/>
    }
}

/// Shows the objects of a kind with problems, grouped by cause.
#[component]
fn Card(kind: Kind, filter: &'static str, live: LiveList) -> impl IntoView {
    let groups = Memo::new(move |_| {
        live.known.with(|known| {
            let rows: Vec<Arc<Row>> = known.window().map(|(_, row)| Arc::clone(row)).collect();
            (known.shown, causes(rows))
        })
    });
    let all = with_query(&kind.everywhere_screen(), &[("q", filter.to_owned())]);
    move || {
        let (count, groups) = groups.get();
        let all = all.clone();
        (count > 0).then(|| {
            let groups = groups
                .into_iter()
                .map(|cause| view! { <Group kind=kind cause=cause/> });
            view! {
                <section class="card">
                    <h2><a href=all>{kind.heading}</a>" "<span class="count">{count}</span></h2>
                    {groups.collect_view()}
                </section>
            }
        })
    }
}

#[component]
fn Group(kind: Kind, cause: Cause) -> impl IntoView {
    let Cause { status, rows } = cause;
    let heading = (!status.is_empty()).then(|| {
        let tone = rows.first().map(|row| tone_of(row.severity));
        tone.map(|tone| {
            view! { <h3 class="row"><Badge tone=tone words=status/><span class="muted">{rows.len()}</span></h3> }
        })
    });
    let hidden = rows.len().saturating_sub(SHOWN);
    let more =
        (hidden > 0).then(|| view! { <li class="muted">{t().problems_page.more(hidden)}</li> });
    let lines = rows
        .into_iter()
        .take(SHOWN)
        .map(|row| view! { <Line kind=kind row=row/> });
    view! { {heading}<ul class="problem-list">{lines.collect_view()}{more}</ul> }
}

#[component]
fn Line(kind: Kind, row: Arc<Row>) -> impl IntoView {
    let path = kind.object_screen(&row.cluster, row.namespace(), row.name());
    let place = match row.namespace() {
        Some(namespace) => format!("{} / {namespace}", row.cluster),
        None => row.cluster.to_string(),
    };
    let details = details(kind, &row);
    let clock = expect_context::<Clock>();
    let created = row.created;
    let time = move || created.map(|created| age(created, clock.now()));
    view! {
        <li class="problem">
            <a href=path>{row.name().to_owned()}</a>
            <span class="muted">{place}</span>
            <span class="problem-details truncate" title=details.clone()>{details.clone()}</span>
            <span class="muted figure">{time}</span>
        </li>
    }
}

/// Returns the cell with the cause: the message of an event, or the ready count of a workload.
fn details(kind: Kind, row: &Row) -> String {
    let wanted = |column: &drover_rows::Column| match kind {
        Kind::EVENTS => column.key == "message",
        _ => column.content == Content::Ready,
    };
    let place = row.columns.iter().position(wanted);
    let cell = place.and_then(|place| row.cell(place)).unwrap_or_default();
    match kind {
        Kind::EVENTS | Kind::NODES => cell.to_owned(),
        _ if cell.is_empty() => String::new(),
        _ => t().object.ready(cell),
    }
}
