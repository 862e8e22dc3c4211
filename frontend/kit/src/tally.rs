//! Counts of items per state. A selected count filters the list.

use leptos::prelude::*;

use crate::badge::Tone;

/// A count of the items in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count<K> {
    /// The key of the state.
    pub key: K,
    /// The label of the count.
    pub words: &'static str,
    /// The severity of the state; `None` for a count without a color.
    pub tone: Option<Tone>,
    /// The number of items.
    pub count: usize,
}

/// Shows a row of counts. The user can select one count as a filter. Zero counts are hidden.
#[component]
pub fn Tally<K: Copy + PartialEq + Send + Sync + 'static>(
    /// The accessible name of the group.
    #[prop(into)]
    label: String,
    /// The counts in their order.
    #[prop(into)]
    counts: Signal<Vec<Count<K>>>,
    /// The key of the selected count.
    chosen: RwSignal<Option<K>>,
) -> impl IntoView {
    let button = move |count: Count<K>| {
        let key = count.key;
        let press = move |_| {
            chosen.update(|chosen| *chosen = Some(key).filter(|key| *chosen != Some(*key)));
        };
        let dot = count.tone.map(|tone| {
            view! { <span class=format!("dot {}", tone.class()) aria-hidden="true"></span> }
        });
        view! {
            <button type="button" aria-pressed=move || (chosen.get() == Some(key)).to_string() on:click=press>
                {dot}
                <b>{count.count}</b>
                {count.words}
            </button>
        }
    };
    let buttons = move || {
        let counts = counts.get().into_iter();
        let shown = counts.filter(|count| count.count > 0 || chosen.get() == Some(count.key));
        shown.map(button).collect_view()
    };
    view! { <div class="tally" role="group" aria-label=label>{buttons}</div> }
}
