//! Fields of forms, each with its label, its help and its error.

use std::sync::atomic::{AtomicU32, Ordering};

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, KeyboardEvent};

/// A name for an element that no other has.
pub(crate) fn unique(stem: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{stem}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// What is typed into a text field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Any text.
    #[default]
    Text,
    /// The name that a person signs in with.
    Username,
    /// The password that counts now.
    Password,
    /// A password that is being chosen.
    NewPassword,
}

impl Content {
    const fn kind(self) -> &'static str {
        match self {
            Self::Password | Self::NewPassword => "password",
            Self::Text | Self::Username => "text",
        }
    }

    /// What password managers go by.
    const fn autocomplete(self) -> &'static str {
        match self {
            Self::Text => "off",
            Self::Username => "username",
            Self::Password => "current-password",
            Self::NewPassword => "new-password",
        }
    }
}

/// Where an input will be, which is given the focus when it appears, if that is wanted.
pub(crate) fn input(focused: bool) -> NodeRef<html::Input> {
    let input = NodeRef::<html::Input>::new();
    Effect::new(move || {
        if let Some(input) = input.get().filter(|_| focused) {
            // A field that is gone already needs no focus.
            let _ = input.focus();
        }
    });
    input
}

/// One line of text. An error takes the place of the help, and is read out.
#[component]
pub fn TextField(
    /// What it is for.
    #[prop(into)]
    label: String,
    /// The text.
    value: RwSignal<String>,
    /// What is typed.
    #[prop(optional)]
    content: Content,
    /// What the field's value has to look like.
    #[prop(optional, into)]
    help: Signal<String>,
    /// What is wrong with it.
    #[prop(optional, into)]
    error: Signal<Option<String>>,
    /// Whether it has the focus when it appears.
    #[prop(optional)]
    focused: bool,
    /// The name that programs which fill forms go by.
    #[prop(optional, into)]
    name: Option<String>,
) -> impl IntoView {
    let (id, below) = (unique("field"), unique("note"));
    let input = input(focused);
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <input
                node_ref=input
                id=id
                name=name
                type=content.kind()
                autocomplete=content.autocomplete()
                autocapitalize="none"
                spellcheck="false"
                aria-describedby=below.clone()
                aria-invalid=move || error.get().is_some().to_string()
                prop:value=value
                on:input=move |event| value.set(event_target_value(&event))
            />
            {note(below, help, error)}
        </div>
    }
}

/// Several lines of text. An error takes the place of the help, and is read out.
#[component]
pub fn TextArea(
    /// What it is for.
    #[prop(into)]
    label: String,
    /// The text.
    value: RwSignal<String>,
    /// What the text has to look like.
    #[prop(optional, into)]
    help: Signal<String>,
    /// What is wrong with it.
    #[prop(optional, into)]
    error: Signal<Option<String>>,
    /// How many lines are in sight.
    #[prop(default = 3)]
    lines: u32,
) -> impl IntoView {
    let (id, below) = (unique("field"), unique("note"));
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <textarea
                id=id
                rows=lines
                autocomplete="off"
                autocapitalize="none"
                spellcheck="false"
                aria-describedby=below.clone()
                aria-invalid=move || error.get().is_some().to_string()
                prop:value=value
                on:input=move |event| value.set(event_target_value(&event))
            ></textarea>
            {note(below, help, error)}
        </div>
    }
}

/// What stands below a field: its help, or what is wrong.
pub(crate) fn note(
    id: String,
    help: Signal<String>,
    error: Signal<Option<String>>,
) -> impl IntoView {
    let class = move || {
        if error.get().is_some() {
            "field-note error"
        } else {
            "field-note"
        }
    };
    let text = move || error.get().unwrap_or_else(|| help.get());
    view! { <p id=id class=class aria-live="polite">{text}</p> }
}

