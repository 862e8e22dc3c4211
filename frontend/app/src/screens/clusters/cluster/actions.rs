//! The dialogs of the actions on a cluster: kubeconfig, new keys and deletion.

use std::sync::Arc;

use drover_api::rest::{ClusterView, KeyRotation, KubeconfigResponse};
use drover_ui_core::kubeconfig::KubeconfigType;
use drover_ui_core::messages::t;
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Select, TextField};
use drover_ui_kit::rich::rich;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::file::save;
use crate::screens::form::{FormDialog, Refusal, Sending};
use crate::session::Session;

/// Shows the dialog that creates a kubeconfig.
#[component]
pub(super) fn Kubeconfig(
    name: Memo<String>,
    cluster: Signal<Arc<ClusterView>>,
    open: RwSignal<bool>,
) -> impl IntoView {
    view! {
        <FormDialog open=open title=t().cluster.kubeconfig() let:sending>
            <KubeconfigForm name=name cluster=cluster open=open sending=sending/>
        </FormDialog>
    }
}

#[component]
fn KubeconfigForm(
    name: Memo<String>,
    cluster: Signal<Arc<ClusterView>>,
    open: RwSignal<bool>,
    sending: Sending,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let credential = RwSignal::new(KubeconfigType::default().key().to_owned());
    let types = cluster.with_untracked(|it| KubeconfigType::available(it.endpoint_enabled));
    let choices = types.into_iter();
    let choices = choices.map(|it| (it.key().to_owned(), it.words().to_owned()));
    let chosen = move || credential.with(|key| KubeconfigType::of_key(key));
    let command = Signal::derive(move || name.with(|name| chosen().command(name)));
    let download = move |()| {
        let name = name.get_untracked();
        let request = untrack(chosen).request(&name);
        let request = async move { session.send("POST", "/v1/kubeconfig", &request).await };
        sending.send(request, move |answer: KubeconfigResponse| {
            if save(&format!("{name}.yaml"), answer.kubeconfig.expose()) {
                // The dialog can be closed before the response arrives.
                let _ = open.try_set(false);
            } else {
                toasts.warn(t().cluster.cannot_download());
            }
        });
    };
    view! {
        <div class="dialog-body">
            <Refusal sending=sending/>
            <Select label=t().cluster.credential() options=choices.collect() value=credential/>
            <Code label=t().labels.command() text=command/>
            <div class="dialog-foot">
                <Button weight=Weight::Primary busy=sending.busy() on_press=download>{t().buttons.download()}</Button>
            </div>
        </div>
    }
}

/// Shows the dialog that requests new keys of the cluster's agents.
#[component]
pub(super) fn RotateKeys(name: Memo<String>, open: RwSignal<bool>) -> impl IntoView {
    view! {
        <FormDialog open=open title=t().cluster.rotate_keys_title() let:sending>
            <RotateForm name=name open=open sending=sending/>
        </FormDialog>
    }
}

#[component]
fn RotateForm(name: Memo<String>, open: RwSignal<bool>, sending: Sending) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let rotate = move |()| {
        let name = name.get_untracked();
        let path = format!("/v1/clusters/{}/rotate-keys", segment(&name));
        let request = async move { session.send("POST", &path, &()).await };
        sending.send(request, move |_: KeyRotation| {
            toasts.say(t().cluster.keys_requested(&name));
            // The dialog can be closed before the response arrives.
            let _ = open.try_set(false);
        });
    };
    let command = move || format!("drover cluster rotate-keys {}", shell::word(&name.get()));
    view! {
        <div class="dialog-body">
            <p>{t().cluster.rotate_keys_effect()}</p>
            <Refusal sending=sending/>
            <Code label=t().labels.command() text=Signal::derive(command)/>
            <div class="dialog-foot">
                <Button disabled=sending.busy() on_press=move |()| open.set(false)>{t().buttons.cancel()}</Button>
                <Button weight=Weight::Primary busy=sending.busy() on_press=rotate>{t().cluster.rotate_keys()}</Button>
            </div>
        </div>
    }
}

/// Shows the dialog that deletes the cluster.
#[component]
pub(super) fn DeleteCluster(name: Memo<String>, open: RwSignal<bool>) -> impl IntoView {
    view! {
        <FormDialog open=open title=t().cluster.delete_title() let:sending>
            <DeleteForm name=name open=open sending=sending/>
        </FormDialog>
    }
}

#[component]
fn DeleteForm(name: Memo<String>, open: RwSignal<bool>, sending: Sending) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let navigate = use_navigate();
    let typed = RwSignal::new(String::new());
    let delete = move |()| {
        let (name, navigate) = (name.get_untracked(), navigate.clone());
        let path = format!("/v1/clusters/{}", segment(&name));
        let request = async move { session.delete(&path).await };
        sending.send(request, move |()| {
            toasts.say(t().cluster.deleting(&name));
            // The page navigates only if the screen still exists.
            if open.try_set(false).is_none() {
                navigate("/", NavigateOptions::default());
            }
        });
    };
    view! {
        <div class="dialog-body">
            <p>
                {rich(t().cluster.delete_effect())}
            </p>
            <Refusal sending=sending/>
            <TextField label=t().kit.type_to_confirm(&name.get_untracked()) value=typed focused=true/>
            <Code label=t().labels.command() text=Signal::derive(move || format!("drover cluster delete {}", shell::word(&name.get())))/>
            <div class="dialog-foot">
                <Button disabled=sending.busy() on_press=move |()| open.set(false)>{t().buttons.cancel()}</Button>
                <Button
                    weight=Weight::Danger
                    busy=sending.busy()
                    disabled=Signal::derive(move || typed.get() != name.get())
                    on_press=delete
                >
                    {t().buttons.delete()}
                </Button>
            </div>
        </div>
    }
}
