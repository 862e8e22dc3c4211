//! Containers that crash, above everything else of a page.

use drover_ui_core::object::Crash;
use drover_ui_kit::notice::{Banner, Mood};
use leptos::prelude::*;
use leptos_router::components::A;

use super::words::{Age, Link};

/// More would push the page itself out of view; the list of pods has them all.
const SHOWN: usize = 3;

/// The crashes; `of_pod` when the page is about their pod.
#[component]
pub(super) fn Crashes(
    crashes: Signal<Vec<Crash>>,
    cluster: StoredValue<String>,
    of_pod: bool,
) -> impl IntoView {
    move || {
        let crashes = crashes.get();
        let more = crashes.len().saturating_sub(SHOWN);
        let rows = crashes
            .into_iter()
            .take(SHOWN)
            .map(|crash| view! { <OneCrash crash=crash cluster=cluster of_pod=of_pod/> });
        let rows = rows.collect_view();
        let more = (more > 0).then(|| {
            let place = if of_pod { "containers" } else { "pods" };
            view! { <p class="soft">{format!("{more} more containers crash. See the {place} below.")}</p> }
        });
        view! { {rows}{more} }
    }
}

#[component]
fn OneCrash(crash: Crash, cluster: StoredValue<String>, of_pod: bool) -> impl IntoView {
    let log = cluster.with_value(|cluster| crash.log_screen(cluster));
    let words = if crash.previous {
        "Open previous log"
    } else {
        "Open log"
    };
    let log = log.map(|path| view! { <A href=path attr:class="button">{words}</A> });
    let numbers = crash.numbers();
    let at = crash.at.map(|at| view! { ", " <Age at=at/> " ago" });
    let meaning = crash.meaning.map(|it| format!(" Meaning: {it}."));
    let pod = (!of_pod).then(|| view! { " of " <Link cluster=cluster to=crash.pod/> });
    view! {
        <Banner mood=Mood::Error>
            <p>
                <b>{crash.state}</b>": container "{crash.container}{pod}" ("{numbers}{at}")."{meaning}
            </p>
            {log}
        </Banner>
    }
}
