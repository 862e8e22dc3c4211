//! The live list of the objects of a kind in a cluster.

use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::kind::Kind;
use drover_ui_core::kubectl;
use drover_ui_core::list::KnownList;
use drover_ui_core::list::suggestions::Properties;
use drover_ui_core::messages::t;
use drover_ui_core::namespaces::listed;
use drover_ui_core::problem::Problem;
use drover_ui_core::quantity::count;
use drover_ui_core::visible::ListScope;
use drover_ui_kit::field::Checkbox;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState};
use leptos::prelude::*;

use super::filters::Filters;
use super::object_table::{Listed, ObjectTable};
use super::refused::Refused;
use super::totals::{ShownTotals, Totals};
use super::view::View;
use crate::command::CommandButton;
use crate::screens::cluster::CurrentCluster;
use crate::screens::views::ViewsMenu;

/// Shows the list with its filters.
#[component]
pub(super) fn KindList(kind: Kind, cluster: String) -> impl IntoView {
    let view = View::of_url(kind, &kind.list_screen(&cluster));
    let in_sight = expect_context::<CurrentCluster>();
    let namespaces = Memo::new(move |_| {
        let chosen = view.namespaces.chosen.get();
        if kind.namespaced {
            let rights = |cluster: &Arc<ClusterView>| listed(&chosen, &cluster.rights);
            in_sight.cluster.with(rights)
        } else {
            Vec::new()
        }
    });
    let cluster: Arc<str> = cluster.into();
    let place = kind.namespaced.then_some(view.namespaces.chosen);
    let of = Arc::clone(&cluster);
    let command = Signal::derive(move || {
        let chosen = view.namespaces.chosen.get();
        let namespace = Some(chosen.as_str()).filter(|chosen| !chosen.is_empty());
        kubectl::list(kind, &of, namespace, view.wide.get())
    });
    let totals = Totals::new();
    let properties = Properties {
        cluster: false,
        namespace: kind.namespaced,
    };
    view! {
        <div class="list-bar">
            <Filters
                label=t().kinds.filter(kind.heading)
                hint=t().kinds.filter_hint()
                text=view.text
                found=Some(totals.suggestions(view, properties))
                namespace=place
            />
            <ShownTotals totals=totals view=view/>
            <span class="grow"></span>
            <ViewsMenu/>
            <Checkbox label=t().kinds.wide() checked=view.wide/>
            <CommandButton line=command/>
        </div>
        {move || {
            let namespaces = namespaces.get();
            let scope = ListScope {
                several_clusters: false,
                several_namespaces: namespaces.len() != 1,
            };
            let spec = kind.list_of(vec![cluster.to_string()], namespaces);
            view! { <OneCluster listed=Listed { kind, spec, scope } view=view totals=totals/> }
        }}
    }
}

/// Shows the list of one cluster, with the errors of this cluster.
#[component]
fn OneCluster(listed: Listed, view: View, totals: Totals) -> impl IntoView {
    let (kind, namespace) = (listed.kind, only(&listed.spec.namespaces));
    let cluster = listed.spec.clusters.first().cloned().unwrap_or_default();
    let things = namespace.clone();
    let refused = move |problem: Problem| {
        view! { <Refused problem=problem kind=kind namespace=namespace.clone()/> }.into_any()
    };
    let empty = move |()| {
        let (place, advice) = match &things {
            Some(namespace) => (namespace, t().kinds.empty_namespace_advice()),
            None => (&cluster, t().kinds.empty_advice()),
        };
        let title = t().kinds.empty(kind.heading, place);
        view! { <EmptyState reason=EmptyReason::Empty title=title advice=advice/> }.into_any()
    };
    view! { <ObjectTable listed=listed view=view totals=totals refused=Callback::new(refused) empty=Callback::new(empty)/> }
}

fn only(namespaces: &[String]) -> Option<String> {
    match namespaces {
        [namespace] => Some(namespace.clone()),
        _ => None,
    }
}

/// Shows the progress of the initial list.
#[component]
pub(super) fn ListProgress(
    /// The number of rows read, and the expected number; `None` after the list is complete.
    loading: Signal<Option<(usize, Option<u64>)>>,
) -> impl IntoView {
    move || {
        // A list of a few rows is complete before a user can read the progress.
        let (read, about) = loading.get().filter(|(read, _)| *read > 0)?;
        let read = read as u64;
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

/// Names the clusters of which the list is incomplete.
#[component]
pub(super) fn Cut(known: RwSignal<KnownList>) -> impl IntoView {
    let note = Memo::new(move |_| known.with(KnownList::truncation_note));
    move || {
        let note = note.get();
        note.map(|note| view! { <Banner mood=BannerKind::Info>{note}</Banner> })
    }
}
