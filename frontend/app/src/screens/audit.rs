//! The audit log, for administrators: who did what, where, and how it ended.

mod columns;
mod filters;
mod record;

use std::sync::Arc;
use std::time::Duration;

use drover_api::rest::{AuditList, AuditSource};
use drover_ui_core::audit::{ENOUGH, Filter, MOST_PARTS, Reading};
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::quantity::count;
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{Absence, Banner, Mood, Nothing, Skeleton};
use drover_ui_kit::table::Table;
use leptos::prelude::*;

use crate::clock::{Clock, in_full, now, sleep};
use crate::command::SameCommand;
use crate::gate::Gate;
use crate::screens::address;
use crate::screens::form::Sending;
use crate::screens::list::AdministratorsOnly;
use crate::screens::title::title;
use columns::{AuditRow, BY_TIME, columns};
use filters::{Filters, Typed};
use record::{Opened, RecordDialog};

const SCREEN: &str = "/audit";
/// The server reads a part for one person at a time; the one before may not be at its end.
const TRIES: usize = 5;
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// What is typed, what was asked, and what was read.
#[derive(Clone, Copy)]
struct Looking {
    gate: Gate,
    typed: Typed,
    /// What was asked, kept in the URL.
    asked: RwSignal<Filter>,
    /// The same with fixed times, by which older records are asked for.
    fixed: RwSignal<Filter>,
    reading: RwSignal<Option<Reading>>,
    sending: Sending,
}

impl Looking {
    /// As the URL says; it is asked at once.
    fn of_url() -> Self {
        let looking = Self {
            gate: expect_context(),
            typed: Typed::new(),
            asked: RwSignal::new(Filter::default()),
            fixed: RwSignal::new(Filter::default()),
            reading: RwSignal::new(None),
            sending: Sending::new(),
        };
        address::read(SCREEN, move |of| {
            looking.typed.set(&Filter {
                user: of("user"),
                cluster: of("cluster"),
                verb: of("verb"),
                outcome: of("outcome"),
                code: of("code"),
                path: of("path"),
                object: of("object"),
                since: of("since"),
                until: of("until"),
            });
            looking.look();
        });
        address::keep(move || path(&looking.asked.get()));
        looking
    }

    /// Asks for the newest of what is typed.
    fn look(self) {
        let typed = untrack(move || self.typed.filter());
        if !typed.is_ready() {
            return;
        }
        let fixed = typed.at(now());
        self.asked.set(typed);
        self.fixed.set(fixed.clone());
        self.reading.set(None);
        let request = read(self.gate, fixed, None);
        // The screen may be gone by now.
        self.sending.send_instead(request, move |reading| {
            drop(self.reading.try_set(Some(reading)));
        });
    }

    /// Asks for what is older than what is shown.
    fn look_further(self) {
        let from = self.reading.with_untracked(|it| it.as_ref()?.older.clone());
        let Some(from) = from else { return };
        let request = read(self.gate, self.fixed.get_untracked(), Some(from));
        self.sending.send(request, move |older| {
            // The screen may be gone by now.
            let _ = self.reading.try_update(|reading| {
                if let Some(reading) = reading {
                    reading.and_older(older);
                }
            });
        });
    }
}

/// Reads part after part of the log, until there is something to show.
async fn read(gate: Gate, filter: Filter, mut from: Option<String>) -> Result<Reading, Problem> {
    let mut reading = Reading::default();
    for _ in 0..MOST_PARTS {
        reading.take(part(gate, &filter.question(from.as_deref())).await?);
        from.clone_from(&reading.older);
        if from.is_none() || reading.records.len() >= ENOUGH {
            break;
        }
    }
    Ok(reading)
}

