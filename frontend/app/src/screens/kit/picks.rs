//! Pickers, confirmations and secrets.

use std::collections::BTreeSet;

use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::picker::{Choice, Choices, Picker};
use drover_ui_kit::secret::SecretText;
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

const PLACES: [(&str, &str); 12] = [
    ("amsterdam", "env=prod"),
    ("athens", "env=test"),
    ("berlin", "env=prod"),
    ("brussels", "env=prod"),
    ("dublin", "env=test"),
    ("helsinki", "env=prod"),
    ("lisbon", "env=test"),
    ("madrid", "env=prod"),
    ("paris", "env=prod"),
    ("prague", "env=test"),
    ("vienna", "env=prod"),
    ("warsaw", "env=test"),
];

fn places() -> Signal<Vec<Choice>> {
    let places = PLACES.map(|(name, note)| Choice {
        key: name.to_owned(),
        words: name.to_owned(),
        note: note.to_owned(),
    });
    Signal::stored(places.into())
}

/// All columns.
#[component]
pub(super) fn Picks() -> impl IntoView {
    view! {
        <div class="cards">
            <One/>
            <Several/>
            <Asked/>
            <Told/>
        </div>
    }
}

#[component]
fn One() -> impl IntoView {
    let value = RwSignal::new(Some("berlin".to_owned()));
    view! {
        <section class="card">
            <h2>"One of many"</h2>
            <Picker label="Where it works" choices=places() value=value none="everywhere"
                help="Letters filter; arrows and Enter choose."/>
            <p class="muted">{move || value.get().unwrap_or_else(|| "none".to_owned())}</p>
        </section>
    }
}

#[component]
fn Several() -> impl IntoView {
    let chosen = RwSignal::new(BTreeSet::from(["paris".to_owned()]));
    let words = move || chosen.with(|it| it.iter().cloned().collect::<Vec<_>>().join(", "));
    view! {
        <section class="card">
            <h2>"Several of many"</h2>
            <Choices label="Places" choices=places() chosen=chosen/>
            <p class="muted">{words}</p>
        </section>
    }
}

#[component]
fn Asked() -> impl IntoView {
    let (open, refused) = (RwSignal::new(false), RwSignal::new(None::<String>));
    let kinds = [
        (Tone::Good, "ready", 12),
        (Tone::Warning, "degraded", 2),
        (Tone::Bad, "failing", 1),
    ];
    let counts = kinds.map(|(tone, words, count)| Count {
        key: words,
        words,
        tone: Some(tone),
        count,
    });
    view! {
        <section class="card">
            <h2>"Counts, and being asked twice"</h2>
            <Tally label="Filter by state" counts=Signal::stored(counts.to_vec()) chosen=RwSignal::new(Some("ready"))/>
            <div class="row">
                <Button weight=Weight::Danger on_press=move |()| open.set(true)>"Delete berlin…"</Button>
            </div>
            <Confirm open=open title="Delete berlin?" verb="Delete" typed="berlin".to_owned() refused=refused
                on_confirm=move |()| refused.set(Some("Another administrator has to do it.".to_owned()))>
                <p>"What it holds ends with it. This dialog is refused, so that the refusal is seen."</p>
            </Confirm>
        </section>
    }
}

#[component]
fn Told() -> impl IntoView {
    view! {
        <section class="card">
            <h2>"A secret, once"</h2>
            <SecretText label="Example" text="not-a-secret-".repeat(6)/>
        </section>
    }
}
