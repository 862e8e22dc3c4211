//! Pickers: a single selection with fuzzy search, or a multiple selection with checkboxes.

use std::collections::BTreeSet;

use drover_ui_core::completion::Suggestion;
use drover_ui_core::messages::t;
use drover_ui_core::palette::ranked_matches;
use leptos::prelude::*;
use web_sys::{KeyboardEvent, ScrollIntoViewOptions, ScrollLogicalPosition};

use crate::field::{SearchField, note, unique};

/// The maximum number of shown options.
const MAX_SHOWN: usize = 50;
/// The number of options above which the picker shows a filter.
const FILTER_THRESHOLD: usize = 10;

/// An option of a picker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The key of the option.
    pub key: String,
    /// The text of the option.
    pub words: String,
    /// The note next to the text; can be empty.
    pub note: String,
}

impl From<Suggestion> for Choice {
    /// Returns an option whose key is the new text of the field.
    fn from(suggestion: Suggestion) -> Self {
        Self {
            key: suggestion.text,
            words: suggestion.term,
            note: suggestion.note.to_owned(),
        }
    }
}

/// Shows a combobox that selects one option or no option.
#[component]
pub fn Picker(
    /// The label of the field.
    #[prop(into)]
    label: String,
    /// The options of the picker.
    #[prop(into)]
    choices: Signal<Vec<Choice>>,
    /// The key of the selected option.
    value: RwSignal<Option<String>>,
    /// The placeholder for no selection.
    #[prop(into)]
    none: String,
    /// The help text below the field.
    #[prop(optional, into)]
    help: Signal<String>,
    /// The validation error below the field.
    #[prop(optional, into)]
    error: Signal<Option<String>>,
    /// True to wrap long notes. False to truncate long notes.
    #[prop(optional)]
    wraps: bool,
) -> impl IntoView {
    let (id, list, below) = (unique("field"), unique("list"), unique("note"));
    let field = Field::new(choices, value);
    let keys = move |event: KeyboardEvent| field.key(&event);
    let (here, active) = (list.clone(), list.clone());
    let options = Options {
        fitting: field.fitting,
        place: Signal::derive(move || Some(field.place.get())),
        choose: Callback::new(move |key| field.choose(key)),
    };
    view! {
        <div class="field picker">
            <label for=id.clone()>{label}</label>
            <input
                id=id
                type="text"
                role="combobox"
                autocomplete="off"
                spellcheck="false"
                placeholder=none
                aria-autocomplete="list"
                aria-controls=list.clone()
                aria-expanded=move || field.open.get().to_string()
                aria-activedescendant=move || field.open.get().then(|| format!("{active}-{}", field.place.get()))
                aria-describedby=below.clone()
                aria-invalid=move || error.get().is_some().to_string()
                prop:value=field.typed
                on:input=move |event| field.types(event_target_value(&event))
                on:focus=move |_| field.open.set(true)
                on:click=move |_| field.open.set(true)
                on:blur=move |_| field.leave()
                on:keydown=keys
            />
            <div class="picker-list" class:wrap=wraps id=list role="listbox" aria-label=t().kit.results() hidden=move || !field.open.get()>
                {move || field.open.get().then(|| options.view(&here))}
            </div>
            {note(below, help, error)}
        </div>
    }
}

/// The state of a picker: the entered text, the matching options and the highlighted option.
#[derive(Clone, Copy)]
struct Field {
    choices: Signal<Vec<Choice>>,
    value: RwSignal<Option<String>>,
    typed: RwSignal<String>,
    open: RwSignal<bool>,
    place: RwSignal<usize>,
    fitting: Memo<Vec<Choice>>,
}

impl Field {
    fn new(choices: Signal<Vec<Choice>>, value: RwSignal<Option<String>>) -> Self {
        let (typed, open) = (RwSignal::new(String::new()), RwSignal::new(false));
        let fitting = Memo::new(move |_| {
            let choices = choices.get();
            // The text of the selected option does not filter the list.
            let chosen = value.with(|value| words_of(&choices, value.as_deref()));
            let letters = typed.get();
            let letters = if letters == chosen { "" } else { &letters };
            let places = ranked_matches(letters, choices.iter().map(|it| it.words.as_str()));
            let fitting = places
                .into_iter()
                .filter_map(|place| choices.get(place).cloned());
            fitting.take(MAX_SHOWN).collect::<Vec<_>>()
        });
        let field = Self {
            choices,
            value,
            typed,
            open,
            place: RwSignal::new(0),
            fitting,
        };
        // The field shows the selected option. The text of the option can be loaded later.
        let words = Memo::new(move |_| {
            choices.with(|it| value.with(|value| words_of(it, value.as_deref())))
        });
        Effect::new(move || {
            value.track();
            typed.set(words.get());
        });
        field
    }

    fn types(self, text: String) {
        if text.is_empty() {
            self.value.set(None);
        }
        self.typed.set(text);
        self.place.set(0);
        self.open.set(true);
    }

    fn choose(self, key: String) {
        self.open.set(false);
        self.value.set(Some(key));
        // Selecting the current option again resets the typed text.
        self.leave();
    }