/// One of several values.
#[component]
pub fn Select(
    /// What it is for.
    #[prop(into)]
    label: String,
    /// The values, each with its words.
    options: Vec<(String, String)>,
    /// The chosen value.
    value: RwSignal<String>,
) -> impl IntoView {
    let id = unique("field");
    let choices = options.into_iter().map(|(key, words)| {
        let chosen = key.clone();
        view! {
            <option value=key selected=move || value.get() == chosen>{words}</option>
        }
    });
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <select id=id on:change=move |event| value.set(event_target_value(&event))>
                {choices.collect_view()}
            </select>
        </div>
    }
}

/// Yes or no.
#[component]
pub fn Checkbox(
    /// What is so when it is checked.
    #[prop(into)]
    label: String,
    /// Whether it is.
    checked: RwSignal<bool>,
) -> impl IntoView {
    view! {
        <label class="checkbox">
            <input
                type="checkbox"
                prop:checked=checked
                on:change=move |event| checked.set(event_target_checked(&event))
            />
            <span>{label}</span>
        </label>
    }
}

/// A field that filters what is below it.
#[component]
pub fn SearchField(
    /// What it filters, for screen readers.
    #[prop(into)]
    label: String,
    /// What can be typed, shown while nothing is.
    #[prop(into)]
    hint: String,
    /// The text.
    value: RwSignal<String>,
    /// Whether the key `/` leads here from anywhere on the screen.
    #[prop(optional)]
    slash: bool,
) -> impl IntoView {
    let input = NodeRef::<html::Input>::new();
    if slash {
        let listening = window_event_listener(leptos::ev::keydown, move |event| {
            let wanted = event.key() == "/" && !is_typed(&event);
            if let Some(input) = input.get_untracked().filter(|_| wanted) {
                event.prevent_default();
                // A field that is gone needs no focus.
                let _ = input.focus();
            }
        });
        on_cleanup(move || listening.remove());
    }
    view! {
        <div class="search">
            <crate::icon::Picture icon=crate::icon::Icon::Search/>
            <input
                node_ref=input
                aria-keyshortcuts=slash.then_some("/")
                type="search"
                aria-label=label
                placeholder=hint
                autocomplete="off"
                spellcheck="false"
                prop:value=value
                on:input=move |event| value.set(event_target_value(&event))
            />
        </div>
    }
}

/// Whether a key goes into a field, belongs to a dialog, or is pressed together with others.
fn is_typed(event: &KeyboardEvent) -> bool {
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return true;
    }
    let target = event.target().and_then(|it| it.dyn_into::<Element>().ok());
    let taken = "input, textarea, select, dialog, [contenteditable]";
    target.is_some_and(|it| it.closest(taken).ok().flatten().is_some())
}

/// A field with suggestions, in which anything else can be typed, too. What is typed counts when
/// it is one of them, or when the field is left.
#[component]
pub fn SuggestField(
    /// What it is for, for screen readers.
    #[prop(into)]
    label: String,
    /// What it means that nothing is typed.
    #[prop(into)]
    hint: String,
    /// The suggestions.
    #[prop(into)]
    choices: Signal<Vec<String>>,
    /// The value.
    value: RwSignal<String>,
) -> impl IntoView {
    let list = unique("choices");
    let typing = move |event| {
        let typed = event_target_value(&event);
        if typed.is_empty() || choices.with_untracked(|choices| choices.contains(&typed)) {
            value.set(typed);
        }
    };
    let left = move |event| value.set(event_target_value(&event).trim().to_owned());
    let options = move || {
        let choices = choices.get().into_iter();
        let options = choices.map(|choice| view! { <option value=choice></option> });
        options.collect_view()
    };
    view! {
        <div class="suggest">
            <input
                type="search"
                aria-label=label
                placeholder=hint
                list=list.clone()
                autocomplete="off"
                spellcheck="false"
                prop:value=value
                on:input=typing
                on:change=left
            />
            <datalist id=list>{options}</datalist>
        </div>
    }
}
