//! Buttons.

use leptos::prelude::*;

use crate::icon::{Icon, Picture};

/// The visual weight of a button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// The main action.
    Primary,
    /// One of several actions.
    #[default]
    Plain,
    /// Without a border.
    Quiet,
    /// A destructive action.
    Danger,
}

impl Weight {
    const fn class(self) -> &'static str {
        match self {
            Self::Primary => "button primary",
            Self::Plain => "button",
            Self::Quiet => "button quiet",
            Self::Danger => "button danger",
        }
    }
}

/// What a button does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Runs its handler.
    #[default]
    Act,
    /// Submits its form.
    Submit,
}

/// A button. While it is busy it cannot be pressed.
#[component]
pub fn Button(
    /// The visual weight.
    #[prop(optional)]
    weight: Weight,
    /// What it does.
    #[prop(optional)]
    role: Role,
    /// An icon before the text.
    #[prop(optional, into)]
    icon: Option<Icon>,
    /// Whether the action runs.
    #[prop(optional, into)]
    busy: Signal<bool>,
    /// Whether it is disabled.
    #[prop(optional, into)]
    disabled: Signal<bool>,
    /// The missing right of the user: disables the button and is shown as its reason.
    #[prop(optional, into)]
    missing: Signal<Option<String>>,
    /// Called when it is pressed.
    #[prop(optional, into)]
    on_press: Option<Callback<()>>,
    /// The text: a verb and its object.
    children: Children,
) -> impl IntoView {
    let kind = match role {
        Role::Act => "button",
        Role::Submit => "submit",
    };
    let press = move |_| {
        let ready = !busy.get_untracked() && missing.with_untracked(Option::is_none);
        if let Some(on_press) = on_press.filter(|_| ready) {
            on_press.run(());
        }
    };
    view! {
        <button
            type=kind
            class=weight.class()
            disabled=move || disabled.get() || busy.get()
            aria-busy=move || busy.get().to_string()
            // Not `disabled`, so that the keyboard reaches the reason.
            aria-disabled=move || missing.with(Option::is_some).then_some("true")
            title=missing
            on:click=press
        >
            {move || busy.get().then(|| view! { <span class="spinner" aria-hidden="true"></span> })}
            {icon.map(|icon| view! { <Picture icon=icon/> })}
            {children()}
            {move || missing.get().map(|why| view! { <span class="visually-hidden">{why}</span> })}
        </button>
    }
}
