//! How many there are of each state; each is a filter.

use leptos::prelude::*;

use crate::badge::Tone;

/// How many things are so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count<K> {
    /// What they are.
    pub key: K,
    /// The same in words.
    pub words: &'static str,
    /// What it means, where it means something.
    pub tone: Option<Tone>,
    /// How many.
    pub count: usize,
}

/// A row of counts, of which one can be chosen; those of which there is nothing are left out.
#[component]
pub fn Tally<K: Copy + PartialEq + Send + Sync + 'static>(
    /// What it filters by, for screen readers.
    #[prop(into)]
    label: String,
    /// The counts.
    #[prop(into)]
    counts: Signal<Vec<Count<K>>>,
    /// The one that is chosen.
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
