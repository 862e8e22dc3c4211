//! Live lists of Kubernetes objects by kind, and the list of events.

mod columns;
mod everywhere;
mod filters;
mod keys;
mod list;
mod namespaces;
mod object_table;
mod refused;
mod selected;
mod timeline;
mod totals;
mod view;

use drover_rows::Severity;
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_kit::badge::Tone;
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use crate::screens::cluster::{ClusterFrame, ClusterHead, ClusterScreen, CurrentCluster};
use crate::served_kinds::{KindOfUrl, ServedKinds};
pub(crate) use everywhere::EverywherePage;
use list::KindList;
use timeline::Timeline;

/// Returns the badge color for a severity.
pub(crate) const fn tone_of(severity: Severity) -> Tone {
    match severity {
        Severity::Failing => Tone::Bad,
        Severity::Degraded => Tone::Warning,
        Severity::Progressing => Tone::Busy,
        Severity::Healthy => Tone::Good,
        Severity::Idle => Tone::Neutral,
    }
}

/// Shows the list of the kind that the URL selects.
#[component]
pub(crate) fn KindPage() -> impl IntoView {
    let params = use_params_map();
    let plural = Memo::new(move |_| params.with(|params| params.get("kind").unwrap_or_default()));
    let served = expect_context::<ServedKinds>();
    let kind = Memo::new(move |_| served.of_url(&plural.get()));
    let screen = Signal::derive(move || match kind.get() {
        KindOfUrl::Known(kind) => ClusterScreen::Of(kind.heading.to_owned()),
        KindOfUrl::Unknown | KindOfUrl::NotServed | KindOfUrl::Failed => {
            ClusterScreen::Of(plural.get())
        }
    });
    view! {
        <ClusterFrame>
            <ClusterHead screen=screen/>
            {move || {
                // The list is created again for another cluster or kind.
                let cluster = expect_context::<CurrentCluster>().name.get();
                match kind.get() {
                    KindOfUrl::Unknown => view! { <Skeleton lines=10/> }.into_any(),
                    KindOfUrl::Failed => view! { <NoDiscovery/> }.into_any(),
                    KindOfUrl::NotServed => view! { <NoScreen plural=plural.get()/> }.into_any(),
                    KindOfUrl::Known(Kind::EVENTS) => view! { <Timeline cluster=cluster/> }.into_any(),
                    KindOfUrl::Known(kind) => view! { <KindList kind=kind cluster=cluster/> }.into_any(),
                }
            }}
        </ClusterFrame>
    }
}

/// Shows that the page cannot load the kinds of the cluster.
#[component]
pub(crate) fn NoDiscovery() -> impl IntoView {
    let served = expect_context::<ServedKinds>();
    move || {
        let message = served.problem().map(|problem| problem.message);
        let advice = t().problems.retrying(&message.unwrap_or_default());
        view! { <EmptyState reason=EmptyReason::Failed title=t().navigation.failed() advice=advice/> }
    }
}

#[component]
fn NoScreen(plural: String) -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::NotFound
            title=t().kinds.no_screen(&plural)
            advice=t().kinds.no_screen_advice()
        />
    }
}
