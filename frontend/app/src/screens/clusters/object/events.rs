//! The live events of an object, newest first.

use std::sync::Arc;

use drover_ui_core::age::age;
use drover_ui_core::event::{Event, Newest, grouped};
use drover_ui_core::kubectl::KubectlObject;
use drover_ui_core::messages::t;
use drover_ui_core::object::{Object, events};
use drover_ui_core::source::Source;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::notice::{EmptyReason, EmptyState, Skeleton};
use leptos::prelude::*;

use super::words::{Age, Refused};
use crate::clock::Clock;
use crate::command::CliCommand;
use crate::freshness::{Freshness, StaleBanner};
use crate::reflector::Store;

/// The maximum number of shown events.
const MAX_SHOWN: usize = 500;

/// Shows the tab with the events.
#[component]
pub(super) fn Events(named: KubectlObject, object: Signal<Object>) -> impl IntoView {
    let command = named.events();
    let source =
        Memo::new(move |_| object.with(|object| events(&named.cluster, named.kind, object)));
    view! {
        <div class="stack">
            {move || view! { <List source=source.get()/> }}
            <footer class="page-foot"><CliCommand line=command/></footer>
        </div>
    }
}

#[component]
fn List(source: Source) -> impl IntoView {
    let followed = Store::<Arc<Event>>::begin::<Newest>(source);
    let events = Memo::new(move |_| {
        // All events are about the same object, so the list has one group.
        let groups = grouped(followed.items()?.to_vec()).into_iter();
        Some(groups.flat_map(|group| group.events).collect::<Vec<_>>())
    });
    let list = move || match (events.get(), followed.freshness()) {
        (None, Freshness::Stale { problem, .. }) => {
            view! { <Refused problem=problem of=t().object.the_events()/> }.into_any()
        }
        (None, _) => view! { <Skeleton lines=5/> }.into_any(),
        (Some(events), _) if events.is_empty() => view! {
            <EmptyState
                reason=EmptyReason::Empty
                title=t().object.no_events()
                advice=t().object.no_events_advice()
            />
        }
        .into_any(),
        (Some(events), _) => view! { <Lines events=events/> }.into_any(),
    };
    view! {
        <StaleBanner
            freshness=Signal::derive(move || followed.freshness())
            shown=Signal::derive(move || events.with(Option::is_some))
        />
        {list}
    }
}

#[component]
fn Lines(events: Vec<Arc<Event>>) -> impl IntoView {
    let more = events.len().saturating_sub(MAX_SHOWN);
    let rows = events
        .into_iter()
        .take(MAX_SHOWN)
        .map(|event| view! { <OneEvent event=event/> });
    let rows = rows.collect_view();
    let more = (more > 0).then(|| view! { <p class="muted">{t().object.older_events(more)}</p> });
    view! { <ul class="object-events">{rows}</ul>{more} }
}

#[component]
fn OneEvent(event: Arc<Event>) -> impl IntoView {
    let tone = if event.warning {
        Tone::Warning
    } else {
        Tone::Neutral
    };
    let times = (event.count > 1).then(|| {
        let (clock, count, first) = (expect_context::<Clock>(), event.count, event.first);
        view! { <span>{move || t().object.times_in(count, &age(first, clock.now()))}</span> }
    });
    view! {
        <li>
            <span class="muted"><Age at=event.last/></span>
            <Badge tone=tone words=event.reason.clone()/>
            <span class="object-event-message">{event.message.clone()}</span>
            <span class="muted row">{times}<span>{event.source.clone()}</span></span>
        </li>
    }
}
