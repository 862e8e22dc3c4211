//! The live list of the objects of a kind in all clusters, or in clusters that match a filter.

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_rows::Query;
use drover_ui_core::cluster::{Health, state};
use drover_ui_core::kind::Kind;
use drover_ui_core::list::suggestions::Properties;
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, sentence};
use drover_ui_core::search::SearchedCluster;
use drover_ui_core::visible::ListScope;
use drover_ui_kit::field::{Checkbox, SearchField, SuggestField};
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::NoScreen;
use super::object_table::{Listed, ObjectTable};
use super::totals::{ShownTotals, Totals};
use super::view::View;
use crate::live::Clusters;
use crate::screens::head::{Crumb, PageHead};
use crate::screens::title::title;
use crate::screens::views::ViewsMenu;

/// Shows the list of the kind that the URL selects.
#[component]
pub(crate) fn EverywherePage() -> impl IntoView {
    let params = use_params_map();
    let plural = Memo::new(move |_| params.with(|params| params.get("kind").unwrap_or_default()));
    view! {
        <div class="page">
            {move || match Kind::of_plural(&plural.get()) {
                Some(kind) => view! { <Everywhere kind=kind/> }.into_any(),
                None => view! { <NoScreen plural=plural.get()/> }.into_any(),
            }}
        </div>
    }
}

#[component]
fn Everywhere(kind: Kind) -> impl IntoView {
    title(kind.heading);
    let view = View::of_url(kind, &kind.everywhere_screen());
    let clusters = expect_context::<Clusters>();
    let names = Memo::new(move |_| {
        let query = Query::read(&view.clusters.get());
        let items = clusters.items()?;
        Some(matching(&items, &query))
    });
    let totals = Totals::new();
    let properties = Properties {
        cluster: true,
        namespace: kind.namespaced,
    };
    let place = kind.namespaced.then(|| {
        let none = Signal::derive(Vec::new);
        view! { <SuggestField label=t().labels.namespace() hint=t().kinds.all_namespaces() choices=none value=view.namespaces.chosen/> }
    });
    view! {
        <PageHead crumbs=vec![Crumb::clusters()] title=kind.heading>
            <span class="muted">{move || names.get().map(|names| t().kinds.in_clusters(names.len()))}</span>
        </PageHead>
        <div class="list-bar">
            <div class="list-clusters"><SearchField label=t().kinds.filter_clusters() hint=t().kinds.filter_clusters_hint() value=view.clusters/></div>
            {place}
            <div class="list-search"><SearchField label=t().kinds.filter(kind.heading) hint=t().kinds.filter_hint() value=view.text slash=true found=Some(totals.suggestions(view, properties))/></div>
            <ShownTotals totals=totals view=view/>
            <span class="grow"></span>
            <ViewsMenu/>
            <Checkbox label=t().kinds.wide() checked=view.wide/>
        </div>
        {move || match names.get() {
            None => view! { <Skeleton lines=10/> }.into_any(),
            Some(names) if names.is_empty() => view! { <NoCluster/> }.into_any(),
            Some(names) => {
                let chosen = view.namespaces.chosen.get();
                let namespaces = Some(chosen).filter(|it| !it.is_empty() && kind.namespaced);
                let listed = listed(kind, names, namespaces);
                view! { <SeveralClusters listed=listed view=view totals=totals/> }.into_any()
            }
        }}
    }
}

/// Returns the names of the imported clusters that match the filter.
fn matching(clusters: &[Arc<ClusterView>], query: &Query) -> Vec<String> {
    let matches = |cluster: &&Arc<ClusterView>| {
        let state = state(cluster);
        let searched = SearchedCluster {
            cluster,
            state: &state,
        };
        state.health != Health::Waiting && query.passes(&searched)
    };
    let found = clusters.iter().filter(matches);
    found.map(|cluster| cluster.name.clone()).collect()
}

fn listed(kind: Kind, clusters: Vec<String>, namespace: Option<String>) -> Listed {
    let scope = ListScope {
        several_clusters: true,
        several_namespaces: namespace.is_none(),
    };
    let spec = kind.list_of(clusters, namespace.into_iter().collect());
    Listed { kind, spec, scope }
}

#[component]
fn SeveralClusters(listed: Listed, view: View, totals: Totals) -> impl IntoView {
    let kind = listed.kind;
    let refused = move |problem: Problem| {
        let advice = t().problems.retrying(&sentence(problem.message));
        view! { <EmptyState reason=EmptyReason::Failed title=t().kinds.failed(kind.heading) advice=advice/> }
            .into_any()
    };
    let empty = move |()| {
        let title = t().kinds.empty_everywhere(kind.heading);
        view! { <EmptyState reason=EmptyReason::Empty title=title advice=t().kinds.empty_advice()/> }
            .into_any()
    };
    view! { <ObjectTable listed=listed view=view totals=totals refused=Callback::new(refused) empty=Callback::new(empty)/> }
}

#[component]
fn NoCluster() -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::NoMatch
            title=t().kinds.no_clusters()
            advice=t().kinds.no_clusters_advice()
        />
    }
}
