//! The options and the state of a log.

use drover_ui_core::kubectl;
use drover_ui_core::log::{Log, LogRequest, MAX_LINES, MinLevel, SINCES, Since, TAILS};
use drover_ui_core::messages::t;
use drover_ui_core::quantity::count;
use drover_ui_kit::button::Button;
use drover_ui_kit::code::copy;
use drover_ui_kit::field::{Checkbox, Select, TextField};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::filter::bad_filter;
use super::log_view::LogOrigin;
use super::reader::{Reader, ReaderState};
use super::view::LogView;
use crate::clock::time_of_day;
use crate::command::CliCommand;
use crate::file::save;

/// Shows the options above the log.
#[component]
pub(super) fn Bar(
    view: LogView,
    reader: Reader,
    options: Memo<Vec<(String, String)>>,
    request: Memo<Option<LogRequest>>,
) -> impl IntoView {
    let sinces = SINCES.into_iter();
    let sinces = sinces.map(|since| match since {
        Since::Begin => (String::new(), t().log.since_start().to_owned()),
        since @ Since::Minutes(_) => (since.key(), t().durations.ago(&since.key())),
    });
    let levels = MinLevel::ALL.map(|level| (level.key().to_owned(), level.words().to_owned()));
    let tails = TAILS.into_iter();
    let tails = tails.map(|tail| (tail.to_string(), t().log.lines(tail as usize)));
    view! {
        <div class="log-bar">
            {move || view! { <Select label=t().log.container() options=options.get() value=view.container/> }}
            <Select label=t().log.since() options=sinces.collect() value=view.since/>
            <Select label=t().log.tail() options=tails.collect() value=view.tail/>
            <Select label=t().log.level() options=levels.to_vec() value=view.level/>
            <TextField label=t().log.filter() value=view.filter error=Signal::derive(move || bad_filter(&view.filter.get()))/>
            <div class="log-options" role="group" aria-label=t().log.options()>
                <Checkbox label=t().log.follow() checked=view.follow/>
                <Checkbox label=t().log.previous() checked=view.previous/>
                <Checkbox label=t().log.times() checked=view.times/>
                <Checkbox label=t().log.wrap() checked=view.wrap/>
            </div>
            <CopyAndDownload view=view reader=reader request=request/>
        </div>
        <Trouble reader=reader/>
        <FailureList failures=reader.failures.into()/>
    }
}

/// Shows the buttons that copy and download the log.
#[component]
fn CopyAndDownload(
    view: LogView,
    reader: Reader,
    request: Memo<Option<LogRequest>>,
) -> impl IntoView {
    let toasts = expect_context::<Toasts>();
    let text = move || {
        reader.log.with_untracked(|log| {
            // The text contains only lines of the container, so a toast reports missing lines.
            if log.missing() > 0 {
                toasts.warn(t().log.missing_lines(&count(log.missing())));
            }
            log.text(view.times.get_untracked())
        })
    };
    let download = move |()| {
        let name = request.with_untracked(|request| request.as_ref().map(LogRequest::file_name));
        if !save(&name.unwrap_or_else(|| "pod.log".to_owned()), &text()) {
            toasts.warn(t().log.cannot_download());
        }
    };
    let empty = Signal::derive(move || reader.log.with(|log| log.lines().is_empty()));
    view! {
        <div class="row log-download">
            <Button icon=Icon::Copy disabled=empty on_press=move |()| copy(text(), toasts)>{t().buttons.copy()}</Button>
            <Button disabled=empty on_press=download>{t().buttons.download()}</Button>
        </div>
    }
}

/// Shows errors with the names of their clusters, objects or containers.
#[component]
pub(super) fn FailureList(failures: Signal<Vec<String>>) -> impl IntoView {
    move || {
        let failures = failures.get();
        (!failures.is_empty()).then(|| {
            let rows = failures.into_iter().map(|words| view! { <li>{words}</li> });
            view! { <Banner mood=BannerKind::Error><ul class="failures">{rows.collect_view()}</ul></Banner> }
        })
    }
}

/// Shows the reason why lines are missing from the log.
#[component]
fn Trouble(reader: Reader) -> impl IntoView {
    let has_lines = Memo::new(move |_| reader.log.with(|log| !log.lines().is_empty()));
    move || match reader.reading.get() {
        ReaderState::Cut { since, problem } => {
            let words = t().log.interrupted(&time_of_day(since), &problem.message);
            Some(view! { <Banner mood=BannerKind::Warning>{words}</Banner> })
        }
        ReaderState::Waiting(words) if has_lines.get() => {
            Some(view! { <Banner mood=BannerKind::Info>{words}</Banner> })
        }
        ReaderState::Refused(problem) if has_lines.get() => {
            Some(view! { <Banner mood=BannerKind::Error>{problem.message}</Banner> })
        }
        _ => None,
    }
}

/// Shows the number of lines, the state and the equivalent command.
#[component]
pub(super) fn Foot(
    view: LogView,
    reader: Reader,
    request: Memo<Option<LogRequest>>,
    origin: StoredValue<LogOrigin>,
) -> impl IntoView {
    let command = Signal::derive(move || {
        let times = view.times.get();
        let line = |request: &LogRequest| {
            origin.with_value(|origin| match origin {
                LogOrigin::Container => kubectl::logs(request, times),
                LogOrigin::Workload(workload) => kubectl::workload_logs(workload, request, times),
                LogOrigin::Selection(selection) => selection.command(request, times),
            })
        };
        request
            .with(|request| request.as_ref().map(line))
            .unwrap_or_default()
    });
    let hidden = move || match reader.log.with(Log::hidden) {
        0 => None,
        hidden => Some(view! { <span>{t().log.hidden_lines(hidden)}</span> }),
    };
    let count = move || reader.log.with(counted);
    let (class, words) = (
        move || match reader.reading.get() {
            ReaderState::Opening | ReaderState::Waiting(_) => "freshness connecting",
            ReaderState::Following => "freshness",
            ReaderState::Cut { .. } | ReaderState::Refused(_) => "freshness stale",
            ReaderState::Over(_) => "freshness ended",
        },
        move || match reader.reading.get() {
            ReaderState::Opening => t().log.state_loading().to_owned(),
            ReaderState::Waiting(_) => t().log.state_waiting().to_owned(),
            ReaderState::Following => t().log.state_following().to_owned(),
            ReaderState::Cut { since, .. } => t().log.state_interrupted(&time_of_day(since)),
            ReaderState::Refused(_) => t().log.state_refused().to_owned(),
            ReaderState::Over(_) => t().log.state_complete().to_owned(),
        },
    );
    view! {
        <footer class="page-foot">
            <span class=class role="status">{words}</span>
            <span>{count}</span>
            {hidden}
            <CliCommand line=command/>
        </footer>
    }
}

fn counted(log: &Log) -> String {
    let lines = log.lines().len();
    let words = t().log.lines(lines);
    match log.dropped() {
        0 => words,
        dropped => t().log.newest_lines(&words, MAX_LINES, dropped),
    }
}
