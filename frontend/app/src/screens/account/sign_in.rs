//! The sign-in page.

use std::sync::Arc;

use drover_api::rest::{List, ProviderView, Secret};
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::shell;
use drover_ui_core::sign_in::{Account, Provider, SignInButton, others, return_path};
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::field::{Content, TextField};
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::rich::rich;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::brand::Brand;
use crate::command::{CliCommand, origin};
use crate::fetch::Request;
use crate::screens::title::title;
use crate::session::Session;

/// The state of the sign-in form, and the pending sign-in.
#[derive(Clone, Copy)]
struct Attempt {
    session: Session,
    /// The account type that the form shows: local, or an account of a provider.
    account: RwSignal<Account>,
    username: RwSignal<String>,
    password: RwSignal<String>,
    /// The sign-in method of the pending sign-in.
    doing: RwSignal<Option<SignInButton>>,
    problem: RwSignal<Option<Problem>>,
}

impl Attempt {
    fn new() -> Self {
        let attempt = Self {
            session: expect_context(),
            account: RwSignal::new(Account::Local),
            username: RwSignal::new(String::new()),
            password: RwSignal::new(String::new()),
            doing: RwSignal::new(None),
            problem: RwSignal::new(None),
        };
        // The browser can restore the page when the user returns from the provider without a
        // sign-in.
        let shown = window_event_listener_untyped("pageshow", move |_| attempt.doing.set(None));
        on_cleanup(move || shown.remove());
        attempt
    }

    fn is_free(self) -> bool {
        self.doing.with(Option::is_none)
    }

    fn is_ready(self) -> bool {
        let named = self.username.with(|name| !name.trim().is_empty());
        self.is_free() && named && self.password.with(|typed| !typed.is_empty())
    }

    /// Sends the user name and the password of the form.
    fn submit(self) {
        if !untrack(move || self.is_ready()) {
            return;
        }
        let account = self.account.get_untracked();
        let name = self.username.get_untracked().trim().to_owned();
        let typed = Secret::new(self.password.get_untracked());
        self.begins(SignInButton::Type(account.clone()));
        spawn_local(async move {
            let entered = match &account {
                Account::Local => self.session.sign_in(name, typed).await,
                Account::At(provider) => self.session.sign_in_at(provider, name, typed).await,
            };
            if let Err(refused) = entered {
                // After a success, the screen and its signals are disposed.
                self.failed(refused);
            }
        });
    }

    /// Switches the form to the selected sign-in method.
    fn take(self, way: &SignInButton) {
        match way {
            SignInButton::Type(account) => {
                // A password of one account is never sent to another account.
                self.password.set(String::new());
                self.problem.set(None);
                self.account.set(account.clone());
            }
            SignInButton::Go(provider) => self.go(provider.clone()),
        }
    }

    fn go(self, provider: Provider) {
        if !untrack(move || self.is_free()) {
            return;
        }
        self.begins(SignInButton::Go(provider.clone()));
        spawn_local(async move {
            let begun = self.session.begin_at(&provider, return_path(&here())).await;
            let gone = begun.and_then(|url| {
                let refused = |_| Problem::strange(t().sign_in.bad_address());
                window().location().set_href(&url).map_err(refused)
            });
            if let Err(refused) = gone {
                self.failed(refused);
            }
        });
    }

    fn begins(self, way: SignInButton) {
        self.doing.set(Some(way));
        self.problem.set(None);
    }

    fn failed(self, problem: Problem) {
        let _ = self.problem.try_set(Some(problem));
        let _ = self.doing.try_set(None);
    }
}

/// Returns the path of this page with its query.
fn here() -> String {
    let location = window().location();
    let (path, query) = (location.pathname(), location.search());
    path.unwrap_or_default() + &query.unwrap_or_default()
}

/// The providers in the order of the server; `None` before the first response.
type ProviderList = RwSignal<Option<Result<Arc<Vec<ProviderView>>, Problem>>>;

fn providers() -> ProviderList {
    let provider_list = RwSignal::new(None);
    spawn_local(async move {
        let answer = Request::get("/v1/providers").answer().await;
        let items = answer.map(|list: List<ProviderView>| Arc::new(list.items));
        // The user can be signed in before the response arrives.
        let _ = provider_list.try_set(Some(items));
    });
    provider_list
}

/// Shows the sign-in page: a form for user name and password, and buttons for providers. The page
/// does not change the URL, so the requested screen appears after the sign-in.
#[component]
pub(crate) fn SignIn(
    /// The reason why the previous session ended.
    reason: Option<String>,
) -> impl IntoView {
    title(t().sign_in.sign_in());
    let (attempt, provider_list) = (Attempt::new(), providers());
    let problem = move || {
        let refused = attempt.problem.get()?;
        Some(view! { <Banner mood=BannerKind::Error>{refused.message}</Banner> })
    };
    view! {
        <main class="sign-in-page">
            <div class="sign-in-card">
                <div class="brand"><Brand/></div>
                <h1>{t().sign_in.sign_in()}</h1>
                {reason.map(|reason| view! { <Banner mood=BannerKind::Info>{reason}</Banner> })}
                {problem}
                // Each account has a separate form, which takes the focus.
                {move || view! { <PasswordForm account=attempt.account.get() attempt=attempt/> }}
                <OtherMethods attempt=attempt provider_list=provider_list/>
                <div class="sign-in-foot">
                    <CliCommand line=format!("drover login {}", shell::word(&origin()))/>
                </div>
            </div>
        </main>
    }
}

/// Shows the form for user name and password.
#[component]
fn PasswordForm(account: Account, attempt: Attempt) -> impl IntoView {
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        attempt.submit();
    };
    let at = match &account {
        Account::Local => None,
        Account::At(provider) => Some(provider.title.clone()),
    };
    let way = SignInButton::Type(account);
    let busy = Signal::derive(move || attempt.doing.with(|doing| doing.as_ref() == Some(&way)));
    view! {
        <form on:submit=submit>
            {at.map(|title| view! { <p>{rich(t().sign_in.with_password_of(&title))}</p> })}
            <TextField label=t().sign_in.user_name() name="username" content=Content::Username value=attempt.username focused=true/>
            <TextField label=t().sign_in.password() name="password" content=Content::Password value=attempt.password/>
            <Button
                weight=Weight::Primary
                role=Role::Submit
                busy=busy
                disabled=Signal::derive(move || !attempt.is_ready())
            >
                {t().sign_in.sign_in()}
            </Button>
        </form>
    }
}

/// Shows a button for each sign-in method except the method of the form.
#[component]
fn OtherMethods(attempt: Attempt, provider_list: ProviderList) -> impl IntoView {
    let button = move |way: SignInButton| {
        let (words, of) = (way.words(), way.clone());
        let busy = Signal::derive(move || attempt.doing.with(|doing| doing.as_ref() == Some(&of)));
        view! {
            <Button
                busy=busy
                disabled=Signal::derive(move || !attempt.is_free())
                on_press=move |()| attempt.take(&way)
            >
                {words}
            </Button>
        }
    };
    move || match provider_list.get()? {
        Ok(providers) => {
            let ways = others(&providers, &attempt.account.get());
            let buttons: Vec<_> = ways.into_iter().map(button).collect();
            let shown = view! { <div class="sign-in-providers">{buttons}</div> }.into_any();
            (!providers.is_empty()).then_some(shown)
        }
        Err(problem) => {
            let unknown = t().sign_in.providers_unknown(&problem.message);
            Some(view! { <Banner mood=BannerKind::Warning>{unknown}</Banner> }.into_any())
        }
    }
}
