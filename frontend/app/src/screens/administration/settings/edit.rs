//! The dialog that edits a setting.

use drover_api::rest::{SettingUpdate, SettingView};
use drover_ui_core::lifetime;
use drover_ui_core::messages::t;
use drover_ui_core::setting::{Entry, Note, note};
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_kit::button::Button;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Select, TextField};
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::{Editing, Settings};
use crate::live::listing::Listing;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// Shows the dialog for the setting that the URL selects.
#[component]
pub(super) fn EditSetting(
    editing: Editing,
    settings: Settings,
    listing: Listing<SettingView>,
) -> impl IntoView {
    // The form starts with the current value. Later changes of the setting do not overwrite the
    // form.
    let known = Memo::new(move |_| {
        let name = editing.name.get();
        settings.with(|settings| settings.iter().any(|setting| setting.name == name))
    });
    let form = move |sending| {
        let name = editing.name.get();
        let found = known.get().then(|| {
            settings.with_untracked(|settings| {
                settings
                    .iter()
                    .find(|setting| setting.name == name)
                    .cloned()
            })
        });
        match found.flatten() {
            Some(setting) => {
                view! { <Form setting=setting open=editing.open sending=sending listing=listing/> }
                    .into_any()
            }
            None => view! {
                <EmptyState reason=EmptyReason::NotFound title=t().settings.not_found(&name)
                    advice=t().settings.not_found_advice()/>
            }
            .into_any(),
        }
    };
    view! {
        <FormDialog open=editing.open title=t().settings.edit_title() let:sending>
            {move || form(sending)}
        </FormDialog>
    }
}

#[component]
fn Form(
    setting: SettingView,
    open: RwSignal<bool>,
    sending: Sending,
    listing: Listing<SettingView>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let note = note(&setting.name);
    let value = RwSignal::new(begin_with(&setting, note));
    let name = StoredValue::new(setting.name.clone());
    let send = move |value: String| {
        let path = name.with_value(|name| format!("/v1/settings/{}", segment(name)));
        let request = async move { session.send("PUT", &path, &SettingUpdate { value }).await };
        sending.send(request, move |setting: SettingView| {
            listing.again();
            toasts.say(t().settings.saved(&setting.name, &setting.in_effect));
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        send(value.get_untracked().trim().to_owned());
    };
    let command = move || command(&name.get_value(), value.get().trim());
    let was_set = !setting.value.is_empty();
    view! {
        <form class="dialog-body" on:submit=submit>
            <h3><code>{setting.name.clone()}</code></h3>
            <p>{setting.description.clone()}</p>
            <Refusal sending=sending fields=&["value"]/>
            <ValueField note=note value=value error=sending.of("value")/>
            <Facts setting=setting note=note/>
            <Banner mood=BannerKind::Info>{note.concerns}</Banner>
            <Code label=t().labels.command() text=Signal::derive(command)/>
            <FormFoot open=open verb=t().buttons.save() sending=sending>
                {was_set.then(|| view! {
                    <Button busy=sending.busy() on_press=move |()| send(String::new())>{t().settings.reset()}</Button>
                    <span class="grow"></span>
                })}
            </FormFoot>
        </form>
    }
}

fn command(name: &str, value: &str) -> String {
    let name = shell::word(name);
    match value {
        "" => format!("drover setting set {name} --default"),
        value => format!("drover setting set {name} {}", shell::word(value)),
    }
}

/// Returns the initial value of the field. A select starts with the effective value, because a
/// select has no empty option.
fn begin_with(setting: &SettingView, note: Note) -> String {
    match note.entry {
        Entry::OneOf(_) => setting.in_effect.clone(),
        Entry::Text | Entry::Lifetime => setting.value.clone(),
    }
}

#[component]
fn ValueField(note: Note, value: RwSignal<String>, error: Signal<Option<String>>) -> impl IntoView {
    if let Entry::OneOf(values) = note.entry {
        let options = values
            .iter()
            .map(|value| ((*value).to_owned(), (*value).to_owned()));
        return view! {
            <Select label=t().settings.value() options=options.collect() value=value/>
            {move || error.get().map(|reason| view! { <Banner mood=BannerKind::Error>{reason}</Banner> })}
        }
        .into_any();
    }
    let help = move || {
        let in_words = match note.entry {
            Entry::Lifetime => value.with(|value| lifetime::parse(value.trim())),
            _ => None,
        };
        match in_words {
            Some(seconds) => t().settings.duration(&lifetime::words(seconds)),
            None => t().settings.bounds(note.bounds).trim().to_owned(),
        }
    };
    view! {
        <TextField label=t().settings.value() value=value focused=true help=Signal::derive(help) error=error/>
    }
    .into_any()
}

#[component]
fn Facts(setting: SettingView, note: Note) -> impl IntoView {
    let shown = |value: String| match value.as_str() {
        "" => view! { <span class="muted">{t().states.not_set()}</span> }.into_any(),
        _ => view! { <code>{value}</code> }.into_any(),
    };
    view! {
        <dl class="facts">
            <dt>{t().settings.in_effect()}</dt><dd>{shown(setting.in_effect)}</dd>
            <dt>{t().settings.default()}</dt><dd>{shown(setting.default)}</dd>
            {(!note.bounds.is_empty()).then(|| view! { <dt>{t().settings.allowed()}</dt><dd>{note.bounds}</dd> })}
            {setting.problem.map(|reason| view! { <dt>{t().settings.not_applied_label()}</dt><dd>{reason}</dd> })}
        </dl>
    }
}
