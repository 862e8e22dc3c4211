//! The problems and the resources of all clusters, above the list of clusters.

use std::sync::Arc;

use drover_ui_core::cluster::{Sum, total};
use drover_ui_core::messages::t;
use drover_ui_core::quantity;
use drover_ui_kit::icon::{Icon, Picture};
use drover_ui_kit::meter::Meter;
use leptos::prelude::*;

use crate::live::Clusters;

/// Formats an amount of a resource.
type Format = fn(f64) -> String;

/// Shows the problems and the resources of all clusters.
#[component]
pub(super) fn Summary() -> impl IntoView {
    let clusters = expect_context::<Clusters>();
    let items = move || clusters.items().unwrap_or_default();
    let sum = Memo::new(move |_| Sum::of(items().iter().map(Arc::as_ref)));
    let shown = Memo::new(move |_| clusters.items().is_some_and(|items| !items.is_empty()));
    let count: Format = |count| count.to_string();
    let cores: (Format, Format) = (quantity::cores, quantity::cores_with_unit);
    let resources = [
        ("cpu", t().labels.cpu(), cores),
        (
            "memory",
            t().labels.memory(),
            (quantity::bytes, quantity::bytes),
        ),
        ("pods", t().labels.pods(), (count, count)),
    ];
    let meters = resources.map(|(resource, label, (words, total_words))| {
        let load = Memo::new(move |_| total(items().iter().map(Arc::as_ref), resource));
        move || {
            let load = load.get()?;
            let taken = load.taken()?;
            let (amount, of) = (words(taken), total_words(load.total));
            let text = match load.used {
                Some(_) => t().home.used(&amount, &of),
                None => t().home.requested(&amount, &of),
            };
            Some(view! { <span class="summary-resource">{label}<Meter part=load.part() words=text/></span> })
        }
    });
    view! {
        <Show when=move || shown.get()>
            <section class="summary" aria-label=t().home.summary()>
                {move || problems(&sum.get())}
                <span class="grow"></span>
                {meters.collect_view()}
            </section>
        </Show>
    }
}

/// Shows a link to the page of problems for each type of problem.
fn problems(sum: &Sum) -> impl IntoView + use<> {
    let home = &t().home;
    let parts = [
        (sum.unhealthy, home.unhealthy(sum.unhealthy)),
        (
            sum.not_ready_nodes,
            home.not_ready_nodes(sum.not_ready_nodes),
        ),
        (sum.failing_pods, home.failing_pods(sum.failing_pods)),
        (
            sum.unschedulable_pods,
            home.unschedulable_pods(sum.unschedulable_pods),
        ),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(count, _)| *count > 0).collect();
    if parts.is_empty() {
        return view! { <span class="muted">{home.no_problems()}</span> }.into_any();
    }
    let link = |(_, words): (usize, String)| view! { <li><a href="/problems"><Picture icon=Icon::Alert/>{words}</a></li> };
    view! { <ul class="summary-problems">{parts.into_iter().map(link).collect_view()}</ul> }
        .into_any()
}
