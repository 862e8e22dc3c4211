//! The screen of the audit log, for administrators.

mod columns;
mod filters;
mod record;

use std::sync::Arc;
use std::time::Duration;

use drover_api::rest::{AuditList, AuditSource};
use drover_ui_core::audit::{AuditResults, Filter, MAX_PARTS, MIN_RECORDS};
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::quantity::count;
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{Banner, BannerKind, EmptyReason, EmptyState, Skeleton};
use drover_ui_kit::table::Table;
use leptos::prelude::*;

use crate::clock::{Clock, in_full, now, sleep};
use crate::command::CliCommand;
use crate::screens::address;
use crate::screens::form::Sending;
use crate::screens::head::PageHead;
use crate::screens::list::AdministratorsOnly;
use crate::screens::title::title;
use crate::session::Session;
use columns::{AuditRow, BY_TIME, columns};
use filters::Filters;
use record::{Opened, RecordDialog};

const SCREEN: &str = "/audit";
/// The maximum number of attempts to start a search. The server allows one search per user, and the
/// previous search of the user can still be running.
const MAX_ATTEMPTS: usize = 5;
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// The filter form, the submitted filter and the search result.
#[derive(Clone, Copy)]
struct AuditSearch {
    session: Session,
    /// The entered query.
    typed: RwSignal<String>,
    /// The error of the submitted query.
    invalid: RwSignal<Option<String>>,
    /// The most recently submitted filter. The URL contains this filter.
    asked: RwSignal<Filter>,
    /// The submitted filter with absolute times. Requests for all pages of the result use this
    /// filter.
    fixed: RwSignal<Filter>,
    reading: RwSignal<Option<AuditResults>>,
    sending: Sending,
}

impl AuditSearch {
    /// Reads the filter from the URL and starts the search.
    fn of_url() -> Self {
        let looking = Self {
            session: expect_context(),
            typed: RwSignal::new(String::new()),
            invalid: RwSignal::new(None),
            asked: RwSignal::new(Filter::default()),
            fixed: RwSignal::new(Filter::default()),
            reading: RwSignal::new(None),
            sending: Sending::new(),
        };
        address::read(SCREEN, move |of| {
            let filter = Filter {
                user: of("user"),
                cluster: of("cluster"),
                verb: of("verb"),
                outcome: of("outcome"),
                code: of("code"),
                path: of("path"),
                object: of("object"),
                since: of("since"),
                until: of("until"),
            };
            looking.typed.set(filter.or_changes().text());
            looking.look();
        });
        address::keep(move || path(&looking.asked.get()));
        on_cleanup(move || looking.sending.stop());
        looking
    }

    /// Starts a search with the entered query. An invalid query has no results.
    fn look(self) {
        self.sending.stop();
        self.sending.forget();
        self.reading.set(None);
        match self.typed.with_untracked(|text| Filter::read(text)) {
            Ok(filter) => {
                let filter = filter.or_any();
                self.invalid.set(None);
                self.fixed.set(filter.at(now()));
                self.asked.set(filter);
                self.read();
            }
            Err(error) => self.invalid.set(Some(error)),
        }
    }

    /// Reads pages of the log until a record matches the filter. The shown records stay when a
    /// request fails or the user stops the search.
    fn read(self) {
        let filter = self.fixed.get_untracked();
        let (known, mut from) = self.reading.with_untracked(|it| {
            let read = it.as_ref().map(|it| (it.records.len(), it.older.clone()));
            read.unwrap_or_default()
        });
        let request = async move {
            for _ in 0..MAX_PARTS {
                let list = part(self.session, &filter.question(from.as_deref())).await?;
                let taken = self.reading.try_update(|reading| {
                    let reading = reading.get_or_insert_default();
                    reading.take(list);
                    (reading.records.len() - known, reading.older.clone())
                });
                // The screen can be disposed before the response arrives.
                let Some((new, Some(older))) = taken else {
                    break;
                };
                if new >= MIN_RECORDS {
                    break;
                }
                from = Some(older);
            }
            Ok(())
        };
        self.sending.send_instead(request, drop);
    }
}

async fn part(session: Session, path: &str) -> Result<AuditList, Problem> {
    let mut tries = 1;
    loop {
        match session.get(path).await {
            Err(problem) if problem.kind == ProblemKind::Later && tries < MAX_ATTEMPTS => {
                tries += 1;
                sleep(BETWEEN_TRIES).await;
            }
            answer => return answer,
        }
    }
}

fn path(filter: &Filter) -> String {
    let parts = filter.parts();
    address::path(SCREEN, &parts.map(|(name, value)| (name, value.to_owned())))
}

/// Returns the URL path of the audit log of a user.
pub(crate) fn path_for(user: &str) -> String {
    path(&Filter {
        user: user.to_owned(),
        ..Filter::default()
    })
}

/// Shows the audit log.
#[component]
pub(crate) fn Audit() -> impl IntoView {
    title(t().frame.audit());
    if expect_context::<Session>().is_administrator() {
        view! { <Managed/> }.into_any()
    } else {
        view! { <AdministratorsOnly title=t().audit.administrators_only()/> }.into_any()
    }
}

#[component]
fn Managed() -> impl IntoView {
    let (looking, clock) = (AuditSearch::of_url(), expect_context::<Clock>());
    let opened = Opened::provide();
    let command = Signal::derive(move || looking.asked.with(|filter| filter.command(clock.now())));
    view! {
        <div class="page">
            <PageHead title=t().frame.audit()/>
            <Filters looking=looking/>
            <List looking=looking/>
            <footer class="page-foot">
                <CliCommand line=command/>
                <span>{move || looking.reading.with(|it| it.as_ref().map(kept))}</span>
            </footer>
        </div>
        <RecordDialog opened=opened/>
    }
}

