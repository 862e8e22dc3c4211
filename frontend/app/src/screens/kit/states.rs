//! The tab with badges, meters, banners, code, skeletons and empty states.

use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::code::Code;
use drover_ui_kit::meter::Meter;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use leptos::prelude::*;

const TONES: [(Tone, &str); 5] = [
    (Tone::Good, "ready"),
    (Tone::Warning, "2 of 3 nodes ready"),
    (Tone::Bad, "agent not connected"),
    (Tone::Busy, "waiting for its manifest"),
    (Tone::Neutral, "being deleted"),
];
const ABSENCES: [(EmptyReason, &str); 6] = [
    (EmptyReason::Empty, "No clusters yet"),
    (EmptyReason::NoMatch, "No results"),
    (EmptyReason::NoPermission, "No permission"),
    (EmptyReason::Offline, "Server offline"),
    (EmptyReason::Failed, "Request failed"),
    (EmptyReason::NotFound, "Not found"),
];
const COMMAND: &str = "drover cluster import berlin | kubectl --context berlin apply -f -";

/// Shows badges, meters, banners, code, skeletons and empty states.
#[component]
pub(super) fn States() -> impl IntoView {
    let badges = TONES.map(|(tone, words)| view! { <Badge tone=tone words=words.to_owned()/> });
    let absences = ABSENCES.map(|(reason, title)| {
        view! { <div class="card"><EmptyState reason=reason title=title advice="The cause and the next step."/></div> }
    });
    view! {
        <div class="stack">
            <div class="cards">
                <section class="card">
                    <h2>"States"</h2>
                    <div class="row">{badges.into_iter().collect_view()}</div>
                    <Meter part=Some(0.32) words="3.8 of 12 cores used".to_owned()/>
                    <Meter part=Some(0.91) words="29 of 32 GiB used".to_owned()/>
                    <Meter part=None words="unknown".to_owned()/>
                </section>
                <section class="card">
                    <h2>"Banners"</h2>
                    <Banner mood=BannerKind::Info>"A new version of the agent is being rolled out."</Banner>
                    <Banner mood=BannerKind::Warning>"The data was loaded at 14:03:59."</Banner>
                    <Banner mood=BannerKind::Error>"The name exists already. Choose another name."</Banner>
                </section>
                <section class="card">
                    <h2>"Code"</h2>
                    <Code label="Command" text=COMMAND.to_owned()/>
                </section>
                <section class="card"><h2>"Skeleton"</h2><Skeleton lines=4/></section>
            </div>
            <div class="cards">{absences.into_iter().collect_view()}</div>
        </div>
    }
}
