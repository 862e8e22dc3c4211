//! A text field with search results.

use drover_ui_core::messages::t;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use crate::field::{input, note, unique};
use crate::picker::{Choice, Options};

/// Shows a text field whose search results can replace the text. The field hides a single result
/// that equals the text.
#[component]
pub fn SuggestField(
    /// The label of the field.
    #[prop(into)]
    label: String,
    /// The entered text. Selecting a result sets the text to the key of the result.
    value: RwSignal<String>,
    /// The search results.
    #[prop(into)]
    found: Signal<Vec<Choice>>,
    /// The help text below the field.
    #[prop(optional, into)]
    help: Signal<String>,
    /// The validation error below the field.
    #[prop(optional, into)]
    error: Signal<Option<String>>,
    /// True to focus the field initially.
    #[prop(optional)]
    focused: bool,
) -> impl IntoView {
    let (id, list, below) = (unique("field"), unique("list"), unique("note"));
    let input = input(focused);
    let field = Field::new(found, value);
    let active = field.highlighted(&list);
    view! {
        <div class="field picker">
            <label for=id.clone()>{label}</label>
            <input
                node_ref=input
                id=id
                type="text"
                role="combobox"
                autocomplete="off"
                autocapitalize="none"
                spellcheck="false"
                aria-autocomplete="list"
                aria-controls=list.clone()
                aria-expanded=move || field.is_open().to_string()
                aria-activedescendant=active
                aria-describedby=below.clone()
                aria-invalid=move || error.get().is_some().to_string()
                prop:value=value
                on:input=move |event| field.types(event_target_value(&event))
                on:focus=move |_| field.wanted.set(true)
                on:click=move |_| field.wanted.set(true)
                on:blur=move |_| field.leave()
                on:keydown=move |event: KeyboardEvent| field.key(&event)
            />
            {field.results(list)}
            {note(below, help, error)}
        </div>
    }
}

/// The state of the text field: the entered text, the search results and the highlighted result.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    value: RwSignal<String>,
    /// True if the list can be open.
    wanted: RwSignal<bool>,
    /// The index of the result that Enter selects.
    place: RwSignal<Option<usize>>,
    fitting: Memo<Vec<Choice>>,
}

impl Field {
    pub(crate) fn new(found: Signal<Vec<Choice>>, value: RwSignal<String>) -> Self {
        let fitting = Memo::new(move |_| {
            let found = found.get();
            let is_text = |it: &Choice| value.with(|text| it.key == text.trim());
            if found.iter().all(is_text) {
                return Vec::new();
            }
            found
        });
        Self {
            value,
            wanted: RwSignal::new(false),
            place: RwSignal::new(None),
            fitting,
        }
    }

    pub(crate) fn is_open(self) -> bool {
        self.wanted.get() && self.fitting.with(|it| !it.is_empty())
    }

    /// Renders the list of results with this element ID.
    pub(crate) fn results(self, list: String) -> impl IntoView {
        let options = Options {
            fitting: self.fitting,
            place: Signal::derive(move || self.active()),
            choose: Callback::new(move |key| self.take(key)),
        };
        let here = list.clone();
        view! {
            <div class="picker-list wrap" id=list role="listbox" aria-label=t().kit.results() hidden=move || !self.is_open()>
                {move || self.is_open().then(|| options.view(&here))}
            </div>
        }
    }

    /// Returns the element ID of the highlighted result in the list with this element ID.
    pub(crate) fn highlighted(self, list: &str) -> impl Fn() -> Option<String> + Clone + use<> {
        let list = list.to_owned();
        move || Some(format!("{list}-{}", self.active()?))
    }

    /// Returns the index of the highlighted result. Returns `None` if the list is closed.
    fn active(self) -> Option<usize> {
        self.place.get().filter(|_| self.is_open())
    }

    pub(crate) fn types(self, text: String) {
        self.value.set(text);
        self.place.set(None);
        self.wanted.set(true);
    }

    fn take(self, key: String) {
        self.value.set(key);
        self.place.set(None);
        self.wanted.set(false);
    }

    pub(crate) fn leave(self) {
        self.place.set(None);
        self.wanted.set(false);
    }

    pub(crate) fn key(self, event: &KeyboardEvent) {
        let open = untrack(move || self.is_open());
        let count = self.fitting.with_untracked(Vec::len);
        let place = self.place.get_untracked();
        match event.key().as_str() {
            "ArrowDown" if !open && count > 0 => self.wanted.set(true),
            "ArrowDown" if open => {
                let next = place.map_or(0, |place| (place + 1) % count);
                self.place.set(Some(next));
            }
            "ArrowUp" if open => {
                let before = place.map_or(count - 1, |place| (place + count - 1) % count);
                self.place.set(Some(before));
            }
            "Enter" if open => {
                let taken = place.and_then(|place| {
                    self.fitting
                        .with_untracked(|it| it.get(place).map(|it| it.key.clone()))
                });
                // Without a highlighted result, Enter keeps the text.
                let Some(key) = taken else { return };
                self.take(key);
            }
            // Escape closes the list, but not the dialog that contains the field.
            "Escape" if open => {
                self.wanted.set(false);
                event.stop_propagation();
            }
            _ => return,
        }
        event.prevent_default();
    }
}
