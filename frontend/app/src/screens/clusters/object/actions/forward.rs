//! The dialog that forwards a port of a pod or Service to a host name for the browser.

use drover_api::rest::PortForwardCreated;
use drover_ui_core::action::forward::{OTHER_PORT, command, declared_ports, port_number, request};
use drover_ui_core::action::{Access, Action};
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Select, TextField};
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use super::ActionTarget;
use super::form::explained;
use crate::screens::form::{FormDialog, Refusal, Sending};
use crate::screens::forwards::PATH;
use crate::session::Session;

/// Shows the dialog that forwards a port.
#[component]
pub(super) fn ForwardDialog(target: ActionTarget, open: RwSignal<bool>) -> impl IntoView {
    let title = target.named.with_value(|named| {
        let verb = Action::Forward.words().trim_end_matches('…');
        t().actions.title(verb, named.kind.name, &named.name)
    });
    view! {
        <FormDialog open=open title=title let:sending>
            <ForwardForm target=target open=open sending=sending/>
        </FormDialog>
    }
}

#[component]
fn ForwardForm(target: ActionTarget, open: RwSignal<bool>, sending: Sending) -> impl IntoView {
    let kind = target.named.with_value(|named| named.kind);
    let ports = target
        .object
        .with_untracked(|object| declared_ports(kind, object));
    let mut options: Vec<_> = ports
        .into_iter()
        .map(|(port, words)| (port.to_string(), words))
        .collect();
    // A Service forwards only its ports.
    if kind == Kind::PODS {
        options.push((OTHER_PORT.to_owned(), t().forwards.other().to_owned()));
    }
    let first = options.first().map(|(key, _)| key.clone());
    let chosen = RwSignal::new(first.unwrap_or_default());
    let number = RwSignal::new(String::new());
    let is_other = Memo::new(move |_| chosen.with(|key| key == OTHER_PORT));
    let port = Memo::new(move |_| {
        let text = if is_other.get() { number } else { chosen };
        text.with(|text| port_number(text))
    });
    let link = RwSignal::new(None::<String>);
    let creating = Creating {
        target,
        open,
        link,
        sending,
        session: expect_context::<Session>(),
        toasts: expect_context::<Toasts>(),
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if let Some(port) = port.get_untracked() {
            creating.start(port);
        }
    };
    let line = move || {
        let port = port.get()?;
        let line = target.named.with_value(|named| command(named, port));
        Some(view! { <Code label=t().labels.command() text=line wraps=true/> })
    };
    let other = move || {
        is_other.get().then(|| {
            view! { <TextField label=t().forwards.number() value=number help=t().forwards.number_help().to_owned()/> }
        })
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <p>{t().forwards.help()}</p>
            <Select label=t().forwards.port() options=options value=chosen/>
            {other}
            <Refusal sending=sending/>
            {line}
            {move || link.get().map(|link| view! { <BlockedTab link=link/> })}
            <div class="dialog-foot">
                <Button disabled=sending.busy() on_press=move |()| open.set(false)>{t().buttons.cancel()}</Button>
                <Button
                    weight=Weight::Primary
                    role=Role::Submit
                    busy=sending.busy()
                    disabled=Signal::derive(move || port.with(Option::is_none))
                >
                    {t().forwards.open()}
                </Button>
            </div>
        </form>
    }
}

/// Shows the link to a port forward whose tab the browser blocked.
#[component]
fn BlockedTab(link: String) -> impl IntoView {
    view! {
        <Banner mood=BannerKind::Warning>
            {t().forwards.blocked()}" "
            <a href=link target="_blank" rel="noopener noreferrer external">{t().forwards.open_link()}</a>
        </Banner>
    }
}

/// The parameters of a new port forward.
#[derive(Clone, Copy)]
struct Creating {
    target: ActionTarget,
    /// True while the dialog is open.
    open: RwSignal<bool>,
    /// The address, if the browser blocked the new tab.
    link: RwSignal<Option<String>>,
    sending: Sending,
    session: Session,
    toasts: Toasts,
}

impl Creating {
    /// Creates a port forward, and opens its address in a new tab.
    fn start(self, port: u16) {
        if self.sending.busy().get_untracked() {
            return;
        }
        let named = self.target.named.get_value();
        let access = Access::of(Action::Forward, &named);
        // Browsers block a tab that a page opens some seconds after the user pressed a button.
        let tab = window().open_with_url_and_target("", "_blank");
        let tab = tab.ok().flatten();
        if let Some(tab) = &tab {
            // The page of the program must not control Drover's tab.
            let _ = tab.set_opener(&JsValue::NULL);
        }
        let (opened, body) = (tab.clone(), request(&named, port));
        let creating = async move {
            let created = self.session.send::<PortForwardCreated>("POST", PATH, &body);
            created.await.map_err(|problem| {
                if let Some(tab) = tab {
                    let _ = tab.close();
                }
                explained(problem, &access)
            })
        };
        self.sending.send(creating, move |created| {
            let url = created.open_url.expose().to_owned();
            let replaced = opened.map(|tab| tab.location().replace(&url));
            // The dialog can be closed before the response arrives.
            if let Some(Ok(())) = replaced {
                self.toasts.say(t().forwards.opened(&created.forward.pod));
                let _ = self.open.try_set(false);
            } else {
                let _ = self.link.try_set(Some(url));
            }
        });
    }
}
