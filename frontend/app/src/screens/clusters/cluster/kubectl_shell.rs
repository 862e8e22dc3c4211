//! The dialog that opens a shell with kubectl in the cluster.

use drover_ui_core::messages::t;
use drover_ui_core::terminal::kubectl_shell::{DEFAULT_NAMESPACE, KUBECTL_IMAGE, KubectlShell};
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::TextField;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use crate::screens::form::{FormDialog, Refusal, Sending};
use crate::screens::pod_permission::may_on_pods;
use crate::terminals::Terminals;

/// Shows the dialog that opens a shell with kubectl.
#[component]
pub(super) fn KubectlShellDialog(name: Memo<String>, open: RwSignal<bool>) -> impl IntoView {
    move || {
        let cluster = name.get();
        let title = t().kubectl_shell.title(&cluster);
        view! {
            <FormDialog open=open title=title let:sending>
                <ShellForm cluster=cluster.clone() open=open sending=sending/>
            </FormDialog>
        }
    }
}

#[component]
fn ShellForm(cluster: String, open: RwSignal<bool>, sending: Sending) -> impl IntoView {
    let terminals = expect_context::<Terminals>();
    let image = RwSignal::new(KUBECTL_IMAGE.to_owned());
    let namespace = RwSignal::new(DEFAULT_NAMESPACE.to_owned());
    let progress = RwSignal::new(None);
    let trimmed = Memo::new(move |_| namespace.with(|text| text.trim().to_owned()));
    // Kubernetes requires "get" for requests of WebSockets, and newer versions also "create".
    let required = [
        ("create", ""),
        ("get", ""),
        ("delete", ""),
        ("create", "exec"),
        ("get", "exec"),
    ];
    let allowed =
        required.map(|(verb, of_pods)| may_on_pods(&cluster, trimmed.into(), verb, of_pods));
    let missing = Signal::derive(move || {
        let is_allowed = allowed.iter().all(RwSignal::get);
        (!is_allowed).then(|| t().kubectl_shell.missing().to_owned())
    });
    let shell = Memo::new(move |_| KubectlShell {
        cluster: cluster.clone(),
        namespace: trimmed.get(),
        image: image.with(|text| text.trim().to_owned()),
    });
    let incomplete = Signal::derive(move || {
        shell.with(|shell| shell.namespace.is_empty() || shell.image.is_empty())
    });
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let is_ready = missing.with_untracked(Option::is_none) && !incomplete.get_untracked();
        if is_ready {
            let shell = shell.get_untracked();
            let report = move |words: String| drop(progress.try_set(Some(words)));
            let request = async move { terminals.open_kubectl(&shell, report).await };
            sending.send(request, move |()| {
                let _ = open.try_set(false);
            });
        }
    };
    let (busy, command) = (sending.busy(), move || shell.with(KubectlShell::command));
    view! {
        <form class="dialog-body" on:submit=submit>
            <p>{t().kubectl_shell.help()}</p>
            <Banner mood=BannerKind::Warning>{t().kubectl_shell.warning()}</Banner>
            <TextField label=t().labels.namespace() value=namespace focused=true/>
            <TextField label=t().terminal.image() value=image help=t().kubectl_shell.image_help().to_owned()/>
            {move || missing.get().map(|words| view! { <Banner mood=BannerKind::Error>{words}</Banner> })}
            <Refusal sending=sending/>
            <p role="status">{move || progress.get().filter(|_| busy.get())}</p>
            <Code label=t().labels.command() text=Signal::derive(command) wraps=true/>
            <Foot open=open sending=sending missing=missing incomplete=incomplete/>
        </form>
    }
}

#[component]
fn Foot(
    open: RwSignal<bool>,
    sending: Sending,
    missing: Signal<Option<String>>,
    incomplete: Signal<bool>,
) -> impl IntoView {
    let toasts = expect_context::<Toasts>();
    // A shell that is not open yet ends with its dialog.
    on_cleanup(move || sending.stop());
    let busy = sending.busy();
    let cancel = move |()| {
        if busy.get_untracked() {
            sending.stop();
            toasts.say(t().kubectl_shell.cancelled());
        } else {
            open.set(false);
        }
    };
    view! {
        <div class="dialog-foot">
            <Button on_press=cancel>{t().buttons.cancel()}</Button>
            <Button
                weight=Weight::Primary
                role=Role::Submit
                icon=Icon::Terminal
                busy=busy
                disabled=incomplete
                missing=missing
            >
                {t().kubectl_shell.open()}
            </Button>
        </div>
    }
}
