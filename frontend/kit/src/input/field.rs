//! Form fields with label, help and error.

use std::sync::atomic::{AtomicU32, Ordering};

use drover_ui_core::keys::ListKey;
use leptos::html;
use leptos::prelude::*;

use crate::keys::{SingleKeysOn, is_typed};
use crate::picker::Choice;
use crate::suggest::Field;

/// Returns a unique element ID.
pub fn unique(stem: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{stem}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The type of content in a text field, for password managers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// A text without a special meaning for password managers.
    #[default]
    Text,
    /// A user name.
    Username,
    /// The current password.
    Password,
    /// A new password.
    NewPassword,
}

impl Content {
    const fn kind(self) -> &'static str {
        match self {
            Self::Password | Self::NewPassword => "password",
            Self::Text | Self::Username => "text",
        }
    }

    /// Returns the value of the `autocomplete` attribute.
    const fn autocomplete(self) -> &'static str {
        match self {
            Self::Text => "off",
            Self::Username => "username",
            Self::Password => "current-password",
            Self::NewPassword => "new-password",
        }
    }
}

/// Creates a node reference of an input; focuses the input if `focused` is true.
pub(crate) fn input(focused: bool) -> NodeRef<html::Input> {
    let input = NodeRef::<html::Input>::new();
    Effect::new(move || {
        if let Some(input) = input.get().filter(|_| focused) {
            // The field can be disposed before the focus moves.
            let _ = input.focus();
        }
    });
    input
}

/// Shows a single-line text field. An error replaces the help text and is announced to screen
/// readers.
#[component]
pub fn TextField(
    /// The label of the field.
    #[prop(into)]
    label: String,
    /// The text in the field.
    value: RwSignal<String>,
    /// The type of the field's content, for password managers.
    #[prop(optional)]
    content: Content,
    /// The help text below the field.
    #[prop(optional, into)]
    help: Signal<String>,
    /// The validation error below the field.
    #[prop(optional, into)]
    error: Signal<Option<String>>,
    /// True to focus the field initially.
    #[prop(optional)]
    focused: bool,
    /// The `name` attribute for password managers.
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

/// Shows a multi-line text field. An error replaces the help text and is announced to screen
/// readers.
#[component]
pub fn TextArea(
    /// The label of the field.
    #[prop(into)]
    label: String,
    /// The text in the field.
    value: RwSignal<String>,
    /// The help text below the field.
    #[prop(optional, into)]
    help: Signal<String>,
    /// The validation error below the field.
    #[prop(optional, into)]
    error: Signal<Option<String>>,
    /// The number of visible lines.
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

/// Shows the help text or the error below a field.
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

/// Shows a select element.
#[component]
pub fn Select(
    /// The label of the select.
    #[prop(into)]
    label: String,
    /// The options: key and text.
    options: Vec<(String, String)>,
    /// The key of the selected option.
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

/// Shows a checkbox.
#[component]
pub fn Checkbox(
    /// The label of the checkbox.
    #[prop(into)]
    label: String,
    /// True if the checkbox is selected.
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

/// Shows a filter field.
#[component]
pub fn SearchField(
    /// The accessible name of the field.
    #[prop(into)]
    label: String,
    /// The placeholder of the field.
    #[prop(into)]
    hint: String,
    /// The text in the field.
    value: RwSignal<String>,
    /// True if the key `/` focuses the field.
    #[prop(optional)]
    slash: bool,
    /// The texts that can replace the entered text. The list opens while the user types.
    #[prop(default = None)]
    found: Option<Signal<Vec<Choice>>>,
) -> impl IntoView {
    let input = NodeRef::<html::Input>::new();
    if slash {
        let single = SingleKeysOn::reader();
        let listening = window_event_listener(leptos::ev::keydown, move |event| {
            let has_modifier = event.ctrl_key() || event.meta_key() || event.alt_key();
            let action = ListKey::of(&event.key(), has_modifier, single());
            let focuses = action == Some(ListKey::Filter) && !is_typed(&event);
            if let Some(input) = input.get_untracked().filter(|_| focuses) {
                event.prevent_default();
                // The field can be disposed before the focus moves.
                let _ = input.focus();
            }
        });
        on_cleanup(move || listening.remove());
    }
    let list = unique("list");
    let field = found.map(|found| Field::new(found, value));
    let results = field.map(|field| field.results(list.clone()));
    let active = field.map(|field| field.highlighted(&list));
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
                aria-autocomplete=field.map(|_| "list")
                aria-controls=field.map(|_| list)
                aria-activedescendant=move || active.as_ref().and_then(|active| active())
                prop:value=value
                on:input=move |event| {
                    let text = event_target_value(&event);
                    match field {
                        Some(field) => field.types(text),
                        None => value.set(text),
                    }
                }
                on:blur=move |_| if let Some(field) = field { field.leave() }
                on:keydown=move |event| if let Some(field) = field { field.key(&event) }
            />
            {results}
        </div>
    }
}

/// Shows a text field with suggestions. The value is applied when the text equals a suggestion, or
/// when the field loses the focus.
#[component]
pub fn SuggestField(
    /// The accessible name of the field.
    #[prop(into)]
    label: String,
    /// The placeholder of the field.
    #[prop(into)]
    hint: String,
    /// The suggested values.
    #[prop(into)]
    choices: Signal<Vec<String>>,
    /// The value that the user applied by selecting a suggestion or by leaving the field.
    value: RwSignal<String>,
) -> impl IntoView {
    let list = unique("choices");
    let typing = move |event| {
        let typed = event_target_value(&event);
        if typed.is_empty() || choices.with_untracked(|choices| choices.contains(&typed)) {
            value.set(typed);
        }
    };
    let on_blur = move |event| value.set(event_target_value(&event).trim().to_owned());
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
                on:change=on_blur
            />
            <datalist id=list>{options}</datalist>
        </div>
    }
}
