//! The events of an object.

use std::sync::Arc;

use drover_ui_core::age::age;
use drover_ui_core::event::{About, Event, Group};
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::quantity::count;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::button::{Button, Weight};
use leptos::prelude::*;

use crate::clock::{Clock, in_full};

/// The number of events that a group shows initially.
const INITIAL_EVENTS: usize = 4;

/// Shows an object and its events.
#[component]
pub(super) fn EventGroup(group: Group, cluster: StoredValue<Arc<str>>) -> impl IntoView {
    let Group { about, events } = group;
    let (count, all) = (events.len(), RwSignal::new(false));
    let rows = move || {
        let most = if all.get() { count } else { INITIAL_EVENTS };
        events.iter().take(most).map(row).collect_view()
    };
    let more = move || {
        let hidden = count.saturating_sub(INITIAL_EVENTS);
        (hidden > 0 && !all.get()).then(|| {
            view! {
                <Button weight=Weight::Quiet on_press=move |()| all.set(true)>
                    {t().kinds.older_events(hidden)}
                </Button>
            }
        })
    };
    view! {
        <li class="card event-group">
            {cluster.with_value(|cluster| head(&about, cluster))}
            <ol>{rows}</ol>
            {more}
        </li>
    }
}

fn head(about: &About, cluster: &str) -> AnyView {
    let name = about.name.clone();
    let namespace = about.namespace.as_deref();
    let screen = Kind::of_name(&about.kind).filter(|kind| *kind != Kind::EVENTS);
    let name = match screen {
        Some(kind) => {
            let path = kind.object_screen(cluster, namespace, &about.name);
            view! { <a href=path>{name}</a> }.into_any()
        }
        None => view! { <b>{name}</b> }.into_any(),
    };
    view! {
        <h2 class="event-group-head">
            <span class="muted">{about.kind.clone()}</span>
            {name}
            {namespace.map(|it| view! { <span class="muted">{t().kinds.in_namespace(it)}</span> })}
        </h2>
    }
    .into_any()
}

fn row(event: &Arc<Event>) -> AnyView {
    let clock = expect_context::<Clock>();
    let Event { first, last, .. } = **event;
    let (tone, word) = if event.warning {
        (Tone::Warning, t().kinds.warning_prefix())
    } else {
        (Tone::Neutral, "")
    };
    let when = move || t().durations.ago(&age(last, clock.now()));
    let counted = event.count;
    let often = move || {
        (counted > 1).then(|| {
            let since = age(first, clock.now());
            t().kinds.repeated(&count(counted), &since)
        })
    };
    let source = Some(event.source.clone()).filter(|source| !source.is_empty());
    let hint = t().kinds.first_and_last(&in_full(first), &in_full(last));
    view! {
        <li class="event">
            <span class="event-reason"><span class="visually-hidden">{word}</span><Badge tone=tone words=event.reason.clone()/></span>
            <span class="event-message">
                {event.message.clone()}
                {source.map(|source| view! { <span class="muted">{format!(" — {source}")}</span> })}
            </span>
            <span class="event-when muted" title=hint><span>{when}</span><span>{often}</span></span>
        </li>
    }
    .into_any()
}
