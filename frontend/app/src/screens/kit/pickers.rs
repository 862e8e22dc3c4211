//! The tab with pickers, counts, a confirmation dialog and a secret.

use std::collections::BTreeSet;

use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::confirm::Confirm;
use drover_ui_kit::picker::{Choice, Choices, Picker};
use drover_ui_kit::secret::SecretText;
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

const CLUSTERS: [(&str, &str); 12] = [
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

fn choices() -> Signal<Vec<Choice>> {
    let choices = CLUSTERS.map(|(name, note)| Choice {
        key: name.to_owned(),
        words: name.to_owned(),
        note: note.to_owned(),
    });
    Signal::stored(choices.into())
}

/// Shows pickers, counts, a confirmation dialog and a secret.
#[component]
pub(super) fn Pickers() -> impl IntoView {
    view! {
        <div class="cards">
            <PickOne/>
            <PickSeveral/>
            <CountsAndConfirmation/>
            <ShownSecret/>
        </div>
    }
}

#[component]
fn PickOne() -> impl IntoView {
    let value = RwSignal::new(Some("berlin".to_owned()));
    view! {
        <section class="card">
            <h2>"Single selection"</h2>
            <Picker label="Cluster" choices=choices() value=value none="All clusters"
                help="Type to filter. Select with the arrow keys and Enter."/>
            <p class="muted">{move || value.get().unwrap_or_else(|| "none".to_owned())}</p>
        </section>
    }
}

#[component]
fn PickSeveral() -> impl IntoView {
    let chosen = RwSignal::new(BTreeSet::from(["paris".to_owned()]));
    let words = move || chosen.with(|it| it.iter().cloned().collect::<Vec<_>>().join(", "));
    view! {
        <section class="card">
            <h2>"Multiple selection"</h2>
            <Choices label="Clusters" choices=choices() chosen=chosen/>
            <p class="muted">{words}</p>
        </section>
    }
}

#[component]
fn CountsAndConfirmation() -> impl IntoView {
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
            <h2>"Counts and confirmation"</h2>
            <Tally label="Filter by state" counts=Signal::stored(counts.to_vec()) chosen=RwSignal::new(Some("ready"))/>
            <div class="row">
                <Button weight=Weight::Danger on_press=move |()| open.set(true)>"Delete berlin…"</Button>
            </div>
            <Confirm open=open title="Delete berlin?" verb="Delete" typed="berlin".to_owned() refused=refused
                on_confirm=move |()| refused.set(Some("Ask another administrator to do this action.".to_owned()))>
                <p>"The action of this dialog always fails, to show the error."</p>
            </Confirm>
        </section>
    }
}

#[component]
fn ShownSecret() -> impl IntoView {
    view! {
        <section class="card">
            <h2>"Secret, shown once"</h2>
            <SecretText label="Example" text="not-a-secret-".repeat(6)/>
        </section>
    }
}
