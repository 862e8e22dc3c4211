//! Labels of clusters, one or many: what is wished, shown as a plan before anything is done.

mod apply;

use std::collections::BTreeSet;
use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::label::plan::{Change, clusters as counted, present};
use drover_ui_core::label::{of_people, read, written};
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::field::TextField;
use drover_ui_kit::picker::{Choice, Choices};
use leptos::prelude::*;

use apply::{Apply, Applying};

type Shared = Arc<ClusterView>;

/// The dialog for many clusters: labels to set, and labels to remove.
#[component]
pub(crate) fn ManyLabels(open: RwSignal<bool>, clusters: Signal<Vec<Shared>>) -> impl IntoView {
    let applying = Applying::new();
    let held = Signal::derive(move || applying.is_running());
    view! {
        <Dialog open=open title="Labels" held=held>
            <Many open=open clusters=clusters applying=applying/>
        </Dialog>
    }
}

#[component]
fn Many(open: RwSignal<bool>, clusters: Signal<Vec<Shared>>, applying: Applying) -> impl IntoView {
    applying.forget();
    let typed = RwSignal::new(String::new());
    let gone = RwSignal::new(BTreeSet::<String>::new());
    let change = Signal::derive(move || Change::of(read(&typed.get())?, &gone.get()));
    let error = move || change.get().err();
    let choices = Signal::derive(move || clusters.with(|clusters| choices(clusters)));
    let heading = move || clusters.with(|chosen| counted(chosen.len()));
    view! {
        <Apply open=open clusters=clusters change=change applying=applying>
            <p class="soft">{heading}" chosen."</p>
            <TextField label="Set" value=typed focused=true error=Signal::derive(error)
                help="For example env=prod team=shop. A label that is there gets the new value."/>
            <Show
                when=move || choices.with(|choices| !choices.is_empty())
                fallback=|| view! { <p class="soft">"None of them has a label that could be removed."</p> }
            >
                <Choices label="Remove" choices=choices chosen=gone/>
            </Show>
        </Apply>
    }
}

/// The labels that are there, each with its values.
fn choices(chosen: &[Shared]) -> Vec<Choice> {
    let found = present(chosen.iter().map(AsRef::as_ref));
    let choices = found.into_iter().map(|(key, values)| {
        let values = values.into_iter().map(|(value, count)| {
            let value = if value.is_empty() {
                "empty".to_owned()
            } else {
                value
            };
            format!("{value} on {count}")
        });
        Choice {
            words: key.clone(),
            key,
            note: values.collect::<Vec<_>>().join(", "),
        }
    });
    choices.collect()
}

/// The dialog for one cluster: its labels as they shall be.
#[component]
pub(crate) fn OneLabels(open: RwSignal<bool>, cluster: Signal<Shared>) -> impl IntoView {
    let applying = Applying::new();
    let held = Signal::derive(move || applying.is_running());
    view! {
        <Dialog open=open title="Labels" held=held>
            <One open=open cluster=cluster applying=applying/>
        </Dialog>
    }
}

#[component]
fn One(open: RwSignal<bool>, cluster: Signal<Shared>, applying: Applying) -> impl IntoView {
    applying.forget();
    let before = cluster.with_untracked(|cluster| of_people(&cluster.labels));
    let typed = RwSignal::new(written(&before));
    let before = StoredValue::new(before);
    // What somebody else changes meanwhile stays: the change is what differs from what was shown.
    let change = Signal::derive(move || {
        let after = read(&typed.get())?;
        Ok(before.with_value(|before| Change::between(before, after)))
    });
    let error = move || change.get().err();
    let clusters = Signal::derive(move || vec![cluster.get()]);
    view! {
        <Apply open=open clusters=clusters change=change applying=applying>
            <TextField label="Labels" value=typed focused=true error=Signal::derive(error)
                help="All of them, for example env=prod team=shop. What you take out is removed."/>
        </Apply>
    }
}
