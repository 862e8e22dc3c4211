//! Buttons.

use leptos::prelude::*;

use crate::icon::{Icon, Picture};

/// The visual weight of a button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// The main action of a screen or dialog.
    Primary,
    /// A normal action.
    #[default]
    Plain,
    /// An action without a border.
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

/// The action of a button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Runs `on_press`.
    #[default]
    Act,
    /// Submits the form that contains the button.
    Submit,
}

/// Shows a button. A busy button cannot be pressed.
#[component]
pub fn Button(
    /// The visual weight of the button.
    #[prop(optional)]
    weight: Weight,
    /// The action of the button.
    #[prop(optional)]
    role: Role,
    /// An icon before the text.
    #[prop(optional, into)]
    icon: Option<Icon>,
    /// True while the action is running.
    #[prop(optional, into)]
    busy: Signal<bool>,
    /// True to disable the button.
    #[prop(optional, into)]
    disabled: Signal<bool>,
    /// The text for the permission that the user does not have. The text disables the button and is
    /// shown as the reason.
    #[prop(optional, into)]
    missing: Signal<Option<String>>,
    /// The callback that runs when the user presses the button.
    #[prop(optional, into)]
    on_press: Option<Callback<()>>,
    /// The label: a verb and its object.
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
            // The attribute `disabled` would prevent that keyboard users reach the reason.
            aria-disabled=move || missing.with(Option::is_some).then_some("true")
            title=missing
            on:click=press
        >
            {move || busy.get().then(|| view! { <span class="spinner" aria-hidden="true"></span> })}
            {icon.map(|icon| view! { <Picture icon=icon/> })}
            {children()}
            {move || missing.get().map(|reason| view! { <span class="visually-hidden">{reason}</span> })}
        </button>
    }
}
