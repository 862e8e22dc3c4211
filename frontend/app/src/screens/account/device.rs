//! The approval of a login of the command line (OAuth device authorization grant).

use drover_api::rest::DeviceView;
use drover_ui_core::messages::t;
use drover_ui_core::shell;
use drover_ui_core::token::ago;
use drover_ui_core::url::segment;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::field::TextField;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::rich::rich;
use leptos::html;
use leptos::prelude::*;

use crate::clock::{Clock, in_full};
use crate::command::{CliCommand, origin};
use crate::screens::form::{Refusal, Sending};
use crate::screens::head::PageHead;
use crate::screens::title::title;
use crate::session::Session;

/// The current step of the login approval.
#[derive(Clone, PartialEq)]
enum Step {
    /// The user types the code that `drover login` shows.
    Code,
    /// The user checks the login request before the approval.
    Question(DeviceView),
    /// The user approved the login.
    Confirmed,
    /// The user rejected the login.
    Left(DeviceView),
}

/// Shows the screen that `drover login` opens.
#[component]
pub(crate) fn Device() -> impl IntoView {
    title(t().device.title());
    let step = RwSignal::new(Step::Code);
    view! {
        <div class="page">
            <PageHead title=t().device.title()/>
            <div class="card narrow">
                <p>{t().device.help()}</p>
                <CodeForm step=step/>
            </div>
            {move || match step.get() {
                Step::Code => ().into_any(),
                Step::Question(view) => view! { <Question view=view step=step/> }.into_any(),
                Step::Confirmed => view! { <Confirmed/> }.into_any(),
                Step::Left(view) => view! { <Left view=view/> }.into_any(),
            }}
            <footer class="page-foot"><CliCommand line=format!("drover login {}", shell::word(&origin()))/></footer>
        </div>
    }
}

#[component]
fn CodeForm(step: RwSignal<Step>) -> impl IntoView {
    let session = expect_context::<Session>();
    let (code, sending) = (RwSignal::new(String::new()), Sending::new());
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let typed = code.get_untracked().trim().to_owned();
        if typed.is_empty() {
            return;
        }
        step.set(Step::Code);
        let path = format!("/v1/device/{}", segment(&typed));
        let request = async move { session.get(&path).await };
        // The screen can be disposed before the response arrives.
        sending.send(request, move |view| {
            drop(step.try_set(Step::Question(view)));
        });
    };
    view! {
        <form class="stack" on:submit=submit>
            <Refusal sending=sending/>
            <TextField label=t().device.code() value=code focused=true help=t().device.code_help()/>
            <Button role=Role::Submit busy=sending.busy()
                disabled=Signal::derive(move || code.with(|code| code.trim().is_empty()))>
                {t().device.show_request()}
            </Button>
        </form>
    }
}

/// Shows the login request and the effect of its approval.
#[component]
fn Question(view: DeviceView, step: RwSignal<Step>) -> impl IntoView {
    let (session, clock) = (expect_context::<Session>(), expect_context::<Clock>());
    let sending = Sending::new();
    let path = format!("/v1/device/{}/confirm", segment(&view.user_code));
    let confirm = move |()| {
        let path = path.clone();
        let request = async move { session.send_only("POST", &path, &()).await };
        sending.send(request, move |()| drop(step.try_set(Step::Confirmed)));
    };
    let me = move || session.view().map(|view| view.me.username);
    let at = view.requested_at;
    let leave = StoredValue::new(view.clone());
    view! {
        <section class="card narrow" role="status">
            <h2>{t().device.request()}</h2>
            <dl class="facts">
                <dt>{t().device.code()}</dt><dd><code>{view.user_code}</code></dd>
                <dt>{t().device.source()}</dt><dd><code>{view.source}</code></dd>
                <dt>{t().device.requested()}</dt><dd title=in_full(at).to_string()>{move || ago(at, clock.now())}</dd>
                <dt>{t().labels.expires()}</dt><dd>{in_full(view.expires_at).to_string()}</dd>
            </dl>
            <Banner mood=BannerKind::Warning>
                {move || rich(t().device.warning(&me().unwrap_or_default()))}
            </Banner>
            <Refusal sending=sending/>
            <div class="row">
                <Button weight=Weight::Primary busy=sending.busy() on_press=confirm>{t().device.approve()}</Button>
                <Button disabled=sending.busy() on_press=move |()| step.set(Step::Left(leave.get_value()))>
                    {t().device.reject()}
                </Button>
            </div>
        </section>
    }
}

/// Shows the heading of the result. The heading takes the focus, because the pressed button is
/// removed.
#[component]
fn Outcome(words: &'static str) -> impl IntoView {
    let heading = NodeRef::<html::H2>::new();
    Effect::new(move || {
        if let Some(heading) = heading.get() {
            // The heading can be disposed before the focus moves.
            let _ = heading.focus();
        }
    });
    view! { <h2 node_ref=heading tabindex="-1">{words}</h2> }
}

#[component]
fn Confirmed() -> impl IntoView {
    view! {
        <section class="card narrow" role="status">
            <Outcome words=t().device.approved()/>
            <p>{t().device.approved_help()}</p>
            <div class="row"><a href="/tokens">{t().device.your_tokens()}</a></div>
        </section>
    }
}

#[component]
fn Left(view: DeviceView) -> impl IntoView {
    view! {
        <section class="card narrow" role="status">
            <Outcome words=t().device.rejected()/>
            <p>
                {rich(t().device.rejected_help(&in_full(view.expires_at), &view.source))}
            </p>
        </section>
    }
}
