//! Live lists of Kubernetes objects by kind, and the list of events.

mod columns;
mod filters;
mod list;
mod namespaces;
mod refused;
mod timeline;
mod view;

use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::severity::Severity;
use drover_ui_kit::badge::Tone;
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use crate::screens::cluster::{ClusterFrame, CurrentCluster};
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
    let kind = Memo::new(move |_| Kind::of_plural(&plural.get()));
    let screen = Signal::derive(move || kind.get().map(|kind| kind.heading.to_owned()));
    view! {
        <ClusterFrame screen=screen>
            {move || {
                // The list is created again for another cluster or kind.
                let cluster = expect_context::<CurrentCluster>().name.get();
                match kind.get() {
                    None => view! { <NoScreen plural=plural.get()/> }.into_any(),
                    Some(Kind::EVENTS) => view! { <Timeline cluster=cluster/> }.into_any(),
                    Some(kind) => view! { <KindList kind=kind cluster=cluster/> }.into_any(),
                }
            }}
        </ClusterFrame>
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
