//! The dialogs that change the labels of clusters. Both dialogs show a plan before the change.

mod apply;

use std::collections::BTreeSet;
use std::sync::Arc;

use drover_api::rest::ClusterView;
use drover_ui_core::label::plan::{Change, present};
use drover_ui_core::label::{read, user_labels, written};
use drover_ui_core::messages::t;
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::field::TextField;
use drover_ui_kit::picker::{Choice, Choices};
use leptos::prelude::*;

use apply::{Apply, Applying};

type Shared = Arc<ClusterView>;

/// Shows the dialog for several clusters: labels to set, and labels to remove.
#[component]
pub(crate) fn ManyLabels(open: RwSignal<bool>, clusters: Signal<Vec<Shared>>) -> impl IntoView {
    let applying = Applying::new();
    let is_running = Signal::derive(move || applying.is_running());
    view! {
        <Dialog open=open title=t().cluster_labels.labels_title() held=is_running>
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
    let heading = move || clusters.with(|chosen| t().cluster_labels.selected(chosen.len()));
    view! {
        <Apply open=open clusters=clusters change=change applying=applying>
            <p class="muted">{heading}</p>
            <TextField label=t().cluster_labels.set() value=typed focused=true error=Signal::derive(error)
                help=t().cluster_labels.set_help()/>
            <Show
                when=move || choices.with(|choices| !choices.is_empty())
                fallback=|| view! { <p class="muted">{t().cluster_labels.none_removable()}</p> }
            >
                <Choices label=t().buttons.remove() choices=choices chosen=gone/>
            </Show>
        </Apply>
    }
}

/// Returns the existing labels of the selected clusters with their values.
fn choices(chosen: &[Shared]) -> Vec<Choice> {
    let found = present(chosen.iter().map(AsRef::as_ref));
    let choices = found.into_iter().map(|(key, values)| {
        let values = values.into_iter().map(|(value, count)| {
            let value = if value.is_empty() {
                t().cluster_labels.empty_value().to_owned()
            } else {
                value
            };
            t().cluster_labels.value_on(&value, count)
        });
        Choice {
            words: key.clone(),
            key,
            note: values.collect::<Vec<_>>().join(", "),
        }
    });
    choices.collect()
}

/// Shows the dialog for one cluster with all its labels.
#[component]
pub(crate) fn OneLabels(open: RwSignal<bool>, cluster: Signal<Shared>) -> impl IntoView {
    let applying = Applying::new();
    let is_running = Signal::derive(move || applying.is_running());
    view! {
        <Dialog open=open title=t().cluster_labels.labels_title() held=is_running>
            <One open=open cluster=cluster applying=applying/>
        </Dialog>
    }
}

#[component]
fn One(open: RwSignal<bool>, cluster: Signal<Shared>, applying: Applying) -> impl IntoView {
    applying.forget();
    let before = cluster.with_untracked(|cluster| user_labels(&cluster.labels));
    let typed = RwSignal::new(written(&before));
    let before = StoredValue::new(before);
    // The change contains only differences to the shown labels, so concurrent changes of other
    // labels stay.
    let change = Signal::derive(move || {
        let after = read(&typed.get())?;
        Ok(before.with_value(|before| Change::between(before, after)))
    });
    let error = move || change.get().err();
    let clusters = Signal::derive(move || vec![cluster.get()]);
    view! {
        <Apply open=open clusters=clusters change=change applying=applying>
            <TextField label=t().cluster_labels.labels_title() value=typed focused=true error=Signal::derive(error)
                help=t().cluster_labels.all_help()/>
        </Apply>
    }
}