/// Returns the text about the time of the oldest record and the storage of the log.
fn kept(reading: &AuditResults) -> String {
    let in_memory = reading.source == Some(AuditSource::Memory);
    match reading.kept_since {
        Some(since) => t().audit.kept_since(&in_full(since), in_memory),
        None => t().audit.no_records_in(in_memory),
    }
}

/// The state of the list of records.
#[derive(Clone, PartialEq)]
enum ListState {
    Loading,
    Problem(String),
    /// The query is invalid, so the page sent no request.
    NotAsked,
    /// The user stopped the search.
    Stopped,
    Empty,
    NotYet,
    Rows,
}

#[component]
fn List(looking: AuditSearch) -> impl IntoView {
    let busy = looking.sending.busy();
    let problem = looking.sending.elsewhere(filters::FIELDS);
    let of_fields = filters::FIELDS
        .iter()
        .map(|field| looking.sending.of(field));
    let of_fields = of_fields.collect::<Vec<_>>();
    let wrong = Memo::new(move |_| {
        let invalid = looking.invalid.with(Option::is_some);
        invalid || of_fields.iter().any(|of| of.with(Option::is_some))
    });
    let list_state = Memo::new(move |_| {
        let found = looking.reading.with(|it| {
            let reading = it.as_ref()?;
            Some((reading.records.is_empty(), reading.older.is_some()))
        });
        match (found, busy.get(), problem.get()) {
            (Some((false, _)), ..) => ListState::Rows,
            (None | Some((true, true)), true, _) => ListState::Loading,
            (None, false, Some(reason)) => ListState::Problem(reason),
            (None, false, None) if wrong.get() => ListState::NotAsked,
            (None, false, None) => ListState::Stopped,
            (Some((true, true)), false, _) => ListState::NotYet,
            (Some((true, false)), ..) => ListState::Empty,
        }
    });
    let rows = Memo::new(move |_| {
        let rows = looking.reading.with(|it| {
            let records = it.iter().flat_map(|it| it.records.iter().cloned());
            let rows = records.enumerate();
            rows.map(|(place, record)| AuditRow {
                place,
                record: Arc::new(record),
            })
            .collect::<Vec<_>>()
        });
        Arc::new(rows)
    });
    let sorting = RwSignal::new(BY_TIME);
    let refused = move || {
        let read = looking.reading.with(Option::is_some);
        let reason = problem.get().filter(|_| read)?;
        Some(view! { <Banner mood=BannerKind::Error>{reason}</Banner> })
    };
    view! {
        <div class="home-list">
            {move || match list_state.get() {
                ListState::Loading => view! { <Skeleton lines=8/> }.into_any(),
                ListState::Problem(reason) => view! {
                    <EmptyState reason=EmptyReason::Failed title=t().audit.failed() advice=reason/>
                }.into_any(),
                ListState::NotAsked => view! {
                    <EmptyState reason=EmptyReason::NoMatch title=t().audit.invalid()
                        advice=t().audit.invalid_advice()/>
                }.into_any(),
                ListState::Stopped => view! {
                    <EmptyState reason=EmptyReason::Empty title=t().audit.stopped() advice=t().audit.stopped_advice()/>
                }.into_any(),
                ListState::Empty => view! { <NoRecords looking=looking/> }.into_any(),
                ListState::NotYet => view! {
                    <EmptyState reason=EmptyReason::NoMatch title=t().audit.no_match_yet()
                        advice=t().audit.no_match_yet_advice()/>
                }.into_any(),
                ListState::Rows => view! {
                    <Table label=t().audit.table() columns=columns() rows=rows sorting=sorting tall=true/>
                }.into_any(),
            }}
        </div>
        {refused}
        <Older looking=looking rows=rows/>
    }
}

#[component]
fn NoRecords(looking: AuditSearch) -> impl IntoView {
    let filtered = looking.asked.with_untracked(|filter| !filter.is_empty());
    let (reason, title, advice) = if filtered {
        (
            EmptyReason::NoMatch,
            t().audit.no_match(),
            t().audit.no_match_advice(),
        )
    } else {
        (
            EmptyReason::Empty,
            t().audit.empty(),
            t().audit.empty_advice(),
        )
    };
    view! { <EmptyState reason=reason title=title advice=advice/> }
}

/// Shows the number of records and the button for older records.
#[component]
fn Older(looking: AuditSearch, rows: Memo<Arc<Vec<AuditRow>>>) -> impl IntoView {
    let more = Memo::new(move |_| {
        looking
            .reading
            .with(|it| it.as_ref().is_some_and(|it| it.older.is_some()))
    });
    let busy = looking.sending.busy();
    let words = move || {
        let shown = rows.with(|rows| rows.len());
        let number = count(u64::try_from(shown).unwrap_or(u64::MAX));
        match (looking.reading.with(Option::is_some), more.get()) {
            (false, _) => String::new(),
            (true, true) => t().audit.shown_more(&number),
            (true, false) if looking.asked.with(Filter::is_empty) => t().audit.shown_all(&number),
            (true, false) => t().audit.shown_matching(&number),
        }
    };
    let unreadable = move || {
        let lines = looking
            .reading
            .with(|it| it.as_ref().map_or(0, |it| it.unreadable));
        (lines > 0).then(|| t().audit.unreadable(&count(lines)))
    };
    view! {
        <div class="row">
            <Show when=move || more.get() || busy.get()>
                <Button busy=busy on_press=move |()| looking.read()>{t().audit.show_older()}</Button>
            </Show>
            <Show when=move || busy.get()>
                <Button on_press=move |()| looking.sending.stop()>{t().audit.stop()}</Button>
            </Show>
            <span class="muted" role="status">{words}</span>
            <span class="muted">{unreadable}</span>
        </div>
    }
}
