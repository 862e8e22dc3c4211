//! The form that creates an identity provider, and the fields that the edit form also uses.

use drover_api::rest::{AuthProviderCreate, AuthProviderView, Secret};
use drover_ui_core::messages::t;
use drover_ui_core::provider::{Draft, Entry, Field, PATHS, Protocol, callback, screen};
use drover_ui_core::shell;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Checkbox, Content, Select, TextArea, TextField};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use serde_json::json;

use super::{PATH, server_url};
use crate::screens::address::to_created;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// Shows the dialog that creates an identity provider.
#[component]
pub(super) fn CreateProvider(open: RwSignal<bool>) -> impl IntoView {
    view! {
        <FormDialog open=open title=t().providers.create() let:sending>
            <CreateForm open=open sending=sending/>
        </FormDialog>
    }
}

#[component]
fn CreateForm(open: RwSignal<bool>, sending: Sending) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let lead = to_created();
    let (name, secret) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let protocol = RwSignal::new(Protocol::Oidc.key().to_owned());
    let chosen = Memo::new(move |_| {
        let key = protocol.get();
        let found = Protocol::ALL.into_iter().find(|it| it.key() == key);
        found.unwrap_or(Protocol::Oidc)
    });
    let draft = RwSignal::new(Draft::new(Protocol::Oidc));
    let url = server_url();
    let ready = move || {
        let has_secret = !chosen.get().needs_secret() || secret.with(|it| !it.is_empty());
        has_secret && name.with(|name| !name.trim().is_empty()) && draft.with(Draft::is_complete)
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if !untrack(ready) {
            return;
        }
        let secret = secret.get_untracked();
        let request = AuthProviderCreate {
            name: name.with_untracked(|name| name.trim().to_owned()),
            spec: draft.with_untracked(|draft| draft.spec(&json!({ "enabled": false }))),
            secret: (!secret.is_empty()).then(|| Secret::new(secret)),
        };
        let request = async move { session.send("POST", PATH, &request).await };
        let lead = lead.clone();
        sending.send(request, move |provider: AuthProviderView| {
            toasts.say(t().providers.created(&provider.name));
            // The page navigates only if the dialog still exists.
            if open.try_set(false).is_none() {
                lead(screen(&provider.name));
            }
        });
    };
    let protocols = Protocol::ALL.map(|it| (it.key().to_owned(), it.words().to_owned()));
    let typed = Signal::derive(move || name.with(|name| name.trim().to_owned()));
    let command = move || command(&typed.get());
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=FIELDS/>
            <TextField label=t().labels.name() value=name focused=true error=sending.of("name")
                help=t().providers.name_help()/>
            <Select label=t().providers.protocol() options=protocols.to_vec() value=protocol/>
            <CallbackUrl protocol=chosen url=url name=typed/>
            {move || {
                let protocol = chosen.get();
                if draft.with_untracked(|draft| draft.protocol != protocol) {
                    draft.update(|draft| *draft = draft.clone().with_protocol(protocol));
                    // The form never uses a typed secret for another protocol.
                    secret.set(String::new());
                }
                view! { <Settings protocol=protocol draft=draft sending=sending changes=false/> }
            }}
            {move || view! { <SecretField protocol=chosen.get() secret=secret sending=sending kept=false/> }}
            <Common draft=draft sending=sending/>
            <p class="muted">{t().providers.disabled_help()}</p>
            <Code label=t().labels.command() text=Signal::derive(command)/>
            <FormFoot open=open verb=t().providers.create() sending=sending
                disabled=Signal::derive(move || !ready())/>
        </form>
    }
}

fn command(name: &str) -> String {
    let name = if name.is_empty() {
        "NAME".to_owned()
    } else {
        shell::word(name)
    };
    format!("drover provider create {name} --file FILE")
}

/// The names of the form fields that show the server's errors next to their inputs.
pub(super) const FIELDS: &[&str] = &{
    let mut fields = ["name"; PATHS.len() + 3];
    fields[1] = "secret";
    fields[2] = "spec.displayName";
    let mut place = 0;
    while place < PATHS.len() {
        fields[place + 3] = PATHS[place];
        place += 1;
    }
    fields
};

/// Shows the redirect URI that the provider must allow.
#[component]
pub(super) fn CallbackUrl(
    #[prop(into)] protocol: Signal<Protocol>,
    url: RwSignal<String>,
    #[prop(into)] name: Signal<String>,
) -> impl IntoView {
    let text = Signal::derive(move || callback(&url.get(), &name.get()));
    view! {
        <Show when=move || protocol.get().comes_back()>
            <div class="stack">
                <p>{t().providers.callback_help()}</p>
                <Code label=t().providers.callback_url() text=text wraps=true/>
            </div>
        </Show>
    }
}

