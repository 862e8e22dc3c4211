//! The connection test of an identity provider.

use drover_api::rest::{AuthProviderView, ProviderCheck, ProviderTest, ProviderTestResult, Secret};
use drover_ui_core::messages::t;
use drover_ui_core::provider::{Protocol, enabled};
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::button::{Button, Role, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Content, TextField};
use leptos::prelude::*;
use serde_json::Value;

use crate::screens::form::{Refusal, Sending};
use crate::session::Session;

/// The timeout of a test, in milliseconds. The server's limit is one minute.
const TIMEOUT_MS: u32 = 70_000;

/// The configuration that a test checked.
#[derive(Clone, Debug, PartialEq)]
struct TestedConfiguration {
    /// The provider's spec without `enabled`.
    spec: Value,
    /// The number of secret changes on this screen before the test.
    secrets: u32,
}

/// The most recent connection test. The result is outdated when the configuration changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastTest {
    now: Memo<Option<TestedConfiguration>>,
    secrets: RwSignal<u32>,
    last: RwSignal<Option<(Option<TestedConfiguration>, ProviderTestResult)>>,
}

impl LastTest {
    /// Creates the initial state, without a test result.
    pub(super) fn untested(found: Memo<Option<AuthProviderView>>) -> Self {
        let secrets = RwSignal::new(0);
        let now = Memo::new(move |_| {
            let spec = found.with(|it| it.as_ref().map(|it| enabled(&it.spec, false)))?;
            let secrets = secrets.get();
            Some(TestedConfiguration { spec, secrets })
        });
        Self {
            now,
            secrets,
            last: RwSignal::new(None),
        }
    }

    /// Marks the test as outdated after a change of the secret.
    pub(super) fn secret_changed(self) {
        // The screen can be disposed before the response arrives.
        let _ = self.secrets.try_update(|secrets| *secrets += 1);
    }

    /// Returns the result for the current configuration. Returns `None` if the configuration is
    /// untested.
    pub(super) fn works(self) -> Option<bool> {
        self.connection_test()
            .map(|connection_test| connection_test.works)
    }

    fn connection_test(self) -> Option<ProviderTestResult> {
        let (of, connection_test) = self.last.get()?;
        (of == self.now.get()).then_some(connection_test)
    }

    fn is_outdated(self) -> bool {
        self.last.with(Option::is_some) && self.connection_test().is_none()
    }
}

/// Shows the test form and the test result.
#[component]
pub(super) fn ConnectionTest(
    name: String,
    protocol: Option<Protocol>,
    /// The most recent connection test on this screen.
    tested: LastTest,
    /// The buttons that the component shows after a successful test.
    children: ChildrenFn,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let (login, password) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let sending = Sending::new();
    let asks_login = protocol == Some(Protocol::Ldap);
    let name = StoredValue::new(name);
    let half = move || {
        let typed = |text: RwSignal<String>| text.with(|text| !text.is_empty());
        typed(login) != typed(password)
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if untrack(half) {
            return;
        }
        let said = |text: RwSignal<String>| Some(text.get_untracked()).filter(|it| !it.is_empty());
        let request = ProviderTest {
            login: said(login).map(|login| login.trim().to_owned()),
            password: said(password).map(Secret::new),
        };
        let path = name.with_value(|name| format!("/v1/providers/{}/test", segment(name)));
        tested.last.set(None);
        let of = tested.now.get_untracked();
        let request = async move {
            let answer = session.send_within(&path, &request, TIMEOUT_MS).await;
            // The page drops the password after the test.
            let _ = password.try_set(String::new());
            answer
        };
        sending.send(request, move |shown: ProviderTestResult| {
            // The screen can be disposed before the response arrives.
            let _ = tested.last.try_set(Some((of, shown)));
        });
    };
    let command = move || {
        let login = login.with(|login| login.trim().to_owned());
        let login = match login.as_str() {
            "" => String::new(),
            login => format!(" --login={}", shell::word(login)),
        };
        let name = name.with_value(|name| shell::word(name));
        format!("drover provider test {name}{login}")
    };
    let children = StoredValue::new(children);
    view! {
        <section class="card">
            <h2>{t().providers.test()}</h2>
            <p>{t().providers.test_help()}</p>
            <form class="stack narrow" on:submit=submit>
                <Refusal sending=sending/>
                {asks_login.then(|| view! {
                    <TextField label=t().providers.test_login() value=login
                        help=t().providers.test_login_help()/>
                    <TextField label=t().providers.test_password() content=Content::NewPassword value=password
                        help=t().providers.test_password_help()/>
                })}
                <div class="row">
                    <Button role=Role::Submit weight=Weight::Primary busy=sending.busy() disabled=Signal::derive(half)>{t().providers.test()}</Button>
                </div>
            </form>
            <div role="status">
                {move || tested.connection_test().map(|connection_test| view! { <Shown connection_test=connection_test/> })}
                <Show when=move || tested.is_outdated()>
                    <p class="muted">{t().providers.test_outdated()}</p>
                </Show>
            </div>
            <Show when=move || tested.works() == Some(true)>{children.with_value(|children| children())}</Show>
            <Code label=t().labels.command() text=Signal::derive(command)/>
        </section>
    }
}

#[component]
fn Shown(connection_test: ProviderTestResult) -> impl IntoView {
    let (tone, words) = if connection_test.works {
        (Tone::Good, t().providers.works())
    } else {
        (Tone::Bad, t().providers.fails())
    };
    let checks = connection_test.checks.into_iter().map(|check| {
        let ProviderCheck { what, works, found } = check;
        let (tone, word) = if works {
            (Tone::Good, t().providers.check_passed())
        } else {
            (Tone::Bad, t().providers.check_failed())
        };
        view! {
            <li class="condition">
                <Badge tone=tone words=word.to_owned()/>
                <div><b>{what}</b>" "<span class="check-message">{found}</span></div>
            </li>
        }
    });
    view! {
        <h3><Badge tone=tone words=words.to_owned()/></h3>
        <ul class="conditions" aria-label=t().providers.checks()>{checks.collect_view()}</ul>
    }
}
