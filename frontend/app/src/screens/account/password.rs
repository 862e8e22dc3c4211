//! The form with which users change their own password.

use drover_api::rest::Secret;
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::field::{Content, TextField};
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::brand::Brand;
use crate::command::CliCommand;
use crate::screens::head::PageHead;
use crate::screens::title::title;
use crate::session::sign_out;
use crate::session::{Session, SessionState};

/// The minimum length of a password. The server also validates the length.
const MIN_SECONDS: usize = 12;
const COMMAND: &str = "drover user passwd";

/// Shows the password form without the frame, for users that must change the password.
#[component]
pub(crate) fn MustChangePassword() -> impl IntoView {
    title(t().password.choose());
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    // A change of the state mounts this screen again.
    let typed = match untrack(move || session.state()) {
        SessionState::MustChangePassword(typed) => typed,
        _ => None,
    };
    view! {
        <main class="sign-in-page">
            <div class="sign-in-card">
                <div class="brand"><Brand/></div>
                <h1>{t().password.choose()}</h1>
                <p class="muted">
                    {t().password.choose_help()}
                </p>
                <Form typed=typed/>
                <div class="sign-in-foot">
                    <Button weight=Weight::Quiet on_press=move |()| sign_out(session, toasts, false)>
                        {t().password.sign_out_instead()}
                    </Button>
                </div>
            </div>
        </main>
    }
}

/// Shows the password form in the frame.
#[component]
pub(crate) fn ChangePassword() -> impl IntoView {
    title(t().frame.change_password());
    if let Some(provider) = expect_context::<Session>().provider() {
        let advice = t().password.at_provider_help();
        return view! {
            <div class="page">
                <EmptyState reason=EmptyReason::Empty title=t().password.at_provider(&provider) advice=advice/>
            </div>
        }
        .into_any();
    }
    view! {
        <div class="page">
            <PageHead title=t().frame.change_password()/>
            <div class="card narrow">
                <p class="muted">
                    {t().password.effect()}
                </p>
                <Form typed=None/>
            </div>
            <footer class="page-foot"><CliCommand line=COMMAND.to_owned()/></footer>
        </div>
    }
    .into_any()
}

/// Returns the client-side errors of the new password.
fn input_error(new: &str, again: &str) -> (Option<String>, Option<String>) {
    let short = (!new.is_empty() && new.chars().count() < MIN_SECONDS)
        .then(|| t().forms.too_short(MIN_SECONDS));
    let differs =
        (!again.is_empty() && !new.starts_with(again)).then(|| t().password.differs().to_owned());
    (short, differs)
}

#[component]
fn Form(typed: Option<Secret>) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let asks_current = typed.is_none();
    let current = RwSignal::new(typed.map_or_else(String::new, |it| it.expose().to_owned()));
    let (new, again) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let of_field = move |name: &'static str| {
        move || problem.with(|it| it.as_ref().and_then(|it| it.of_field(name)))
    };
    let new_error = move || input_error(&new.get(), "").0.or_else(of_field("new"));
    let again_error = move || input_error(&new.get(), &again.get()).1;
    let ready = move || {
        !current.with(String::is_empty)
            && new.with(|new| new.chars().count() >= MIN_SECONDS)
            && new.get() == again.get()
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() || !ready() {
            return;
        }
        busy.set(true);
        problem.set(None);
        spawn_local(async move {
            let secret = |text: RwSignal<String>| Secret::new(text.get_untracked());
            match session.change_password(secret(current), secret(new)).await {
                Ok(()) => toasts.say(t().password.changed()),
                Err(refused) => problem.set(Some(refused)),
            }
            // The screen and its signals can be disposed before the response arrives.
            for field in [current, new, again] {
                if problem.try_get_untracked().flatten().is_none() {
                    let _ = field.try_set(String::new());
                }
            }
            let _ = busy.try_set(false);
        });
    };
    view! {
        {move || problem.get().map(|it| view! { <Banner mood=BannerKind::Error>{it.message}</Banner> })}
        <form class="stack" on:submit=submit>
            {asks_current.then(|| view! {
                <TextField label=t().password.current() content=Content::Password value=current
                    error=Signal::derive(of_field("current")) focused=true/>
            })}
            <TextField label=t().password.new_password() content=Content::NewPassword value=new focused=!asks_current
                help=t().forms.too_short(MIN_SECONDS) error=Signal::derive(new_error)/>
            <TextField label=t().password.repeat() content=Content::NewPassword value=again
                error=Signal::derive(again_error)/>
            <Button weight=Weight::Primary role=Role::Submit busy=busy
                disabled=Signal::derive(move || !ready())>
                {t().frame.change_password()}
            </Button>
        </form>
    }
}
