//! The notice about crashing containers at the top of a page.

use drover_ui_core::age::age;
use drover_ui_core::messages::t;
use drover_ui_core::object::Crash;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::rich::rich;
use leptos::prelude::*;
use leptos_router::components::A;

use crate::clock::Clock;

/// The maximum number of shown crashes. The list of pods shows all crashes.
const MAX_SHOWN: usize = 3;

/// Shows the crashes. `of_pod` is true if the page is the page of the crashing pod.
#[component]
pub(super) fn Crashes(
    crashes: Signal<Vec<Crash>>,
    cluster: StoredValue<String>,
    of_pod: bool,
) -> impl IntoView {
    move || {
        let crashes = crashes.get();
        let more = crashes.len().saturating_sub(MAX_SHOWN);
        let rows = crashes
            .into_iter()
            .take(MAX_SHOWN)
            .map(|crash| view! { <OneCrash crash=crash cluster=cluster of_pod=of_pod/> });
        let rows = rows.collect_view();
        let more = (more > 0).then(|| {
            let words = if of_pod {
                t().object.more_crashes_of_pod(more)
            } else {
                t().object.more_crashes(more)
            };
            view! { <p class="muted">{words}</p> }
        });
        view! { {rows}{more} }
    }
}

#[component]
fn OneCrash(crash: Crash, cluster: StoredValue<String>, of_pod: bool) -> impl IntoView {
    let log = cluster.with_value(|cluster| crash.log_screen(cluster));
    let words = if crash.previous {
        t().object.open_previous_log()
    } else {
        t().object.open_log()
    };
    let log = log.map(|path| view! { <A href=path attr:class="button">{words}</A> });
    let numbers = crash.numbers();
    let pod = (!of_pod).then(|| {
        let target = crash.pod.target.as_ref();
        let screen = target.map(|it| cluster.with_value(|cluster| it.screen(cluster)));
        (crash.pod.words.clone(), screen.unwrap_or_default())
    });
    let clock = expect_context::<Clock>();
    let words = move || {
        let pod = pod.as_ref().map(|(name, screen)| (&**name, &**screen));
        let ended = crash.at.map(|at| age(at, clock.now()));
        let words = t().object.crash(
            &crash.state,
            &crash.container,
            pod,
            &numbers,
            ended.as_deref(),
            crash.meaning.as_deref(),
        );
        rich(words)
    };
    view! {
        <Banner mood=BannerKind::Error>
            <p>
                {words}
            </p>
            {log}
        </Banner>
    }
}
