//! The form for the server's temporary log filter.

use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::shell;
use drover_ui_kit::button::{Button, Role};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::TextField;
use drover_ui_kit::notice::{Banner, BannerKind, Skeleton};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::command::origin;
use crate::screens::form::{Refusal, Sending};
use crate::session::Session;

const PATH: &str = "/v1/log-filter";

/// The request and response body of the log filter API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Body {
    filter: String,
}

type CurrentFilter = RwSignal<Option<Result<Body, Problem>>>;

/// Shows the current log filter and the form.
#[component]
pub(super) fn LogFilter(settings: Settings) -> impl IntoView {
    let session = expect_context::<Session>();
    let now: CurrentFilter = RwSignal::new(None);
    // A change of the setting replaces the temporary filter.
    let setting = Memo::new(move |_| {
        settings.with(|settings| {
            let found = settings.iter().find(|setting| setting.name == "log-filter");
            found.map(|setting| setting.in_effect.clone())
        })
    });
    Effect::new(move || {
        setting.track();
        spawn_local(async move {
            let answer = session.get(PATH).await;
            // The screen can be disposed before the response arrives.
            let _ = now.try_set(Some(answer));
        });
    });
    view! {
        <div class="setting">
            <h3>{t().settings.temporary()}</h3>
            <p>
                {t().settings.temporary_help()}
            </p>
            {move || match now.get() {
                None => view! { <Skeleton lines=1/> }.into_any(),
                Some(Err(problem)) => view! { <Banner mood=BannerKind::Error>{problem.message}</Banner> }.into_any(),
                Some(Ok(body)) => view! { <Form body=body now=now/> }.into_any(),
            }}
        </div>
    }
}

#[component]
fn Form(body: Body, now: CurrentFilter) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let filter = RwSignal::new(body.filter.clone());
    let sending = Sending::new();
    let in_effect = body.filter;
    let same = in_effect.clone();
    let typed = move || Body {
        filter: filter.with(|filter| filter.trim().to_owned()),
    };
    let unchanged = Signal::derive(move || typed().filter == same);
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        if unchanged.get_untracked() {
            return;
        }
        let desired = untrack(typed);
        let request = async move { session.send("PUT", PATH, &desired).await };
        sending.send(request, move |body: Body| {
            toasts.say(t().settings.filter_applied());
            // The screen can be disposed before the response arrives.
            let _ = now.try_set(Some(Ok(body)));
        });
    };
    let command = move || {
        let body = serde_json::to_string(&typed()).unwrap_or_default();
        format!(
            "curl -X PUT -H \"Authorization: Bearer $DROVER_TOKEN\" -H 'Content-Type: application/json' \\\n  -d {} {}",
            shell::word(&body),
            shell::word(&format!("{}{PATH}", origin()))
        )
    };
    view! {
        <form class="stack" on:submit=submit>
            <div class="setting-value"><span>{t().settings.in_effect()}</span><code>{in_effect}</code></div>
            <Refusal sending=sending fields=&["filter"]/>
            <TextField label=t().settings.log_filter() value=filter error=sending.of("filter")
                help=t().settings.log_filter_help()/>
            <div class="row">
                <Button role=Role::Submit busy=sending.busy() disabled=unchanged>{t().settings.apply_filter()}</Button>
            </div>
            <Code label=t().labels.command() text=Signal::derive(command)/>
        </form>
    }
}
