//! Counts per state, which are also filters.

use leptos::prelude::*;

use crate::badge::Tone;

/// A count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count<K> {
    /// The key.
    pub key: K,
    /// The text.
    pub words: &'static str,
    /// The tone, if any.
    pub tone: Option<Tone>,
    /// The number.
    pub count: usize,
}

/// A row of counts, of which one can be selected; zero counts are hidden.
#[component]
pub fn Tally<K: Copy + PartialEq + Send + Sync + 'static>(
    /// The accessible name.
    #[prop(into)]
    label: String,
    /// The counts.
    #[prop(into)]
    counts: Signal<Vec<Count<K>>>,
    /// The selected key.
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
