//! The tab with buttons, fields, dialogs, menus and toasts.

use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::choice::options;
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::field::{Checkbox, SearchField, Select, SuggestField, TextField};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::menu::Menu;
use drover_ui_kit::theme::Theme;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

/// Shows buttons, fields, a dialog, a menu and toasts.
#[component]
pub(super) fn Forms() -> impl IntoView {
    view! {
        <div class="cards">
            <Buttons/>
            <Fields/>
            <Overlays/>
        </div>
    }
}

#[component]
fn Buttons() -> impl IntoView {
    let busy = RwSignal::new(false);
    view! {
        <section class="card">
            <h2>"Buttons"</h2>
            <div class="row">
                <Button weight=Weight::Primary icon=Icon::Plus>"Primary"</Button>
                <Button>"Plain"</Button>
                <Button weight=Weight::Quiet icon=Icon::Copy>"Quiet"</Button>
                <Button weight=Weight::Danger icon=Icon::Trash>"Danger"</Button>
            </div>
            <div class="row">
                <Button weight=Weight::Primary disabled=true>"Primary"</Button>
                <Button disabled=true>"Disabled"</Button>
                <Button busy=busy on_press=move |()| busy.set(true)>"Becomes busy"</Button>
                <Button weight=Weight::Quiet on_press=move |()| busy.set(false)>"Stop"</Button>
            </div>
        </section>
    }
}

#[component]
fn Fields() -> impl IntoView {
    let name = RwSignal::new("Berlin 1".to_owned());
    let error = move || {
        let wrong = name.with(|name| {
            name.chars()
                .any(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'))
        });
        wrong.then(|| "Use only lowercase letters, digits and “-”.".to_owned())
    };
    let days = [("1", "A day"), ("7", "A week"), ("30", "Thirty days")];
    let days = days.map(|(key, words)| (key.to_owned(), words.to_owned()));
    view! {
        <section class="card">
            <h2>"Fields"</h2>
            <TextField label="Cluster name" value=name
                help="The name in commands and URLs." error=Signal::derive(error)/>
            <Select label="Lifetime" options=days.to_vec() value=RwSignal::new("7".to_owned())/>
            <Checkbox label="Upgrade the agent automatically" checked=RwSignal::new(true)/>
            <SearchField label="Filter" hint="Filter by name or label" value=RwSignal::new(String::new())/>
            <SuggestField label="Namespace" hint="All namespaces"
                choices=vec!["default".to_owned(), "shop".to_owned()] value=RwSignal::new(String::new())/>
        </section>
    }
}

#[component]
fn Overlays() -> impl IntoView {
    let toasts = expect_context::<Toasts>();
    let themes = options::<Theme>().collect();
    let open = RwSignal::new(false);
    view! {
        <section class="card">
            <h2>"Dialog, menu, toasts"</h2>
            <div class="row">
                <Button on_press=move |()| open.set(true)>"Open dialog"</Button>
                <Menu label="Theme" items=themes>"Theme"</Menu>
                <Button on_press=move |()| toasts.say("The token is revoked.")>"Show message"</Button>
                <Button on_press=move |()| toasts.warn("The server did not respond in time.")>"Show warning"</Button>
            </div>
            <Dialog open=open title="Delete cluster berlin?">
                <div class="dialog-body">
                    <p>"Drover removes the agent, and users lose access. Workloads keep running."</p>
                    <div class="dialog-foot">
                        <Button on_press=move |()| open.set(false)>"Cancel"</Button>
                        <Button weight=Weight::Danger on_press=move |()| open.set(false)>"Delete"</Button>
                    </div>
                </div>
            </Dialog>
        </section>
    }
}
