//! Buttons.

use leptos::prelude::*;

use crate::icon::{Icon, Picture};

/// How much a button asks for attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// The one thing to do here.
    Primary,
    /// One of several.
    #[default]
    Plain,
    /// Beside other things, without a frame.
    Quiet,
    /// It destroys something.
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
    /// Sends the form that it is in.
    Submit,
}

/// A button. While it is busy it cannot be pressed again, and says so.
#[component]
pub fn Button(
    /// How much it asks for attention.
    #[prop(optional)]
    weight: Weight,
    /// What it does.
    #[prop(optional)]
    role: Role,
    /// An icon before the words.
    #[prop(optional, into)]
    icon: Option<Icon>,
    /// Whether what it does is being done.
    #[prop(optional, into)]
    busy: Signal<bool>,
    /// Whether it cannot be pressed.
    #[prop(optional, into)]
    disabled: Signal<bool>,
    /// The right that the person lacks, in words: the button is disabled, and says so.
    #[prop(optional, into)]
    missing: Signal<Option<String>>,
    /// Called when it is pressed.
    #[prop(optional, into)]
    on_press: Option<Callback<()>>,
    /// The words: a verb, and with what.
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
            // It keeps the focus, so that the keyboard leads to the reason, too.
            aria-disabled=move || missing.with(Option::is_some).then_some("true")
            title=missing
            on:click=press
        >
            {move || busy.get().then(|| view! { <span class="spinner" aria-hidden="true"></span> })}
            {icon.map(|icon| view! { <Picture icon=icon/> })}
            {children()}
            {move || missing.get().map(|why| view! { <span class="unseen">{why}</span> })}
        </button>
    }
}