/// Shows the fields of a protocol.
#[component]
pub(super) fn Settings(
    protocol: Protocol,
    draft: RwSignal<Draft>,
    sending: Sending,
    /// True if the form edits an existing provider. Some settings are then read-only.
    changes: bool,
) -> impl IntoView {
    let stays = |field: &Field| changes && draft.with_untracked(|draft| draft.stays(field));
    let (fixed, open): (Vec<_>, Vec<_>) = protocol.fields().iter().partition(|it| stays(it));
    let facts = fixed.into_iter().filter_map(|field| {
        let value = draft.with_untracked(|draft| draft.value(field).to_owned());
        let shown = view! { <dt>{field.label()}</dt><dd><code>{value.clone()}</code></dd> };
        (!value.is_empty()).then_some(shown)
    });
    let facts = facts.collect_view();
    let fields = open
        .into_iter()
        .map(|field| view! { <Setting field=field draft=draft error=sending.of(field.path)/> });
    view! {
        {changes.then(|| view! {
            <dl class="facts">{facts}</dl>
            <p class="muted">{t().providers.fixed_help()}</p>
        })}
        {fields.collect_view()}
    }
}

#[component]
fn Setting(
    field: &'static Field,
    draft: RwSignal<Draft>,
    error: Signal<Option<String>>,
) -> impl IntoView {
    if field.entry == Entry::Flag {
        let checked = RwSignal::new(draft.with_untracked(|draft| draft.is_checked(field)));
        Effect::new(move || {
            let checked = checked.get();
            draft.update(|draft| draft.check(field, checked));
        });
        return view! { <Checkbox label=field.label() checked=checked/> }.into_any();
    }
    let value = RwSignal::new(draft.with_untracked(|draft| draft.value(field).to_owned()));
    Effect::new(move || {
        let value = value.get();
        draft.update(|draft| draft.set(field, value));
    });
    let help = field.help().to_owned();
    match field.entry {
        Entry::OneOf(values) => {
            let options = values
                .iter()
                .map(|(key, words)| ((*key).to_owned(), words(&t().providers).to_owned()));
            view! { <Select label=field.label() options=options.collect() value=value/> }.into_any()
        }
        Entry::Lines | Entry::Text => view! {
            <TextArea label=field.label() value=value help=help error=error/>
        }
        .into_any(),
        Entry::Line | Entry::Words | Entry::Flag => view! {
            <TextField label=field.label() value=value help=help error=error/>
        }
        .into_any(),
    }
}

#[component]
pub(super) fn SecretField(
    protocol: Protocol,
    secret: RwSignal<String>,
    sending: Sending,
    /// True if a secret is stored.
    kept: bool,
) -> impl IntoView {
    let help = match (kept, protocol.needs_secret()) {
        (true, _) => t().providers.secret_kept(),
        (false, true) => t().providers.secret_new(),
        (false, false) => t().providers.secret_optional(),
    };
    view! {
        <TextField label=protocol.secret() content=Content::NewPassword value=secret
            help=help.to_owned() error=sending.of("secret")/>
    }
}

/// Shows the fields of all protocols.
#[component]
pub(super) fn Common(
    draft: RwSignal<Draft>,
    sending: Sending,
    /// The validation error of the fields for allowed users and groups.
    #[prop(optional, into)]
    wrong: Signal<Option<String>>,
) -> impl IntoView {
    let begun = draft.get_untracked();
    let shown = RwSignal::new(begun.display_name);
    let limited = RwSignal::new(begun.limited);
    let out = RwSignal::new(begun.sign_out_there);
    let protocol = Memo::new(move |_| draft.with(|draft| draft.protocol));
    let comes_back = move || protocol.get().comes_back();
    let (users, groups) = (RwSignal::new(begun.users), RwSignal::new(begun.groups));
    Effect::new(move || {
        let (shown, limited) = (shown.get(), limited.get());
        let (users, groups) = (users.get(), groups.get());
        let out = out.get() && comes_back();
        draft.update(|draft| {
            draft.display_name = shown;
            draft.sign_out_there = out;
            draft.limited = limited;
            draft.users = users;
            draft.groups = groups;
        });
    });
    view! {
        <TextField label=t().providers.button_label() value=shown error=sending.of("spec.displayName")
            help=t().providers.button_label_help()/>
        {move || comes_back().then(|| {
            let label = t().providers.sign_out_label(protocol.get().sign_out_there());
            view! { <Checkbox label=label checked=out/> }
        })}
        <Checkbox label=t().providers.limited() checked=limited/>
        <Show when=move || limited.get()>
            <div class="stack">
                <TextArea label=t().providers.users() value=users error=wrong
                    help=t().providers.users_help()/>
                <TextArea label=t().users.groups() value=groups
                    help=t().providers.groups_help()/>
            </div>
        </Show>
    }
}