    /// Resets the field to the text of the selected option.
    fn leave(self) {
        self.open.set(false);
        let chosen = self.value.get_untracked();
        let words = self
            .choices
            .with_untracked(|it| words_of(it, chosen.as_deref()));
        self.typed.set(words);
    }

    fn key(self, event: &KeyboardEvent) {
        let open = self.open.get_untracked();
        let count = self.fitting.with_untracked(Vec::len);
        match event.key().as_str() {
            "ArrowDown" if !open => self.open.set(true),
            "ArrowDown" if count > 0 => self.place.update(|place| *place = (*place + 1) % count),
            "ArrowUp" if open && count > 0 => {
                self.place
                    .update(|place| *place = (*place + count - 1) % count);
            }
            "Enter" if open => {
                let place = self.place.get_untracked();
                let chosen = self.fitting.with_untracked(|it| it.get(place).cloned());
                if let Some(chosen) = chosen {
                    self.choose(chosen.key);
                }
            }
            // Escape closes the list, but not the dialog that contains the field.
            "Escape" if open => {
                self.leave();
                event.stop_propagation();
            }
            _ => return,
        }
        event.prevent_default();
    }
}

fn words_of(choices: &[Choice], key: Option<&str>) -> String {
    let chosen = key.and_then(|key| choices.iter().find(|choice| choice.key == key));
    chosen
        .map(|choice| choice.words.clone())
        .unwrap_or_default()
}

/// The list of matching options below a field. The focus stays in the field.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    /// The matching options.
    pub(crate) fitting: Memo<Vec<Choice>>,
    /// The index of the highlighted option.
    pub(crate) place: Signal<Option<usize>>,
    /// Selects the option with this key.
    pub(crate) choose: Callback<String>,
}

impl Options {
    /// Renders the rows of the list with this element ID.
    pub(crate) fn view(self, list: &str) -> AnyView {
        let fitting = self.fitting.get();
        if fitting.is_empty() {
            return view! { <p class="picker-empty">{t().kit.no_results()}</p> }.into_any();
        }
        self.scrolls(list.to_owned());
        let rows = fitting.into_iter().enumerate().map(|(row, choice)| {
            let key = choice.key;
            // The handler keeps the focus in the field, so that the list stays open until the
            // click.
            let hold = |event: web_sys::MouseEvent| event.prevent_default();
            view! {
                <div
                    class="palette-item"
                    role="option"
                    id=format!("{list}-{row}")
                    aria-selected=move || (self.place.get() == Some(row)).to_string()
                    on:mousedown=hold
                    on:click=move |_| self.choose.run(key.clone())
                >
                    <span class="truncate">{choice.words}</span>
                    <span class="muted">{choice.note}</span>
                </div>
            }
        });
        rows.collect_view().into_any()
    }

    /// Scrolls the list so that the highlighted row is visible.
    fn scrolls(self, list: String) {
        Effect::new(move || {
            let Some(row) = self.place.get() else { return };
            if let Some(marked) = document().get_element_by_id(&format!("{list}-{row}")) {
                let nearest = ScrollIntoViewOptions::new();
                nearest.set_block(ScrollLogicalPosition::Nearest);
                marked.scroll_into_view_with_scroll_into_view_options(&nearest);
            }
        });
    }
}

/// Shows checkboxes for a multiple selection, with a filter for many options.
#[component]
pub fn Choices(
    /// The label of the group.
    #[prop(into)]
    label: String,
    /// The options of the group.
    #[prop(into)]
    choices: Signal<Vec<Choice>>,
    /// The keys of the selected options.
    chosen: RwSignal<BTreeSet<String>>,
) -> impl IntoView {
    let typed = RwSignal::new(String::new());
    let fitting = Memo::new(move |_| {
        let choices = choices.get();
        let places = ranked_matches(&typed.get(), choices.iter().map(|it| it.words.as_str()));
        let fitting = places
            .into_iter()
            .filter_map(|place| choices.get(place).cloned());
        fitting.collect::<Vec<_>>()
    });
    let many = Memo::new(move |_| choices.with(Vec::len) > FILTER_THRESHOLD);
    view! {
        <fieldset class="choices">
            <legend>{label}</legend>
            {move || many.get().then(|| view! {
                <SearchField label=t().kit.filter_choices() hint=t().buttons.filter() value=typed/>
            })}
            <div class="choices-list">
                <For each=move || fitting.get() key=Clone::clone let:choice>
                    <TickBox choice=choice chosen=chosen/>
                </For>
            </div>
        </fieldset>
    }
}

#[component]
fn TickBox(choice: Choice, chosen: RwSignal<BTreeSet<String>>) -> impl IntoView {
    let key = choice.key.clone();
    let is_chosen = move || chosen.with(|chosen| chosen.contains(&key));
    let key = choice.key;
    let change = move |event| {
        chosen.update(|chosen| {
            if event_target_checked(&event) {
                chosen.insert(key.clone());
            } else {
                chosen.remove(&key);
            }
        });
    };
    view! {
        <label class="checkbox">
            <input type="checkbox" prop:checked=is_chosen on:change=change/>
            <span>{choice.words}</span>
            <span class="muted truncate">{choice.note}</span>
        </label>
    }
}