async fn part(gate: Gate, path: &str) -> Result<AuditList, Problem> {
    let mut tries = 1;
    loop {
        match gate.get(path).await {
            Err(problem) if problem.kind == ProblemKind::Later && tries < TRIES => {
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

/// Where the page shows what somebody did.
pub(crate) fn path_for(user: &str) -> String {
    path(&Filter {
        user: user.to_owned(),
        ..Filter::default()
    })
}

/// The screen.
#[component]
pub(crate) fn Audit() -> impl IntoView {
    title("Audit");
    if expect_context::<Gate>().is_administrator() {
        view! { <Managed/> }.into_any()
    } else {
        view! { <AdministratorsOnly deed="read the audit log"/> }.into_any()
    }
}

#[component]
fn Managed() -> impl IntoView {
    let (looking, clock) = (Looking::of_url(), expect_context::<Clock>());
    let opened = Opened::provide();
    let command = Signal::derive(move || looking.asked.with(|asked| asked.command(clock.now())));
    view! {
        <div class="page">
            <header class="page-head"><h1>"Audit"</h1></header>
            <Filters looking=looking/>
            <List looking=looking/>
            <footer class="page-foot">
                <SameCommand line=command/>
                <span>{move || looking.reading.with(|it| it.as_ref().map(kept))}</span>
            </footer>
        </div>
        <RecordDialog opened=opened/>
    }
}

/// Since when there are records, and where.
fn kept(reading: &Reading) -> String {
    let whence = match reading.source {
        Some(AuditSource::File) | None => "in the server's log",
        Some(AuditSource::Memory) => {
            "in the server's memory: the log itself goes to its standard output"
        }
    };
    match reading.kept_since {
        Some(since) => format!("Kept since {}, {whence}.", in_full(since)),
        None => format!("No records yet {whence}."),
    }
}

/// What stands in the place of the list.
#[derive(Clone, PartialEq)]
enum What {
    Loading,
    Problem(String),
    Empty,
    NotYet,
    Rows,
}

#[component]
fn List(looking: Looking) -> impl IntoView {
    let busy = looking.sending.busy();
    let problem = looking.sending.elsewhere(filters::FIELDS);
    let what = Memo::new(move |_| {
        let found = looking.reading.with(|it| {
            let reading = it.as_ref()?;
            Some((reading.records.is_empty(), reading.older.is_some()))
        });
        match (found, busy.get(), problem.get()) {
            (Some((false, _)), ..) => What::Rows,
            (None, true, _) => What::Loading,
            (_, false, Some(why)) => What::Problem(why),
            (Some((true, true)), ..) => What::NotYet,
            (Some((true, false)), ..) | (None, false, None) => What::Empty,
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
        let why = problem.get().filter(|_| what.get() == What::Rows)?;
        Some(view! { <Banner mood=Mood::Error>{why}</Banner> })
    };
    view! {
        <div class="home-list">
            {move || match what.get() {
                What::Loading => view! { <Skeleton lines=8/> }.into_any(),
                What::Problem(why) => view! {
                    <Nothing why=Absence::Failed title="The audit log cannot be read" advice=why/>
                }.into_any(),
                What::Empty => view! { <NoRecords looking=looking/> }.into_any(),
                What::NotYet => view! {
                    <Nothing why=Absence::NoMatch title="No record fits so far"
                        advice="Only the newest part of the log was read."/>
                }.into_any(),
                What::Rows => view! {
                    <Table label="Audit log" columns=columns() rows=rows sorting=sorting/>
                }.into_any(),
            }}
        </div>
        {refused}
        <Older looking=looking rows=rows/>
    }
}

#[component]
fn NoRecords(looking: Looking) -> impl IntoView {
    let filtered = looking.asked.with_untracked(|asked| !asked.is_empty());
    let (why, title, advice) = if filtered {
        (
            Absence::NoMatch,
            "No record fits",
            "Fewer filters, or an earlier beginning, show more.",
        )
    } else {
        (
            Absence::Empty,
            "No records yet",
            "Everything that is done on a cluster, and every change of Drover's own, makes one.",
        )
    };
    view! { <Nothing why=why title=title advice=advice/> }
}

/// How much is shown, and the way to what is before it.
#[component]
fn Older(looking: Looking, rows: Memo<Arc<Vec<AuditRow>>>) -> impl IntoView {
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
            (true, true) => format!("{number} shown; there are older ones"),
            (true, false) if looking.asked.with(Filter::is_empty) => {
                format!("{number} shown, all that are kept")
            }
            (true, false) => format!("{number} shown, all that fit"),
        }
    };
    let unreadable = move || {
        let lines = looking
            .reading
            .with(|it| it.as_ref().map_or(0, |it| it.unreadable));
        (lines > 0).then(|| format!("{} lines of the log are no records.", count(lines)))
    };
    view! {
        <div class="row">
            <Show when=move || more.get()>
                <Button busy=busy on_press=move |()| looking.look_further()>"Show older"</Button>
            </Show>
            <span class="soft" role="status">{words}</span>
            <span class="soft">{unreadable}</span>
        </div>
    }
}
